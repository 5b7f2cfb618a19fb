//! What a call is given: its arguments, with parentheses or without.

use super::tokens::Token;

/// The tokens of the arguments of a call, with parentheses or without.
pub(super) fn arguments(rest: &[Token]) -> &[Token] {
    if rest.first() != Some(&Token::Sign('(')) {
        let end = rest
            .iter()
            .position(|token| matches!(token, Token::Sign(';' | '}' | ')' | '\n')))
            .unwrap_or(rest.len());
        return if matches!(rest.first(), Some(Token::Text(_))) { &rest[..end] } else { &[] };
    }
    let mut depth = 0_usize;
    for (at, token) in rest.iter().enumerate() {
        match token {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => {
                depth -= 1;
                if depth == 0 {
                    return &rest[1..at];
                }
            }
            _ => {}
        }
    }
    &rest[1..]
}

/// The text that an argument is given by one of these names, as `file="x"`.
pub(super) fn keyed(arguments: &[Token], names: &[&str]) -> Option<String> {
    arguments.windows(3).find_map(|three| match three {
        [Token::Name(name), Token::Sign('=' | ':'), Token::Text(text)] if names.contains(&name.as_str()) => {
            Some(text.clone())
        }
        _ => None,
    })
}

/// The arguments of a call that another one makes: `map(os.remove, ["x"])`.
pub(super) fn handed_on(tokens: &[Token], at: usize) -> Option<Vec<Token>> {
    const HANDS_ON: [&str; 8] =
        ["map", "starmap", "filter", "partial", "submit", "to_thread", "run_in_executor", "Thread"];
    let Token::Name(by) = tokens.get(at.checked_sub(2)?)? else { return None };
    let is_one = HANDS_ON.contains(&by.rsplit('.').next().unwrap_or_default());
    if !is_one || tokens[at - 1] != Token::Sign('(') || tokens.get(at + 1) == Some(&Token::Sign('(')) {
        return None;
    }
    let given = arguments(&tokens[at - 1..]).get(1..).unwrap_or_default();
    let given = given.iter().filter(|token| !matches!(token, Token::Sign('[' | ']'))).cloned();
    Some([Token::Sign('(')].into_iter().chain(given).chain([Token::Sign(')')]).collect())
}

/// The tokens up to the end of the statement.
pub(super) fn statement(rest: &[Token]) -> &[Token] {
    let end = rest.iter().position(|token| matches!(token, Token::Sign(';' | '}' | '\n')));
    &rest[..end.unwrap_or(rest.len())]
}

/// Whether what stands behind it may not run.
pub(super) fn is_branch(token: &Token) -> bool {
    const WORDS: [&str; 18] = [
        "if", "unless", "else", "elif", "for", "while", "try", "except", "catch", "def", "function", "and",
        "or", "case", "switch", "lambda", "class", "with",
    ];
    match token {
        Token::Name(name) => WORDS.contains(&name.as_str()),
        Token::Sign(sign) => matches!(sign, '?' | '&' | '|' | '{'),
        _ => false,
    }
}

/// Whether perl and ruby ask a shell to start it.
pub(super) fn has_signs(text: &str) -> bool {
    text.contains([
        '$', '&', '*', '(', ')', '{', '}', '[', ']', '\'', '"', ';', '\\', '|', '?', '<', '>', '~', '`', '\n',
    ])
}

/// Whether what perl deletes is a list that it makes, or what a loop is at.
pub(super) fn is_listed(rest: &[Token]) -> bool {
    match rest.first() {
        Some(Token::Name(_)) => true,
        Some(Token::Sign(sign)) => matches!(sign, '<' | '}' | ';' | '$' | '@' | '(' | '{'),
        first => first.is_none(),
    }
}

/// Whether these tokens end with all rows of a model: `User.objects.all()`.
pub(super) fn is_of_all(tokens: &[Token]) -> bool {
    matches!(tokens, [.., Token::Name(name), Token::Sign('('), Token::Sign(')')] if name.ends_with("objects.all"))
}
