//! Each form of what is published, installed into a folder of its own and used there, with a home of its own.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::folder::{files, listed};
use super::{Staged, licences};
use crate::programme::{FOR_A_RUN, must};
use crate::test::step::Counts;
use crate::tools::python;

/// One form.
struct Form {
    /// As the command itself calls the way in which it was installed.
    name: &'static str,
    /// Installs it into a folder, and gives the command.
    install: fn(&Staged<'_>, &Path) -> Result<PathBuf>,
    /// Removes it as the one who installed it does; nothing where the command removes itself.
    remove: fn(&Path) -> Result<()>,
}

const FORMS: &[Form] = &[
    Form { name: "tarball", install: unpack, remove: |_| Ok(()) },
    Form { name: "pip", install: pip, remove: pip_remove },
    Form { name: "npm", install: npm, remove: npm_remove },
    #[cfg(target_os = "linux")]
    Form { name: "deb", install: debian, remove: debian_remove },
];

/// Settings of an agent program, which are to be the same bytes at the end.
const SETTINGS: &str = "{\n  \"model\": \"opus\"\n}\n";

/// Installs and tries every form.
pub(super) fn of_every_form(staged: &Staged<'_>) -> Result<Counts> {
    let mut counts = Counts::default();
    for form in FORMS {
        println!("{} is tried", form.name);
        let room = tempfile::tempdir()?;
        // Links in the path of the folder for temporary files are no difference.
        let room = room.path().canonicalize()?;
        counts += match tried(staged, form, &room) {
            Ok(()) => Counts::ONE_PASSED,
            Err(error) => {
                println!("{} does not do what it should: {error:#}", form.name);
                Counts::ONE_FAILED
            }
        };
    }
    Ok(counts)
}

fn tried(staged: &Staged<'_>, form: &Form, room: &Path) -> Result<()> {
    let prefix = room.join("prefix");
    fs::create_dir(&prefix)?;
    let command = (form.install)(staged, &prefix)?;
    let home = Home::new(room, &command)?;
    if let Err(error) = used(staged, form, &prefix, &home) {
        // A daemon whose home is removed would run on.
        return Err(match home.run(&["stop"]) {
            Ok(_) => error,
            Err(stop) => error.context(format!("its daemon may run still ({stop:#})")),
        });
    }
    (form.remove)(&prefix)?;
    let left = programs(&prefix)?;
    ensure!(left.is_empty(), "its programs stay: {left:?}");
    Ok(())
}

/// What a person does with it, until all of it is away but the programs.
fn used(staged: &Staged<'_>, form: &Form, prefix: &Path, home: &Home) -> Result<()> {
    let installed = files(prefix)?;
    for (file, what, named) in [
        (licences::THIRD_PARTY, "what is compiled in", "\ntokio "),
        (licences::STANDARD_LIBRARY, "Rust's standard library", "The Rust Project Developers"),
    ] {
        let text = installed.iter().find(|path| path.ends_with(file));
        let text = fs::read_to_string(text.with_context(|| format!("it has no licences of {what}"))?)?;
        ensure!(text.contains(named), "its licences are not those of {what}");
    }
    let said = home.run(&["--version"])?;
    ensure!(said.contains(&staged.version), "its version is {said}");
    home.run(&["demo", "--fast"])?;
    let installed = home.run(&["update", "--json", "--offline"])?;
    let named = format!("\"from\":\"{}\"", form.name);
    ensure!(
        installed.replace(": ", ":").contains(&named),
        "it does not know that it is of {}: {installed}",
        form.name
    );

    let settings = home.folder.join(".claude/settings.json");
    fs::create_dir(home.folder.join(".claude"))?;
    fs::write(&settings, SETTINGS)?;
    let before = contents(&home.folder)?;
    home.run(&["install", "claude"])?;
    let entries = fs::read_to_string(&settings)?;
    let starts_it = entries.contains("\"hook\"") && entries.contains(&prefix.display().to_string());
    ensure!(starts_it, "it installs no entry that starts it: {entries}");
    home.run(&["uninstall", "claude"])?;
    ensure!(fs::read_to_string(&settings)? == SETTINGS, "its entries do not go as they came");

    home.run(&["install", "claude"])?;
    home.run(&["init"])?;
    home.types("everything", &["uninstall", "--everything"])?;
    let after = contents(&home.folder)?;
    ensure!(before == after, "it leaves something: {before:?} is {after:?} now");
    Ok(())
}

/// A person's home, and the command as it is found there.
struct Home {
    folder: PathBuf,
    command: PathBuf,
    path: OsString,
}

/// Has a terminal of its own for a command, and types a word there.
const TERMINAL: &str = "\
import os, pty, sys
process, terminal = pty.fork()
if process == 0:
    os.execv(sys.argv[2], sys.argv[2:])
os.write(terminal, sys.argv[1].encode() + b'\\n')
try:
    while said := os.read(terminal, 4096):
        os.write(1, said)
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
";

impl Home {
    fn new(room: &Path, command: &Path) -> Result<Self> {
        let folder = room.join("home");
        fs::create_dir(&folder)?;
        let own = command.parent().map(Path::to_path_buf).into_iter();
        let others = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(own.chain(env::split_paths(&others)))?;
        Ok(Self { folder, command: command.to_owned(), path })
    }

    fn run(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.command);
        Ok(must(self.in_it(command.args(arguments)), FOR_A_RUN)?.lines.join("\n"))
    }

    fn types(&self, word: &str, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new(python()?);
        command.args(["-c", TERMINAL, word]).arg(&self.command).args(arguments);
        must(self.in_it(&mut command), FOR_A_RUN)?;
        Ok(())
    }

