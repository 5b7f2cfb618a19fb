//! `lineside trust`: a person looks at the hooks of a project and says that exactly these may run; `lineside untrust` takes
//! it back.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use lineside::core::Severity;
use lineside::dialects::Places;
use lineside::json::{Map, Value, json};
use lineside::trust::{Content, Reach, Store};

use crate::control::ask;
use crate::daemon_paths::{DaemonArgs, DaemonPaths};
use crate::loading::finding;
use crate::painter::one_line;
use crate::person::types;
use crate::places::{directory, environment};
use crate::project::{Found, find_own, of_user};
use crate::style::{Styles, Tone, count, print, print_json, tell};

mod page;

/// Show what the hooks of a project would run, and trust exactly that.
///
/// Nothing of a project runs before its content is trusted: the files that declare hooks, those that these name, and
/// everything in their folders. Changing any byte of it voids the trust, and the guards stand closed until it is given
/// anew. What was trusted before is shown as a difference.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct TrustArgs {
    /// A folder of the project; without it the current one. The nearest folder at or above it that has hooks is the project.
    #[arg(value_name = "DIR")]
    project: Option<PathBuf>,

    /// Do not ask: trust the content with this digest, and no other.
    #[arg(long, value_name = "DIGEST")]
    yes: Option<String>,

    /// Trust the same content in every folder, as in further clones.
    #[arg(long)]
    anywhere: bool,

    /// Show it, and ask nothing.
    #[arg(long, conflicts_with_all = ["yes", "anywhere"])]
    show: bool,

    /// List what is trusted.
    #[arg(long, conflicts_with_all = ["yes", "anywhere", "show", "project"])]
    list: bool,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    daemon: DaemonArgs,
}

/// Take back the trust in a project: nothing of it runs from then on.
#[derive(Debug, Args)]
pub(crate) struct UntrustArgs {
    /// A folder of the project; without it the current one.
    #[arg(value_name = "DIR")]
    project: Option<PathBuf>,

    #[command(flatten)]
    daemon: DaemonArgs,
}

impl TrustArgs {
    /// The daemon whose store is written, if it is.
    pub(crate) fn records(&self) -> Option<&DaemonArgs> {
        (!self.show && !self.list).then_some(&self.daemon)
    }
}

impl UntrustArgs {
    pub(crate) fn daemon(&self) -> &DaemonArgs {
        &self.daemon
    }
}

const EXIT_STATUS: &str = "\
Exit status:
  0    it is trusted, or was shown
  1    it is not trusted
  2    nothing could be done";

/// What is typed.
const WORD: &str = "trust";
const ELSEWHERE: &str = "consent is asked for at a terminal; without one, name what you have seen";

