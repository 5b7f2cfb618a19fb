//! Defines what a secret is: tables of patterns, and conditions that a match meets beside its look.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::REDACTED;

/// Takes one kind of secret out of a text.
#[derive(Debug)]
pub(super) struct Rule {
    /// The secret is in one of [`GROUPS`], or is the whole match where there are none.
    pattern: Regex,
    /// Whether a match is a secret: what it stands in, and itself.
    holds: Holds,
}

/// What has to be true beside the look: of what a match stands in, and of itself.
type Holds = fn(&Captures<'_>, &str) -> bool;

/// The groups that a secret may be in; of one match one of them.
const GROUPS: [&str; 6] = ["secret", "token", "a", "b", "c", "d"];

impl Rule {
    /// The text without those secrets; absent when there is none.
    pub(super) fn apply(&self, text: &str) -> Option<String> {
        let mut changed = String::new();
        let mut kept = 0;
        for found in self.pattern.captures_iter(text) {
            let group = GROUPS.iter().find_map(|group| found.name(group));
            let Some(secret) = group.or_else(|| found.get(0)) else { continue };
            if secret.as_str() == REDACTED || !(self.holds)(&found, secret.as_str()) {
                continue;
            }
            changed.push_str(text.get(kept..secret.start()).unwrap_or_default());
            changed.push_str(REDACTED);
            kept = secret.end();
        }
        if kept == 0 {
            return None;
        }
        changed.push_str(text.get(kept..).unwrap_or_default());
        Some(changed)
    }
}

/// How many rules there are.
pub(super) const COUNT: usize = 17;

/// The rules, in the order in which they are applied.
pub(super) fn all() -> &'static [Rule] {
    &RULES
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let shapes = format!(r"(?-u:\b)(?:{})", SHAPES.join("|"));
    let pairs = format!(r"(?<name>(?i-u:{NAMES})){SEPARATOR}{VALUE}");
    let weak = format!(r"(?-u:\b)(?<name>(?i-u:{WEAK})){SEPARATOR}{VALUE}");
    let flags = format!(r"--?(?:[A-Za-z0-9]+-)*(?<name>(?i-u:{NAMES}|{WEAK}))[ \t]+{FLAG_VALUE}");
    let parameters = format!(r#"[?&](?i-u:{PARAMETERS})=(?<secret>[^&\s"'#<>\[\]\\]{{6,}})"#);
    let rules: [(&str, Holds); COUNT] = [
        (PEM, always),
        (PEM_TAIL, always),
        (&shapes, always),
        (HYPHENATED, is_no_word),
        (JWT, always),
        (HOOKS, always),
        (COOKIE, always),
        (AUTHORIZATION, always),
        (SCHEME, is_credential),
        (USERINFO, always),
        (USER_OPTION, is_password),
        (GLUED, is_password),
        (SSHPASS, is_password),
        (&parameters, always),
        (&pairs, is_value),
        (&weak, is_likely),
        (&flags, is_argument),
    ];
    // That each of them compiles is tested.
    rules
        .into_iter()
        .filter_map(|(pattern, holds)| Some(Rule { pattern: Regex::new(pattern).ok()?, holds }))
        .collect()
});

/// A private key, up to the end of the text when its end is missing.
const PEM: &str = r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:.*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|.*\z)";
/// The rest of a private key whose beginning is missing.
const PEM_TAIL: &str = r"(?:[A-Za-z0-9+/=]{16,}(?:\s+|\\[rn])+)+[A-Za-z0-9+/=]*(?:\s|\\[rn])*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----";

/// Keys whose issuers mark them: AWS, GitHub, GitLab, Slack, Stripe, Google, npm, PyPI and others.
const SHAPES: [&str; 28] = [
    // Grants of lineside.
    r"lsg_[0-9a-f]{16,}",
    r"(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AIPA|ANPA|ANVA|AROA)[A-Z0-9]{12,}",
    r"gh[pousr]_[A-Za-z0-9]{16,}",
    r"github_pat_[A-Za-z0-9_]{16,}",
    r"gl(?:pat|dt|rt|cbt|ptt|soat|ft|imt|agent|oas)-[A-Za-z0-9_.-]{16,}",
    r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,}",
    r"xapp-[0-9]-[A-Za-z0-9-]{8,}",
    r"(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{8,}",
    r"whsec_[A-Za-z0-9+/=]{16,}",
    r"AIza[A-Za-z0-9_-]{30,}",
    r"ya29\.[A-Za-z0-9._-]{16,}",
    r"GOCSPX-[A-Za-z0-9_-]{16,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"pypi-AgE[A-Za-z0-9_-]{16,}",
    r"hf_[A-Za-z0-9]{30,}",
    r"dapi[0-9a-f]{32}",
    r"do[opr]_v1_[0-9a-f]{32,}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{20,}",
    r"lin_api_[A-Za-z0-9]{20,}",
    r"gl(?:sa|c)_[A-Za-z0-9_=]{20,}",
    r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}",
    r"tskey-[a-z]+-[A-Za-z0-9-]{10,}",
    r"(?:gsk_|xai-|pplx-|r8_)[A-Za-z0-9]{30,}",
    // Seeds of NATS: a user, an account, an operator, a server, a cluster, a curve.
    r"S[UAONCX][A-Z2-7]{56,}",
    r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}",
];

