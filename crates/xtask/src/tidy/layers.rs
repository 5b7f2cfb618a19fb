//! Which files of a crate may know which: the folders are layers, and each knows only itself and those before it.
//!
//! A crate without layers in the architecture may have its files as it likes, except in large [circles](super::circles).

use super::finding::Finding;
use super::imports::{Import, Modules};
use super::markdown::fenced;
use super::repository::{ARCHITECTURE, Repository};

/// The layers of one crate, the lowest first.
struct Layers<'a> {
    line: usize,
    of: &'a str,
    names: Vec<&'a str>,
}

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let Some(listed) = fenced(repository.architecture(), "layers") else {
        return vec![Finding::fault(ARCHITECTURE, 1, "holds no block fenced with `layers`")];
    };
    let mut findings = Vec::new();
    for (line, text) in listed.into_iter().filter(|(_, text)| !text.trim().is_empty()) {
        match text.split_once(':') {
            Some((of, names)) => {
                let names = names.split('<').map(str::trim).collect();
                findings.extend(judge(repository, &Layers { line, of: of.trim(), names }));
            }
            None => findings.push(Finding::fault(
                ARCHITECTURE,
                line,
                format!("`{text}` is not `crate: layer < layer`"),
            )),
        }
    }
    findings
}

fn judge(repository: &Repository, layers: &Layers<'_>) -> Vec<Finding> {
    let modules = Modules::of(repository, layers.of);
    let mut findings: Vec<Finding> = layers
        .names
        .iter()
        .filter(|name| !modules.iter().any(|(module, _)| layer(module) == **name))
        .map(|name| {
            Finding::fault(ARCHITECTURE, layers.line, format!("`{}` has no layer `{name}`", layers.of))
        })
        .collect();
    for (module, file) in modules.iter() {
        let Some(own) = layers.place(module) else {
            let text =
                format!("`{}` is no layer of `{}`; {ARCHITECTURE} lists them", layer(module), layers.of);
            findings.push(Finding::fault(&file.path, 1, text));
            continue;
        };
        for Import { line, module: other, .. } in modules.imports(module) {
            if layers.place(&other).is_some_and(|place| place > own) {
                let text =
                    format!("`{}` does not know `{}`, which stands above it", layer(module), layer(&other));
                findings.push(Finding::fault(&file.path, line, text));
            }
        }
    }
    findings.dedup();
    findings
}

impl Layers<'_> {
    fn place(&self, module: &str) -> Option<usize> {
        self.names.iter().position(|name| *name == layer(module))
    }
}

fn layer(module: &str) -> &str {
    module.split("::").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::finding::told;
    use super::*;

    const PAGE: (&str, &str) = (ARCHITECTURE, "```layers\na: low < high\n```\n");
    const LOW: (&str, &str) = ("crates/a/src/low/x.rs", "//! X.\n");
    const HIGH: (&str, &str) = ("crates/a/src/high/y.rs", "//! Y.\nuse crate::low::x::X;\n");

    #[test]
    fn a_layer_knows_those_before_it() {
        let repository = Repository::of(&[PAGE, LOW, HIGH, ("crates/a/src/lib.rs", "pub use high::y::Y;\n")]);
        assert_eq!(told(check(&repository)), [""; 0]);
    }

    #[test]
    fn a_layer_knows_none_above_it() {
        let root = ("crates/a/src/lib.rs", "pub use high::y::Y;\n");
        let low = ("crates/a/src/low/x.rs", "//! X.\nuse crate::Y;\nfn f() { crate::high::y::g() }\n");
        let said = "`low` does not know `high`, which stands above it";
        let high = ("crates/a/src/high.rs", "pub mod y;\n");
        assert_eq!(
            told(check(&Repository::of(&[PAGE, root, low, high, HIGH]))),
            [format!("crates/a/src/low/x.rs:2: {said}"), format!("crates/a/src/low/x.rs:3: {said}")]
        );
    }

    #[test]
    fn every_file_is_in_a_layer_and_every_layer_has_files() {
        let page = (ARCHITECTURE, "```layers\na: low < middle < high\n```\n");
        let stray = ("crates/a/src/stray.rs", "//! Z.\n");
        assert_eq!(
            told(check(&Repository::of(&[page, LOW, HIGH, stray]))),
            [
                "crates/a/src/stray.rs:1: `stray` is no layer of `a`; docs/architecture.md lists them",
                "docs/architecture.md:2: `a` has no layer `middle`",
            ]
        );
    }
}
