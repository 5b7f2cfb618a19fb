//! Hooks that were written for one agent program and judge another one once lineside is in it.

use std::collections::{BTreeMap, HashSet};

use anyhow::Result;
use lineside::core::Layer;
use lineside::dialects::{DIALECTS, Places, Trust};
use lineside::hosts::Host;
use lineside::{Assembly, Bus};

use crate::places::shown;
use crate::style::count;

/// A remark for each file of the user with hooks of another program than these. No hook is run.
///
/// # Errors
/// The hooks cannot be loaded.
pub(super) async fn remarks(places: &Places, hosts: &[Host]) -> Result<Vec<String>> {
    let programs = DIALECTS.iter().copied().filter(|dialect| Host::named(dialect.name()).is_some());
    let assembly = Assembly::new(Bus::new()).only(programs);
    let report = assembly.load(&Places { trust: Trust::Withheld, ..places.clone() }).await?;
    let mut files: BTreeMap<_, HashSet<usize>> = BTreeMap::new();
    for found in report.hooks.iter().filter(|found| found.state.may_run()) {
        if let (Layer::User, Some(origin), Some(host)) =
            (found.hook.layer, &found.hook.origin, Host::named(found.hook.dialect))
        {
            files.entry((origin.file.as_path(), host.title())).or_default().insert(found.number);
        }
    }
    let remark = |((file, title), hooks): (&(&std::path::Path, &str), &HashSet<usize>)| {
        let others: Vec<&str> =
            hosts.iter().map(|host| host.title()).filter(|other| other != title).collect();
        let verb = if hooks.len() == 1 { "judges" } else { "judge" };
        (!others.is_empty()).then(|| {
            format!(
                "{} of {}, written for {title}, {verb} {} as well from here on; `lineside list` shows what holds",
                count(hooks.len(), "hook"),
                shown(file, places),
                others.join(" and ")
            )
        })
    };
    Ok(files.iter().filter_map(remark).collect())
}