/// Runs the command.
///
/// # Errors
/// There is no project, its content cannot be trusted, or the consent cannot be asked for or recorded.
pub(crate) async fn run(args: &TrustArgs, styles: Styles) -> Result<ExitCode> {
    let paths = args.daemon.paths()?;
    if args.list {
        return list(&paths, args.json, styles);
    }
    let found = project(args.project.as_deref(), &paths)?.anew(&places());
    let content = match &found.read.content {
        Ok(content) => content,
        Err(error) => bail!("the hooks of {} cannot be trusted: {error}", found.root().display()),
    };
    let digest = content.digest();
    if args.json {
        print_json(&object(&found, content))?;
    } else if args.yes.is_none() {
        print(page::lines(&found, content, &Store::of(&paths.state), styles.out))?;
    }
    let is_new = !found.is_trusted() || args.anywhere;
    if args.show || (!is_new && args.yes.is_none()) {
        return Ok(if found.is_trusted() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    match &args.yes {
        Some(named) if *named == digest => {}
        Some(_) => bail!("the content has another digest: {digest}; `lineside trust --show` shows it"),
        None if !types(WORD, "trust exactly this", &format_args!("{ELSEWHERE}: --yes {digest}"))? => {
            tell("nothing was trusted");
            return Ok(ExitCode::FAILURE);
        }
        None => {}
    }
    let reach = if args.anywhere { Reach::Anywhere } else { Reach::Project };
    Store::of(&paths.state).trust(content, found.read.guards.clone(), reach)?;
    let text = format!("trusted: {} ({digest})", one_line(&found.root().display().to_string()));
    if !args.json {
        print([styles.out.paint(Tone::Good, &text)])?;
    }
    reload(&paths).await;
    Ok(ExitCode::SUCCESS)
}

/// Runs `lineside untrust`.
///
/// # Errors
/// The folder is none, or the store cannot be written.
pub(crate) async fn untrust(args: &UntrustArgs) -> Result<ExitCode> {
    let paths = args.daemon.paths()?;
    let named = args.project.as_deref().unwrap_or(Path::new("."));
    let store = Store::of(&paths.state);
    let root = match directory(named) {
        Ok(folder) => find_own(&folder, &places(), &paths).map_or(folder, |found| found.root().to_path_buf()),
        // What was trusted may be gone since then.
        Err(error) => {
            let root = std::path::absolute(named).ok().map(|root| root.components().collect::<PathBuf>());
            root.filter(|root| store.knows(root)).ok_or(error)?
        }
    };
    let was_trusted = store.untrust(&root)?;
    let what = if was_trusted { "no longer trusted" } else { "was not trusted" };
    print([format!("{what}: {}", one_line(&root.display().to_string()))])?;
    reload(&paths).await;
    Ok(ExitCode::SUCCESS)
}

fn places() -> Places {
    of_user(environment())
}

fn project(named: Option<&Path>, paths: &DaemonPaths) -> Result<Found> {
    let folder = directory(named.unwrap_or(Path::new(".")))?;
    find_own(&folder, &places(), paths).with_context(|| {
        format!("there are no hooks in {} or above it, up to the root of its working tree", folder.display())
    })
}

/// Has a daemon that runs look again. It notices by itself as well, where it watches the project.
pub(crate) async fn reload(paths: &DaemonPaths) {
    let empty = Map::new();
    // Without a daemon there is nothing to reload.
    ask(paths, async |client| client.post::<Map>("/v1/reload", &empty).await).await.ok();
}

fn object(found: &Found, content: &Content) -> Value {
    let items = content
        .items()
        .iter()
        .map(|item| json!({"path": item.path, "kind": item.kind.as_str(), "sha256": item.digest}));
    json!({
        "root": found.root().display().to_string(), "stands": found.word(), "digest": content.digest(),
        "hooks": page::hooks(found), "content": items.collect::<Vec<_>>(),
    })
}

fn list(paths: &DaemonPaths, as_json: bool, styles: Styles) -> Result<ExitCode> {
    let (store, places) = (Store::of(&paths.state), places());
    let (mut rows, mut objects, mut is_sound) = (Vec::new(), Vec::new(), true);
    for (file, record) in store.records() {
        match record {
            Ok(record) => {
                let found = crate::project::at(Path::new(&record.root), &places, paths);
                let reach = if record.anywhere { ", anywhere" } else { "" };
                is_sound &= found.is_trusted();
                let word = if found.is_trusted() { "as trusted" } else { found.word() };
                let root = one_line(&record.root);
                let guards = count(record.guards.len(), "guard");
                rows.push(format!("{root}  {word}{reach}, {guards}, {}", record.digest));
                objects.push(json!({
                    "root": record.root, "stands": found.word(), "digest": record.digest, "anywhere": record.anywhere,
                }));
            }
            Err(error) => {
                is_sound = false;
                let text = format!("{}: {error}", file.display());
                rows.push(finding(&lineside::core::Diagnostic::error(None, text.clone()), styles.out));
                objects.push(json!({"file": file.display().to_string(), "error": error.to_string()}));
            }
        }
    }
    if let Some(wrong) = store.finding() {
        is_sound = false;
        rows.push(format!("{}: {}", Severity::Error.as_str(), one_line(&wrong)));
        objects.push(json!({"error": wrong}));
    }
    if as_json {
        print_json(&json!({"projects": objects}))?;
    } else if rows.is_empty() {
        print(["no project is trusted"])?;
    } else {
        print(rows)?;
    }
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
