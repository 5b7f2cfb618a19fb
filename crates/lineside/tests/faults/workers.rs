//! Guards that live in a worker, written with the kits.

use std::fs;
use std::time::{Duration, Instant};

use lineside::Signal;
use lineside::bus::signal::Watched;
use lineside::core::FailureKind;
use lineside::prelude::*;

use crate::bench::{Bench, cause, shell};

/// What the command of the event says is done by the guard before it has no objection.
const PYTHON: &str = "#!/usr/bin/env python3
import os, signal, subprocess, sys, time
from lineside_hook import hook, serve

@hook
def check(event, call):
    command = event['tool_input']['command']
    if command.startswith('do '):
        said = eval(command[3:])
        return said if isinstance(said, dict) else {}
    if 'rm -rf /' in command:
        return {'decision': 'deny', 'reason': f'refuses to delete /, says {call.hook} of {os.getpid()}'}

serve()
";

const NODE: &str = "#!/usr/bin/env node
import { hook, serve } from './lineside-hook.mjs';

hook(async (event, call) => {
  const { command } = event.tool_input;
  if (command.startsWith('do ')) return (await eval(command.slice(3))) ?? {};
  if (command.includes('rm -rf /'))
    return { decision: 'deny', reason: `refuses to delete /, says ${call.hook} of ${process.pid}` };
});

serve();
";

impl Bench {
    /// A hook in a worker, with these further keys.
    fn worker(&self, name: &str, front: &str, script: &str) {
        self.hook(name, &format!("mode: worker\n{front}"), script);
        for kit in lineside::KITS {
            fs::write(self.path(".agents/hooks").join(name).join("scripts").join(kit.file), kit.text)
                .unwrap();
        }
        // Node knows a module by its name.
        if script.contains("node") {
            let scripts = self.path(".agents/hooks").join(name).join("scripts");
            fs::write(scripts.join("package.json"), "{\"type\":\"module\"}").unwrap();
            fs::rename(scripts.join("run.sh"), scripts.join("run")).unwrap();
        }
    }
}

