//! The script alone, spoken to by hand (OC-69 to OC-72, OC-78).

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lineside_core::json::{Value, json};

use crate::room::Room;
use crate::script::SCRIPT;

/// A worker without a supervisor.
struct Bare {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Bare {
    fn start(room: &Room) -> Self {
        for (name, text) in SCRIPT.files {
            let path = room.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut command = Command::new("node");
        let piped = command.arg(room.path(SCRIPT.entry)).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn hello(room: &Room) -> Self {
        let mut bare = Self::start(room);
        bare.write(
            "{\"type\":\"hello\",\"protocol\":1,\"token\":\"0123456789abcdef\",\"maxFrameBytes\":2000}",
        );
        let hello = bare.read();
        assert_eq!((&hello["type"], &hello["protocol"]), (&json!("hello"), &json!(1)));
        bare
    }

    fn write(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next frame, which has the token; empty lines are skipped.
    fn read(&mut self) -> Value {
        let mut line = String::new();
        while line.trim().is_empty() {
            line.clear();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "it has ended");
        }
        let frame: Value = lineside_core::json::from_str(&line).unwrap();
        assert_eq!(frame["token"], json!("0123456789abcdef"), "{line}");
        frame
    }

    fn load(&mut self, entry: &Path) -> Value {
        let plugin =
            json!({ "id": "a", "root": entry.parent().unwrap(), "entry": entry, "loader": "import" });
        self.write(&json!({ "type": "load", "id": 1, "plugin": plugin }).to_string());
        self.read()
    }

    /// Its exit code, once its input has ended.
    fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().unwrap().code()
    }
}

/// OC-70, OC-78: what is no frame is logged and skipped, what is unknown is skipped, and a cancel is answered.
#[test]
fn lines_that_are_no_frames_are_skipped() {
    let room = Room::enter();
    let mut bare = Bare::hello(&room);
    let long = format!("{{\"type\":\"cancel\",\"id\":1,\"x\":\"{}\"}}", "x".repeat(4000));
    for (line, part) in [
        ("nonsense", "not valid JSON"),
        ("[1]", "not a frame"),
        ("{\"id\":1}", "not a frame"),
        ("{\"type\":\"cancel\",\"id\":1,\"id\":2}", "duplicate key"),
        ("{\"type\":\"cancel\",\"id\":1.0,\"x\":{\"a\":[{\"b\":1}],\"a\":2}}", "duplicate key"),
        (long.as_str(), "larger than a frame"),
    ] {
        bare.write(line);
        let log = bare.read();
        assert_eq!(log["type"], json!("log"), "{line}");
        assert!(log["text"].as_str().unwrap().contains(part), "{line}: {log}");
    }
    for line in [
        "",
        "{\"type\":\"later\",\"id\":1}",
        "{\"type\":\"toString\"}",
        "{\"type\":\"hello\",\"token\":\"x\"}",
    ] {
        bare.write(line);
    }
    bare.write("{\"type\":\"cancel\",\"id\":7.0,\"reason\":\"gone\",\"later\":[{\"a\":1},{\"a\":1}]}");
    let cancelled = bare.read();
    assert_eq!((&cancelled["type"], &cancelled["id"]), (&json!("cancelled"), &json!(7)));
    assert_eq!(bare.end(), Some(0));
    room.leave();
}

/// OC-69: its input ends with the runtime, and it ends with its input, whatever plugins wait for.
#[test]
fn a_worker_ends_with_its_input() {
    let room = Room::enter();
    let mut bare = Bare::hello(&room);
    let entry = room.file("a.cjs", "setInterval(() => {}, 1000); module.exports = () => {};", 0o644);
    assert_eq!(bare.load(&entry)["plugin"]["id"], json!("a"));
    assert_eq!(bare.end(), Some(0));
    room.leave();
}

// OC-71, OC-72.
#[test]
fn a_worker_that_does_not_speak_the_version_says_its_own_and_ends() {
    let room = Room::enter();
    let mut bare = Bare::start(&room);
    bare.write("{\"type\":\"hello\",\"protocol\":2,\"token\":\"0123456789abcdef\"}");
    assert_eq!(bare.read()["protocol"], json!(1));
    assert_eq!(bare.end(), Some(2));
    room.leave();
}

/// OC-70: what a plugin writes to descriptor 1 without a line end cannot swallow a frame.
#[test]
fn frames_stand_in_lines_of_their_own() {
    let room = Room::enter();
    let mut bare = Bare::hello(&room);
    let source = "require('fs').writeSync(1, '{\"type\":'); module.exports = () => {};";
    let entry = room.file("a.cjs", source, 0o644);
    assert_eq!(bare.load(&entry)["type"], json!("loaded"));
    assert_eq!(bare.end(), Some(0));
    room.leave();
}
