//! Which values a matcher of a host fits.

use lineside_search::{BoundedRegex, Effort, Search, StepReach};

#[cfg(feature = "kimi")]
use lineside_pyregex::Pattern;

use super::javascript;

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
    #[cfg(feature = "kimi")]
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
        compile(javascript::translated(source)?)
    }

    /// An expression of JavaScript that covers the whole value.
    ///
    /// # Errors
    /// It does not compile by itself.
    pub(crate) fn whole(source: &str) -> Result<Self, String> {
        let source = javascript::translated(source)?;
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
            if character == '\\' && characters.next().is_some_and(|next| next.is_ascii_digit()) {
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
            #[cfg(feature = "kimi")]
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
            #[cfg(feature = "kimi")]
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

#[cfg(test)]
mod tests {
    use super::{Fit, LONGEST, Matcher};

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
        for source in ["(?=a)", "(?!a)", "(?<=a)", "(?<!a)", r"(a)\1", r"\\(a)\9"] {
            assert!(Matcher::simple(source).is_err(), "{source}");
        }
        check(Matcher::simple(r"^a\d\\1$"), r"a7\1", Fit::Yes);
        check(Matcher::whole("a|b"), "ab", Fit::No);
        for (source, fits, misses) in [
            (r"^\D$", "٣", "3"),
            (r"^\W$", "é", "a"),
            (r"^\w$", "a", "é"),
            (r"^[\d]$", "3", "٣"),
            (r"^[a\d]\d$", "a3", "aa"),
            (r"^\[\d$", "[3", "3"),
            (r"^[x]\u00e9$", "xé", "x"),
            (r"^\.$", ".", "a"),
            (r"^[\D]$", "٣", "3"),
            (r"^[x\W]$", "é", "a"),
            (r"^[^\d]$", "٣", "3"),
            (r"^[\d-x]$", "-", "a"),
            (r"^(?=[\d])[\w]\u0041$", "1A", "aA"),
        ] {
            check(Matcher::javascript(source), fits, Fit::Yes);
            check(Matcher::javascript(source), misses, Fit::No);
        }
        for (source, fits, misses) in [
            (r"^\_\e$", "_e", "e"),
            (r"Shell\Z$", "ShellZ", "Shell"),
            ("x{,3}$", "x{,3}", "xx"),
            ("[^]", "a", ""),
            ("^[[a]$", "[", "x"),
            ("^[a&&b]$", "&", "c"),
            (r"^(?<q>a|b)\k<q>$", "bb", "ab"),
        ] {
            check(Matcher::javascript(source), fits, Fit::Yes);
            check(Matcher::javascript(source), misses, Fit::No);
        }
        for source in ["a\\", "(?i)shell", "(?P<a>b)", "(?>a)", "(?#c)a", "a++", "a{2}{3}", "[a"] {
            assert!(Matcher::javascript(source).is_err(), "{source}");
        }
    }

    #[test]
    fn an_expression_has_a_bound() {
        assert!(Matcher::javascript(&"a".repeat(LONGEST)).is_ok());
        assert!(Matcher::javascript(&"a".repeat(LONGEST + 1)).is_err());
    }

    #[test]
    fn names_are_split_and_told() {
        let names = Matcher::names("a, b|c", &['|', ',']);
        for (value, fits) in
            [("a", Fit::Yes), ("b", Fit::Yes), ("c", Fit::Yes), ("a, b", Fit::No), ("", Fit::No)]
        {
            assert_eq!(names.fits(value), fits, "{value}");
        }
        let any = Matcher::AnyName(vec!["a".to_owned()]);
        let python = Matcher::FoundInPython(super::Pattern::compile("a.").unwrap());
        for (matcher, text, fits, misses) in [
            (names, "a|b|c", Some("b"), Some("d")),
            (Matcher::All, "*", Some("x"), None),
            (Matcher::Nothing, "nothing", None, Some("x")),
            (any, "a", Some("a"), Some("b")),
            (python, "/a./", Some("xab"), Some("a")),
            (Matcher::javascript("a.").unwrap(), "/a./", Some("xab"), Some("a")),
        ] {
            assert_eq!(matcher.describe(), text);
            assert!(fits.is_none_or(|value| matcher.fits(value) == Fit::Yes), "{text}");
            assert!(misses.is_none_or(|value| matcher.fits(value) == Fit::No), "{text}");
        }
    }
}