/// Keys that begin like a hyphenated word might.
const HYPHENATED: &str = r"(?-u:\b)(?:sk-[A-Za-z0-9_-]{8,}|(?:pk|rk)-[A-Za-z0-9_-]{16,})";

/// A signed token in three parts, or encrypted in five.
const JWT: &str = r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*){0,3}";

/// Addresses whose path is the secret.
const HOOKS: &str = r"(?i-u:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/|\.webhook\.office\.com/webhookb2/|api\.telegram\.org/bot)(?<secret>[A-Za-z0-9_+@:-][A-Za-z0-9/_+@:-]*)";

/// A header with cookies, to the end of its line or of the quotes around it.
const COOKIE: &str = r#""(?i-u:(?:set-)?cookie):[ \t]*(?<a>[^\s"\\\[][^"\r\n\\]*)|'(?i-u:(?:set-)?cookie):[ \t]*(?<b>[^\s'\\\[][^'\r\n\\]*)|(?-u:\b)(?i-u:(?:set-)?cookie):[ \t]*(?<secret>[^\s"'\\\[][^\r\n\\\[]*)"#;

/// A header with credentials: a scheme and one word, or a scheme with parameters to the end of the line.
const AUTHORIZATION: &str = r#"(?-u:\b)(?i-u:(?:proxy-)?authorization)(?:\\?["'])?[ \t]*[:=][ \t]*(?:\\?["'])?(?<secret>(?i-u:digest|oauth|hawk|aws4-hmac-sha256|signature)[ \t][^\r\n\\]+|(?:[A-Za-z][A-Za-z0-9-]*[ \t]+)?(?:\[redacted\]|[^\s"'\[\\]+))"#;

/// A scheme of authorization and what looks like its credentials.
const SCHEME: &str = r"(?-u:\b)(?<name>(?i-u:bearer|basic))[ \t]+(?<secret>[A-Za-z0-9._~+/=-]{8,})";

/// Name and password in a URL: the password, or the name where it is long enough to be a token.
const USERINFO: &str =
    r#"://(?:(?<token>[A-Za-z0-9_.~-]{20,}(?::[^\s/@"'<>]*)?)|[^\s/:@"'<>\[]*:(?<secret>[^\s/@"'<>]+))@"#;

/// Name and password behind an option of a program that makes requests.
const USER_OPTION: &str = r#"(?-u:\b)(?:curl|wget|xh|https?)[ \t][^\r\n;|&]*?(?:-[A-Za-z]*[uUa]|--(?:proxy-)?user|--auth)(?:[ \t]+|=)?(?:\\?["'])?[^\s"':\\-][^\s"':\\]*:(?<secret>[^\s"'\\]+)"#;

/// A password that stands without a blank behind its option.
const GLUED: &str =
    r#"(?-u:\b)(?:mysql|mariadb)[a-z-]*[ \t](?:[^\r\n;|&]*?[ \t])?-p(?:\\?["'])?(?<secret>[^\s"'\\]+)"#;

/// The password that another program types for `ssh`.
const SSHPASS: &str = r#"(?-u:\b)sshpass[ \t]+(?:-v[ \t]+)?-p[ \t]*(?:\\?["'])?(?<secret>[^\s"'\\]+)"#;

/// The ends of names whose values are secrets, whatever stands before them.
const NAMES: &str = r"password|passwd|passphrase|passcode|secret|api[_.-]?keys?|access[_.-]?key(?:[_.-]?id)?|secret[_.-]?access[_.-]?key|private[_.-]?key|signing[_.-]?key|encryption[_.-]?key|account[_.-]?key|shared[_.-]?access[_.-]?key|secret[_.-]?key(?:[_.-]?base)?|auth[_.-]?key|[_.-]token|(?:access|refresh|id|auth|session|bot|api|bearer|csrf|xsrf|security|deploy|personal)token|credentials?";
/// Names that are words in other places too.
const WEAK: &str = r"token|pwd|pass|auth|cookie";
/// Between a name and its value; quotes may be escaped, where JSON stands in JSON.
const SEPARATOR: &str = r#"(?<quote>\\?["'`])?(?<space>[ \t]*)(?:=>|:=|=|:)[ \t]*"#;
/// The value after a separator; the quote before it is not part of it.
const VALUE: &str = r#"(?:\\"(?<a>[^"\\\r\n]+)|"(?<b>(?:[^"\\\r\n]|\\.)+)|'(?<c>[^'\r\n]+)|`(?<d>[^`\r\n]+)|(?<secret>\[redacted\]|[^\s"'`,;&<>(){}\[\]\\]+))"#;
/// The value after a flag.
const FLAG_VALUE: &str = r#"(?:"(?<b>(?:[^"\\\r\n]|\\.)+)|'(?<c>[^'\r\n]+)|(?<secret>\[redacted\]|[^\s"'`,;&<>(){}\[\]\\-][^\s"'`,;&<>(){}\[\]\\]*))"#;
/// Parameters of a query that are secrets.
const PARAMETERS: &str = r"key|sig|signature|code|auth|token|access_token|x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)|awsaccesskeyid|sv_sig";

