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
    /// Where it is not the same in lineside: each difference, in full, and why it is there. Another difference is a
    /// finding, and so is an explanation of none.
    pub(super) explained: &'static [(&'static str, &'static str)],
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
        explained: &[],
    }
}

/// Of the makers of OpenClaw.
const fn official(package: &'static str, version: &'static str, id: &'static str) -> Artifact {
    Artifact { needs_openclaw: true, ..plain(package, version, id) }
}

const fn memory(package: &'static str, version: &'static str, id: &'static str) -> Artifact {
    Artifact { slot: Some("memory"), ..plain(package, version, id) }
}

/// OpenClaw has it no more, and lineside calls it: plugins of both ages exist.
const OF_OLD: &str = "`before_agent_start` is no hook of OpenClaw 2026.9.6 any more; lineside calls it";
const NO_STORE: &str = "its `register` opens a store of OpenClaw's database, which lineside does not have";
const NO_CREDENTIALS: &str =
    "its `register` needs the model credentials of OpenClaw's gateway, which lineside does not have";
const OWN_SDK: &str =
    "it imports the module `openclaw/plugin-sdk` itself, which is gone; lineside has a stand-in";
const OWN_BUNDLE: &str = "neither loads it: it imports a module of OpenClaw that is gone, and its bundle calls `require` where there is none";
const TRUSTED: &str = "neither loads it: it asks for a store that OpenClaw gives to trusted installations alone and lineside does not have";

#[rustfmt::skip]
pub(super) static ARTIFACTS: [Artifact; 24] = [
    plain("@calltelemetry/openclaw-linear", "0.9.29", "openclaw-linear"),
    plain("@happycastle/oh-my-openclaw", "0.21.3", "oh-my-openclaw"),
    plain("@jiggai/kitchen", "0.6.3", "kitchen"),
    plain("@jiggai/recipes", "0.5.2", "recipes"),
    Artifact {
        explained: &[
            (r#"OpenClaw does not load it: Error [ERR_PACKAGE_PATH_NOT_EXPORTED]: Package subpath './plugin-sdk' is not defined by "exports" in package.json imported from index.js"#, OWN_BUNDLE),
            (r#"lineside does not load it: plugin failed during load: Dynamic require of "process" is not supported"#, OWN_BUNDLE),
        ],
        ..plain("@laurentenhoor/devclaw", "1.6.10", "devclaw")
    },
    Artifact { config: r#"{"apiKey": "none", "userId": "somebody"}"#, ..memory("@mem0/openclaw-mem0", "1.0.16", "openclaw-mem0") },
    Artifact {
        explained: &[
            (r#"before_prompt_build: ran [] in OpenClaw and ["wecom:before_prompt_build"] in lineside"#, OWN_SDK),
            (r#"OpenClaw does not load it: Error [ERR_PACKAGE_PATH_NOT_EXPORTED]: Package subpath './plugin-sdk' is not defined by "exports" in package.json imported from plugin-sdk-shim.ts"#, OWN_SDK),
        ],
        ..plain("@mocrane/wecom", "2026.3.24", "wecom")
    },
    Artifact {
        explained: &[
            (r#"session_end: ran ["codex:session_end"] in OpenClaw and [] in lineside"#, NO_CREDENTIALS),
            ("lineside does not load it: plugin failed during register: Cannot destructure property 'resolveProviderIdForAuth' of 'undefined' as it is undefined.", NO_CREDENTIALS),
        ],
        ..official("@openclaw/codex", "2026.9.5", "codex")
    },
    Artifact {
        explained: &[
            (r#"OpenClaw does not load it: PluginTrustRefusalError: openKeyedStore is only available for trusted plugins in this release. Plugin "discord" loaded from "index.js" with origin "config"; reason=record-missing; registryPath="openclaw.sqlite"; origin="config"; installSource=null; installSpec=null. Compare this registryPath with openclaw plugins inspect <plugin-id> --json. If the CLI and Gateway state paths differ, align the service environment; otherwise reinstall from the official npm package or ClawHub listing."#, TRUSTED),
            ("lineside does not load it: plugin failed during register: api.runtime.state.openKeyedStore is not a function", TRUSTED),
        ],
        ..official("@openclaw/discord", "2026.9.6", "discord")
    },
    official("@openclaw/feishu", "2026.9.5", "feishu"),
    official("@openclaw/matrix", "2026.9.6", "matrix"),
    plain("@projectavatar/openclaw-avatar", "2.2.0", "openclaw-avatar"),
    Artifact { slot: Some("contextEngine"), ..plain("@robertogongora/graphiti", "0.6.2", "graphiti") },
    Artifact {
        explained: &[
            (r#"llm_output: ran [] in OpenClaw and ["dingtalk:llm_output"] in lineside"#, OWN_SDK),
            (r#"OpenClaw does not load it: Plugin dingtalk cannot import openclaw/plugin-sdk/text-runtime (built with OpenClaw 2026.3.28; running core 2026.9.6); run `openclaw plugins update dingtalk` (Error [ERR_PACKAGE_PATH_NOT_EXPORTED]: Package subpath './plugin-sdk/text-runtime' is not defined by "exports" in package.json imported from index.js)"#, OWN_SDK),
        ],
        ..plain("@soimy/dingtalk", "3.6.7", "dingtalk")
    },
    Artifact {
        explained: &[(r#"before_prompt_build: ran [] in OpenClaw and ["context-compactor:before_agent_start"] in lineside"#, OF_OLD)],
        ..plain("jasper-context-compactor", "0.4.1", "context-compactor")
    },
    Artifact { config: r#"{"apiKey": "none"}"#, ..plain("simmer-automaton", "0.7.2", "simmer-automaton") },
    official("openclaw/active-memory", "2026.9.6", "active-memory"),
    Artifact { slot: Some("memory"), ..official("openclaw/memory-core", "2026.9.6", "memory-core") },
    Artifact {
        explained: &[
            (r#"session_end: ran ["browser:session_end"] in OpenClaw and [] in lineside"#, NO_STORE),
            ("lineside does not load it: plugin failed during register: runtime.state.openSyncKeyedStore is not a function", NO_STORE),
        ],
        ..official("openclaw/browser", "2026.9.6", "browser")
    },
    Artifact {
        explained: &[("lineside does not load it: plugin failed during register: api.runtime.state.openKeyedStore is not a function", NO_STORE)],
        ..official("openclaw/onepassword", "2026.9.6", "onepassword")
    },
    official("openclaw/workboard", "2026.9.6", "workboard"),
    Artifact {
        inside: "openclaw",
        explained: &[(r#"before_prompt_build: ran ["claude-mem:before_prompt_build"] in OpenClaw and ["claude-mem:before_agent_start", "claude-mem:before_prompt_build"] in lineside"#, OF_OLD)],
        ..memory("claude-mem", "13.25.3", "claude-mem")
    },
    official("nemo-flow-openclaw", "0.2.0", "nemo-flow"),
    official("nemo-relay-openclaw", "0.9.2", "nemo-relay"),
];
