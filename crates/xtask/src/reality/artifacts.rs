//! Which plugins are compared, and what is known of each.

/// A published plugin.
#[derive(Debug)]
pub(super) struct Artifact {
    /// Its package of npm; `openclaw/ID` is shipped with OpenClaw.
    pub(super) package: &'static str,
    pub(super) version: &'static str,
    /// Its id.
    pub(super) id: &'static str,
    /// The slot that it needs, if it is for one.
    pub(super) slot: Option<&'static str>,
    /// Its configuration, in JSON.
    pub(super) config: &'static str,
    /// Whether it is played on a machine that has OpenClaw, whose SDK it is made of.
    pub(super) needs_openclaw: bool,
    /// Why it is not the same in lineside, where it is not.
    pub(super) explained: Option<&'static str>,
}

const fn plain(package: &'static str, version: &'static str, id: &'static str) -> Artifact {
    Artifact { package, version, id, slot: None, config: "{}", needs_openclaw: false, explained: None }
}

/// Of the makers of OpenClaw.
const fn official(package: &'static str, version: &'static str, id: &'static str) -> Artifact {
    Artifact { needs_openclaw: true, ..plain(package, version, id) }
}

const fn memory(package: &'static str, version: &'static str, id: &'static str) -> Artifact {
    Artifact { slot: Some("memory"), ..plain(package, version, id) }
}

#[rustfmt::skip]
pub(super) static ARTIFACTS: [Artifact; 23] = [
    plain("@calltelemetry/openclaw-linear", "0.9.29", "openclaw-linear"),
    plain("@happycastle/oh-my-openclaw", "0.21.3", "oh-my-openclaw"),
    plain("@jiggai/kitchen", "0.6.3", "kitchen"),
    plain("@jiggai/recipes", "0.5.2", "recipes"),
    plain("@laurentenhoor/devclaw", "1.6.10", "devclaw"),
    Artifact { config: r#"{"apiKey": "none", "userId": "somebody"}"#, ..memory("@mem0/openclaw-mem0", "1.0.16", "openclaw-mem0") },
    plain("@mocrane/wecom", "2026.3.24", "wecom"),
    Artifact {
        explained: Some("its `register` needs the model credentials of OpenClaw's gateway, which lineside does not have"),
        ..official("@openclaw/codex", "2026.9.5", "codex")
    },
    official("@openclaw/discord", "2026.9.6", "discord"),
    official("@openclaw/feishu", "2026.9.5", "feishu"),
    official("@openclaw/matrix", "2026.9.6", "matrix"),
    official("@openclaw/slack", "2026.9.6", "slack"),
    official("@openclaw/tokenjuice", "2026.9.5", "tokenjuice"),
    plain("@projectavatar/openclaw-avatar", "2.2.0", "openclaw-avatar"),
    Artifact { slot: Some("contextEngine"), ..plain("@robertogongora/graphiti", "0.6.2", "graphiti") },
    plain("@soimy/dingtalk", "3.6.7", "dingtalk"),
    Artifact {
        explained: Some("`before_agent_start` is no hook of OpenClaw 2026.9.6 any more; lineside calls it"),
        ..plain("jasper-context-compactor", "0.4.1", "context-compactor")
    },
    Artifact { config: r#"{"apiKey": "none"}"#, ..plain("simmer-automaton", "0.7.2", "simmer-automaton") },
    official("openclaw/active-memory", "2026.9.6", "active-memory"),
    Artifact { slot: Some("memory"), ..official("openclaw/memory-core", "2026.9.6", "memory-core") },
    Artifact {
        explained: Some("its `register` opens a store of OpenClaw's database, which lineside does not have"),
        ..official("openclaw/browser", "2026.9.6", "browser")
    },
    Artifact {
        explained: Some("its `register` opens a store of OpenClaw's database, which lineside does not have"),
        ..official("openclaw/onepassword", "2026.9.6", "onepassword")
    },
    official("openclaw/workboard", "2026.9.6", "workboard"),
];
