//! Paths of events as patterns are compared with them.

/// A path from a folder, without steps up and steps to where it is.
pub(super) fn normal(folder: &str, path: &str) -> String {
    let mut steps: Vec<&str> = Vec::new();
    let folder = if path.starts_with('/') { "" } else { folder };
    for step in folder.split('/').chain(path.split('/')) {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    format!("/{}", steps.join("/"))
}
