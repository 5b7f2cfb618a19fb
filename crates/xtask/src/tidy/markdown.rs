//! The lists that pages hold for the rules: fenced blocks and tables.

/// The lines of the first block fenced with this word, numbered from 1. Nothing without such a block.
pub(super) fn fenced<'a>(page: &'a str, word: &str) -> Option<Vec<(usize, &'a str)>> {
    let mut lines = page.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines.find(|(_, line)| line.strip_prefix("```") == Some(word))?;
    Some(lines.take_while(|(_, line)| !line.starts_with("```")).collect())
}

/// The text below this heading up to the next one of its level, and how many lines stand before it.
pub(super) fn section<'a>(page: &'a str, heading: &str) -> Option<(usize, &'a str)> {
    let mut start = 0;
    for (index, line) in page.split_inclusive('\n').enumerate() {
        start += line.len();
        if line.trim_end() == heading {
            let end = page[start..].find("\n## ").map_or(page.len(), |end| start + end + 1);
            return Some((index + 1, &page[start..end]));
        }
    }
    None
}

/// A row of a table.
pub(super) struct Row<'a> {
    pub(super) line: usize,
    pub(super) cells: Vec<&'a str>,
}

/// The rows of the first table with this heading above its first column, without heading and rule. Nothing without
/// such a table.
pub(super) fn table<'a>(page: &'a str, heading: &str) -> Option<Vec<Row<'a>>> {
    let mut lines = page.lines().enumerate();
    lines.find(|(_, line)| cells(line).and_then(|cells| cells.first().copied()) == Some(heading))?;
    let rows =
        lines.skip(1).map_while(|(index, line)| cells(line).map(|cells| Row { line: index + 1, cells }));
    Some(rows.collect())
}

/// The rows of all tables, headings and rules among them.
pub(super) fn every_row(page: &str) -> impl Iterator<Item = Row<'_>> {
    page.lines()
        .enumerate()
        .filter_map(|(index, line)| cells(line).map(|cells| Row { line: index + 1, cells }))
}

/// What a text holds between backticks.
pub(super) fn ticked(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_found_by_its_word() {
        let page = "```text\nx\n```\n```edges\na -> b\n\n```\n";
        assert_eq!(fenced(page, "edges"), Some(vec![(5, "a -> b"), (6, "")]));
        assert_eq!(fenced(page, "rust"), None);
    }

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_level() {
        let page = "# a\n\n## b\n1\n### c\n2\n## d\n3\n";
        assert_eq!(section(page, "## b"), Some((3, "1\n### c\n2\n")));
        assert_eq!(section(page, "## d"), Some((7, "3\n")));
        assert_eq!(section(page, "## e"), None);
    }

    #[test]
    fn a_table_is_found_by_its_first_heading() {
        let page = "| a | b |\n|---|---|\n| 1 | 2 |\n\n| c | d |\n|---|---|\n| `x`, `y` | z |\n";
        let rows = table(page, "c").unwrap();
        assert_eq!((rows[0].line, ticked(rows[0].cells[0])), (7, vec!["x", "y"]));
        assert_eq!(rows.len(), 1);
        assert!(table(page, "e").is_none());
    }
}
