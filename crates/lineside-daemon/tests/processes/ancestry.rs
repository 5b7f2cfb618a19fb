//! Whose child the session of a program is that was started plainly, and when it ends with its process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Stdio};

use lineside::Session;
use lineside::core::AttributedBy;
use lineside::prelude::*;

use crate::{AGENT, House};

/// What the hook says that is registered on the session of the outer agent.
pub(crate) const REASON: &str = "not below the outer agent";

/// Makes JSON of the answer to a call.
const TOLD: &str = r#"python3 -c 'import json, sys; print(json.dumps({"told": sys.stdin.read()}))'"#;

/// An agent program with hook commands. It is killed when it is dropped.
pub(crate) struct Host {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Host {
    pub(crate) fn start(house: &House, id: &str, grant: Option<&str>) -> Self {
        Self::start_with(house, id, grant.map(|grant| ("LINESIDE_GRANT", grant)))
    }

    fn start_with<'a, 'b>(
        house: &House,
        id: &str,
        variables: impl IntoIterator<Item = (&'a str, &'b str)>,
    ) -> Self {
        let mut command = house.agent(&["host", id]);
        command.stdin(Stdio::piped()).envs(variables);
        let mut child = command.spawn().unwrap();
        let mut host = Self { out: BufReader::new(child.stdout.take().unwrap()), child };
        assert_eq!(host.says(), "agent");
        host
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn says(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Its hook is asked about a command. Gives the answer.
    pub(crate) fn calls(&mut self, command: &str) -> String {
        writeln!(self.child.stdin.as_mut().unwrap(), "{command}").unwrap();
        self.says()
    }

    /// Its shell starts another agent program in this way, whose hook is asked about a command.
    pub(crate) fn starts(&mut self, how: &str, id: &str, command: &str) -> String {
        let inner = format!("printf \"{command}\\n\" | {how} {AGENT} host {id}");
        assert_eq!(self.calls(&format!("run {inner}")), "agent");
        self.says()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// An agent of which one call has come, and whose session has a hook that refuses deletions.
pub(crate) fn outer(house: &House) -> (Host, Session) {
    let mut outer = Host::start(house, "outer", None);
    assert_eq!(outer.calls("ls"), "200");
    let session = house.server.bus().find("outer").unwrap();
    let gate = session.intercept::<BeforeTool>("no-rm").gate(|call, _| {
        let deletes = call.command().is_some_and(|command| command.contains("rm"));
        std::future::ready(if deletes { Verdict::block(REASON) } else { Verdict::Continue })
    });
    gate.unwrap();
    (outer, session)
}

/// By what the place of an open session was found.
pub(crate) fn attributed(house: &House, id: &str) -> Option<AttributedBy> {
    let session = house.server.bus().find(id).unwrap();
    session.source().attribution.map(|attribution| attribution.by)
}

pub(crate) fn parent(house: &House, id: &str) -> Option<String> {
    house.server.bus().find(id).unwrap().source().parent_session.as_ref().map(ToString::to_string)
}

#[test]
fn law_13_a_program_that_an_agent_starts_plainly_is_a_child_of_its_session() {
    let house = House::new();
    let (mut outer, _) = outer(&house);
    for (how, id) in
        [("", "inner"), ("setsid -w", "set-apart"), ("env -i LINESIDE_SOCKET=$LINESIDE_SOCKET", "bare")]
    {
        let told = outer.starts(how, id, "rm x");
        assert!(told.contains(REASON), "{how}: {told}");
        assert_eq!(
            (parent(&house, id).as_deref(), attributed(&house, id)),
            (Some("outer"), Some(AttributedBy::Ancestry))
        );
    }
    // A program in between that has no hooks, and another agent in between.
    let inner = format!("printf \"run printf rm | {AGENT} host third\\n\" ");
    let inner = format!("run (echo ls; {inner}) | {AGENT} host second");
    assert_eq!([outer.calls(&inner), outer.says(), outer.says()], ["agent", "200", "agent"]);
    assert!(outer.says().contains(REASON));
    assert_eq!(parent(&house, "third").as_deref(), Some("second"), "the nearest");
    house.ends();
}

/// Runs the rest of its arguments below this many shells.
const NEST: &str = "n=$1; shift; if [ $n -gt 0 ]; then sh $0 $((n - 1)) \"$@\"; exit $?; fi; exec \"$@\"\n";

#[test]
fn law_13_no_name_and_no_depth_leads_out_from_below_an_agent() {
    let house = House::new();
    let (mut outer, _) = outer(&house);
    // The names of shells, and of those that have orphans.
    for name in ["bash", "sh", "systemd", "init"] {
        let program = house.folder.path().join(name);
        std::fs::copy(AGENT, &program).unwrap();
        let inner = format!("run printf 'rm x\\n' | {} host inner-{name}", program.display());
        assert_eq!(outer.calls(&inner), "agent");
        assert!(outer.says().contains(REASON), "{name}");
        assert_eq!(parent(&house, &format!("inner-{name}")).as_deref(), Some("outer"));
    }
    let nest = house.folder.path().join("nest");
    std::fs::write(&nest, NEST).unwrap();
    let told = outer.starts(&format!("sh {} 100", nest.display()), "deep", "rm x");
    assert!(told.contains(REASON), "{told}");
    // What is below more than can be looked at is let do nothing.
    let told = outer.starts(&format!("sh {} 300", nest.display()), "deeper", "ls");
    assert!(told.contains("deny") && told.contains("more than 250 processes"), "{told}");
    house.ends();
}

#[test]
fn law_13_a_program_is_a_child_of_the_agent_above_it_from_the_first_call_of_that() {
    let house = House::new();
    // After a restart the inner one may call first: it is a root until the one above it has called.
    let mut outer = Host::start(&house, "outer", None);
    let inner =
        format!("run (echo ls; read x < go; {AGENT} hook outer ls >&2; echo ls) | {AGENT} host inner");
    let go = house.folder.path().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&go).status().unwrap().success());
    let inner = inner.replace("< go", &format!("< {}", go.display()));
    writeln!(outer.child.stdin.as_mut().unwrap(), "{inner}").unwrap();
    assert_eq!([outer.says(), outer.says()], ["agent", "200"]);
    assert_eq!((parent(&house, "inner"), attributed(&house, "inner")), (None, Some(AttributedBy::Nothing)));
    drop(std::fs::OpenOptions::new().write(true).open(&go).unwrap());
    assert_eq!(outer.says(), "200");
    assert_eq!(parent(&house, "inner").as_deref(), Some("outer"));
    assert_eq!(attributed(&house, "inner"), Some(AttributedBy::Ancestry));
    house.ends();
}

#[test]
fn a_client_without_a_grant_below_an_agent_is_a_child_of_its_session() {
    let house = House::new();
    let (mut outer, _) = outer(&house);
    let told = outer.calls(&format!("run {AGENT} publish client rm"));
    assert!(told.contains(REASON) && told.contains("\"parent\":\"outer\""), "{told}");
    house.ends();
}

#[test]
fn programs_that_a_person_starts_beside_one_another_are_not_related() {
    let house = House::new();
    let (_outer, _) = outer(&house);
    let mut beside = Host::start(&house, "beside", None);
    assert_eq!([beside.calls("rm x"), beside.calls("rm x")], ["200", "200"]);
    assert_eq!((parent(&house, "beside"), attributed(&house, "beside")), (None, Some(AttributedBy::Nothing)));
    house.ends();
}

#[test]
fn a_further_session_of_one_program_is_not_below_its_first() {
    let house = House::new();
    let (mut outer, _) = outer(&house);
    let further = format!("run {AGENT} hook further rm");
    assert_eq!(outer.calls(&further), "200");
    assert_eq!(parent(&house, "further"), None);
    house.ends();
}

#[test]
fn a_further_session_of_an_agent_leads_a_program_out_from_under_no_hooks() {
    let house = House::new();
    let (mut outer, _) = outer(&house);
    let inner = format!("run {AGENT} hook further ls; printf 'rm x\\n' | {AGENT} host inner");
    assert_eq!([outer.calls(&inner), outer.says()], ["200", "agent"]);
    assert!(outer.says().contains(REASON));
    assert_eq!(parent(&house, "inner").as_deref(), Some("outer"));
    // Nor out of a run.
    let run = house.runtime.block_on(house.server.bus().session("run").open()).unwrap();
    let grant = run.environment().get("LINESIDE_GRANT").unwrap().to_owned();
    let mut agent = Host::start(&house, "agent", Some(&grant));
    assert_eq!(agent.calls("ls"), "200");
    let below =
        format!("run unset LINESIDE_GRANT; {AGENT} hook beside ls; printf 'ls\\n' | {AGENT} host below");
    assert_eq!([agent.calls(&below), agent.says(), agent.says()], ["200", "agent", "200"]);
    assert_eq!(parent(&house, "beside"), None);
    assert_eq!(parent(&house, "below").as_deref(), Some("agent"));
    house.ends();
}

#[test]
fn a_program_whose_parent_has_ended_before_its_first_call_is_attributed_to_nothing() {
    let house = House::new();
    let (mut outer, _) = outer(&house);
    let detached = format!("run (while read x; do :; done < gone; printf rm | {AGENT} host detached) &");
    let gone = house.folder.path().join("gone");
    let made = std::process::Command::new("mkfifo").arg(&gone).status().unwrap();
    assert!(made.success());
    let detached = detached.replace("gone", &gone.to_string_lossy());
    writeln!(outer.child.stdin.as_mut().unwrap(), "{detached}").unwrap();
    // The shell of the tool has ended when the next call is answered.
    assert_eq!(outer.calls("ls"), "200");
    drop(std::fs::OpenOptions::new().write(true).open(&gone).unwrap());
    assert_eq!([outer.says(), outer.says()], ["agent", "200"]);
    assert_eq!(attributed(&house, "detached"), Some(AttributedBy::Nothing));
    house.ends();
}

#[test]
fn law_13_in_a_run_a_program_that_an_agent_starts_is_below_the_agent_and_not_beside_it() {
    let house = House::new();
    let run = house.runtime.block_on(house.server.bus().session("run").open()).unwrap();
    let grant = run.environment().get("LINESIDE_GRANT").unwrap().to_owned();
    let mut agent = Host::start(&house, "agent", Some(&grant));
    assert_eq!([agent.calls("ls"), agent.calls("ls")], ["200", "200"]);
    agent.starts("", "inner", "ls");
    assert_eq!(
        (parent(&house, "agent").as_deref(), parent(&house, "inner").as_deref()),
        (Some("run"), Some("agent"))
    );
    assert_eq!(attributed(&house, "inner"), Some(AttributedBy::Grant));
    // The grant of a session elsewhere does not lead out.
    let other = house.runtime.block_on(house.server.bus().session("other").open()).unwrap();
    let other = other.environment().get("LINESIDE_GRANT").unwrap().to_owned();
    let told = agent.starts(&format!("env LINESIDE_GRANT={other}"), "out", "ls");
    assert!(told.contains("deny") && told.contains("start it without LINESIDE_GRANT"), "{told}");
    assert!(house.server.bus().find("out").is_none());
    house.ends();
}

/// Refuses deletions, approves of `date`, and makes a deletion of `ls`.
fn amended(session: &Session) {
    let gate =
        session.intercept::<BeforeTool>("judge").gate(async |call, _| match call.command().as_deref() {
            Some("rm x") => Verdict::block(REASON),
            Some("date") => Verdict::allow_because("always"),
            _ => Verdict::Continue,
        });
    gate.unwrap();
    let amender =
        session.intercept::<BeforeTool>("rewrite").amend(async |call, _| match call.command().as_deref() {
            Some("ls") => Reply::amend(BeforeTool::amend().tool_input(json!({"command": "ls -l"}))),
            _ => Reply::from(Verdict::Continue),
        });
    amender.unwrap();
}

#[test]
fn a_grant_that_no_process_above_proves_lets_hooks_refuse_and_nothing_else() {
    let house = House::new();
    let session = house.runtime.block_on(house.server.bus().session("other").open()).unwrap();
    amended(&session);
    let variables = session.environment();
    let grant = variables.get("LINESIDE_GRANT").unwrap();
    // As from a file of a workspace.
    let mut program = Host::start(&house, "program", Some(grant));
    assert!(program.calls("rm x").contains(REASON));
    assert_eq!(program.calls("date"), "200");
    let told = program.calls("ls");
    assert!(told.contains("deny") && told.contains("`lineside run`"), "{told}");
    assert_eq!(
        (parent(&house, "program").as_deref(), attributed(&house, "program")),
        (Some("other"), Some(AttributedBy::Claim))
    );
    // A client is no other than an agent.
    let client = format!("run LINESIDE_GRANT={grant} {AGENT} publish client ls");
    let mut beside = Host::start(&house, "beside", None);
    let told = beside.calls(&client);
    assert!(told.contains("\"parent\":\"other\"") && told.contains("`lineside run`"), "{told}");
    // The daemon has started this one with it, as it starts hooks.
    let mut own = Host::start_with(&house, "own", variables.iter());
    assert!(own.calls("ls").contains("ls -l") && own.calls("date").contains("\"allow\""));
    assert_eq!(attributed(&house, "own"), Some(AttributedBy::Grant));
    house.ends();
}

#[test]
fn a_grant_is_proved_by_the_process_above_that_has_opened_its_session() {
    let house = House::new();
    let mut owner = house.owner("not below me");
    amended(&house.server.bus().find("s1").unwrap());
    let told = owner.runs(&format!("printf 'ls\\n' | setsid -w {AGENT} host inner | {TOLD}"));
    assert!(told["told"].as_str().unwrap().contains("ls -l"), "{told}");
    assert_eq!(attributed(&house, "inner"), Some(AttributedBy::Grant));
    owner.ends();
    house.ends();
}

#[test]
fn a_grant_that_is_over_counts_for_nothing_and_what_runs_below_no_agent_is_told_why_it_is_refused() {
    let house = House::new();
    let over = format!("lsg_{}", "0".repeat(64));
    let mut program = Host::start(&house, "late", Some(&over));
    let told = program.calls("ls");
    assert!(
        told.starts_with("200 ") && told.contains("deny") && told.contains("session that has ended"),
        "{told}"
    );
    assert!(!told.contains("cannot be reached") && house.server.bus().find("late").is_none());
    let (mut outer, _) = outer(&house);
    let told = outer.starts(&format!("env LINESIDE_GRANT={over}"), "inner", "rm x");
    assert!(told.contains(REASON), "{told}");
    assert_eq!(attributed(&house, "inner"), Some(AttributedBy::Ancestry));
    house.ends();
}

#[test]
fn a_session_that_a_killed_program_has_left_open_is_moved_and_that_of_a_living_one_is_not() {
    let house = House::new();
    let run = house.runtime.block_on(house.server.bus().session("run").open()).unwrap();
    let grant = run.environment().get("LINESIDE_GRANT").unwrap().to_owned();
    let mut first = Host::start(&house, "one", None);
    assert_eq!([first.calls("ls"), first.calls("ls")], ["200", "200"]);
    let mut second = Host::start(&house, "one", Some(&grant));
    let told = second.calls("ls");
    let pid = format!("process {} has session `one` open", first.child.id());
    assert!(told.contains("deny") && told.contains(&pid), "{told}");
    drop(first);
    assert_eq!(second.calls("ls"), "200");
    assert_eq!(parent(&house, "one").as_deref(), Some("run"));
    house.ends();
}

/// An agent of which one call has come, and below it a program that guards the session of this id with `stranger`, until
/// the file is opened.
fn confined(house: &House, own: &str, id: &str) -> (Host, std::path::PathBuf) {
    let mut host = Host::start(house, own, None);
    assert_eq!(host.calls("ls"), "200");
    let until = house.folder.path().join(own);
    assert!(std::process::Command::new("mkfifo").arg(&until).status().unwrap().success());
    let guard = format!("run (read x < {}) | {AGENT} guard {id} stranger", until.display());
    assert_eq!(host.calls(&guard), "guarding");
    (host, until)
}

#[test]
fn a_session_that_a_confined_program_has_opened_under_the_id_of_an_agent_is_never_that_of_the_agent() {
    let house = House::new();
    let (_one, first) = confined(&house, "one", "victim");
    let (_two, second) = confined(&house, "two", "two/a");
    assert_eq!(
        (parent(&house, "victim").as_deref(), parent(&house, "two/a").as_deref()),
        (Some("one"), Some("two"))
    );
    // It can be refused by nothing that the stranger says, and stands where its own process does.
    let mut victim = Host::start(&house, "victim", None);
    assert_eq!([victim.calls("rm x"), victim.calls("rm x")], ["200", "200"]);
    assert_eq!(parent(&house, "victim"), None);
    let output = house.agent(&["hook", "two/a", "rm x"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), "200");
    // What is an agent's now gets no hooks of what runs below an agent.
    let mut other = Host::start(&house, "other", None);
    assert_eq!(other.calls("ls"), "200");
    for id in ["victim", "two/a", "other"] {
        let guard = format!("run {AGENT} guard {id} stranger < /dev/null || echo refused");
        assert_eq!(other.calls(&guard), "refused", "{id}");
    }
    drop([first, second].map(|until| std::fs::OpenOptions::new().write(true).open(until)));
    house.ends();
}

#[test]
fn a_session_that_a_program_opens_for_the_agent_that_it_starts_is_that_of_the_agent() {
    let house = House::new();
    let mut owner = house.owner("not below me");
    let told = owner.runs(&format!("printf 'rm x\\n' | env -u LINESIDE_GRANT {AGENT} host s1 | {TOLD}"));
    assert!(told["told"].as_str().unwrap().contains("not below me"), "{told}");
    owner.ends();
    house.ends();
}

#[test]
fn a_session_that_a_call_below_another_agent_has_opened_is_not_that_of_a_program_elsewhere() {
    let house = House::new();
    let (mut outer, _) = outer(&house);
    assert_eq!(outer.starts("", "victim", "ls"), "200");
    assert_eq!(parent(&house, "victim").as_deref(), Some("outer"));
    // That process has ended when the shell of the tool has.
    assert_eq!(outer.calls("ls"), "200");
    let mut victim = Host::start(&house, "victim", None);
    assert_eq!(victim.calls("rm x"), "200");
    assert_eq!(parent(&house, "victim"), None);
    house.ends();
}

#[test]
fn a_session_that_a_stranger_has_opened_by_a_call_below_hooks_of_its_own_is_not_that_of_an_agent_beside_it() {
    let house = House::new();
    let mut outer = Host::start(&house, "outer", None);
    assert_eq!(outer.calls("ls"), "200");
    let go = ["go-stranger", "go-victim"].map(|name| house.folder.path().join(name));
    for file in &go {
        assert!(std::process::Command::new("mkfifo").arg(file).status().unwrap().success());
    }
    let [stranger, victim] = go.each_ref().map(|file| file.display());
    let line = format!(
        "run (echo \"{AGENT} hook victim ls\"; read x < {stranger}) | {AGENT} guard between stranger & \
         read y < {victim}; printf 'rm x\\n' | {AGENT} host victim"
    );
    assert_eq!([outer.calls(&line), outer.says()], ["guarding", "200"]);
    assert_eq!(parent(&house, "victim").as_deref(), Some("between"));
    drop(std::fs::OpenOptions::new().write(true).open(&go[1]).unwrap());
    assert_eq!(outer.says(), "agent");
    // The stranger is there still, and is named.
    let told = outer.says();
    assert!(told.contains("has session `victim` open outside of session `outer`"), "{told}");
    drop(std::fs::OpenOptions::new().write(true).open(&go[0]).unwrap());
    house.ends();
}

#[test]
fn a_further_session_with_a_grant_of_another_place_leads_nothing_out() {
    let house = House::new();
    // Its hooks are those of its project, and not its own.
    let mut outer = Host::start(&house, "outer", None);
    assert_eq!([outer.calls("ls"), outer.calls("ls")], ["200", "200"]);
    let other = house.runtime.block_on(house.server.bus().session("other").open()).unwrap();
    let grant = other.environment().get("LINESIDE_GRANT").unwrap().to_owned();
    for _ in 0..3 {
        outer.calls(&format!("run LINESIDE_GRANT={grant} {AGENT} hook fake ls"));
    }
    assert_eq!(parent(&house, "fake").as_deref(), Some("other"));
    assert_eq!(outer.starts("", "inner", "ls"), "200");
    assert_eq!(parent(&house, "inner").as_deref(), Some("outer"));
    house.ends();
}
