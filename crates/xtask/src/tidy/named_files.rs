//! A source that the architecture sends its readers to is there.

use super::finding::Finding;
use super::repository::{ARCHITECTURE, Repository};

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let lines = (1..).zip(repository.architecture().lines());
    let named =
        lines.flat_map(|(line, text)| text.split('`').skip(1).step_by(2).map(move |span| (line, span)));
    let sources = named.filter(|(_, span)| span.starts_with("crates/") && span.ends_with(".rs"));
    let missing = sources.filter(|(_, path)| repository.file(path).is_none());
    missing.map(|(line, path)| Finding::fault(ARCHITECTURE, line, format!("`{path}` is not there"))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    #[test]
    fn what_is_named_is_there() {
        let page = "# A\n`crates/a/src/b.rs` and `crates/a/src/c.rs`, `cargo`, `dispatch/d.rs`, `crates/a/src/*.rs`\n";
        let repository = Repository::of(&[(ARCHITECTURE, page), ("crates/a/src/b.rs", "")]);
        let expected = [
            format!("{ARCHITECTURE}:2: `crates/a/src/*.rs` is not there"),
            format!("{ARCHITECTURE}:2: `crates/a/src/c.rs` is not there"),
        ];
        assert_eq!(told(check(&repository)), expected);
    }
}
