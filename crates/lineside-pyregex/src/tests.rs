//! The patterns here were checked against CPython 3.11.

use proptest::prelude::*;

use super::{Effort, Pattern, Search};

fn check(pattern: &str, text: &str, found: bool) {
    let pattern = Pattern::compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    let expected = if found { Search::Found } else { Search::Absent };
    assert_eq!(pattern.search_alone(text), expected, "{pattern:?} in {text:?}");
}

#[test]
fn patterns_mean_what_they_mean_in_python() {
    for (pattern, text, found) in [
        ("rm -rf /|mkfs", "sudo mkfs.ext4", true),
        ("Shell", "PowerShell", true),
        ("shell", "PowerShell", false),
        (r"\.py$", "a.py", true),
        (r"\.py$", "a.py\n", false),
        (r"(?m)a$", "a\nb", true),
        ("a.b", "a\nb", false),
        ("(?s)a.b", "a\nb", true),
        (r"\Aab\Z", "ab", true),
        (r"\Aab\Z", "ab\n", false),
        (r"(\w+) \1", "very very", true),
        (r"(?P<w>\w+) (?P=w)", "so so", true),
        (r"(?P<w>\w+)-(?P=w)1", "x-x1", true),
        (r"rm (?!/tmp)", "rm /home", true),
        (r"(?<=a)b", "ab", true),
        (r"(?<!a)b", "ab", false),
        (r"a++a", "aaa", false),
        (r"(?>a+)a", "aaa", false),
        (r"(a)?(?(1)b|c)", "c", true),
        (r"^(a)?(?(1)b|c)$", "ac", false),
        ("(?i)straße", "STRAßE", true),
        ("(?i:a)b", "AB", false),
        ("(?i)(a)\\1", "aA", true),
        ("(?-i:a)", "A", false),
        ("(?x) a b # comment", "ab", true),
        ("(?x)[ ]", " ", true),
        ("(?a)\\w", "é", false),
        ("(?a)\\bx", "éx", true),
        ("\\bx", "éx", false),
        ("(?ai)k", "\u{212a}", false),
        ("(?i)k", "\u{212a}", true),
        ("(?ai)[b-d]", "C", true),
        (r"\w", "²", true),
        (r"\w", "\u{301}", false),
        (r"\s", "\u{1c}", true),
        (r"\d", "٣", true),
        (r"[^\W\d]", "3", false),
        (r"[^\W\d]", "x", true),
        ("[]a]", "]", true),
        ("[^]a]", "]", false),
        ("[a-]", "-", true),
        ("[[a]", "[", true),
        ("[a&&b]", "&", true),
        ("[+--]", ",", true),
        ("[~~]", "~", true),
        ("x{", "x{", true),
        ("x{}", "x{}", true),
        ("x{a}", "x{a}", true),
        ("^x{,2}$", "xx", true),
        ("^x{,2}$", "xxx", false),
        ("^x{2}$", "xx", true),
        ("a{,}b", "aab", true),
        (r"\x41\u0042\U00000043\104\0", "ABCD\0", true),
        (r"[\b]", "\u{8}", true),
        (r"\-\ \/\%\é", "- /%é", true),
        ("a|", "", true),
        ("", "", true),
        ("()", "x", true),
        ("(?:)", "x", true),
        ("(?#note)a", "a", true),
        ("(?:(?=a))*a", "a", true),
        ("]}", "]}", true),
        ("a?b??c*?d+?", "abccd", true),
        ("\"force\":true", "{\"force\":true}", true),
    ] {
        check(pattern, text, found);
    }
}

