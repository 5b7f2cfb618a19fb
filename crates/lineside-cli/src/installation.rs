//! How this command was installed, known by what its installer has left on the disk: one function for each way.
//!
//! No program is asked here. The question for a newer version is a value, which `update` asks.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;
use serde::Deserialize;

use crate::on_path::{is_program, own};

/// An installation of this command.
#[derive(Debug)]
pub(crate) struct Installation {
    /// Who installed it, as programs read it.
    pub(crate) from: &'static str,
    /// Where, for people.
    pub(crate) place: PathBuf,
    /// How the newest version is asked for; none where nothing answers that.
    pub(crate) question: Option<VersionQuestion>,
    /// The command that brings a newer one.
    pub(crate) update: String,
    pub(crate) removal: Removal,
}

/// How the programs go.
#[derive(Debug)]
pub(crate) enum Removal {
    /// By this command of the installer, which keeps a list of what it has put where.
    By(String),
    /// By removing these files, which no installer knows.
    Files(Vec<PathBuf>),
    /// They were not installed.
    None,
}

/// A program that is asked for the newest version.
#[derive(Debug)]
pub(crate) struct VersionQuestion {
    pub(crate) argv: Vec<String>,
    pub(crate) answer: Answer,
}

/// Where the output of such a program has what is new.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// A version, in the first line that begins so, up to this character.
    Version { after: &'static str, until: char },
    /// A number of commits.
    Commits,
}

const OF_NPM: Answer = Answer::Version { after: "", until: '\n' };
/// `lineside (1.2.3)`.
const OF_PIP: Answer = Answer::Version { after: "lineside (", until: ')' };
/// `  Candidate: 1.2.3-1`.
const OF_APT: Answer = Answer::Version { after: "Candidate: ", until: '-' };
/// `version: 1.2.3 (latest 1.2.4)`.
const OF_CARGO: Answer = Answer::Version { after: "version: ", until: ' ' };

impl Answer {
    /// What is new; none where the output has no answer.
    pub(crate) fn read(self, output: &str) -> Option<Newest> {
        match self {
            Self::Version { after, until } => {
                let found = output.lines().find_map(|line| line.trim().strip_prefix(after))?;
                let version = found.split(until).next()?;
                version.starts_with(|c: char| c.is_ascii_digit()).then(|| Newest::Version(version.to_owned()))
            }
            Self::Commits => output.trim().parse().ok().map(Newest::Commits),
        }
    }
}

/// What is the newest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Newest {
    Version(String),
    /// So many commits beyond the ones here.
    Commits(u64),
}

/// Who installed a copy that no installer knows.
const UNKNOWN: &str = "nothing";

/// What is left by each installer, the most certain ones first.
const WAYS: [fn(&Path) -> Option<Installation>; 5] = [npm, pip, deb, listed, cargo];

/// That of this process.
///
/// # Errors
/// It is not known where this program is.
pub(crate) fn own_installation() -> Result<Installation> {
    let own = own()?;
    Ok(WAYS.iter().find_map(|way| way(&own)).unwrap_or_else(|| Installation {
        from: UNKNOWN,
        update: "cargo xtask install --root DIR, in a clone of the repository, puts a program that can be updated into DIR/bin"
            .to_owned(),
        place: own,
        question: None,
        removal: Removal::None,
    }))
}

impl Installation {
    /// Whether it is a copy that no installer knows, which nothing can be asked about.
    pub(crate) fn is_copy(&self) -> bool {
        self.from == UNKNOWN
    }
}

/// The folder of an installation that has its programs in `bin`.
fn prefix(program: &Path) -> Option<&Path> {
    let bin = program.parent()?;
    (bin.file_name()? == "bin").then_some(bin)?.parent()
}

fn argv<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// A word of a command line for people.
fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn npm(program: &Path) -> Option<Installation> {
    let scope =
        program.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "@lineside"))?;
    // A package may lie in that of another one: the outermost is the one in whose project it is.
    let mut project = PathBuf::new();
    let outer = scope.components().take_while(|part| *part != Component::Normal("node_modules".as_ref()));
    project.extend(outer);
    let is_global = project.file_name().is_some_and(|name| name == "lib");
    let whose = if is_global { "--global".to_owned() } else { format!("--prefix {}", word(&project)) };
    Some(Installation {
        from: "npm",
        question: Some(VersionQuestion {
            argv: argv(["npm", "view", "lineside", "version"]),
            answer: OF_NPM,
        }),
        update: format!("npm install {whose} lineside@latest"),
        removal: Removal::By(format!("npm uninstall {whose} lineside")),
        place: project,
    })
}

/// Installers of Python that keep an environment for each command, by a part of its path.
const TOOLS: [(&str, &str); 2] = [("pipx/venvs", "pipx"), ("uv/tools", "uv tool")];

