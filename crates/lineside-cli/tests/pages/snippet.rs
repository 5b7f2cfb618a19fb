//! The snippets of a page, with what stands before each.

/// A fenced piece of a page.
#[derive(Debug)]
pub(crate) struct Snippet {
    pub(crate) page: String,
    /// The line of its fence, counted from 1.
    pub(crate) line: usize,
    pub(crate) language: String,
    /// What the comment before it says; empty without one.
    pub(crate) comment: String,
    pub(crate) text: String,
}

/// All of them, in their order.
pub(crate) fn of(page: &str, text: &str) -> Vec<Snippet> {
    let mut snippets = Vec::new();
    let mut open: Option<Snippet> = None;
    let mut comment = String::new();
    for (index, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some("")) => snippets.extend(open.take()),
            (Some(snippet), _) => {
                snippet.text.push_str(line);
                snippet.text.push('\n');
            }
            (None, Some(language)) => {
                open = Some(Snippet {
                    page: page.to_owned(),
                    line: index + 1,
                    language: language.to_owned(),
                    comment: std::mem::take(&mut comment),
                    text: String::new(),
                });
            }
            (None, None) => {
                let said = line.strip_prefix("<!-- snippet: ").and_then(|line| line.strip_suffix(" -->"));
                comment = said.unwrap_or_default().to_owned();
            }
        }
    }
    assert!(open.is_none(), "{page}: the last fence is not closed");
    snippets
}