#[test]
fn what_python_refuses_is_refused() {
    for (pattern, problem) in [
        ("(bad", "missing ), unterminated subpattern at position 0"),
        ("bad)", "unbalanced parenthesis at position 3"),
        ("[invalid(", "unterminated character set at position 0"),
        ("[a-", "unterminated character set at position 0"),
        ("[a--b]", "bad character range a-- at position 1"),
        ("[z-a]", "bad character range z-a at position 1"),
        (r"[\d-z]", r"bad character range \d-z at position 1"),
        ("*a", "nothing to repeat at position 0"),
        ("a**", "multiple repeat at position 2"),
        ("^*", "nothing to repeat at position 1"),
        ("a{3,2}", "min repeat greater than max repeat"),
        (r"\p{L}", r"bad escape \p at position 0"),
        (r"\h", r"bad escape \h"),
        (r"\z", r"bad escape \z"),
        (r"[\q]", r"bad escape \q at position 1"),
        ("a\\", "bad escape (end of pattern) at position 1"),
        (r"\x4", r"incomplete escape \x4"),
        (r"\400", "octal escape value"),
        (r"\2(a)", "invalid group reference 2"),
        (r"(\1)", "cannot refer to an open group"),
        ("(?P<a>x)(?P<a>y)", "redefinition of group name"),
        ("(?P=a)", "unknown group name 'a'"),
        ("(?P<1a>x)", "bad character in group name"),
        ("(?P>a)", "unknown extension ?P>"),
        ("(?<a>x)", "unknown extension ?<a"),
        ("(?'a'x)", "unknown extension ?'"),
        ("(?<=a+)b", "look-behind requires fixed-width pattern"),
        ("(?<=a|bc)d", "look-behind requires fixed-width pattern"),
        ("a(?i)b", "global flags not at the start of the expression"),
        ("(a|(?i)b)", "global flags not at the start"),
        ("(?L)a", "cannot use 'L' flag"),
        ("(?au)a", "incompatible"),
        ("(?-a:b)", "cannot turn off"),
        ("(?i-i:b)", "flag turned on and off"),
        ("(?-i)b", "missing"),
        ("(?z)a", "unknown extension ?z"),
        ("(?iz)a", "unknown flag"),
        ("(?(1)a|b|c)(x)", "more than two branches"),
        ("(?(2)a)(x)", "invalid group reference 2"),
        ("(?(0)a)", "bad group number"),
        ("(?#a", "unterminated comment"),
        ("a{99999999999}", "repetition number is too large"),
    ] {
        match Pattern::compile(pattern) {
            Ok(_) => panic!("{pattern} is accepted"),
            Err(error) => assert!(error.to_string().contains(problem), "{pattern}: {error}"),
        }
    }
    assert!(Pattern::compile(&"(".repeat(10_000)).is_err());
    assert!(Pattern::compile(&format!("{}a{}", "(".repeat(60), ")+".repeat(60))).is_ok());
    assert!(Pattern::compile(&"a".repeat(100_000)).is_err());
}

#[test]
fn a_search_has_a_bound() {
    let pattern = Pattern::compile("^((?=a)(a|aa))+$").unwrap();
    assert_eq!(pattern.search_alone(&format!("{}b", "a".repeat(64))), Search::Exhausted);
    // A long text alone is no reason to give up.
    let guard = Pattern::compile(r"rm -rf (?!/tmp/)").unwrap();
    assert_eq!(guard.search_alone(&"x".repeat(8 << 20)), Search::Absent);
}

#[test]
fn i07_a_search_whose_steps_may_look_through_a_long_text_has_fewer_of_them() {
    let text = "a".repeat(3000);
    for (pattern, long) in
        [("(?=.*z)a", Search::Exhausted), ("(?=z)a", Search::Absent), ("a.*z", Search::Absent)]
    {
        let pattern = Pattern::compile(pattern).unwrap();
        assert_eq!(pattern.search_alone(&text), Search::Absent, "{pattern:?}");
        // As one text of many.
        assert_eq!(pattern.search(&text, 1 << 30, &mut Effort::default()), long, "{pattern:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_pattern_or_an_error(text in "[a-c(){}\\[\\]\\\\?*+|^$.:=!<>P#0-9imsxu, -]{0,24}") {
        if let Ok(pattern) = Pattern::compile(&text) {
            let _found = pattern.search_alone("abc (x) 123");
        }
    }

    #[test]
    fn an_escaped_text_finds_itself(text in "\\PC{1,12}") {
        let escaped: String = text
            .chars()
            .map(|c| if c.is_ascii_punctuation() { format!("\\{c}") } else { c.to_string() })
            .collect();
        let pattern = Pattern::compile(&escaped).unwrap();
        prop_assert_eq!(pattern.search_alone(&format!("<{text}>")), Search::Found);
    }
}
