//! Which file of a plugin is loaded and how (OC-8).

use std::path::{Path, PathBuf};

/// How an entry is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// As it is.
    Import(PathBuf),
    /// By what there is for TypeScript, which the worker finds out.
    TypeScript(PathBuf),
}

impl Choice {
    /// The file that is loaded.
    pub(super) fn file(&self) -> &Path {
        match self {
            Self::Import(file) | Self::TypeScript(file) => file,
        }
    }
}

/// Chooses the file for an entry below a plugin directory.
pub(super) fn choose(root: &Path, entry: &Path) -> Choice {
    let built: &[&str] = match entry.extension().and_then(|extension| extension.to_str()) {
        Some("ts" | "tsx") => &["js", "mjs", "cjs"],
        Some("mts" | "mtsx") => &["mjs"],
        Some("cts" | "ctsx") => &["cjs"],
        _ => return Choice::Import(entry.to_owned()),
    };
    match peer(root, entry, built) {
        Some(peer) => Choice::Import(peer),
        None => Choice::TypeScript(entry.to_owned()),
    }
}

fn peer(root: &Path, entry: &Path, built: &[&str]) -> Option<PathBuf> {
    let mut bases = Vec::new();
    if let Ok(inside) = entry.strip_prefix(root) {
        bases.push(root.join("dist").join(inside));
        if let Ok(below) = inside.strip_prefix("src") {
            bases.push(root.join("dist").join(below));
        }
    }
    bases.push(entry.to_owned());
    let peers = bases.iter().flat_map(|base| built.iter().map(|extension| base.with_extension(extension)));
    peers.into_iter().find(|peer| peer.is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Choice, choose};

    fn write(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[test]
    fn a_built_peer_is_taken_before_any_loader() {
        // OC-8
        let room = tempfile::tempdir().unwrap();
        let root = room.path().join("plugin");
        let entry = root.join("src/index.ts");
        assert_eq!(choose(&root, &root.join("a.mjs")), Choice::Import(root.join("a.mjs")));
        assert_eq!(choose(&root, &entry), Choice::TypeScript(entry.clone()));
        // From the last place to the first.
        for peer in ["src/index.cjs", "src/index.mjs", "dist/index.cjs", "dist/src/index.js"] {
            write(&root.join(peer));
            assert_eq!(choose(&root, &entry).file(), root.join(peer));
        }
    }

    #[test]
    fn the_extension_of_a_peer_follows_that_of_the_entry() {
        // OC-8
        let room = tempfile::tempdir().unwrap();
        let (mts, cts) = (room.path().join("a.mts"), room.path().join("b.cts"));
        for peer in ["a.js", "a.cjs", "b.js", "b.mjs"] {
            write(&room.path().join(peer));
        }
        assert_eq!(choose(room.path(), &mts), Choice::TypeScript(mts.clone()));
        assert_eq!(choose(room.path(), &cts), Choice::TypeScript(cts.clone()));
        write(&room.path().join("a.mjs"));
        assert_eq!(choose(room.path(), &mts).file(), room.path().join("a.mjs"));
    }
}
