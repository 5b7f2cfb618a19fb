//! Hooks that cannot be loaded.

use std::fs;
use std::os::unix::fs::symlink;

use lineside::State;
use lineside::core::Severity;

use crate::bench::{Bench, Stage};

fn errors(stage: &Stage) -> Vec<String> {
    let found = stage.report.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    found.map(|found| found.text.to_string()).collect()
}

#[test]
fn i07_a_bad_matcher_is_an_error_of_the_load_and_the_guard_stands_closed() {
    for pattern in ["(", "[", "a{4294967295}", "(?P<n>x)(?P<n>y)"] {
        let bench = Bench::enter();
        let front = format!("on_failure: block\nmatcher:\n  tool: '{pattern}'");
        bench.hook("h", &front, "#!/bin/sh\nexit 0\n");
        bench.run(async |stage| {
            assert!(!errors(stage).is_empty(), "{pattern}: {:?}", stage.report.diagnostics);
            assert!(stage.shell("ls").await.is_refused(), "{pattern}");
        });
    }
}

#[test]
fn d11_a_guard_that_cannot_be_read_stands_closed() {
    let bench = Bench::enter();
    bench.hook("h", "on_failure: block\ntimeout: soon", "#!/bin/sh\nexit 0\n");
    bench.run(async |stage| {
        assert!(!errors(stage).is_empty());
        let decision = stage.shell("ls").await;
        assert!(decision.is_refused());
        assert!(decision.reason().unwrap().as_str().contains("cannot run"), "{:?}", decision.reason());
    });
}

#[test]
fn i08_a_file_that_is_none_holds_up_no_load_and_no_other_hook() {
    let bench = Bench::enter();
    bench.hook("fine", "", "#!/bin/sh\necho not that >&2; exit 2\n");
    let file = |name: &str| {
        let folder = bench.path(".agents/hooks").join(name);
        fs::create_dir_all(&folder).unwrap();
        folder.join("HOOK.md")
    };
    assert!(std::process::Command::new("mkfifo").arg(file("fifo")).status().unwrap().success());
    symlink("/dev/zero", file("zero")).unwrap();
    let circle = file("loop");
    symlink(&circle, &circle).unwrap();
    fs::File::create(file("large")).unwrap().set_len(100 << 20).unwrap();
    fs::write(file("half"), "---\nname: half\ndescription: d\ntrig").unwrap();
    let bomb: String =
        (1..12).map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(", "))).collect();
    fs::write(file("bomb"), format!("---\nname: bomb\na0: &a0 [x]\n{bomb}---\n")).unwrap();
    bench.run(async |stage| {
        let ready = stage.report.hooks.iter().filter(|found| found.state == State::Ready);
        assert_eq!(ready.map(|found| &*found.hook.name).collect::<Vec<_>>(), ["fine"]);
        assert_eq!(errors(stage).len(), 6, "{:?}", stage.report.diagnostics);
        // It goes before the guards that stand closed for what cannot be read.
        let decision = stage.shell("ls").await;
        assert!(decision.reason().unwrap().as_str().contains("not that"), "{:?}", decision.reason());
    });
}
