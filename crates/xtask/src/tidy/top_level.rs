//! The root holds what a visitor looks for and nothing else; tools keep their files hidden.

use super::finding::Finding;
use super::repository::Repository;

const VISIBLE: [&str; 7] = ["Cargo.toml", "Cargo.lock", "README.md", "crates", "docs", "examples", "tests"];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let strangers =
        repository.top.iter().filter(|name| !name.starts_with('.') && !VISIBLE.contains(&name.as_str()));
    strangers.map(|name| Finding::fault(name, 1, "belongs into a folder, or behind a dot")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    #[test]
    fn a_visible_stranger_is_named() {
        let mut repository = Repository::of(&[]);
        repository.top = ["Cargo.toml", ".deny.toml", "notes.md", "docs"].map(str::to_owned).to_vec();
        assert_eq!(told(check(&repository)), ["notes.md:1: belongs into a folder, or behind a dot"]);
    }
}
