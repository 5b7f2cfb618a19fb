//! The rows of the table of faults, and which row a test is of.

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Its letter and number: `P3`.
    pub(crate) name: String,
    /// Its line on the page, from 1.
    pub(crate) line: usize,
    /// Why it has no test, if the page says so.
    pub(crate) why_not: Option<String>,
}

/// The rows of a page: of tables whose first cell is a letter and a number. A last cell `none: why` says that there is
/// no test.
pub(crate) fn rows(page: &str) -> Vec<Row> {
    let rows = page.lines().enumerate().filter_map(|(index, line)| {
        let cells: Vec<&str> =
            line.trim().strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let name = *cells.first()?;
        is_row(name).then(|| Row {
            name: name.to_owned(),
            line: index + 1,
            why_not: cells.last().and_then(|last| last.strip_prefix("none: ")).map(str::to_owned),
        })
    });
    rows.collect()
}

fn is_row(name: &str) -> bool {
    let (letter, number) = name.split_at(name.chars().next().map_or(0, char::len_utf8));
    letter.chars().all(|letter| letter.is_ascii_uppercase())
        && !number.is_empty()
        && number.bytes().all(|digit| digit.is_ascii_digit())
}

/// The row of a test, by the last part of its path: `escapes::p03_x` is of P3.
pub(crate) fn row_of(test: &str) -> Option<String> {
    let name = test.rsplit("::").next()?;
    let (row, rest) = name.split_once('_')?;
    let (letter, number) = row.split_at_checked(1)?;
    let known =
        letter.bytes().all(|letter| letter.is_ascii_lowercase()) && number.len() == 2 && !rest.is_empty();
    let number: u32 = number.parse().ok().filter(|_| known)?;
    Some(format!("{}{number}", letter.to_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_names_its_row() {
        assert_eq!(row_of("escapes::p03_a_daemon_is_killed").as_deref(), Some("P3"));
        assert_eq!(row_of("d11_a_guard").as_deref(), Some("D11"));
        for other in ["p3_x", "x::p03", "a_block_is_final", "no_03_x", "p0x_x", "", "é03_x"] {
            assert_eq!(row_of(other), None, "{other}");
        }
    }

    #[test]
    fn rows_are_read_from_every_table() {
        let page = "| row | fault | tests |\n|---|---|---|\n| P3 | x | command |\n\n| D11 | y | none: no daemon |\n| x1 | |\n";
        let row = |name: &str, line, why_not: Option<&str>| Row {
            name: name.to_owned(),
            line,
            why_not: why_not.map(str::to_owned),
        };
        assert_eq!(rows(page), [row("P3", 3, None), row("D11", 5, Some("no daemon"))]);
    }
}
