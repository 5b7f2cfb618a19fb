//! Which versions of the host a plugin is for: `openclaw.compat.pluginApi` of its `package.json` (OC-7).
//!
//! The ranges are those of npm, as OpenClaw takes them: parts between white space must all hold, and a bare `2026.3`
//! is the least version.

use nodejs_semver::{Range, Version};

/// The version of upstream whose plugins are loaded.
pub(super) const HOST_VERSION: [u64; 3] = [2026, 9, 6];

/// Whether this host is in the range; nothing if it is no range.
pub(super) fn has_host(range: &str) -> Option<bool> {
    let [year, month, number] = HOST_VERSION;
    let host = Version::from((year, month, number));
    let alternatives: Vec<bool> =
        range.split("||").map(|part| all_hold(part, &host)).collect::<Option<_>>()?;
    Some(alternatives.contains(&true))
}

fn all_hold(part: &str, host: &Version) -> Option<bool> {
    let joined = operators_joined(part);
    let mut comparators = joined.split_whitespace().peekable();
    comparators.peek()?;
    let mut all = true;
    for comparator in comparators {
        let least;
        let comparator = if is_partial(comparator) {
            least = format!(">={comparator}.0");
            &least
        } else {
            comparator
        };
        all &= Range::parse(comparator).ok()?.satisfies(host);
    }
    Some(all)
}

/// `>= 1.2.3` as `>=1.2.3`.
fn operators_joined(part: &str) -> String {
    let mut joined = String::with_capacity(part.len());
    for c in part.trim().chars() {
        if c.is_whitespace() && joined.ends_with(['<', '>', '=', '^', '~']) {
            continue;
        }
        joined.push(c);
    }
    joined
}

/// Two numbers and no operator.
fn is_partial(comparator: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let bare = comparator.trim_start_matches(['v', 'V']);
    bare.split_once('.').is_some_and(|(major, minor)| digits(major) && digits(minor))
}

#[cfg(test)]
mod tests {
    use super::has_host;

    #[test]
    fn ranges_are_those_of_npm() {
        // OC-7; the first is that of OpenClaw's own quick start.
        for holds in [
            ">=2026.3.24-beta.2", "^2026.4.24", "*", ">=2026.9.6", ">= 2026.9.5 <2027", "2026.x", "2026.3",
            "~2026.9.1", "1.x || 2026.9.6", "=2026.9.6", "v2026.9.6",
        ] {
            assert_eq!(has_host(holds), Some(true), "{holds}");
        }
        for refuses in [">=2026.10.0", "^2025.1.0", "~2026.8.1", "2026.9.5", ">2026.9.6", "<2026.9.6-beta.1"]
        {
            assert_eq!(has_host(refuses), Some(false), "{refuses}");
        }
        for none in ["", "latest", ">=", "||", ">=1..0", "2026.9.6 ||", ">>2026.1.0"] {
            assert_eq!(has_host(none), None, "{none}");
        }
    }
}
