//! Automations that files declare: their dialect says what to run and reads what came of it; the engine says when, and
//! this runs it.

use std::collections::HashSet;
use std::sync::Arc;

use lineside_automation::engine::RunInTurn;
use lineside_automation::hook_id::automation_id;
use lineside_automation::{Automations, Declaration};
use lineside_bus::Installed;
use lineside_core::Hook;
use lineside_core::control::{Control, Place};
use lineside_core::hook::Standby;
use lineside_core::{Failure, FailureKind, Layer, PointInfo};
use lineside_dialects::{Automation, ForeignHook, Work};
use sha2::{Digest as _, Sha256};

use crate::content::digest_of;
use crate::foreign::propagated;
use crate::handler_runtime::{HandlerRuntime, NOT_RUN};

/// The automations of one load of a dialect.
#[derive(Default)]
pub(crate) struct Automated {
    /// Those that can run.
    ids: HashSet<Arc<str>>,
}

/// One hook of an automation.
pub(crate) struct DeclaredHook {
    pub(crate) installed: Installed,
    /// What its format calls what it waits for.
    pub(crate) trigger: String,
    /// How the automation is paced, for the hook that starts it.
    pub(crate) control: Option<Arc<Control>>,
}

/// What the hooks wait for that cancel the work of an automation.
const CANCELS: &str = "cancelled_by";

impl Automated {
    /// Declares the automations that a hook is at its points, and gives the hooks of each: the one that starts it, then
    /// those that cancel its work. Its id is its point and name at `place`.
    pub(crate) fn declare(
        &mut self,
        place: &str,
        automations: &Automations,
        found: &ForeignHook,
        automation: &Automation,
        outside: &HandlerRuntime,
    ) -> Vec<DeclaredHook> {
        let hook = &found.hook;
        let mut hooks = Vec::new();
        for point in &found.points {
            let id: Arc<str> = automation_id(place, point.name, &hook.name).into();
            if hook.standby == Standby::Ready {
                self.ids.insert(Arc::clone(&id));
            }
            let Automation { control, rules, cancelled_by, work } = automation.clone();
            let outside = outside.clone().of(hook);
            let everywhere =
                (rules.place == Place::Anywhere).then(|| everywhere(found, point, &outside)).flatten();
            let run = run(work, outside);
            let declaration =
                Declaration { id, hook: hook.clone(), point, rules, cancelled_by, everywhere, run };
            let mut installed = automations.declare(declaration).into_iter();
            hooks.extend(installed.next().map(|installed| DeclaredHook {
                installed,
                trigger: found.trigger.clone(),
                control: Some(control),
            }));
            hooks.extend(installed.map(|installed| DeclaredHook {
                installed,
                trigger: CANCELS.to_owned(),
                control: None,
            }));
        }
        hooks
    }

    /// All of them are declared, and their hooks are installed: those that `source` declared before are over.
    pub(crate) fn declared(&self, automations: &Automations, source: &str) {
        automations.declared(source, &self.ids);
    }
}

/// Where a file declares the automations of a hook: the same in another life of the process, as long as the file stays
/// where it is.
pub(crate) fn place_of(hook: &Hook) -> String {
    let file = hook.origin.as_ref().map(|origin| origin.file.to_string_lossy());
    format!("{}:{}", hook.dialect, file.unwrap_or_default())
}

/// What a hook of a file is called on every machine that has it: the digest of the content that it is of, as a person has
/// trusted it, and its own digest within that, with a dot between them. None for one of a project that is in force without
/// having been trusted by its content, and for one of a program.
fn everywhere(found: &ForeignHook, point: &PointInfo, outside: &HandlerRuntime) -> Option<Arc<str>> {
    let hook = &found.hook;
    let content = match (&outside.seal, hook.layer) {
        (Some(seal), _) => seal.digest().to_owned(),
        (None, Layer::Managed | Layer::User) => digest_of(&hook.origin.as_ref()?.file)?,
        (None, _) => return None,
    };
    let own = [&*content, hook.dialect, hook.layer.as_str(), point.name, &*hook.name].join("\0");
    let own: String = Sha256::digest(own).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    Some(format!("{content}.{own}").into())
}

fn run(work: Arc<dyn Work>, outside: HandlerRuntime) -> RunInTurn {
    Arc::new(move |event, assignment, cx, turn| {
        let (work, outside) = (Arc::clone(&work), outside.clone());
        Box::pin(async move {
            let propagation = propagated(&event, &cx);
            let call = outside.prepare(&event, |event| work.call(event, assignment))?;
            if outside.withholds(&call) {
                return Err(Failure::not_started(FailureKind::Closed, NOT_RUN));
            }
            let until_over = cx.until_over().cloned();
            let returned = outside.run(call, cx.deadline(), turn.begins(), propagation, until_over).await;
            work.report(&returned)
        })
    })
}
