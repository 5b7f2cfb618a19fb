//! Whose session it is: who speaks in it, who ends it, and who has hooks on it.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::Command;

use lineside::prelude::*;

use crate::ancestry::{Host, parent};
use crate::{AGENT, House};

/// An agent of which two calls have come.
fn agent(house: &House, id: &str) -> Host {
    let mut host = Host::start(house, id, None);
    assert_eq!([host.calls("ls"), host.calls("ls")], ["200", "200"]);
    host
}

/// The answer to a call of a program that the user starts beside all agents.
fn beside(house: &House, id: &str, works: &str) -> String {
    let output = house.agent(&["hook", id, "ls"]).env("HOOK_CWD", works).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

#[test]
fn after_a_restart_the_session_of_a_living_agent_is_its_own_still() {
    let mut house = House::new();
    let [mut one, mut two] = ["one", "two"].map(|id| agent(&house, id));
    assert_eq!(two.calls(&format!("run {AGENT} end two")), "200");
    assert_eq!([two.calls("ls"), two.calls("ls")], ["200", "200"]);
    house = house.again();
    let pid = format!("process {} has session `two` open", two.pid());
    for told in [beside(&house, "two", ""), one.calls(&format!("run {AGENT} hook two ls"))] {
        assert!(told.contains("deny") && told.contains(&pid), "{told}");
    }
    assert!(house.server.bus().find("two").is_none());
    assert_eq!([one.calls("ls"), two.calls("ls")], ["200", "200"]);
    // One that is over, as its program says, and that of one that has ended may be taken up elsewhere.
    assert_eq!(one.calls(&format!("run {AGENT} end one")), "200");
    drop(two);
    house = house.again();
    assert_eq!(["one", "two"].map(|id| beside(&house, id, "")), ["200", "200"]);
    house.ends();
}

#[test]
fn what_runs_below_one_agent_does_not_speak_as_another_one() {
    let house = House::new();
    let [mut one, mut two] = ["one", "two"].map(|id| agent(&house, id));
    let told = one.calls(&format!("run {AGENT} hook two ls"));
    assert!(told.contains("deny") && told.contains("comes from below another agent"), "{told}");
    let told = two.calls(&format!("run {AGENT} hook one ls"));
    assert!(told.contains("deny"), "{told}");
    assert_eq!([one.calls("ls"), two.calls("ls")], ["200", "200"]);
    // What the user starts beside both does not either.
    let told = beside(&house, "two", "");
    let pid = format!("process {} has session `two` open", two.pid());
    assert!(told.contains("deny") && told.contains(&pid) && told.contains("elsewhere"), "{told}");
    // The session of a program that has ended is taken up elsewhere, also by an agent with another one.
    drop(two);
    assert_eq!(one.calls(&format!("run {AGENT} hook two ls")), "200");
    house.ends();
}

#[test]
fn what_runs_below_one_agent_does_not_speak_as_one_beside_it_under_the_same_hooks() {
    let house = House::new();
    let mut outer = agent(&house, "outer");
    let go = ["go-one", "go-two"].map(|name| house.folder.path().join(name));
    for file in &go {
        assert!(std::process::Command::new("mkfifo").arg(file).status().unwrap().success());
    }
    let [one, two] = go.each_ref().map(|file| file.display());
    let line = format!(
        "run (printf 'ls\\nls\\n'; read x < {two}) | {AGENT} host two & (printf 'ls\\nls\\n'; read x < {one}; \
         echo 'run {AGENT} hook two ls'; echo 'run {AGENT} hook one/a ls') | {AGENT} host one"
    );
    let mut first = vec![outer.calls(&line)];
    first.extend((0..5).map(|_| outer.says()));
    first.sort();
    assert_eq!(first, ["200", "200", "200", "200", "agent", "agent"]);
    assert_eq!(["one", "two"].map(|id| parent(&house, id)), ["outer", "outer"].map(|id| Some(id.to_owned())));
    drop(std::fs::OpenOptions::new().write(true).open(&go[0]).unwrap());
    let told = outer.says();
    assert!(told.contains("deny") && told.contains("comes from below another agent"), "{told}");
    assert_eq!(outer.says(), "200", "its own subagent");
    drop(std::fs::OpenOptions::new().write(true).open(&go[1]).unwrap());
    house.ends();
}

#[test]
fn a_forged_call_ends_no_session_of_a_program_with_hooks_that_is_there() {
    let house = House::new();
    let owner = house.owner("not below me");
    let s1 = house.server.bus().find("s1").unwrap();
    let mut stranger = agent(&house, "stranger");
    for id in ["s1", "s1/a"] {
        let told = stranger.calls(&format!("run {AGENT} hook {id} ls"));
        assert!(told.contains("deny") && told.contains("another program"), "{id}: {told}");
        assert!(s1.is_open() && s1.has_own_hooks(), "{id}");
    }
    owner.ends();
    house.ends();
}

#[test]
fn a_forged_call_with_a_grant_ends_no_session_with_hooks_below_that() {
    let house = House::new();
    let mut owner = house.owner("not below me");
    let [until, guarding] = ["until", "guarding"].map(|name| house.folder.path().join(name));
    assert!(std::process::Command::new("mkfifo").arg(&until).status().unwrap().success());
    let guard =
        format!("(read x < {}) | {AGENT} guard child stranger > {}", until.display(), guarding.display());
    owner.runs(&format!("{guard} & until [ -s {} ]; do :; done; echo 1", guarding.display()));
    let child = house.server.bus().find("child").unwrap();
    let told = told_in(&house);
    let forged = format!(
        "{AGENT} hook child ls > {told}; {}",
        r#"python3 -c 'import json, sys; print(json.dumps(open(sys.argv[1]).read()))' "#
    );
    let answer = owner.runs(&format!("{forged} {told}"));
    assert!(answer.as_str().unwrap().contains("deny"), "{answer}");
    assert!(child.is_open() && child.has_own_hooks());
    drop(std::fs::OpenOptions::new().write(true).open(&until).unwrap());
    owner.ends();
    house.ends();
}

#[test]
fn what_runs_below_an_agent_ends_no_session_that_it_takes_over() {
    let house = House::new();
    let mut outer = agent(&house, "outer");
    house.owner_of("outer", "not here").kill();
    house.owner("nor there").kill();
    for id in ["outer", "s1"] {
        assert_eq!(outer.calls(&format!("run {AGENT} close {id} || echo refused")), "refused", "{id}");
        assert!(house.server.bus().find(id).is_some_and(|session| session.has_own_hooks()), "{id}");
    }
    let told = outer.calls("rm x");
    assert!(told.contains("deny"), "{told}");
    house.ends();
}

#[test]
fn what_runs_below_one_agent_publishes_nothing_in_the_session_of_another_one() {
    let house = House::new();
    let [mut one, two] = ["one", "two"].map(|id| agent(&house, id));
    let publishes =
        |id: &str| format!("run {AGENT} again {id} ls 2> /dev/null && echo published || echo refused");
    assert_eq!(one.calls(&publishes("two")), "refused");
    assert_eq!(one.calls(&publishes("one")), "published");
    // The user speaks in any.
    assert!(house.agent(&["again", "two", "ls"]).status().unwrap().success());
    drop(two);
    house.ends();
}

#[test]
fn a_session_that_a_forged_call_opens_has_nothing_below_it() {
    let house = House::new();
    let mut outer = agent(&house, "outer");
    for forged in ["hook forged ls", "hook forged ls", "end forged-end"] {
        assert_eq!(outer.calls(&format!("run {AGENT} {forged}")), "200");
    }
    assert_eq!(outer.starts("", "inner", "ls"), "200");
    assert_eq!(parent(&house, "inner").as_deref(), Some("outer"));
    house.ends();
}

#[test]
fn a_forged_end_takes_no_guard_of_a_program_from_an_agent() {
    let house = House::new();
    let mut outer = agent(&house, "outer");
    let guard = house.owner_of("outer", "not here");
    assert_eq!(outer.calls(&format!("run {AGENT} end outer")), "200");
    let told = outer.calls("rm x");
    assert!(told.contains("not here"), "{told}");
    guard.ends();
    house.ends();
}

#[test]
fn law_13_the_hooks_that_a_child_has_inherited_hold_until_it_ends_itself() {
    let house = House::new();
    let owner = house.owner("not below me");
    let bus = house.server.bus();
    let hooks = || {
        let mut stream = UnixStream::connect(house.socket()).unwrap();
        let head = "GET /v1/metrics HTTP/1.1\r\nhost: l\r\nconnection: close\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let mut told = String::new();
        stream.read_to_string(&mut told).unwrap();
        told.lines().find_map(|line| line.strip_prefix("lineside_attached_hooks ")?.parse::<u32>().ok())
    };
    let above = bus.find("s1").unwrap();
    let below = house.runtime.block_on(above.subagent("s2").open()).unwrap();
    house.runtime.block_on(above.close());
    let refuses = || {
        let deletion = BeforeTool::new("Shell", json!({"command": "rm x"}));
        let decision = house.runtime.block_on(below.publish(deletion)).unwrap();
        decision.reason().map(|reason| reason.as_str().to_owned())
    };
    assert_eq!((hooks(), refuses().as_deref()), (Some(1), Some("not below me")));
    // A later session of that id has hooks of its own.
    let again = house.owner("nor here");
    assert_eq!((hooks(), refuses().as_deref()), (Some(2), Some("not below me")));
    house.runtime.block_on(below.close());
    assert_eq!(hooks(), Some(1));
    drop((owner, again));
    house.ends();
}

#[test]
fn below_a_program_that_has_opened_a_session_nothing_else_has_hooks_on_it_or_takes_one_away() {
    let house = House::new();
    let mut owner = house.owner("not below me");
    let told =
        |words: &str| format!("{words} > told; sed 's/.*/\"&\"/' told").replace("told", &told_in(&house));
    for grant in ["", "env -u LINESIDE_GRANT"] {
        let guard = format!("({grant} {AGENT} guard s1 stranger < /dev/null 2> /dev/null || echo refused)");
        assert_eq!(owner.runs(&told(&guard)), json!("refused"), "{grant}");
        let close = format!("({grant} {AGENT} close s1 2> /dev/null || echo refused)");
        assert_eq!(owner.runs(&told(&close)), json!("refused"), "{grant}");
    }
    // It has hooks on sessions of its own, and ends these.
    let own = format!("(env -u LINESIDE_GRANT {AGENT} guard own stranger < /dev/null)");
    assert_eq!(owner.runs(&told(&own)), json!("guarding"));
    owner.runs(&format!("{AGENT} publish s3 ls"));
    owner.ends();
    house.ends();
}

fn told_in(house: &House) -> String {
    house.folder.path().join("answer").to_string_lossy().into_owned()
}

#[test]
fn a_grant_ends_no_session_that_another_program_has_opened_below_it() {
    let house = House::new();
    let mut owner = house.owner("not below me");
    let until = house.folder.path().join("until");
    assert!(std::process::Command::new("mkfifo").arg(&until).status().unwrap().success());
    let guard = format!(
        "(read x < {}) | {AGENT} guard child stranger > {} & sleep 0",
        until.display(),
        house.folder.path().join("guarding").display()
    );
    owner.runs(&format!(
        "{guard}; until [ -s {} ]; do :; done; echo 1",
        house.folder.path().join("guarding").display()
    ));
    assert_eq!(parent(&house, "child").as_deref(), Some("s1"));
    let told = told_in(&house);
    let close = format!("{AGENT} close child > {told}; sed 's/.*/\"&\"/' {told}");
    assert_eq!(owner.runs(&close), json!("refused"));
    assert!(house.server.bus().find("child").is_some_and(|child| child.has_own_hooks()));
    drop(std::fs::OpenOptions::new().write(true).open(&until).unwrap());
    owner.ends();
    house.ends();
}

#[test]
fn a_program_that_ends_its_session_is_asked_about_those_below_it() {
    let house = House::new();
    let client = lineside::Client::new(house.socket());
    house.runtime.block_on(async {
        let above = client.session("above").open().await.unwrap();
        let gate = above.intercept::<BeforeTool>("no").gate(async |_, _| Verdict::block("still here"));
        let _gate = gate.await.unwrap();
        let below = above.subagent("below").open().await.unwrap();
        above.close().await.unwrap();
        let decision = below.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await.unwrap();
        assert_eq!(decision.reason().map(lineside::core::Reason::as_str), Some("still here"));
        below.close().await.unwrap();
    });
    house.ends();
}

/// What a program says to the door of the dashboard: the status of the answer.
const SAYS: &str = "import http.client, sys\nc = http.client.HTTPConnection(sys.argv[1])\nc.request(sys.argv[2], sys.argv[3], \"\", {\"cookie\": sys.argv[4], \"origin\": \"http://\" + sys.argv[1], \"content-type\": \"application/x-www-form-urlencoded\"})\na = c.getresponse()\nprint(a.status, (a.getheader(\"set-cookie\") or \"\").split(\";\")[0])";

#[test]
fn what_an_agent_has_started_is_not_invited_and_changes_nothing_with_the_key_of_a_person() {
    let house = House::new();
    let mut agent = Host::start(&house, "s", None);
    agent.calls("ls");
    let asks = "run python3 -c 'import http.client, os, socket\nc = http.client.HTTPConnection(\"l\")\nc.sock = socket.socket(socket.AF_UNIX)\nc.sock.connect(os.environ[\"LINESIDE_SOCKET\"])\nc.request(\"POST\", \"/v1/dashboard\", \"{}\", {\"content-type\": \"application/json\"})\nprint(c.getresponse().status)'";
    assert_eq!(agent.calls(&asks.replace('\n', "; ")), "403");
    let client = lineside::Client::new(house.socket());
    let invited = || {
        let invited =
            house.runtime.block_on(client.post::<lineside::json::Map>("/v1/dashboard", &Default::default()));
        let url = invited.unwrap()["url"].as_str().unwrap().to_owned();
        let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        (address.to_owned(), format!("/{path}"))
    };
    let (address, path) = invited();
    let script = house.folder.path().join("says.py");
    std::fs::write(&script, SAYS).unwrap();
    let says = |method: &str, path: &str, cookie: &str| {
        format!("python3 {} {address} {method} \"{path}\" \"{cookie}\"", script.display())
    };
    let person = |line: &str| {
        let output = Command::new("sh").args(["-c", line]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    };
    // An agent that has seen the address gets no key for it, and the address is worth as much as before.
    assert_eq!(agent.calls(&format!("run {}", says("GET", &path, ""))), "403");
    let told = person(&says("GET", &path, ""));
    let key = told.strip_prefix("303 ").unwrap_or_else(|| panic!("{told}"));
    assert_eq!(person(&says("GET", "/dashboard", key)), "200");
    // With the key of the browser it sees what it may see anyway, and changes nothing.
    let drop = says("POST", "/dashboard/jobs/1/drop", key);
    assert_eq!((agent.calls(&format!("run {drop}")), person(&drop)), ("403".to_owned(), "404".to_owned()));
    let answer = says("POST", "/dashboard/approvals/1", key);
    assert_eq!(agent.calls(&format!("run {answer}")), "403");
    house.ends();
}
