//! What a plugin is made of, as a digest: trust is given to exactly that (OC-12, OC-60).

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// What the files below a plugin of a project come to at most, in bytes, with [`OF_EACH`] for each file, link and folder: as
/// much as a content that can be trusted, and no less.
pub(super) const MOST: u64 = 96 << 20;

/// What each of them counts as, beside its bytes.
const OF_EACH: u64 = 8 << 10;

/// The digest of every regular file below a directory, by relative path and bytes, or of one file; and of what is said
/// of the plugin beside it. A file that cannot be read counts as such. `None` where they come to more than `most`.
pub(super) fn digest(path: &Path, said: &str, most: u64) -> Option<String> {
    let (mut hasher, mut room) = (Sha256::new(), most);
    if path.is_dir() {
        let mut left = vec![(path.to_path_buf(), String::new())];
        while let Some((directory, prefix)) = left.pop() {
            below(&directory, &mut hasher, &prefix, &mut room, &mut left)?;
        }
    } else {
        file(path, &mut hasher, &mut room)?;
    }
    field(&mut hasher, b"said", said.as_bytes());
    Some(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn below(
    directory: &Path,
    hasher: &mut Sha256,
    prefix: &str,
    room: &mut u64,
    left: &mut Vec<(PathBuf, String)>,
) -> Option<()> {
    let Ok(found) = fs::read_dir(directory) else {
        field(hasher, b"unreadable", prefix.as_bytes());
        return Some(());
    };
    let mut entries = Vec::new();
    for entry in found.flatten() {
        *room = room.checked_sub(OF_EACH)?;
        entries.push(entry);
    }
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let relative = format!("{prefix}{}", name.to_string_lossy());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => left.push((path, format!("{relative}/"))),
            Ok(kind) if kind.is_file() => {
                field(hasher, b"file", name.as_encoded_bytes());
                field(hasher, b"path", relative.as_bytes());
                file(&path, hasher, room)?;
            }
            // What a link leads to is not below the directory; that it leads there is.
            Ok(kind) if kind.is_symlink() => {
                field(hasher, b"link", relative.as_bytes());
                let target = fs::read_link(&path).unwrap_or_default();
                field(hasher, b"to", target.as_os_str().as_encoded_bytes());
            }
            Ok(_) | Err(_) => {}
        }
    }
    Some(())
}

/// The bytes of a file, whose number comes after them.
fn file(path: &Path, hasher: &mut Sha256, room: &mut u64) -> Option<()> {
    let most = room.saturating_add(1);
    match File::open(path).and_then(|file| io::copy(&mut file.take(most), hasher)) {
        Ok(bytes) => {
            field(hasher, b"bytes", &bytes.to_be_bytes());
            *room = room.checked_sub(bytes)?;
        }
        Err(_) => field(hasher, b"unreadable", b""),
    }
    Some(())
}

fn field(hasher: &mut Sha256, name: &[u8], value: &[u8]) {
    for part in [name, value] {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use std::path::Path;

    use super::OF_EACH;

    fn digest(path: &Path, said: &str) -> String {
        super::digest(path, said, u64::MAX).unwrap()
    }

    #[test]
    fn whatever_changes_in_a_plugin_changes_its_digest() {
        // OC-12
        let room = tempfile::tempdir().unwrap();
        let root = room.path().join("p");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("index.mjs"), "a").unwrap();
        fs::write(root.join("src/b.mjs"), "b").unwrap();
        let first = digest(&root, "");
        assert_eq!(first, digest(&root, ""));
        let mut seen = vec![first, digest(&root, "{\"enabled\":true}")];
        fs::write(root.join("src/b.mjs"), "c").unwrap();
        seen.push(digest(&root, ""));
        fs::rename(root.join("src/b.mjs"), root.join("src/d.mjs")).unwrap();
        seen.push(digest(&root, ""));
        fs::write(root.join("README.md"), "").unwrap();
        seen.push(digest(&root, ""));
        seen.push(digest(&root.join("index.mjs"), ""));
        let different: std::collections::BTreeSet<_> = seen.iter().collect();
        assert_eq!(different.len(), seen.len());
    }
    #[cfg(unix)]
    #[test]
    fn of_a_link_it_counts_where_it_leads_and_what_is_neither_file_nor_link_does_not_count() {
        // OC-12
        use std::os::unix::fs::symlink;
        use std::os::unix::net::UnixListener;

        let room = tempfile::tempdir().unwrap();
        let (root, outside) = (room.path().join("p"), room.path().join("x.mjs"));
        fs::create_dir(&root).unwrap();
        fs::write(&outside, "a").unwrap();
        let alone = digest(&root, "");
        symlink(&outside, root.join("x.mjs")).unwrap();
        let linked = digest(&root, "");
        assert_ne!(linked, alone);
        fs::write(&outside, "b").unwrap();
        assert_eq!(digest(&root, ""), linked);
        fs::remove_file(root.join("x.mjs")).unwrap();
        symlink(room.path(), root.join("x.mjs")).unwrap();
        assert_ne!(digest(&root, ""), linked);
        fs::remove_file(root.join("x.mjs")).unwrap();
        let _listener = UnixListener::bind(root.join("socket")).unwrap();
        assert_eq!(digest(&root, ""), alone);
    }

    #[test]
    fn a_plugin_of_a_project_is_read_as_far_as_it_may_be_trusted_however_deep_its_folders_are() {
        let room = tempfile::tempdir().unwrap();
        let deep = room.path().join("a/".repeat(1_800));
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("f"), "12345").unwrap();
        let whole = 1_801 * OF_EACH + 5;
        let root = room.path().to_owned();
        let digest = move |most| super::digest(&root, "", most);
        let small = std::thread::Builder::new().stack_size(512 << 10);
        let found = small.spawn(move || [whole, whole - 1, 5].map(|most| digest(most).is_some()));
        assert_eq!(found.unwrap().join().unwrap(), [true, false, false]);
    }
}
