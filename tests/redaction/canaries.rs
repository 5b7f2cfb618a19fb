//! The texts of `secrets.txt`, for whatever tells text: none of their secrets may come through.

/// A text with secrets.
#[allow(dead_code, reason = "not every crate that includes this file reads all of it")]
pub(crate) struct Canary {
    pub(crate) text: String,
    pub(crate) secrets: Vec<String>,
    /// The text as it may be shown.
    pub(crate) without: String,
}

/// All of them.
pub(crate) fn all() -> Vec<Canary> {
    texts(include_str!("secrets.txt")).map(|marked| canary(&marked)).collect()
}

/// The texts of a corpus, as they are.
pub(crate) fn texts(corpus: &str) -> impl Iterator<Item = String> {
    corpus.lines().filter(|line| !line.starts_with('#')).map(|line| line.replace('¦', "").replace('↵', "\n"))
}

fn canary(marked: &str) -> Canary {
    let (mut text, mut secrets, mut without) = (String::new(), Vec::new(), String::new());
    let mut rest = marked;
    while let Some((before, (secret, after))) =
        rest.split_once('«').and_then(|(before, rest)| Some((before, rest.split_once('»')?)))
    {
        text.extend([before, secret]);
        without.extend([before, "[redacted]"]);
        secrets.push(secret.to_owned());
        rest = after;
    }
    text.push_str(rest);
    without.push_str(rest);
    assert!(!secrets.is_empty(), "no secret in {marked}");
    Canary { text, secrets, without }
}

/// The secrets that a text tells, also where its line ends are written out or gone.
#[allow(dead_code, reason = "not every crate that includes this file searches for them")]
pub(crate) fn told<'a>(text: &str, canaries: &'a [Canary]) -> Vec<&'a str> {
    let plain = text.replace("\\\"", "\"").replace("\\\\", "\\").replace("\\n", " ").replace('\n', " ");
    let secrets = canaries.iter().flat_map(|canary| &canary.secrets);
    secrets
        .filter(|secret| text.contains(*secret) || plain.contains(&secret.replace('\n', " ")))
        .map(String::as_str)
        .collect()
}