fn pip(program: &Path) -> Option<Installation> {
    let prefix = prefix(program)?;
    let libraries = fs::read_dir(prefix.join("lib")).ok()?.flatten().map(|entry| entry.path());
    let packages =
        libraries.flat_map(|library| ["site-packages", "dist-packages"].map(|name| library.join(name)));
    let is_ours = |name: &str| name.starts_with("lineside-") && name.ends_with(".dist-info");
    let information = packages.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let information = information
        .map(|entry| entry.path())
        .find(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_ours))?;
    let own = prefix.join("bin/python3");
    let python = if is_program(&own) { own } else { PathBuf::from("python3") };
    let (named, quoted) = (python.display().to_string(), word(&python));
    let path = prefix.display().to_string();
    let tool = TOOLS.iter().find(|(part, _)| path.contains(part));
    let installer = fs::read_to_string(information.join("INSTALLER")).unwrap_or_default();
    let (update, removal) = match tool {
        Some((_, tool)) => (format!("{tool} upgrade lineside"), format!("{tool} uninstall lineside")),
        None if installer.trim() == "uv" => (
            format!("uv pip install --python {quoted} --upgrade lineside"),
            format!("uv pip uninstall --python {quoted} lineside"),
        ),
        None => (
            format!("{quoted} -m pip install --upgrade lineside"),
            format!("{quoted} -m pip uninstall lineside"),
        ),
    };
    Some(Installation {
        from: "pip",
        question: Some(VersionQuestion {
            argv: argv([&named, "-m", "pip", "index", "versions", "lineside"]),
            answer: OF_PIP,
        }),
        update,
        removal: Removal::By(removal),
        place: prefix.to_owned(),
    })
}

fn deb(program: &Path) -> Option<Installation> {
    let root = prefix(program)?.parent()?;
    let list = fs::read_to_string(root.join("var/lib/dpkg/info/lineside.list")).ok()?;
    let own = Path::new("/").join(program.strip_prefix(root).ok()?);
    list.lines().any(|line| Path::new(line) == own).then(|| Installation {
        from: "deb",
        place: root.to_owned(),
        question: Some(VersionQuestion { argv: argv(["apt-cache", "policy", "lineside"]), answer: OF_APT }),
        update: "sudo apt-get install lineside, or the path of a newer .deb in the place of the name"
            .to_owned(),
        removal: Removal::By("sudo apt-get purge lineside".to_owned()),
    })
}

/// Below the folder of an installation that no installer keeps the books of; `cargo xtask` writes it.
const LISTED: &str = "share/lineside/installed.json";

/// What stands in it.
#[derive(Deserialize)]
struct Listed {
    #[serde(flatten)]
    origin: Origin,
    /// Relative to the folder of the installation.
    files: Vec<PathBuf>,
}

#[derive(Deserialize)]
#[serde(tag = "from", rename_all = "lowercase")]
enum Origin {
    Clone { clone: PathBuf },
    Tarball,
}

fn listed(program: &Path) -> Option<Installation> {
    let prefix = prefix(program)?;
    let text = fs::read(prefix.join(LISTED)).ok()?;
    let Listed { origin, files } = serde_json::from_slice(&text).ok()?;
    let is_below = |file: &PathBuf| file.components().all(|part| matches!(part, Component::Normal(_)));
    let is_own = files.iter().any(|file| prefix.join(file) == program);
    if !is_own || !files.iter().all(is_below) {
        return None;
    }
    let place = word(prefix);
    let (from, question, update) = match origin {
        Origin::Tarball => {
            let update = format!("tar -C {place} --strip-components=1 -xf, and the newer tarball");
            ("tarball", None, update)
        }
        Origin::Clone { clone } => {
            let folder = clone.display().to_string();
            let argv = argv(["git", "-C", &folder, "rev-list", "--count", "HEAD..@{upstream}"]);
            let clone = word(&clone);
            let update = format!("git -C {clone} pull && cd {clone} && cargo xtask install --root {place}");
            ("clone", Some(VersionQuestion { argv, answer: Answer::Commits }), update)
        }
    };
    let files = files.iter().map(|file| prefix.join(file)).chain([prefix.join(LISTED)]).collect();
    Some(Installation { from, place: prefix.to_owned(), question, update, removal: Removal::Files(files) })
}

