//! Answers for more than one question: those for a session go with it, those for a pattern are kept in the state folder.
//!
//! Either counts for questions of the same hook about the same tool alone. One of several hooks that ask is answered for
//! all of them where each has an answer.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lineside::Session;
use lineside::bus::approver::Question;
use lineside::core::event::digest_of;
use lineside::core::{ApprovalScope, Hook, tool_class};
use lineside::guards::PATCHES;
use lineside::json::{self, Map, Value, json};
use serde::{Deserialize, Serialize};

use super::Said;
use super::recorded::{self, Answer};

/// How many answers there are for sessions, for one of them, and for patterns.
const SESSIONS: usize = 1_024;
const SESSION: usize = 64;
const RULES: usize = 256;
/// The longest file of those for patterns, and the longest pattern, in bytes.
const FILE: u64 = 1 << 20;
const PATTERN: usize = 1 << 10;
/// What has a meaning for a shell: a `*` of a pattern stands for none of it.
const OF_A_SHELL: &[char] = &[';', '&', '|', '<', '>', '$', '`', '(', ')', '{', '}', '\n', '\r', '\\', '\0'];

/// What an agent tells of a call, which changes nothing of it.
const TOLD: [&str; 2] = ["description", "prompt"];

/// The answers.
pub(super) struct Granted {
    file: PathBuf,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    of_sessions: Vec<OfSession>,
    rules: Vec<Rule>,
}

struct OfSession {
    /// That of the main agent: another one that has its id later has no answer.
    session: Session,
    id: Arc<str>,
    hook: Asking,
    tool: String,
    digest: String,
    answer: Answer,
}

/// An answer for calls that fit a pattern.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Rule {
    /// The question that it was given to.
    pub(crate) id: String,
    /// The hook whose questions it answers, and the file that declares it.
    pub(crate) hook: Asking,
    pub(crate) tool: String,
    pub(crate) pattern: String,
    /// The digest of what else such a call says.
    #[serde(default)]
    pub(crate) rest: String,
    /// The project that it holds in; everywhere where a session has none.
    pub(crate) project: Option<String>,
    pub(crate) answer: Answer,
}

/// A hook that asks, as it is known again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Asking {
    pub(crate) name: String,
    pub(crate) file: Option<String>,
}

/// What an answer of a question is about.
#[derive(Clone)]
pub(crate) struct Of {
    /// That of the main agent.
    session: Option<Session>,
    project: Option<String>,
    hooks: Vec<Asking>,
    tool: String,
    /// Of the point, the folder and the payload, apart from the number of the call.
    digest: String,
    /// What a pattern is compared with: all of it has to fit, for which of several a tool reads is not known.
    subjects: Vec<String>,
    /// Whether a shell reads these.
    is_shell: bool,
    /// The digest of what else the call says.
    rest: String,
}

impl Of {
    pub(super) fn new(question: &Question, session: Option<Session>) -> Self {
        let event = &question.event;
        let source = &event.envelope().source;
        let mut payload = event.payload_json().clone();
        payload.remove("tool_call_id");
        let cwd = source.cwd.as_deref().map(Value::from).unwrap_or_default();
        payload.insert("".to_owned(), json!([event.point().name, cwd]));
        let asking = |hook: &Hook| Asking {
            name: hook.name.to_string(),
            file: hook.origin.as_ref().map(|origin| origin.file.display().to_string()),
        };
        let tool = event.payload().text("tool_name").unwrap_or_default();
        let input = event.payload().value("tool_input");
        let class = tool_class::of_call(tool, input);
        let is_shell = class == Some("shell");
        let mut rest = input.and_then(Value::as_object).cloned().unwrap_or_default();
        let mut subjects =
            taken(&mut rest, if is_shell { &tool_class::COMMANDS } else { &tool_class::PATHS });
        if !is_shell {
            subjects.extend(taken(&mut rest, &["url"]));
            event.payload().each_path(&mut |path| subjects.push(path.to_owned()));
        }
        subjects.sort_unstable();
        subjects.dedup();
        let is_written = matches!(class, Some("read" | "write" | "edit"));
        // What is written is another text in each call, but a patch is also where it is written.
        rest.retain(|name, _| {
            let is_of = |names: &[&str]| names.contains(&&**name);
            !is_of(&TOLD) && (!is_written || is_of(&PATCHES) || is_of(&tool_class::PATHS))
        });
        if is_shell || subjects.iter().any(|subject| !subject.starts_with('/')) {
            rest.insert("".to_owned(), cwd);
        }
        Self {
            session,
            project: source.project_root.as_deref().map(str::to_owned),
            hooks: question.asks.iter().map(|(hook, _)| asking(hook)).collect(),
            tool: tool.to_owned(),
            digest: digest_of(&payload),
            subjects,
            is_shell,
            rest: digest_of(&rest),
        }
    }

    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    pub(super) fn hooks(&self) -> impl Iterator<Item = &Asking> {
        self.hooks.iter()
    }

