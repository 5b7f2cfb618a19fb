//! A worker's kit is one file, wherever it lies: what the examples have of it is what `lineside kit` prints.
//!
//! A link would do for a clone, but not for every archive, and not for a hook's folder, which has to be complete.

use super::finding::Finding;
use super::repository::{File, Repository};

/// Where the kits are written.
const KITS: &str = "crates/lineside-exec/src/worker/kits/";

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let kits: Vec<&File> = repository.files.iter().filter(|file| file.path.starts_with(KITS)).collect();
    let mut findings = Vec::new();
    for file in repository.files.iter().filter(|file| !file.path.starts_with(KITS)) {
        let kit = kits.iter().find(|kit| name(kit) == name(file));
        if let Some(kit) = kit
            && kit.text != file.text
        {
            let text = format!("differs from the kit; copy {} here", kit.path);
            findings.push(Finding::fault(&file.path, first_difference(&kit.text, &file.text), text));
        }
    }
    findings
}

fn name(file: &File) -> &str {
    file.path.rsplit('/').next().unwrap_or_default()
}

/// The number of the first line that is not the same.
fn first_difference(one: &str, other: &str) -> usize {
    one.lines().zip(other.lines()).take_while(|(one, other)| one == other).count() + 1
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    const KIT: &str = "crates/lineside-exec/src/worker/kits/lineside_hook.py";
    const EXAMPLE: &str = "examples/workers/.agents/hooks/a/scripts/lineside_hook.py";

    #[test]
    fn a_copy_that_differs_is_shown_where() {
        let repository =
            Repository::of(&[(KIT, "import json\nserve()\n"), (EXAMPLE, "import json\nwork()\n")]);
        assert_eq!(
            told(check(&repository)),
            ["examples/workers/.agents/hooks/a/scripts/lineside_hook.py:2: differs from the kit; \
                copy crates/lineside-exec/src/worker/kits/lineside_hook.py here"]
        );
    }

    #[test]
    fn the_kit_itself_and_other_files_are_left_alone() {
        let other = "examples/workers/.agents/hooks/a/scripts/run.py";
        let repository = Repository::of(&[(KIT, "serve()"), (EXAMPLE, "serve()"), (other, "run()")]);
        assert!(check(&repository).is_empty());
    }
}