/// The reason of a block.
fn reason(decision: &Decision<BeforeTool>) -> String {
    match decision.verdict() {
        Verdict::Block(reason) => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_function_in_a_worker_is_a_guard_like_any_other_and_its_process_is_kept() {
    for script in [PYTHON, NODE] {
        let bench = Bench::enter();
        bench.worker("h", "", script);
        bench.run(async |stage| {
            assert_eq!(stage.report.diagnostics.len(), 0, "{:?}", stage.report.diagnostics);
            assert!(!stage.shell("ls").await.is_refused());
            let first = reason(&stage.shell("rm -rf /").await);
            assert!(first.starts_with("refuses to delete /, says h of "), "{first}");
            assert_eq!(reason(&stage.shell("rm -rf / now").await), first, "the same process");
            assert_eq!(stage.assembly.bus().failures(), 0);
        });
    }
}

/// Warns of what it was asked, far too often, and misspells its answer.
const WARNS: &str = r#"#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "hello":
        print('{"type":"hello","protocol":2}', flush=True)
    elif frame["type"] == "call":
        for level in ["debug", "info", "warn", "error"] + ["warn"] * 200:
            print(json.dumps({"type": "log", "level": level, "text": level + " of it"}))
        print(json.dumps({"type": "answer", "id": frame["id"], "answer": {"decison": "deny"}}), flush=True)
"#;

#[test]
fn what_a_worker_warns_of_reaches_a_person_and_so_does_a_misspelt_key_of_its_answer() {
    let bench = Bench::enter();
    bench.worker("h", "", WARNS);
    bench.run(async |stage| {
        let mut news = stage.assembly.bus().news();
        let decision = stage.shell("ls").await;
        assert!(!decision.is_refused());
        let remarks: Vec<_> =
            decision.receipt().unwrap().remarks.iter().map(|remark| &*remark.what).collect();
        assert_eq!(remarks, ["unknown key `decison` in its answer, did you mean `decision`?"]);
        let mut told = Vec::new();
        while let Some(Watched::Signal(Signal::Announced { notice })) = news.try_next() {
            told.push(notice.text.split_once("`: ").unwrap().1.to_owned());
        }
        assert_eq!(told[..2], ["warn of it", "error of it"], "{told:?}");
        assert_eq!(told.len(), 101, "there is a bound");
        assert_eq!(told[100], "it warns of more; the rest is in its log alone");
    });
}

/// Law 3.
#[test]
fn d03_a_guard_in_a_worker_that_cannot_answer_meets_its_policy_and_says_why() {
    for (what, kind, part) in [
        ("do int('boom')", FailureKind::Panic, "boom"),
        ("do os._exit(7)", FailureKind::Exit, "status 7"),
        ("do os.kill(os.getpid(), signal.SIGKILL)", FailureKind::Signal, "signal 9"),
        ("do time.sleep(600)", FailureKind::Timeout, "timed out after"),
        ("do {'decision': 'maybe'}", FailureKind::Output, "decision"),
        ("do {'modified_input': 1}", FailureKind::Output, "modified_input"),
    ] {
        for (policy, refused) in [("block", true), ("continue", false)] {
            let bench = Bench::enter();
            bench.worker("h", &format!("timeout: 5000\non_failure: {policy}"), PYTHON);
            bench.run(async |stage| {
                let decision = stage.shell(what).await;
                assert_eq!(decision.is_refused(), refused, "{what} {policy}");
                let cause = cause(&decision);
                assert_eq!(cause.kind, kind, "{what}: {cause}");
                assert!(cause.detail.contains(part), "{what}: {cause}");
                assert_eq!(stage.assembly.bus().failures(), 1, "counted, whatever its policy");
                assert!(!stage.shell("ls").await.is_refused(), "the next one is there");
            });
        }
    }
}

/// Law 7: each of its sixty-four processes has the descriptors of the worker, and none answers.
#[test]
fn p06_a_guard_in_a_worker_that_forks_without_end_ends_with_all_of_it() {
    let bench = Bench::enter();
    bench.worker("h", "timeout: 5000\non_failure: block", PYTHON);
    bench.run(async |stage| {
        let decision = stage.shell("do [os.fork() for _ in range(6)] and time.sleep(600)").await;
        assert!(decision.is_refused());
        assert_eq!(cause(&decision).kind, FailureKind::Timeout);
        // On a busy machine an interpreter may take longer to start than a call has.
        let mut answered = false;
        for _ in 0..5 {
            answered = answered || !stage.shell("ls").await.is_refused();
        }
        assert!(answered, "the next one is there");
    });
}

#[test]
fn p06_an_allocation_that_is_too_large_is_the_failure_of_one_call_of_a_guard_in_a_worker() {
    let bench = Bench::enter();
    bench.worker("h", "timeout: 5000\non_failure: block", PYTHON);
    bench.run(async |stage| {
        let decision = stage.shell("do len(bytearray(1 << 47))").await;
        assert!(decision.is_refused());
        let cause = cause(&decision);
        assert_eq!((cause.kind, cause.detail.contains("MemoryError")), (FailureKind::Panic, true), "{cause}");
        assert!(!stage.shell("ls").await.is_refused());
        assert_eq!(stage.assembly.bus().failures(), 1);
    });
}

/// Law 3.
#[test]
fn p09_a_guard_whose_worker_cannot_be_started_blocks_and_says_why() {
    let bench = Bench::enter();
    bench.worker("h", "on_failure: block", "#!/usr/bin/env python3\nraise SystemExit('no such module')\n");
    bench.run(async |stage| {
        let decision = stage.shell("ls").await;
        assert!(decision.is_refused());
        let cause = cause(&decision);
        assert_eq!((cause.kind, cause.detail.contains("status 1")), (FailureKind::Spawn, true), "{cause}");
    });
}

/// Law 6: the time of the event covers the start of the worker.
#[test]
fn d08_the_budget_of_an_event_covers_the_start_of_a_worker() {
    let bench = Bench::enter();
    bench.worker("h", "timeout: 300\non_failure: block", "#!/bin/sh\nexec sleep 600\n");
    bench.run(async |stage| {
        let began = Instant::now();
        let decision = stage.shell("ls").await;
        assert!(decision.is_refused());
        assert_eq!(cause(&decision).kind, FailureKind::Timeout);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    });
}

/// Law 7: the check for residue at the end of the bench finds any process that is left.
#[test]
fn p03_what_a_guard_in_a_worker_has_started_ends_with_it() {
    let bench = Bench::enter();
    bench.worker("h", "timeout: 5000\non_failure: block", PYTHON);
    bench.run(async |stage| {
        let away =
            "do subprocess.Popen(['/bin/sh', '-c', 'sleep 600 & exit'], start_new_session=True).wait()";
        assert!(!stage.shell(away).await.is_refused());
        let stuck = "do exec('while True: pass')";
        assert!(stage.shell(stuck).await.is_refused());
    });
}

#[test]
fn d11_a_guard_whose_worker_ends_again_and_again_blocks_at_once() {
    let bench = Bench::enter();
    bench.worker("h", "on_failure: block", PYTHON);
    bench.run(async |stage| {
        for _ in 0..5 {
            assert!(stage.shell("do os._exit(1)").await.is_refused());
        }
        let began = Instant::now();
        let decision = stage.shell("ls").await;
        assert!(decision.is_refused());
        let cause = cause(&decision);
        assert_eq!((cause.kind, cause.detail.contains("too often")), (FailureKind::Spawn, true), "{cause}");
        assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    });
}

#[test]
fn hooks_whose_entry_points_are_the_same_file_share_a_process() {
    let bench = Bench::enter();
    bench.worker("one", "priority: 2", PYTHON);
    bench.worker("two", "priority: 1", PYTHON);
    let second = bench.path(".agents/hooks/two/scripts/run.sh");
    fs::remove_file(&second).unwrap();
    std::os::unix::fs::symlink(bench.path(".agents/hooks/one/scripts/run.sh"), second).unwrap();
    bench.run(async |stage| {
        let same = "do open(os.environ['KIMI_WORK_DIR'] + '/pids', 'a').write(call.hook + str(os.getpid()) + ' ') and None";
        assert!(!stage.shell(same).await.is_refused());
        let root = stage.session.source().project_root.clone().unwrap();
        let pids = fs::read_to_string(format!("{root}/pids")).unwrap();
        let (one, two) = pids.trim().split_once(' ').unwrap();
        assert_eq!(one.strip_prefix("one"), two.strip_prefix("two"), "{pids}");
    });
}

#[test]
fn a_worker_whose_file_has_changed_is_asked_no_more() {
    let bench = Bench::enter();
    bench.worker("h", "", PYTHON);
    let file = bench.path(".agents/hooks/h/scripts/run.sh");
    bench.run(async |stage| {
        assert!(reason(&stage.shell("rm -rf /").await).starts_with("refuses to delete"));
        fs::write(&file, PYTHON.replace("refuses to delete", "will not delete")).unwrap();
        assert!(reason(&stage.shell("rm -rf /").await).starts_with("will not delete"));
    });
}

#[test]
fn a_worker_of_a_project_that_nobody_trusts_is_not_started_ahead_either() {
    let bench = Bench::enter();
    bench.worker("h", "worker:\n  start: ahead", "#!/bin/sh\ntouch started\n");
    bench.run_untrusted(async |root, stage| {
        assert!(!stage.publish(shell("ls")).await.unwrap().is_refused());
        assert!(!root.join("started").exists());
    });
}

#[test]
fn a_worker_that_is_started_ahead_is_there_when_the_hooks_are_loaded() {
    let bench = Bench::enter();
    bench.worker(
        "h",
        "worker:\n  start: ahead",
        &PYTHON.replace("serve()", "open('started', 'w').close()\nserve()"),
    );
    let started = bench.path("started");
    bench.run(async |_| {
        while !started.exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
}

/// The project of `examples/workers`, as it stands there.
#[test]
fn the_example_of_a_worker_refuses_what_it_says() {
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workers");
    let kit = example.join(".agents/hooks/protect-branches/scripts/lineside_hook.py");
    assert_eq!(fs::read_to_string(kit).unwrap(), lineside::KITS[0].text, "a copy of the kit");
    let bench = Bench::enter();
    bench.run_at(&example, async |stage| {
        assert!(stage.report.diagnostics.is_empty(), "{:?}", stage.report.diagnostics);
        assert!(!stage.shell("git push origin my-branch").await.is_refused());
        assert!(reason(&stage.shell("git push origin main").await).starts_with("main is protected"));
        assert!(reason(&stage.shell("git push -f origin mine").await).contains("by force"));
        // What cannot be split into words is not understood, and a guard that does not understand has failed.
        let decision = stage.shell("git push 'origin").await;
        assert!(decision.is_refused());
        assert_eq!(cause(&decision).kind, FailureKind::Panic);
    });
}

/// The blocks of the page on workers that are in this language, in their order.
fn snippets(language: &str) -> Vec<&'static str> {
    let page = include_str!("../../../../docs/workers.md");
    let blocks = page.split("\n```").skip(1).step_by(2);
    let mut found: Vec<&str> =
        blocks.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect();
    found.retain(|block| !block.starts_with("lineside "));
    found
}

fn the_worker_of_our_own_file(hooks: &str, guard: &str) {
    let bench = Bench::enter();
    fs::create_dir_all(bench.path(".lineside")).unwrap();
    fs::write(bench.path(".lineside/hooks.yaml"), hooks).unwrap();
    fs::write(bench.path("guard.py"), guard).unwrap();
    for kit in lineside::KITS {
        fs::write(bench.path(kit.file), kit.text).unwrap();
    }
    bench.run_with(lineside::dialects::find("native").unwrap(), async |stage| {
        assert!(stage.report.diagnostics.is_empty(), "{:?}", stage.report.diagnostics);
        assert_eq!(reason(&stage.shell("rm -rf /").await), "refuses to delete /");
        let decision = stage.session.publish(BeforeTool::new("Read", json!({"path": "a"}))).await.unwrap();
        assert!(!decision.is_refused(), "{:?}", decision.receipt());
        assert_eq!(stage.assembly.bus().failures(), 0);
    });
}

/// What stands on the page is what is run here, file by file.
#[test]
fn the_snippets_of_the_page_are_workers() {
    let [hook] = snippets("markdown")[..] else { panic!() };
    let [own, with_kit, bare] = snippets("python")[..] else { panic!() };
    the_worker_of_our_own_file(snippets("yaml")[0], own);
    let ([node], [start]) = (&snippets("javascript")[..], &snippets("sh")[..]) else { panic!() };
    for (files, guards) in [
        (vec![("run.py", with_kit)], true),
        (vec![("guard.mjs", *node), ("run", *start)], true),
        (vec![("run.py", bare)], false),
    ] {
        let bench = Bench::enter();
        let folder = bench.path(".agents/hooks/no-deletions");
        fs::create_dir_all(folder.join("scripts")).unwrap();
        fs::write(folder.join("HOOK.md"), hook).unwrap();
        let kits = lineside::KITS.map(|kit| (kit.file, kit.text));
        for (name, text) in files.into_iter().chain(kits) {
            let path = folder.join("scripts").join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        bench.run(async |stage| {
            assert!(stage.report.diagnostics.is_empty(), "{:?}", stage.report.diagnostics);
            let deletes = stage.shell("rm -rf /").await;
            assert_eq!(deletes.is_refused(), guards);
            if guards {
                assert_eq!(reason(&deletes), "refuses to delete /");
            }
            // Tools that have no command.
            for input in [json!({}), json!({"path": "a"})] {
                let decision = stage.session.publish(BeforeTool::new("Read", input)).await.unwrap();
                assert!(!decision.is_refused(), "{:?}", decision.receipt());
            }
            assert_eq!(stage.assembly.bus().failures(), 0);
        });
    }
}