    /// That a pattern can be remembered, and is one of this question.
    pub(super) fn check(&self, pattern: &str) -> Result<(), String> {
        let Some(subject) = self.subjects.first() else {
            return Err(
                "a pattern is for the command of a shell, a path or a URL, and this call has none of them"
                    .to_owned(),
            );
        };
        if pattern.is_empty() || pattern.len() > PATTERN {
            return Err(format!("a pattern has from 1 to {PATTERN} bytes"));
        }
        if pattern.trim_matches(['*', ' ']).is_empty() {
            return Err("a pattern names what it is about, and not everything".to_owned());
        }
        if !self.fits(pattern) {
            let told: String = subject.chars().take(100).collect();
            return Err(format!(
                "the pattern does not fit this call ({told}); `*` stands for any text, of a command without what a shell \
                 gives a meaning to"
            ));
        }
        Ok(())
    }

    fn fits(&self, pattern: &str) -> bool {
        let is_meant = |subject: &String| {
            fits(pattern, subject, self.is_shell) && (self.is_shell || is_below(pattern, subject))
        };
        let all = || self.subjects.iter().all(is_meant);
        !self.subjects.is_empty() && all()
    }
}

/// Takes texts, and lists of them, out of the input of a tool.
fn taken(input: &mut Map, names: &[&str]) -> Vec<String> {
    let mut texts = Vec::new();
    for name in names {
        match input.get(name) {
            Some(Value::String(text)) => texts.push(text.clone()),
            Some(Value::Array(list))
                if tool_class::PATHS.contains(name) && list.iter().all(Value::is_string) =>
            {
                texts.extend(list.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            _ => continue,
        }
        input.remove(name);
    }
    texts
}

/// Whether a text fits a pattern, in which `*` stands for any text that has no meaning beyond itself: none that a shell
/// gives one to. A path that goes up fits no pattern that has one.
fn fits(pattern: &str, text: &str, is_shell: bool) -> bool {
    if !pattern.contains('*') {
        return pattern == text;
    }
    if !is_shell && goes_up(text) {
        return false;
    }
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let may_stand = |between: &str| !is_shell || !between.contains(OF_A_SHELL);
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.strip_suffix(part).is_some_and(may_stand);
        }
        let Some(at) = rest.find(part) else { return false };
        if !may_stand(&rest[..at]) {
            return false;
        }
        rest = &rest[at + part.len()..];
    }
    true
}

/// Whether no link leads a path out of the folder that a pattern names before its first `*`.
fn is_below(pattern: &str, path: &str) -> bool {
    let Some((folder, _)) = pattern.split_once('*').and_then(|(before, _)| before.rsplit_once('/')) else {
        return true;
    };
    let [path, own] = [path, folder].map(|path| resolved(Path::new(path)));
    !folder.starts_with('/') || path.zip(own).is_some_and(|(path, own)| path.starts_with(own))
}

/// A path without links, as far as it is there; none where one leads nowhere.
fn resolved(path: &Path) -> Option<PathBuf> {
    let is_absent = |above: &Path| {
        let absent = [ErrorKind::NotFound, ErrorKind::NotADirectory];
        fs::symlink_metadata(above).is_err_and(|error| absent.contains(&error.kind()))
    };
    let there = path.ancestors().find(|above| !is_absent(above))?;
    Some(fs::canonicalize(there).ok()?.join(path.strip_prefix(there).ok()?))
}

/// Whether a path or a URL has a step up, however a URL may write it.
fn goes_up(text: &str) -> bool {
    let is_left_out = |sign: &char| matches!(sign, '\t' | '\n' | '\r');
    let text: String = text.chars().filter(|sign| !is_left_out(sign)).collect();
    text.split(['/', '\\', '?', '#']).any(|step| step.to_ascii_lowercase().replace("%2e", ".") == "..")
}