    fn in_it<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env_clear().env("HOME", &self.folder).env("PATH", &self.path).current_dir(&self.folder)
    }
}

/// Every file and folder below a folder, with the bytes of the files.
fn contents(folder: &Path) -> Result<BTreeMap<PathBuf, Option<Vec<u8>>>> {
    let mut found = BTreeMap::new();
    for path in listed(folder)? {
        let is_folder = path.is_dir() && !path.is_symlink();
        if is_folder {
            found.extend(contents(&path)?);
        }
        let bytes = if is_folder { None } else { Some(fs::read(&path).unwrap_or_default()) };
        found.insert(path, bytes);
    }
    Ok(found)
}

/// What is called as the command, anywhere below a folder.
fn programs(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_program = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.trim_start_matches('_').starts_with("lineside")
    };
    Ok(files(folder)?.into_iter().filter(is_program).collect())
}

fn unpack(staged: &Staged<'_>, prefix: &Path) -> Result<PathBuf> {
    let mut tar = Command::new("tar");
    must(
        tar.arg("-C").arg(prefix).args(["--strip-components=1", "-xf"]).arg(staged.packed("gz")?),
        FOR_A_RUN,
    )?;
    Ok(prefix.join("bin/lineside"))
}

/// Hooks of a program that `pip` alone has installed.
const PYTHON: &str = "\
from lineside import BeforeTool, sync
with sync.Client.private() as client, client.session(agent='main') as session:
    print(session.publish(BeforeTool('Shell', {'command': 'ls'})).verdict)
";

fn pip(staged: &Staged<'_>, prefix: &Path) -> Result<PathBuf> {
    must(Command::new(python()?).args(["-m", "venv"]).arg(prefix), FOR_A_RUN)?;
    let own = prefix.join("bin/python3");
    let mut install = Command::new(&own);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]);
    must(install.arg(staged.packed("whl")?), FOR_A_RUN)?;
    let said = must(Command::new(&own).args(["-c", PYTHON]).env("HOME", prefix), FOR_A_RUN)?.lines;
    ensure!(said.iter().any(|line| line == "continue"), "the package for Python says {said:?}");
    Ok(prefix.join("bin/lineside"))
}

fn pip_remove(prefix: &Path) -> Result<()> {
    let mut remove = Command::new(prefix.join("bin/python3"));
    must(remove.args(["-m", "pip", "uninstall", "--quiet", "--yes", "lineside"]), FOR_A_RUN)?;
    Ok(())
}

/// The same for Node.
const NODE: &str = "\
import { Client } from 'lineside';
const client = await Client.connect();
const session = await client.session('main');
console.log((await session.publish('before_tool', { tool_name: 'Shell', tool_input: { command: 'ls' } })).verdict);
await session.close();
await client.close();
";

fn npm(staged: &Staged<'_>, prefix: &Path) -> Result<PathBuf> {
    fs::write(prefix.join("package.json"), "{\"type\": \"module\"}")?;
    let packages =
        listed(&staged.out)?.into_iter().filter(|path| path.extension().is_some_and(|end| end == "tgz"));
    let mut install = Command::new("npm");
    // What is not in the files is not asked for: other platforms, and frameworks of adapters.
    install.args([
        "install", "--offline", "--omit=peer", "--no-audit", "--no-fund", "--loglevel=error", "--cache",
    ]);
    install.arg(prefix.join("cache")).args(packages).current_dir(prefix);
    must(&mut install, FOR_A_RUN)?;
    fs::remove_dir_all(prefix.join("cache"))?;
    let mut node = Command::new("node");
    node.args(["--input-type=module", "-e", NODE]).current_dir(prefix).env("HOME", prefix);
    node.env("XDG_RUNTIME_DIR", prefix);
    let said = must(&mut node, FOR_A_RUN)?.lines;
    ensure!(said.iter().any(|line| line == "continue"), "the package for Node says {said:?}");
    Ok(prefix.join("node_modules/.bin/lineside"))
}

fn npm_remove(prefix: &Path) -> Result<()> {
    let names = fs::read_dir(prefix.join("node_modules/@lineside"))?;
    let names = names.map(|name| Ok(format!("@lineside/{}", name?.file_name().to_string_lossy())));
    let names = names.collect::<Result<Vec<_>>>()?;
    let mut remove = Command::new("npm");
    remove.args(["uninstall", "--offline", "--no-audit", "--no-fund", "--loglevel=error", "lineside"]);
    must(remove.args(names).current_dir(prefix), FOR_A_RUN)?;
    Ok(())
}

/// The folders that `dpkg` keeps its books in, below a root of its own.
const BOOKS: [&str; 2] = ["var/lib/dpkg/info", "var/lib/dpkg/updates"];

#[cfg(target_os = "linux")]
fn debian(staged: &Staged<'_>, prefix: &Path) -> Result<PathBuf> {
    for folder in BOOKS {
        fs::create_dir_all(prefix.join(folder))?;
    }
    fs::write(prefix.join("var/lib/dpkg/status"), "")?;
    must(dpkg(prefix).arg("--install").arg(staged.packed("deb")?), FOR_A_RUN)?;
    Ok(prefix.join("usr/bin/lineside"))
}

#[cfg(target_os = "linux")]
fn debian_remove(prefix: &Path) -> Result<()> {
    must(dpkg(prefix).args(["--purge", "lineside"]), FOR_A_RUN)?;
    Ok(())
}

/// `dpkg` on a root with nothing else in it, by any user.
#[cfg(target_os = "linux")]
fn dpkg(prefix: &Path) -> Command {
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--root={}", prefix.display()))
        .args(["--force-depends", "--force-not-root", "--log=/dev/null"]);
    dpkg
}
