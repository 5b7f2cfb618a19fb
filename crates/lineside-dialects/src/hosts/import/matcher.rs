//! Which values a matcher of a host fits.

use lineside_search::{BoundedRegex, Effort, Search, StepReach};

use lineside_pyregex::Pattern;

/// The longest expression, in bytes.
const LONGEST: usize = 64 * 1024;

/// A matcher.
#[derive(Debug, Clone)]
pub(crate) enum Matcher {
    /// Everything.
    All,
    /// A value that is one of these.
    Names(Vec<String>),
    /// A value in which this is found.
    Found(String, BoundedRegex),
    /// The same in the syntax of Python.
    FoundInPython(Pattern),
    /// Nothing.
    Nothing,
    /// A value that equals one of the names of a tool of Copilot (CP-17).
    AnyName(Vec<String>),
}

/// Whether a value is fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    Yes,
    No,
    /// The search was given up.
    Unknown,
}

impl Matcher {
    /// An expression of JavaScript that is found anywhere.
    ///
    /// # Errors
    /// It does not compile.
    pub(crate) fn javascript(source: &str) -> Result<Self, String> {
        compile(of_javascript(source))
    }

    /// An expression of JavaScript that covers the whole value.
    ///
    /// # Errors
    /// It does not compile by itself.
    pub(crate) fn whole(source: &str) -> Result<Self, String> {
        let source = of_javascript(source);
        compile(source.clone())?;
        compile(format!("^(?:{source})$"))
    }

    /// An expression without lookaround and backreferences that is found anywhere.
    ///
    /// # Errors
    /// It does not compile, or has one of these.
    pub(crate) fn simple(source: &str) -> Result<Self, String> {
        let mut characters = source.chars().peekable();
        while let Some(character) = characters.next() {
            if character == '\\' && characters.next().is_some_and(|next| next.is_ascii_digit() && next != '0')
            {
                return Err("backreferences are not supported".to_owned());
            }
        }
        if ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| source.contains(look)) {
            return Err("look-around, including look-ahead and look-behind, is not supported".to_owned());
        }
        compile(source.to_owned())
    }

    /// Names between bars, and where commas count between those.
    pub(crate) fn names(source: &str, separators: &[char]) -> Self {
        Self::Names(source.split(separators).map(|name| name.trim().to_owned()).collect())
    }

    /// Whether a value fits.
    pub(crate) fn fits(&self, value: &str) -> Fit {
        let known = |fits| if fits { Fit::Yes } else { Fit::No };
        match self {
            Self::All => Fit::Yes,
            Self::Nothing => Fit::No,
            Self::Names(names) | Self::AnyName(names) => known(names.iter().any(|name| name == value)),
            Self::Found(_, regex) => regex.search(value, value.len(), &mut Effort::default()).into(),
            Self::FoundInPython(pattern) => pattern.search(value, value.len(), &mut Effort::default()).into(),
        }
    }

    /// For people to read.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::All => "*".to_owned(),
            Self::Nothing => "nothing".to_owned(),
            Self::Names(names) | Self::AnyName(names) => names.join("|"),
            Self::Found(source, _) => format!("/{source}/"),
            Self::FoundInPython(pattern) => format!("/{}/", pattern.as_str()),
        }
    }
}

impl From<Search> for Fit {
    fn from(search: Search) -> Self {
        match search {
            Search::Found => Self::Yes,
            Search::Absent => Self::No,
            Search::Exhausted => Self::Unknown,
        }
    }
}

fn compile(source: String) -> Result<Matcher, String> {
    if source.len() > LONGEST {
        return Err(format!("longer than {LONGEST} bytes"));
    }
    match BoundedRegex::compile(source.clone(), StepReach::WholeText) {
        Ok(regex) => Ok(Matcher::Found(source, regex)),
        Err(error) => Err(error.to_string()),
    }
}

/// The classes that mean less in JavaScript than in the engine, written out, and its escapes of code points.
fn of_javascript(source: &str) -> String {
    let mut written = String::with_capacity(source.len());
    let mut characters = source.chars().peekable();
    let mut in_class = false;
    while let Some(character) = characters.next() {
        match character {
            '[' => in_class = true,
            ']' => in_class = false,
            '\\' => {
                let Some(escaped) = characters.next() else {
                    written.push('\\');
                    break;
                };
                match (escaped, in_class) {
                    ('d', true) => written.push_str("0-9"),
                    ('d', false) => written.push_str("[0-9]"),
                    ('D', false) => written.push_str("[^0-9]"),
                    ('w', true) => written.push_str("A-Za-z0-9_"),
                    ('w', false) => written.push_str("[A-Za-z0-9_]"),
                    ('W', false) => written.push_str("[^A-Za-z0-9_]"),
                    ('u', _) if characters.peek().is_some_and(char::is_ascii_hexdigit) => {
                        let digits: String = characters.by_ref().take(4).collect();
                        written.push_str(&format!("\\x{{{digits}}}"));
                    }
                    (other, _) => written.extend(['\\', other]),
                }
                continue;
            }
            _ => {}
        }
        written.push(character);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::{Fit, Matcher};

    #[test]
    fn no_search_takes_minutes() {
        // Each of its steps may look at all of the rest.
        let text = format!("{}!", "a".repeat(200_000));
        for source in ["(?=a)(a|aa)+$", "(?=a)a*(?=b)", "(a+)\\1b"] {
            assert_ne!(Matcher::javascript(source).unwrap().fits(&text), Fit::Yes, "{source}");
        }
        assert_eq!(Matcher::javascript("(a|a)*b").unwrap().fits(&text), Fit::No);
    }

    #[test]
    fn expressions_are_those_of_their_language() {
        let check = |matcher: Result<Matcher, String>, value: &str, fits: Fit| {
            assert_eq!(matcher.unwrap().fits(value), fits, "{value}");
        };
        check(Matcher::javascript("^(?!Bash$)"), "Write", Fit::Yes);
        check(Matcher::javascript("^(?!Bash$)"), "Bash", Fit::No);
        check(Matcher::javascript(r"^\d[\w-]\u0041$"), "1-A", Fit::Yes);
        check(Matcher::javascript(r"\d"), "٣", Fit::No);
        check(Matcher::whole("bash|edit"), "bash2", Fit::No);
        check(Matcher::whole("bash|edit"), "edit", Fit::Yes);
        check(Matcher::simple("^mcp__.*"), "mcp__a", Fit::Yes);
        assert!(Matcher::whole("*").is_err() && Matcher::javascript("(").is_err());
        assert!(Matcher::simple("(?=a)").is_err() && Matcher::simple(r"(a)\1").is_err());
    }
}
