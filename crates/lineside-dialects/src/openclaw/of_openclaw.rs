//! Plugins that OpenClaw 2026.9.6 ships with itself, or installs by name. Its installer writes their ids into the
//! configuration, and where OpenClaw itself is not, they are not missed.

#[rustfmt::skip]
static IDS: [&str; 123] = [
    "a2a", "acpx", "active-memory", "admin-http-rpc", "alibaba", "anthropic", "apple-fm", "azure-speech",
    "beam", "bonjour", "brave", "browser", "buzz", "canvas", "clawrouter", "clickclack", "code-mode-quickjs",
    "codex", "copilot", "copilot-proxy", "crabbox", "cua-computer", "deepgram", "device-pair",
    "diagnostics-otel", "diagnostics-prometheus", "diffs", "diffs-language-pack", "discord",
    "document-extract", "duckduckgo", "elevenlabs", "exa", "facetime", "fal", "feishu", "file-transfer",
    "firecrawl", "firecrawl-free", "fish-audio-speech", "geolocation", "github", "github-copilot", "google",
    "google-meet", "googlechat", "gradium", "huggingface", "imap", "imessage", "inworld", "irc", "line",
    "linux-node", "litellm", "llama-cpp", "llm-task", "lmstudio", "lobster", "logbook", "matrix",
    "mattermost", "memory-core", "memory-lancedb", "memory-wiki", "microsoft", "microsoft-foundry",
    "migrate-claude", "migrate-hermes", "minimax", "msteams", "mxc", "nextcloud-talk", "nostr", "nvidia",
    "oc-path", "ollama", "onepassword", "onnx", "openai", "opencode-go", "openrouter", "openshell",
    "parallel", "parallel-free", "perplexity", "policy", "qqbot", "raft", "reef", "runway", "searxng",
    "senseaudio", "session-share", "sglang", "signal", "slack", "sms", "synology-chat", "talk-voice",
    "tavily", "team-reports", "teams-meetings", "telegram", "tlon", "together", "tokenjuice",
    "tts-local-cli", "twitch", "typesafe", "vault", "vllm", "voice-call", "web-readability", "webhooks",
    "wecom", "whatsapp", "workboard", "xai", "yuanbao", "zalo", "zalouser", "zoom-meetings",
];

/// Whether a plugin of this id is OpenClaw's own.
pub(super) fn has(id: &str) -> bool {
    IDS.binary_search(&id).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{IDS, has};

    #[test]
    fn ids_are_found_by_halves() {
        assert!(IDS.is_sorted());
        assert!(has("anthropic") && has("codex") && has("memory-core") && has("zoom-meetings"));
        assert!(!has("my-plugin"));
    }
}
