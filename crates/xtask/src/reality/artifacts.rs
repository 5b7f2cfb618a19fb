//! Which plugins are compared, and what is known of each.

use super::downloads::Package;

/// A published plugin.
#[derive(Debug)]
pub(super) struct Artifact {
    /// Its package of npm; `openclaw/ID` is shipped with OpenClaw.
    pub(super) package: &'static str,
    pub(super) version: &'static str,
    /// Its id.
    pub(super) id: &'static str,
    /// The folder of the package that its own installer copies to `extensions`, if there is one.
    pub(super) inside: &'static str,
    /// The slot that it needs, if it is for one.
    pub(super) slot: Option<&'static str>,
    /// Its configuration, in JSON.
    pub(super) config: &'static str,
    /// Whether it is played on a machine that has OpenClaw, whose SDK it is made of.
    pub(super) needs_openclaw: bool,
    /// Where it is not the same in lineside: a text that each difference has in it, and why.
    pub(super) explained: Option<(&'static str, &'static str)>,
}

impl Artifact {
    pub(super) fn name(&self) -> String {
        format!("`{}` {}", self.package, self.version)
    }

    /// The package that is fetched for it; none for one that OpenClaw has.
    pub(super) fn package(&self) -> Option<Package> {
        (!self.package.starts_with("openclaw/")).then_some(Package::npm(self.package, self.version))
    }
}

const fn plain(package: &'static str, version: &'static str, id: &'static str) -> Artifact {
    Artifact {
        package,
        version,
        id,
        inside: "",
        slot: None,
        config: "{}",
        needs_openclaw: false,
        explained: None,
    }
}

/// Of the makers of OpenClaw.
const fn official(package: &'static str, version: &'static str, id: &'static str) -> Artifact {
    Artifact { needs_openclaw: true, ..plain(package, version, id) }
}

const fn memory(package: &'static str, version: &'static str, id: &'static str) -> Artifact {
    Artifact { slot: Some("memory"), ..plain(package, version, id) }
}

#[rustfmt::skip]
pub(super) static ARTIFACTS: [Artifact; 24] = [
    plain("@calltelemetry/openclaw-linear", "0.9.29", "openclaw-linear"),
    plain("@happycastle/oh-my-openclaw", "0.21.3", "oh-my-openclaw"),
    plain("@jiggai/kitchen", "0.6.3", "kitchen"),
    plain("@jiggai/recipes", "0.5.2", "recipes"),
    plain("@laurentenhoor/devclaw", "1.6.10", "devclaw"),
    Artifact { config: r#"{"apiKey": "none", "userId": "somebody"}"#, ..memory("@mem0/openclaw-mem0", "1.0.16", "openclaw-mem0") },
    plain("@mocrane/wecom", "2026.3.24", "wecom"),
    Artifact {
        explained: Some(("", "its `register` needs the model credentials of OpenClaw's gateway, which lineside does not have")),
        ..official("@openclaw/codex", "2026.9.5", "codex")
    },
    official("@openclaw/discord", "2026.9.6", "discord"),
    official("@openclaw/feishu", "2026.9.5", "feishu"),
    official("@openclaw/matrix", "2026.9.6", "matrix"),
    plain("@projectavatar/openclaw-avatar", "2.2.0", "openclaw-avatar"),
    Artifact { slot: Some("contextEngine"), ..plain("@robertogongora/graphiti", "0.6.2", "graphiti") },
    plain("@soimy/dingtalk", "3.6.7", "dingtalk"),
    Artifact {
        explained: Some(("before_agent_start", "`before_agent_start` is no hook of OpenClaw 2026.9.6 any more; lineside calls it")),
        ..plain("jasper-context-compactor", "0.4.1", "context-compactor")
    },
    Artifact { config: r#"{"apiKey": "none"}"#, ..plain("simmer-automaton", "0.7.2", "simmer-automaton") },
    official("openclaw/active-memory", "2026.9.6", "active-memory"),
    Artifact { slot: Some("memory"), ..official("openclaw/memory-core", "2026.9.6", "memory-core") },
    Artifact {
        explained: Some(("", "its `register` opens a store of OpenClaw's database, which lineside does not have")),
        ..official("openclaw/browser", "2026.9.6", "browser")
    },
    Artifact {
        explained: Some(("", "its `register` opens a store of OpenClaw's database, which lineside does not have")),
        ..official("openclaw/onepassword", "2026.9.6", "onepassword")
    },
    official("openclaw/workboard", "2026.9.6", "workboard"),
    Artifact {
        inside: "openclaw",
        explained: Some(("claude-mem:before_agent_start", "`before_agent_start` is no hook of OpenClaw 2026.9.6 any more; lineside calls it")),
        ..memory("claude-mem", "13.25.3", "claude-mem")
    },
    official("nemo-flow-openclaw", "0.2.0", "nemo-flow"),
    official("nemo-relay-openclaw", "0.9.2", "nemo-relay"),
];