impl Granted {
    /// Those that a folder has for patterns.
    pub(super) fn of(folder: &Path) -> Self {
        let file = folder.join("answers.json");
        let read = recorded::text(&file, FILE).map(|text| json::from_str::<Vec<Rule>>(&text));
        let rules = match read {
            Some(Ok(rules)) => rules,
            Some(Err(error)) => {
                tracing::warn!(%error, file = %file.display(), "the answers for patterns are not readable; none counts");
                Vec::new()
            }
            None => Vec::new(),
        };
        Self { file, kept: Mutex::new(Kept { of_sessions: Vec::new(), rules }) }
    }

    /// Remembers an answer, as far as it is for more than its question. The oldest gives way where there is no room.
    pub(super) fn grant(&self, id: &str, of: &Of, said: &Said, answer: &Answer) {
        let mut kept = self.kept();
        for hook in &of.hooks {
            match (said.scope, &said.pattern, &of.session) {
                (ApprovalScope::Session, _, Some(session)) => kept.add(OfSession {
                    session: session.clone(),
                    id: id.into(),
                    hook: hook.clone(),
                    tool: of.tool.clone(),
                    digest: of.digest.clone(),
                    answer: answer.clone(),
                }),
                (ApprovalScope::Pattern, Some(pattern), _) => {
                    let rule = Rule {
                        id: id.to_owned(),
                        hook: hook.clone(),
                        tool: of.tool.clone(),
                        pattern: pattern.clone(),
                        rest: of.rest.clone(),
                        project: of.project.clone(),
                        answer: answer.clone(),
                    };
                    if kept.rules.len() >= RULES {
                        kept.rules.remove(0);
                    }
                    kept.rules.push(rule);
                }
                _ => {}
            }
        }
        if said.scope == ApprovalScope::Pattern {
            self.write(&kept.rules);
        }
    }

    /// Has these on the disk, or none: what was taken back there must not come again.
    fn write(&self, rules: &[Rule]) {
        let written = json::to_string(rules).map_err(std::io::Error::other);
        let Err(error) = written.and_then(|text| recorded::replace(&self.file, &text)) else { return };
        let removed = std::fs::remove_file(&self.file);
        tracing::warn!(
            %error, file = %self.file.display(), is_removed = removed.is_ok(),
            "the answers for patterns are not kept beyond this daemon",
        );
    }

    /// The answer to a question, with the question that it was given to: a refusal of any of its hooks, else the approval
    /// of all.
    pub(super) fn find(&self, of: &Of) -> Option<(Arc<str>, Answer)> {
        let kept = self.kept();
        let answers: Vec<_> = of.hooks.iter().map(|hook| kept.find(of, hook)).collect();
        drop(kept);
        let refused = answers.iter().flatten().find(|(_, answer)| !answer.is_allowed).cloned();
        refused.or_else(|| answers.into_iter().collect::<Option<Vec<_>>>()?.into_iter().next())
    }

    pub(super) fn rules(&self) -> Vec<Rule> {
        self.kept().rules.clone()
    }

    /// Takes those back that were given to this question.
    pub(super) fn forget_rule(&self, id: &str) -> bool {
        let mut kept = self.kept();
        let before = kept.rules.len();
        kept.rules.retain(|rule| rule.id != id);
        let is_forgotten = kept.rules.len() < before;
        if is_forgotten {
            self.write(&kept.rules);
        }
        is_forgotten
    }

