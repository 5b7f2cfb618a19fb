//! The paths of an event, and the forms in which each is compared (CH-19). By text alone: no file need exist.

use std::borrow::Cow;

use lineside_core::json::Value;

use super::texts_of;
use crate::chord::data::Data;

/// Trimmed; the empty ones are left out.
pub(super) fn sources(data: &Data) -> impl Iterator<Item = &str> {
    let own = data.get("path").and_then(Value::as_str);
    let list = data.get("paths").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    own.into_iter()
        .chain(list)
        .chain(texts_of(data, "changed_files", "path"))
        .map(str::trim)
        .filter(|path| !path.is_empty())
}

/// As it is written, absolute, and relative to the root of the project.
pub(super) fn candidates<'a>(source: &'a str, root: Option<&str>) -> Vec<Cow<'a, str>> {
    let written = slashes(source);
    let Some(root) = root.filter(|root| !root.is_empty()).map(slashes) else {
        let resolved = resolved(&written);
        return vec![written, resolved.into()];
    };
    let absolute =
        if is_absolute(&written) { resolved(&written) } else { resolved(&format!("{root}/{written}")) };
    let root = resolved(&root);
    let below = absolute.strip_prefix(root.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    let below = below.filter(|below| !below.is_empty()).map(|below| Cow::Owned(below.to_owned()));
    [written, absolute.into()].into_iter().chain(below).collect()
}

fn slashes(path: &str) -> Cow<'_, str> {
    if cfg!(windows) { path.replace('\\', "/").into() } else { path.into() }
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || (cfg!(windows) && path.get(1..3) == Some(":/"))
}

/// Without `.`, `..` and repeated `/`.
fn resolved(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            // There is nothing above the root.
            ".." if rooted => {}
            other => parts.push(other),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::candidates;

    fn check(source: &str, root: Option<&str>, expected: &[&str]) {
        assert_eq!(candidates(source, root), expected, "{source} {root:?}");
    }

    #[test]
    fn a_path_has_up_to_three_forms() {
        // CH-19
        check("src/a.go", Some("/repo"), &["src/a.go", "/repo/src/a.go", "src/a.go"]);
        check("/repo/src/a.go", Some("/repo/"), &["/repo/src/a.go", "/repo/src/a.go", "src/a.go"]);
        check("./x/../src//a.go", Some("/repo"), &["./x/../src//a.go", "/repo/src/a.go", "src/a.go"]);
        check("../other/a.go", Some("/repo"), &["../other/a.go", "/other/a.go"]);
        check("/repo2/a", Some("/repo"), &["/repo2/a", "/repo2/a"]);
        check("/repo", Some("/repo"), &["/repo", "/repo"]);
        check("/../a", Some("/"), &["/../a", "/a", "a"]);
        check("a", Some("/x/../repo/."), &["a", "/repo/a", "a"]);
    }

    #[test]
    fn without_a_root_there_are_two() {
        // CH-19
        check("./a//b", None, &["./a//b", "a/b"]);
        check("../a/../b", None, &["../a/../b", "../b"]);
        check("a/..", None, &["a/..", "."]);
        check("/a/./b", Some(""), &["/a/./b", "/a/b"]);
    }
}
