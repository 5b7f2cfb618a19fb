//! The unit that has the system start the daemon when its user logs in: for systemd, or for launchd on macOS.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use crate::daemon_paths::DaemonPaths;
use crate::painter::one_line;
use crate::style::print;

/// The label of the agent of launchd.
const LABEL: &str = "dev.lineside.daemon";

/// Writes the unit, or prints it. `further` are words of its command line behind those for the paths.
pub(super) fn install(paths: &DaemonPaths, further: &[String], dry_run: bool) -> Result<ExitCode> {
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let mut line = vec![
        program.display().to_string(),
        "serve".to_owned(),
        "--socket".to_owned(),
        paths.socket.display().to_string(),
        "--state".to_owned(),
        paths.state.display().to_string(),
    ];
    line.extend_from_slice(further);
    plain(&line)?;
    let (texts, next) = if cfg!(target_os = "macos") {
        (vec![plist(&line)], "launchctl bootstrap gui/$(id -u)".to_owned())
    } else {
        let next = format!("systemctl --user enable --now {}", NAMES.join(" "));
        (vec![service(&line), socket(&paths.socket)], next)
    };
    let files = files()?;
    let next = if cfg!(target_os = "macos") { format!("{next} {}", files[0].display()) } else { next };
    for (file, text) in files.into_iter().zip(texts) {
        if dry_run {
            print([one_line(&format!("# {}", file.display()))])?;
            // The file as it would be written.
            writeln!(std::io::stdout(), "{text}")?;
        } else {
            write(&file, &text)?;
            print([one_line(&format!("wrote {}", file.display()))])?;
        }
    }
    print(["# to start it now and at each login:".to_owned(), one_line(&format!("# {next}"))])?;
    Ok(ExitCode::SUCCESS)
}

/// The units of systemd.
const NAMES: [&str; 2] = ["lineside.service", "lineside.socket"];

/// Where units of this user are.
fn folder() -> Result<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).context("HOME is not set")?;
    if cfg!(target_os = "macos") {
        return Ok(home.join("Library/LaunchAgents"));
    }
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.filter(|path| path.is_absolute()).unwrap_or_else(|| home.join(".config"));
    Ok(config.join("systemd/user"))
}

/// The files of the units.
fn files() -> Result<Vec<PathBuf>> {
    let folder = folder()?;
    Ok(match cfg!(target_os = "macos") {
        true => vec![folder.join(format!("{LABEL}.plist"))],
        false => NAMES.map(|name| folder.join(name)).to_vec(),
    })
}

/// The files of the units, and the links by which they are started at a login.
///
/// # Errors
/// There is no home.
pub(crate) fn all() -> Result<Vec<PathBuf>> {
    let folder = folder()?;
    let wanted = ["default.target.wants", "sockets.target.wants"];
    let links = wanted.iter().flat_map(|wanted| NAMES.map(|name| folder.join(wanted).join(name)));
    Ok(files()?.into_iter().chain(links).collect())
}

/// The command by which the system lets go of them.
pub(crate) fn release() -> Vec<String> {
    match cfg!(target_os = "macos") {
        true => ["launchctl", "remove", LABEL].map(str::to_owned).to_vec(),
        false => {
            ["systemctl", "--user", "disable", "--now"].into_iter().chain(NAMES).map(str::to_owned).collect()
        }
    }
}

fn write(file: &Path, text: &str) -> Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    }
    fs::write(file, text).with_context(|| format!("failed to write {}", file.display()))
}

/// Refuses words with a line break or another control character, behind which the rest would be a directive of its own.
fn plain(line: &[String]) -> Result<()> {
    match line.iter().find(|word| word.contains(char::is_control)) {
        Some(word) => bail!(
            "{word:?} has a line break or another control character, and no unit can name it; give it another name"
        ),
        None => Ok(()),
    }
}

/// A user unit of systemd.
fn service(line: &[String]) -> String {
    let line: Vec<String> = line.iter().map(|word| quoted(word)).collect();
    format!(
        "[Unit]\nDescription=lineside, the hook bus of this user's agents\n\
         Requires=lineside.socket\nAfter=lineside.socket\n\n\
         [Service]\nType=notify\nExecStart={}\nRestart=on-failure\n\n\
         [Install]\nWantedBy=default.target\n",
        line.join(" ")
    )
}

/// The socket unit: what comes before the daemon listens, or while it is started anew, waits there.
fn socket(path: &Path) -> String {
    let path = path.display().to_string().replace('%', "%%");
    format!(
        "[Unit]\nDescription=the socket of lineside\n\n\
         [Socket]\nListenStream={path}\nSocketMode=0600\nDirectoryMode=0700\n\n\
         [Install]\nWantedBy=sockets.target\n"
    )
}

/// A word of a command line, by the rules of `systemd.service(5)`.
fn quoted(word: &str) -> String {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{escaped}\"")
}

/// An agent of launchd.
fn plist(line: &[String]) -> String {
    let escaped = |word: &String| {
        let word = word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        format!("    <string>{word}</string>\n")
    };
    let words: String = line.iter().map(escaped).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  <string>{LABEL}</string>\n  \
         <key>ProgramArguments</key>\n  <array>\n{words}  </array>\n  <key>RunAtLoad</key>\n  <true/>\n  \
         <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n</dict>\n</plist>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_a_line_break_gets_no_unit() {
        let words = ["/bin/lineside", "--socket", "/tmp/a\nExecStartPre=/bin/evil\n.sock"].map(str::to_owned);
        let said = plain(&words).unwrap_err().to_string();
        assert!(said.contains("line break"), "{said}");
        assert!(plain(&words[..2]).is_ok());
    }

    #[test]
    fn words_stay_words() {
        let line = ["/a b/lineside".to_owned(), "--state".to_owned(), "/x%h\"$HOME\\".to_owned()];
        let unit = service(&line);
        assert!(unit.contains(r#"ExecStart="/a b/lineside" "--state" "/x%%h\"$$HOME\\""#), "{unit}");
        assert!(
            socket(Path::new("/run/a b/50%.sock"))
                .contains("ListenStream=/run/a b/50%%.sock\nSocketMode=0600")
        );
        assert!(plist(&["<&>".to_owned()]).contains("<string>&lt;&amp;&gt;</string>"));
    }
}