    /// A session is over.
    pub(super) fn forget(&self) {
        self.kept().of_sessions.retain(|granted| granted.session.is_open());
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn add(&mut self, granted: OfSession) {
        let of_root = |other: &OfSession| other.session.id() == granted.session.id();
        let oldest = if self.of_sessions.iter().filter(|other| of_root(other)).count() >= SESSION {
            self.of_sessions.iter().position(of_root)
        } else {
            (self.of_sessions.len() >= SESSIONS).then_some(0)
        };
        if let Some(oldest) = oldest {
            self.of_sessions.remove(oldest);
        }
        self.of_sessions.push(granted);
    }

    fn find(&self, of: &Of, hook: &Asking) -> Option<(Arc<str>, Answer)> {
        let is_same = |granted: &&OfSession| {
            of.session.as_ref().is_some_and(|session| session.id() == granted.session.id())
                && granted.session.is_open()
                && granted.hook == *hook
                && granted.tool == of.tool
                && granted.digest == of.digest
        };
        let of_session = self.of_sessions.iter().rev().find(is_same);
        if let Some(granted) = of_session {
            return Some((Arc::clone(&granted.id), granted.answer.clone()));
        }
        let fits = |rule: &&Rule| {
            let is_same = (&rule.tool, &rule.project, &rule.rest) == (&of.tool, &of.project, &of.rest);
            is_same && rule.hook == *hook && of.fits(&rule.pattern)
        };
        let rule = self.rules.iter().rev().find(fits)?;
        Some((rule.id.as_str().into(), rule.answer.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(is_allowed: bool) -> Answer {
        let text =
            format!(r#"{{"is_allowed":{is_allowed},"by":"a person","at":1,"scope":"once","reason":null}}"#);
        json::from_str(&text).unwrap()
    }

    fn said(scope: ApprovalScope, pattern: Option<String>) -> Said {
        Said { is_allowed: true, scope, pattern, reason: None, by: "a person".to_owned() }
    }

    fn of(session: &Session, command: &str) -> Of {
        Of {
            session: Some(session.clone()),
            project: None,
            hooks: vec![Asking { name: "h".to_owned(), file: None }],
            tool: "Shell".to_owned(),
            digest: command.to_owned(),
            subjects: vec![command.to_owned()],
            is_shell: true,
            rest: String::new(),
        }
    }

    #[tokio::test]
    async fn of_answers_the_oldest_give_way() {
        let (folder, bus) = (tempfile::tempdir().unwrap(), lineside::Bus::new());
        let granted = Granted::of(folder.path());
        let command = |number: usize| format!("run {number}");
        let session = said(ApprovalScope::Session, None);
        let one = bus.session("one").open().await.unwrap();
        for number in 0..10 * SESSION {
            granted.grant("q", &of(&one, &command(number)), &session, &answered(true));
        }
        let knows = |session: &Session, number: usize| granted.find(&of(session, &command(number))).is_some();
        assert!(knows(&one, 10 * SESSION - 1) && knows(&one, 9 * SESSION) && !knows(&one, 9 * SESSION - 1));
        let mut last = one.clone();
        for number in 0..10 * SESSIONS {
            last = bus.session(format!("s{number}")).open().await.unwrap();
            granted.grant("q", &of(&last, &command(number)), &session, &answered(true));
        }
        assert_eq!(granted.kept().of_sessions.len(), SESSIONS);
        assert!(!knows(&one, 10 * SESSION - 1) && knows(&last, 10 * SESSIONS - 1));
        last.close().await;
        let again = bus.session(last.id().as_str()).open().await.unwrap();
        assert!(!knows(&again, 10 * SESSIONS - 1), "it is another session");
        granted.forget();
        assert_eq!(granted.kept().of_sessions.len(), SESSIONS - 1);
        for number in 0..10 * RULES {
            let pattern = said(ApprovalScope::Pattern, Some(format!("go {number} *")));
            granted.grant(
                &number.to_string(),
                &of(&one, &format!("go {number} x")),
                &pattern,
                &answered(true),
            );
        }
        let ids = |granted: &Granted| granted.rules().iter().map(|rule| rule.id.clone()).collect::<Vec<_>>();
        assert_eq!((ids(&granted).len(), ids(&granted)[0].as_str()), (RULES, &*(9 * RULES).to_string()));
        assert_eq!(ids(&Granted::of(folder.path())), ids(&granted), "they are kept on the disk");
    }

    #[test]
    fn a_link_leads_no_path_out_of_the_folder_that_a_pattern_names() {
        let folder = tempfile::tempdir().unwrap();
        let [own, other] = ["own", "other"].map(|name| folder.path().join(name));
        fs::create_dir_all(own.join("sub")).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("t"), "").unwrap();
        std::os::unix::fs::symlink(&other, own.join("out")).unwrap();
        std::os::unix::fs::symlink(other.join("t"), own.join("t")).unwrap();
        std::os::unix::fs::symlink(&own, folder.path().join("in")).unwrap();
        std::os::unix::fs::symlink(other.join("new"), own.join("gone")).unwrap();
        let pattern = |name: &str| format!("{}/{name}/*", folder.path().display());
        let is_below =
            |of: &str, path: &str| is_below(&pattern(of), &format!("{}/{path}", folder.path().display()));
        assert!(
            is_below("own", "own/new") && is_below("own", "own/sub/new/deep") && is_below("in", "in/new")
        );
        assert!(
            !is_below("own", "own/out/new") && !is_below("own", "own/t") && !is_below("in", "in/out/new")
        );
        assert!(!is_below("own", "own/gone"), "what is written there is elsewhere");
    }

    #[tokio::test]
    async fn of_several_hooks_each_needs_an_answer_and_a_refusal_of_one_is_enough() {
        let (folder, bus) = (tempfile::tempdir().unwrap(), lineside::Bus::new());
        let s = bus.session("s").open().await.unwrap();
        let granted = Granted::of(folder.path());
        let session = said(ApprovalScope::Session, None);
        let mut both = of(&s, "x");
        both.hooks.push(Asking { name: "other".to_owned(), file: None });
        granted.grant("q", &of(&s, "x"), &session, &answered(true));
        assert!(granted.find(&of(&s, "x")).is_some() && granted.find(&both).is_none());
        let other = Of { hooks: vec![both.hooks[1].clone()], ..of(&s, "x") };
        granted.grant("q", &other, &session, &answered(false));
        assert!(!granted.find(&both).unwrap().1.is_allowed);
        assert!(granted.find(&Of { tool: "Other".to_owned(), ..of(&s, "x") }).is_none());
        // A hook of the same name in another file is another one.
        let elsewhere = vec![Asking { name: "h".to_owned(), file: Some("/else".to_owned()) }];
        assert!(granted.find(&Of { hooks: elsewhere, ..of(&s, "x") }).is_none());
    }

    #[test]
    fn a_star_of_a_pattern_stands_for_no_text_that_runs_something_else() {
        for (pattern, text, is_fit) in [
            ("git push *", "git push origin main", true),
            ("git push *", "git push", false),
            ("git push *", "git pushed x", false),
            ("git * main", "git push origin main", true),
            ("git push origin main", "git push origin main", true),
            ("git push *", "git push x; rm -rf /", false),
            ("git push *", "git push $(rm x)", false),
            ("git push *", "git push x\nrm x", false),
            ("git push *", "git push x && rm y", false),
            ("git push *", "git push >file", false),
            ("git * main", "git x | main", false),
            ("a && b *", "a && b c", true),
            ("*", "ls", true),
        ] {
            assert_eq!(fits(pattern, text, true), is_fit, "{pattern}: {text}");
        }
        assert!(fits("/repo/docs/*", "/repo/docs/a/b.md", false));
        assert!(!fits("/repo/docs/*", "/repo/docs/../src/x", false));
        assert!(!fits("/repo/docs/*", "/repo/doc", false));
        for (pattern, text, is_fit) in [
            ("/repo/src/*.*", "/repo/src/a.rs", true),
            ("/repo/src/*.*", "/repo/src/../x", false),
            ("/repo/src/*.*", "/repo/src/../../etc/x.conf", false),
            ("/repo/src/.*", "/repo/src/.env", true),
            ("/repo/src/.*", "/repo/src/../x", false),
            ("/repo/*/x", "/repo/a..b/x", true),
            ("/repo/../x", "/repo/../x", true),
            ("https://a.example/docs/*", "https://a.example/docs/1..2", true),
            ("https://a.example/docs/*", "https://a.example/docs/%2e%2E/x", false),
            ("https://a.example/docs/*", "https://a.example/docs\\..\\x", false),
            ("https://a.example/docs/*", "https://a.example/docs/.\t.?x", false),
        ] {
            assert_eq!(fits(pattern, text, false), is_fit, "{pattern}: {text}");
        }
    }

    #[tokio::test]
    async fn an_answer_that_was_taken_back_is_gone_though_the_disk_takes_nothing() {
        let (folder, bus) = (tempfile::tempdir().unwrap(), lineside::Bus::new());
        let s = bus.session("s").open().await.unwrap();
        let granted = Granted::of(folder.path());
        let pattern = said(ApprovalScope::Pattern, Some("go *".to_owned()));
        granted.grant("q", &of(&s, "go on"), &pattern, &answered(true));
        assert!(Granted::of(folder.path()).find(&of(&s, "go up")).is_some());
        // What is written first is in the way.
        std::fs::create_dir(folder.path().join("answers.json.new")).unwrap();
        assert!(granted.forget_rule("q"));
        assert!(Granted::of(folder.path()).find(&of(&s, "go up")).is_none());
    }
}
