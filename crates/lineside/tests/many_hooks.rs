//! Files and folders with very many hooks: the work of loading and listing them grows with their number, and not with
//! its square. What is compared is the work of the processor for a few hooks with that for eight times as many.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use lineside::dialects::{self, Places, Trust};
use lineside::listing::listing;
use lineside::{Assembly, Bus};

/// How many hooks of a file are few, and how many folders.
const FEW: usize = 500;
const FEW_FOLDERS: usize = 200;
/// How many times as many are many.
const TIMES: usize = 8;

/// The hooks of one format in one file, or in folders.
struct Format {
    dialect: &'static str,
    /// Where it is; with a folder for each hook, one of them.
    file: &'static str,
    before: &'static str,
    hook: fn(usize) -> String,
    after: &'static str,
}

const NATIVE: &str = ".lineside/hooks.yaml";
const CLAUDE: &str = ".claude/settings.json";

const FORMATS: &[Format] = &[
    Format {
        dialect: "native",
        file: NATIVE,
        before: "hooks:\n",
        hook: |n| format!("- {{name: h{n}, on: before_tool, command: 'true'}}\n"),
        after: "",
    },
    Format {
        dialect: "chord",
        file: ".chord/config.yaml",
        before: "hooks:\n  on_tool_call:\n",
        hook: |n| format!("  - {{name: h{n}, command: 'true'}}\n"),
        after: "",
    },
    Format {
        dialect: "flyto",
        file: ".flyto/settings.json",
        before: "{\"hooks\": {\"pre_tool_use\": [",
        hook: |n| format!("{{\"command\": \"true {n}\"}},"),
        after: "{\"command\": \"true\"}]}}",
    },
    Format {
        dialect: "claude",
        file: CLAUDE,
        before: "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [",
        hook: |n| format!("{{\"type\": \"command\", \"command\": \"true {n}\"}},"),
        after: "]}]}}",
    },
    // All of them are the same handler.
    Format {
        dialect: "claude",
        file: CLAUDE,
        before: "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [",
        hook: |_| "{\"type\": \"command\", \"command\": \"true\"},".to_owned(),
        after: "]}]}}",
    },
    Format {
        dialect: "agenthooks",
        file: ".agents/hooks/h/HOOK.md",
        before: "",
        hook: |n| format!("---\nname: h{n}\ndescription: d\ntrigger: before_tool\n---\n"),
        after: "",
    },
    Format {
        dialect: "jcli",
        file: ".jcli/hooks/h/HOOK.yaml",
        before: "",
        hook: |_| "events: [pre_tool_execution]\ncommand: 'true'\n".to_owned(),
        after: "",
    },
];

impl Format {
    fn is_of_folders(&self) -> bool {
        self.file.contains("/h/")
    }

    fn write(&self, project: &Path, many: usize) {
        let file = |path: &str, text: &str| {
            let path = project.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        if self.is_of_folders() {
            for n in 0..many {
                file(&self.file.replace("/h/", &format!("/h{n}/")), &(self.hook)(n));
            }
        } else {
            let hooks: String = (0..many).map(self.hook).collect();
            file(self.file, &format!("{}{hooks}{}", self.before, self.after));
        }
    }

    /// The time that the processor works to load and list so many hooks.
    fn work(&self, many: usize) -> Duration {
        let project = tempfile::tempdir().unwrap();
        self.write(project.path(), many);
        let places = Places {
            environment: BTreeMap::new(),
            project_root: Some(project.path().to_owned()),
            cwd: project.path().to_owned(),
            trust: Trust::Granted,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let before = worked();
            let assembly = Assembly::new(Bus::new()).only(dialects::find(self.dialect));
            let report = assembly.load(&places).await.unwrap();
            let session = assembly.bus().session("s").open().await.unwrap();
            let listed = listing(&session, &report);
            let took = worked().saturating_sub(before);
            assert!(listed.hooks.len() >= many, "{}: {}", self.dialect, listed.hooks.len());
            took
        })
    }
}

/// How long this thread has had a processor.
fn worked() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}

#[test]
fn the_work_of_a_load_grows_with_the_number_of_hooks_and_not_with_its_square() {
    for format in FORMATS {
        let few = if format.is_of_folders() { FEW_FOLDERS } else { FEW };
        let (few, many) = (format.work(few), format.work(few * TIMES));
        let ratio = many.as_secs_f64() / few.as_secs_f64();
        assert!(
            ratio < 2.5 * TIMES as f64,
            "{}: {TIMES} times as many hooks are {ratio:.1} times the work ({few:?}, {many:?})",
            format.file
        );
    }
}
