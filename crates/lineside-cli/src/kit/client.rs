//! The client of a language as one file: the modules of its package one behind the other, without the lines that join them.

use std::collections::BTreeSet;

/// The client of a language.
pub(super) struct Client {
    pub(super) language: &'static str,
    /// What stands above all modules.
    head: &'static str,
    /// The modules, each behind those that it uses.
    modules: &'static [&'static str],
    /// What becomes of a line of a module.
    place: fn(&str) -> Place,
}

/// What becomes of a line of a module.
enum Place {
    /// It stays.
    Stays,
    /// It stands once, above all modules.
    Above,
    /// It joins two modules.
    Goes,
}

/// All of them.
pub(super) const CLIENTS: [Client; 2] = [PYTHON, TYPESCRIPT];

const TYPESCRIPT: Client = Client {
    language: "typescript",
    head: "// The client of lineside's daemon as one file, as `lineside kit typescript --client` prints it. It needs Node 20 and no\n\
        // package.\n",
    modules: &[
        include_str!("../../embedded/node/wire.ts"),
        include_str!("../../embedded/node/publish.ts"),
        include_str!("../../embedded/node/environment.ts"),
        include_str!("../../embedded/node/daemon.ts"),
        include_str!("../../embedded/node/points.ts"),
        include_str!("../../embedded/node/decision.ts"),
        include_str!("../../embedded/node/attach.ts"),
        include_str!("../../embedded/node/hooks.ts"),
        include_str!("../../embedded/node/observe.ts"),
        include_str!("../../embedded/node/client.ts"),
    ],
    place: of_typescript,
};

const PYTHON: Client = Client {
    language: "python",
    head: "# The client of lineside's daemon as one file, as `lineside kit python --client` prints it. It needs Python 3.10 and no\n\
        # package.\n",
    modules: &[
        include_str!("../../embedded/python/errors.py"),
        include_str!("../../embedded/python/_payload.py"),
        include_str!("../../embedded/python/points.py"),
        include_str!("../../embedded/python/_wire.py"),
        include_str!("../../embedded/python/daemon.py"),
        include_str!("../../embedded/python/hooks.py"),
        include_str!("../../embedded/python/signals.py"),
        include_str!("../../embedded/python/client.py"),
    ],
    place: of_python,
};

/// Each import at the top of a module of the package stands in one line.
fn of_python(line: &str) -> Place {
    match line {
        _ if line.starts_with("from .") => Place::Goes,
        _ if line.starts_with("from ") || line.starts_with("import ") => Place::Above,
        _ => Place::Stays,
    }
}

/// Each `import` and each `export … from` of the package stands in one line.
fn of_typescript(line: &str) -> Place {
    let joins = line.contains(" from './");
    match line.starts_with("import ") {
        true if joins => Place::Goes,
        true => Place::Above,
        false if joins && line.starts_with("export ") => Place::Goes,
        false => Place::Stays,
    }
}

impl Client {
    /// The file.
    pub(super) fn text(&self) -> String {
        let (mut above, mut below) = (BTreeSet::new(), String::new());
        for module in self.modules {
            below.push('\n');
            for line in module.lines() {
                match (self.place)(line) {
                    Place::Stays => below.extend([line, "\n"]),
                    Place::Above => drop(above.insert(line)),
                    Place::Goes => {}
                }
            }
        }
        let above: String = above.iter().flat_map(|line| [*line, "\n"]).collect();
        format!("{}\n{above}{below}", self.head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_stand_one_behind_the_other_and_what_they_import_from_elsewhere_above_them() {
        let client = Client {
            language: "typescript",
            head: "// Head.\n",
            modules: &[
                "// One.\n\nimport os from 'node:os';\n\nexport const one = os.EOL;\n",
                "// Two.\n\nimport os from 'node:os';\nimport { one } from './one.ts';\n\nexport type { A } from './a.ts';\nexport const two = one;\n",
            ],
            place: of_typescript,
        };
        assert_eq!(
            client.text(),
            "// Head.\n\nimport os from 'node:os';\n\n// One.\n\n\nexport const one = os.EOL;\n\n// Two.\n\n\nexport const two = one;\n"
        );
    }

    #[test]
    fn modules_of_python_keep_what_they_load_when_it_is_needed() {
        let client = Client {
            language: "python",
            head: "# Head.\n",
            modules: &[
                "\"\"\"One.\"\"\"\n\nfrom __future__ import annotations\n\nimport os\n\nONE = os.sep\n",
                "\"\"\"Two.\"\"\"\n\nfrom __future__ import annotations\n\nfrom .one import ONE\n\n\ndef two():\n    import json\n    return json.dumps(ONE)\n",
            ],
            place: of_python,
        };
        assert_eq!(
            client.text(),
            "# Head.\n\nfrom __future__ import annotations\nimport os\n\n\"\"\"One.\"\"\"\n\n\n\nONE = os.sep\n\n\"\"\"Two.\"\"\"\n\n\n\n\ndef two():\n    \
             import json\n    return json.dumps(ONE)\n"
        );
    }
}
