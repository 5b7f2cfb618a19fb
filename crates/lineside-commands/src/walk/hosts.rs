//! Which machine a request goes to, as far as its words name it.

use std::borrow::Cow;

use super::Walk;
use crate::address::is_here;
use crate::reading::{Given, Reading};
use crate::value::Value;

impl Walk<'_> {
    /// Whether what a program sends stays on this machine: each address that it is given is of it, and nothing names a proxy, or
    /// more addresses.
    pub(super) fn stays_here(&self, reading: &Reading, index: usize) -> bool {
        let program = &self.analysis.programs[index];
        let name = program.known_name().unwrap_or_default();
        let of_wget = ["-e", "-i"].iter().filter(|_| name.starts_with("wget"));
        // What is behind an option that is not known may be its value or the address.
        let is_known = |given: &Given| matches!(given.spellings, Cow::Borrowed(_));
        let goes_round = ROUND.iter().chain(of_wget).any(|flag| reading.has(flag))
            || is_httpie(name) && !reading.given.iter().all(is_known);
        let is_proxy = |name: &str| {
            let name = name.to_ascii_lowercase();
            name.ends_with("_proxy") && name != "no_proxy"
        };
        let given = program.environment.iter().filter_map(|entry| entry.split_once('='));
        let set = self.scope.variables.iter();
        let set = set.filter_map(|(name, values)| Some((name.as_str(), values.first()?.text.as_str())));
        let has_proxy = given.chain(set).any(|(name, value)| is_proxy(name) && !value.is_empty());
        let operands = if is_httpie(name) { address(&reading.operands) } else { &reading.operands };
        let addresses = operands.iter().chain(reading.values("--url"));
        let mut addresses = addresses.filter(|word| !is_port(word, name)).peekable();
        !goes_round
            && !has_proxy
            && addresses.peek().is_some()
            && addresses.all(|address| is_here(&address.text))
    }
}

/// Options by which a request goes another way than its address says.
const ROUND: [&str; 10] = [
    "-x", "-K", "--resolve", "--connect-to", "--preproxy", "--proxy", "--socks4", "--socks4a", "--socks5",
    "--socks5-hostname",
];

/// Whether a program takes its words as HTTPie does.
pub(super) fn is_httpie(name: &str) -> bool {
    matches!(name, "http" | "https" | "xh" | "xhs")
}

/// The address of HTTPie: the first word, unless that is a method in front of another. What is behind it is data.
fn address(operands: &[Value]) -> &[Value] {
    let is_method = |word: &Value| word.text.bytes().all(|byte| byte.is_ascii_alphabetic());
    let at = usize::from(operands.len() > 1 && is_method(&operands[0]));
    operands.get(at..=at).unwrap_or_default()
}

/// A port as other programs than these have it: each of their words is an address.
fn is_port(word: &Value, name: &str) -> bool {
    !is_httpie(name)
        && !matches!(name, "curl" | "curlie" | "wget" | "wget2")
        && !word.text.is_empty()
        && word.text.bytes().all(|byte| byte.is_ascii_digit())
}
