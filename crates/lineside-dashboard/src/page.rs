//! The pages. Each function is given what it shows and gives HTML; what is asked for it, and when, is left to others.
//!
//! A page is its frame and its content; the content alone is sent again while the page is open.

pub use maud::Markup;
use maud::{DOCTYPE, PreEscaped, html};

use crate::text::line;

pub mod fleet;
pub mod decisions;
pub mod decision;
pub mod timeline;
pub mod lineage;
pub mod hooks;
pub mod approvals;
pub mod lab;
pub mod flow;

/// Where the pages are.
pub const BASE: &str = "/dashboard";

/// A view, as the navigation has it: its path, its name, and the key behind `g`.
const VIEWS: [(&str, &str, &str); 6] = [
    ("", "Fleet", "f"),
    ("/decisions", "Decisions", "d"),
    ("/lineage", "Lineage", "l"),
    ("/hooks", "Hooks", "h"),
    ("/approvals", "Approvals", "a"),
    ("/lab", "Lab", "b"),
];

/// Filters that are proposed where one is typed, each with what it finds. Others are addresses, which a browser keeps.
const FILTERS: [(&str, &str); 6] = [
    ("verdict:refused since:1h", "refused within the hour"),
    ("verdict:ask since:1h", "asked within the hour"),
    ("failed:any since:1d", "a hook failed within the day"),
    ("failed:timeout since:1d", "a hook did not answer in time"),
    ("shadow:refused since:1d", "a hook in shadow would have refused"),
    ("took:>1s since:1d", "decided after more than a second"),
];

/// What a page has around its content.
#[derive(Debug, Clone, Default)]
pub struct Shell<'a> {
    /// The path of the view, below [`BASE`].
    pub view: &'a str,
    /// The title.
    pub title: &'a str,
    /// The query that the content is filtered by; `None` where a page has no filter.
    pub query: Option<&'a str>,
    /// What is wrong with the query.
    pub wrong: Option<&'a str>,
    /// How many questions wait for a person.
    pub questions: usize,
    /// The script of the page beside that of all pages.
    pub script: Option<&'a str>,
    /// How often the content is asked for again, in milliseconds; not where this is 0.
    pub every: u32,
}

/// A whole page.
#[must_use]
pub fn page(shell: &Shell<'_>, content: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (line(shell.title)) " · lineside" }
                link rel="icon" href={ (BASE) "/assets/mark.svg" };
                link rel="stylesheet" href={ (BASE) "/assets/style.css" };
                script type="module" src={ (BASE) "/assets/app.js" } {}
                @if let Some(script) = shell.script {
                    script type="module" src={ (BASE) "/assets/" (script) } {}
                }
            }
            body {
                a.skip href="#main" { "Skip to content" }
                header.bar {
                    a.brand href=(BASE) aria-label="lineside, fleet" { (mark()) span { "lineside" } }
                    nav aria-label="Views" {
                        @for (path, name, key) in VIEWS {
                            a href={ (BASE) (path) } aria-current=[(path == shell.view).then_some("page")] data-go=(key) {
                                (name)
                                @if path == "/approvals" {
                                    span.badge #questions hidden[shell.questions == 0] { (shell.questions) }
                                }
                            }
                        }
                    }
                    @if let Some(query) = shell.query {
                        form.filter role="search" method="get" {
                            input #filter type="search" name="q" value=(line(query)) autocomplete="off" spellcheck="false" list="filters"
                                aria-label="Filter" placeholder="verdict:refused host:codex since:1h" aria-invalid=[shell.wrong.map(|_| "true")];
                            kbd aria-hidden="true" { "/" }
                            datalist #filters { @for (query, finds) in FILTERS { option value=(query) { (finds) } } }
                        }
                    }
                    span.live #live role="status" title="whether the page follows what happens" { "·" }
                }
                @if let Some(wrong) = shell.wrong { p.wrong role="alert" { (line(wrong)) } }
                main #main tabindex="-1" data-every=[(shell.every > 0).then_some(shell.every)] { (content) }
                dialog #help aria-label="Keys" {
                    h2 { "Keys" }
                    dl.keys {
                        dt { kbd { "/" } } dd { "filter" }
                        @for (_, name, key) in VIEWS { dt { kbd { "g" } " " kbd { (key) } } dd { (name) } }
                        dt { kbd { "j" } " " kbd { "k" } } dd { "next, previous row" }
                        dt { kbd { "↵" } } dd { "open the row" }
                        dt { kbd { "+" } " " kbd { "−" } " " kbd { "0" } } dd { "zoom of a timeline" }
                        dt { kbd { "?" } } dd { "this" }
                    }
                    form method="dialog" { button { "Close" } }
                }
            }
        }
    }
    .into_string()
}

/// A page that says what went wrong, or what is not there.
#[must_use]
pub fn notice(title: &str, text: &str) -> String {
    let content = html! {
        section.empty { h1 { (line(title)) } p { (line(text)) } }
    };
    page(&Shell { view: "none", title, ..Shell::default() }, &content)
}

/// The mark: a line with a hook on it.
fn mark() -> Markup {
    html! {
        svg.mark viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" {
            path d="M1 5.5h14M10.5 5.5v4a3 3 0 0 1-6 0" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" {}
        }
    }
}

/// The sign of a verdict: colour and shape.
#[must_use]
pub(crate) fn verdict(word: &str) -> Markup {
    let sign = match word {
        "block" | "stop" => "✕",
        "ask" => "?",
        "allow" => "✓",
        _ => "·",
    };
    html! { span.verdict.{ "v-" (word) } { span aria-hidden="true" { (sign) } " " (word) } }
}

/// A link to the timeline of a session.
pub(crate) fn session_link(session: &str, label: &str) -> Markup {
    html! {
        a href={ (BASE) "/sessions/" (crate::text::encoded(session)) } title=(crate::text::line(session)) {
            (crate::text::line(label))
        }
    }
}

/// A link to a decision.
pub(crate) fn decision_link(event: &str, label: &str) -> Markup {
    html! { a href={ (BASE) "/decisions/" (crate::text::encoded(event)) } { (label) } }
}

/// A text that was made here and is markup.
pub(crate) fn raw(markup: String) -> Markup {
    PreEscaped(markup)
}

#[cfg(test)]
mod tests;