/// Values that are none: what is said of a secret instead of it.
const NO_VALUES: [&str; 40] = [
    "true", "false", "null", "none", "nil", "undefined", "unset", "empty", "missing", "required", "optional",
    "invalid", "expired", "wrong", "incorrect", "denied", "unknown", "include", "omit", "same-origin", "is",
    "was", "are", "were", "and", "or", "to", "for", "in", "of", "not", "must", "has", "had", "with", "from",
    "string", "str", "***", "...",
];
/// What follows the name of a scheme in prose.
const PROSE: [&str; 8] = [
    "authentication", "authorization", "authorisation", "credentials", "information", "knowledge",
    "operations", "configuration",
];

fn always(_: &Captures<'_>, _: &str) -> bool {
    true
}

/// A key has a digit, or is in one piece, or has a piece that is long or in mixed case; words with hyphens have neither.
fn is_no_word(_: &Captures<'_>, secret: &str) -> bool {
    let rest = secret.get(3..).unwrap_or_default();
    let mut pieces = rest.split(['-', '_']).filter(|piece| !piece.is_empty());
    let is_mixed = |piece: &str| {
        let after = piece.bytes().zip(piece.bytes().skip(1));
        after.into_iter().any(|(one, next)| one.is_ascii_lowercase() && next.is_ascii_uppercase())
    };
    rest.bytes().any(|byte| byte.is_ascii_digit())
        || pieces.clone().count() == 1
        || pieces.any(|piece| piece.len() >= 16 || is_mixed(piece))
}

fn is_credential(found: &Captures<'_>, secret: &str) -> bool {
    let word = secret.trim_end_matches('.');
    let is_lower_case = word.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'.' | b'-'));
    let basic = found.name("name").is_some_and(|name| name.as_str().eq_ignore_ascii_case("basic"));
    !(is_lower_case && basic || PROSE.iter().any(|prose| prose.eq_ignore_ascii_case(word)))
}

/// A value beside a name that says what it is.
fn is_value(found: &Captures<'_>, secret: &str) -> bool {
    let named_token =
        found.name("name").is_some_and(|name| name.as_str().to_ascii_lowercase().ends_with("token"));
    let is_count = secret.len() < 10 && secret.bytes().all(|byte| byte.is_ascii_digit());
    let word = secret.trim_end_matches(['.', '!', '?', ':']);
    !(is_reference(secret)
        || named_token && is_count
        || word.is_empty()
        || NO_VALUES.iter().any(|no| no.eq_ignore_ascii_case(word)))
}

/// A value beside a name that is a word in other places too.
fn is_likely(found: &Captures<'_>, secret: &str) -> bool {
    let is_there = |group| found.name(group).is_some();
    let quoted = ["a", "b", "c", "d"].into_iter().any(is_there);
    let is_path = secret.starts_with(['/', '~', '.']) || secret.get(1..3) == Some(":\\");
    let whole = found.get(0).map_or("", |whole| whole.as_str());
    let is_tight = whole.as_bytes().get(found.name("name").map_or(0, |name| name.len())) == Some(&b'=');
    let looks = secret.len() >= 20 || has_letters_and_digits(secret);
    is_value(found, secret)
        && !is_path
        && secret.len() >= 4
        && (is_there("quote") && quoted || is_tight || looks)
}

/// A password as it is typed, and not a variable that has one.
fn is_password(_: &Captures<'_>, secret: &str) -> bool {
    !is_reference(secret) && !secret.starts_with('[') && !secret.starts_with("//")
}

/// A value behind a flag, which may be prose about the flag.
fn is_argument(found: &Captures<'_>, secret: &str) -> bool {
    is_value(found, secret) && secret.len() >= 4
}

fn has_letters_and_digits(text: &str) -> bool {
    let has = |is: fn(&u8) -> bool| text.as_bytes().iter().any(is);
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// `$NAME`, or `$` before something that is no part of the value: where a secret is, not what it is.
fn is_reference(text: &str) -> bool {
    text.strip_prefix('$').is_some_and(|name| {
        name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    })
}

/// Whether a header of that name has a secret for its value.
pub(super) fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "cookie", "token", "secret", "key", "passw", "credential", "signature", "grant"]
        .iter()
        .any(|part| name.contains(part))
}
