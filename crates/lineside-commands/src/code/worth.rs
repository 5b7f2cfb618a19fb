//! What calls on texts and lists come to: paths, joined lists, words of a text that is split.

use super::tokens::Token;

/// The path that a call makes of texts whose group begins there, and where it begins: `Path("a", "b")`, `Path("a").joinpath("b")`.
pub(super) fn path(out: &[Token], from: usize) -> Option<(usize, String)> {
    let (folder, from, parts) = match (&out[..from], &out[from + 1..]) {
        (
            [
                ..,
                Token::Name(path),
                Token::Sign('('),
                Token::Text(folder),
                Token::Sign(')'),
                Token::Name(join),
            ],
            parts,
        ) if join == ".joinpath" && path.ends_with("Path") => (Some(folder), from - 5, parts),
        ([.., Token::Text(folder), Token::Name(join)], parts) if join == ".joinpath" => {
            (Some(folder), from - 2, parts)
        }
        ([.., Token::Name(path)], parts) if path.ends_with("Path") && !parts.is_empty() => {
            (None, from - 1, parts)
        }
        _ => return None,
    };
    let parts: Option<Vec<&str>> =
        folder.map(String::as_str).into_iter().map(Some).chain(parts.iter().map(Token::text)).collect();
    Some((from, parts?.join("/")))
}

/// The text that a list is joined to, and where that begins: `["a", "b"].join(" ")`, `" ".join(["a", "b"])`.
pub(super) fn listed(out: &[Token], from: usize) -> Option<(usize, String)> {
    let (list, by, start) = match (&out[..from], &out[from + 1..]) {
        ([front @ .., Token::Sign(']'), Token::Name(join)], [Token::Text(by)]) if join == ".join" => {
            let texts = front.iter().rev().take_while(|token| token.is_text()).count();
            (&front[front.len() - texts..], by, (front.len() - texts).checked_sub(1)?)
        }
        ([.., Token::Text(by), Token::Name(join)], [Token::Sign('['), list @ .., Token::Sign(']')])
            if join == ".join" =>
        {
            (list, by, from - 2)
        }
        _ => return None,
    };
    let is_list = matches!(out[start], Token::Sign('[') | Token::Text(_));
    let texts: Option<Vec<&str>> = list.iter().map(Token::text).collect();
    texts.filter(|texts| is_list && !texts.is_empty()).map(|texts| (start, texts.join(by)))
}

/// The words of a text that is split where its group begins, and where it does: `"a b".split()`, `shlex.split("a b")`.
pub(super) fn split(out: &[Token], from: usize) -> Option<(usize, Vec<String>)> {
    match (&out[..from], &out[from + 1..]) {
        ([.., Token::Text(text), Token::Name(split)], arguments) if split == ".split" => {
            let words: Vec<String> = match arguments {
                [] => text.split_whitespace().map(str::to_owned).collect(),
                [Token::Text(by)] if !by.is_empty() => text.split(by.as_str()).map(str::to_owned).collect(),
                _ => return None,
            };
            Some((from - 2, words))
        }
        ([.., Token::Name(split)], [Token::Text(text), ..])
            if split == "shlex.split" && !text.contains(['"', '\'', '\\']) =>
        {
            Some((from - 1, text.split_whitespace().map(str::to_owned).collect()))
        }
        _ => None,
    }
}
