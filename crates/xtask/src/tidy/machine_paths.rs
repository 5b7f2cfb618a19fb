//! No text knows the machine on which it was written.

use super::finding::Finding;
use super::repository::Repository;

/// Folders in which checkouts of developers lie. They are put together here so that this file does not name them.
const FOLDERS: [&str; 3] = [concat!("/", "work/"), concat!("/", "farm"), concat!("/", "root/")];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &repository.files {
        for (index, line) in file.text.lines().enumerate() {
            let named = FOLDERS.iter().filter(|folder| is_rooted(line, folder));
            findings.extend(named.map(|folder| {
                Finding::fault(&file.path, index + 1, format!("`{folder}` is a path of one machine"))
            }));
        }
    }
    findings
}

/// Whether a path of the line begins with `folder`; deeper in a path it is a folder like any other.
fn is_rooted(line: &str, folder: &str) -> bool {
    let goes_on = |char: char| char.is_alphanumeric() || "_-.~$}/".contains(char);
    line.match_indices(folder).any(|(start, _)| {
        let longer = line[start + folder.len()..].starts_with(|char: char| char.is_alphanumeric());
        !line[..start].ends_with(goes_on) && (folder.ends_with('/') || !longer)
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    #[test]
    fn a_rooted_path_is_found_and_a_deeper_one_is_not() {
        let [work, farm, root] = FOLDERS;
        let text =
            format!("see {work}main\nproject{work}x\n{farm}er\n\"{farm}/a\"\n../x{root}y\ncd {root}.cargo\n");
        let found = told(check(&Repository::of(&[("docs/start.md", &text)])));
        assert_eq!(
            found,
            [(1, work), (4, farm), (6, root)]
                .map(|(line, folder)| format!("docs/start.md:{line}: `{folder}` is a path of one machine"))
        );
    }
}
