//! Law 16.

use lineside::bus::Installed;
use lineside::bus::interceptor::Interceptor;
use lineside::bus::register::RegisterHookError;
use lineside::core::hook::Hook;
use lineside::core::{AnyEvent, Failure, Part, Said, Severity};
use lineside::dialects::{Places, Trust};
use lineside::prelude::*;
use lineside::{Assembly, State};

use crate::session;

struct Silent;

impl Interceptor for Silent {
    fn intercept(&self, _: AnyEvent, _: Cx) -> lineside::bus::interceptor::BoxFuture<Result<Said, Failure>> {
        Box::pin(std::future::ready(Ok(Said::default())))
    }
}

#[tokio::test]
async fn no_silent_no_op() {
    // An interceptor at a fact does not compile; one that comes from a file is refused and shown the way.
    let (bus, root) = session().await;
    let point = lineside::points::find("on_idle").unwrap();
    let hook = Hook::native("never", Part::Gate);
    let refused = bus.install("a file", vec![Installed { point, hook, run: std::sync::Arc::new(Silent) }]);
    assert!(matches!(refused, Err(RegisterHookError::NoAuthority { point: "on_idle", .. })));
    // A matcher that cannot match is refused when it is registered.
    let refused =
        root.intercept::<BeforeTool>("bad").matching(text("(")).gate(async |_, _| Verdict::Continue);
    assert!(matches!(refused, Err(RegisterHookError::Matcher(_))));
    // An unknown point names the nearest.
    let unknown = lineside::points::find("before_tools").unwrap_err();
    assert_eq!(unknown.nearest, "before_tool");
}

#[tokio::test]
async fn a_hook_file_that_can_never_run_is_reported_with_file_and_line() {
    let project = tempfile::tempdir().unwrap();
    let write = |name: &str, front: &str| {
        let folder = project.path().join(".agents/hooks").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("HOOK.md"), format!("---\n{front}\n---\n")).unwrap();
    };
    write("typo", "name: typo\ndescription: d\ntrigger: before_tools");
    write("regex", "name: regex\ndescription: d\ntrigger: before_tool\nmatcher:\n  tool: '('");
    write("missing", "name: missing\ndescription: d\ntrigger: before_tool");
    let places = Places {
        environment: std::collections::BTreeMap::new(),
        project_root: Some(project.path().to_owned()),
        cwd: project.path().to_owned(),
        trust: Trust::Granted,
    };
    let report = Assembly::new(Bus::new()).load(&places).await.unwrap();
    let names: Vec<_> = report.hooks.iter().map(|found| (&*found.hook.name, found.state)).collect();
    assert_eq!(names, [("missing", State::Ready)]);
    let found = |severity, line: u32, part: &str| {
        report.diagnostics.iter().any(|finding| {
            finding.severity == severity
                && finding.origin.as_ref().is_some_and(|origin| origin.line == line)
                && finding.text.contains(part)
        })
    };
    assert!(found(Severity::Error, 4, "Did you mean 'before_tool'?"), "{:?}", report.diagnostics);
    assert!(found(Severity::Error, 6, "Invalid regex in matcher.tool"), "{:?}", report.diagnostics);
    assert!(
        report.diagnostics.iter().any(|finding| finding.text.contains("No entry point found")),
        "{:?}",
        report.diagnostics
    );
}