fn cargo(program: &Path) -> Option<Installation> {
    let prefix = prefix(program)?;
    let list = fs::read_to_string(prefix.join(".crates2.json")).ok()?;
    list.contains("\"lineside-cli ").then(|| Installation {
        from: "cargo",
        place: prefix.to_owned(),
        question: Some(VersionQuestion { argv: argv(["cargo", "info", "lineside-cli"]), answer: OF_CARGO }),
        update: format!("cargo install --root {} lineside-cli", word(prefix)),
        removal: Removal::By(format!("cargo uninstall --root {} lineside-cli", word(prefix))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(root: &Path, files: &[(&str, &str)]) {
        for (file, text) in files {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
    }

    fn found(root: &Path, program: &str) -> Option<Installation> {
        WAYS.iter().find_map(|way| way(&root.join(program)))
    }

    #[test]
    fn each_installer_is_known_by_what_it_leaves() {
        let room = tempfile::tempdir().unwrap();
        let root = room.path();
        let listed = r#"{"from": "tarball", "files": ["bin/lineside", "bin/lineside-full"]}"#;
        let clone = r#"{"from": "clone", "clone": "/src/it", "files": ["bin/lineside-full"]}"#;
        make(
            root,
            &[
                ("tar/share/lineside/installed.json", listed),
                ("own/share/lineside/installed.json", clone),
                ("venv/lib/python3.12/site-packages/lineside-0.1.0.dist-info/INSTALLER", "pip\n"),
                (
                    "pipx/venvs/lineside/lib/python3.12/site-packages/lineside-0.1.0.dist-info/INSTALLER",
                    "pip\n",
                ),
                ("uv/lib/python3.12/site-packages/lineside-0.1.0.dist-info/INSTALLER", "uv"),
                ("deb/var/lib/dpkg/info/lineside.list", "/.\n/usr/bin/lineside-full\n"),
                ("cargo/.crates2.json", r#"{"installs":{"lineside-cli 0.1.0 (registry)":{}}}"#),
                ("other/lib/python3.12/site-packages/linesideways-0.1.0.dist-info/INSTALLER", "pip\n"),
            ],
        );
        let update = |program: &str| {
            let found = found(root, program).map(|found| (found.from, found.update));
            let root = root.display().to_string();
            found.map(|(from, update)| format!("{from}: {}", update.replace(&root, "~")))
        };
        for (program, expected) in [
            (
                "tar/bin/lineside-full",
                "tarball: tar -C ~/tar --strip-components=1 -xf, and the newer tarball",
            ),
            (
                "own/bin/lineside-full",
                "clone: git -C /src/it pull && cd /src/it && cargo xtask install --root ~/own",
            ),
            ("venv/bin/lineside-full", "pip: python3 -m pip install --upgrade lineside"),
            ("pipx/venvs/lineside/bin/lineside-full", "pip: pipx upgrade lineside"),
            ("uv/bin/lineside-full", "pip: uv pip install --python python3 --upgrade lineside"),
            (
                "deb/usr/bin/lineside-full",
                "deb: sudo apt-get install lineside, or the path of a newer .deb in the place of the name",
            ),
            ("cargo/bin/lineside", "cargo: cargo install --root ~/cargo lineside-cli"),
            (
                "app/node_modules/x/node_modules/@lineside/linux-x64/bin/lineside-full",
                "npm: npm install --prefix ~/app lineside@latest",
            ),
            (
                "usr/lib/node_modules/lineside/node_modules/@lineside/linux-x64/bin/lineside-full",
                "npm: npm install --global lineside@latest",
            ),
        ] {
            assert_eq!(update(program).as_deref(), Some(expected), "{program}");
        }
        assert!(found(root, "other/bin/lineside-full").is_none());
        assert!(found(root, "tar/bin/another").is_none(), "what the list does not have is not of it");
    }

    #[test]
    fn a_list_that_leads_out_of_its_installation_removes_nothing() {
        let room = tempfile::tempdir().unwrap();
        let text = r#"{"from": "tarball", "files": ["bin/lineside-full", "../precious"]}"#;
        make(room.path(), &[("tar/share/lineside/installed.json", text)]);
        assert!(found(room.path(), "tar/bin/lineside-full").is_none());
    }

    #[test]
    fn answers_of_installers_are_read() {
        let version = |text: &str| Some(Newest::Version(text.to_owned()));
        assert_eq!(OF_NPM.read("0.2.0\n"), version("0.2.0"));
        assert_eq!(OF_NPM.read("npm error code E404\n"), None);
        assert_eq!(OF_PIP.read("lineside (1.2.3)\nAvailable versions: 1.2.3\n"), version("1.2.3"));
        assert_eq!(OF_APT.read("lineside:\n  Installed: 0.1.0-1\n  Candidate: 0.1.1-1\n"), version("0.1.1"));
        assert_eq!(OF_APT.read("lineside:\n  Candidate: (none)\n"), None);
        assert_eq!(OF_CARGO.read("lineside-cli\nversion: 0.3.0 (latest 0.4.0)\n"), version("0.3.0"));
        assert_eq!(Answer::Commits.read("7\n"), Some(Newest::Commits(7)));
    }
}
