//! `lineside policies`: what policies there are, and of one what it matches, its reason and its tests.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use lineside::core::nearest::suggestion;
use lineside::dialects::native::{Policy, policies};
use lineside::dialects::yaml_value;
use lineside::json::{Value, json};

use crate::style::{Style, Styles, Tone, columns, print_json, print_unbroken};
use crate::table::{Cell, Table};

/// List the policies that `use` takes, or show one.
///
/// A policy is hooks: `--yaml` prints its file, to be copied and changed.
#[derive(Debug, Args)]
pub(crate) struct PoliciesArgs {
    /// The policy that is shown: what it matches, its reason, its tests.
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Print JSON.
    #[arg(long)]
    json: bool,

    /// Print the file of the policy.
    #[arg(long, requires = "name", conflicts_with = "json")]
    yaml: bool,
}

/// Runs the command.
///
/// # Errors
/// There is no such policy, or the output cannot be written.
pub(crate) fn run(args: &PoliciesArgs, styles: Styles) -> Result<ExitCode> {
    let Some(name) = &args.name else {
        if args.json {
            print_json(&json!(policies().iter().map(object).collect::<Vec<_>>()))?;
        } else {
            print_unbroken(list(styles.out))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let Some(policy) = policies().iter().find(|policy| policy.name == name) else {
        let near = suggestion(name, policies().iter().map(|policy| policy.name));
        let near = near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
        bail!("there is no policy `{name}`{near}");
    };
    if args.yaml {
        std::io::stdout().write_all(policy.text.as_bytes())?;
    } else if args.json {
        print_json(&whole(policy))?;
    } else {
        print_unbroken(shown(policy, styles.out))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn tone(policy: &Policy) -> Tone {
    if policy.verdict.is_final() { Tone::Bad } else { Tone::Asked }
}

fn list(style: Style) -> Vec<String> {
    let rows = policies().iter().map(|policy| {
        vec![
            Cell::new(policy.name),
            Cell::new(policy.version.to_string()),
            Cell::toned(policy.verdict.as_str(), tone(policy)),
            Cell::new(if policy.is_standard { "yes" } else { "no" }),
            Cell::new(&policy.title),
        ]
    });
    let heading = &["policy", "version", "verdict", "standard", "stops"];
    Table { heading, rows: rows.collect(), stacked: &[1, 3] }.lines(columns(), style)
}

fn shown(policy: &Policy, style: Style) -> Vec<String> {
    let mut lines = vec![
        format!(
            "{}, version {}: {} {}",
            style.paint(Tone::Bold, policy.name),
            policy.version,
            style.paint(tone(policy), policy.verdict.as_str()),
            policy.title,
        ),
        format!("  {}", policy.reason),
    ];
    let hooks = policy.text.lines().skip_while(|line| !line.starts_with("hooks:"));
    lines.extend([String::new(), style.paint(Tone::Bold, "Matches")]);
    lines.extend(hooks.skip_while(|line| !line.trim_start().starts_with("match:")).skip(1).map_while(
        |line| (!line.starts_with("    verdict:")).then(|| line.get(4..).unwrap_or_default().to_owned()),
    ));
    lines.extend([String::new(), style.paint(Tone::Bold, "Tests")]);
    for (command, verdict) in tests(policy) {
        let (mark, tone) = if verdict == "continue" { ("✓", Tone::Good) } else { ("✗", tone(policy)) };
        lines.push(format!("  {} {command}", style.paint(tone, mark)));
    }
    lines
}

/// The commands of its tests, each with the verdict that is expected.
fn tests(policy: &Policy) -> Vec<(String, String)> {
    let cases = yaml_value(policy.cases).unwrap_or_default();
    let steps = cases["cases"].as_array().into_iter().flatten().filter_map(|case| case["steps"].as_array());
    let tests = steps.flatten().filter_map(|step| {
        let command = step["publish"]["payload"]["tool_input"]["command"].as_str()?;
        Some((command.to_owned(), step["expect"]["verdict"].as_str()?.to_owned()))
    });
    tests.collect()
}

fn object(policy: &Policy) -> Value {
    json!({
        "policy": policy.name,
        "version": policy.version,
        "verdict": policy.verdict.as_str(),
        "standard": policy.is_standard,
        "stops": policy.title,
        "reason": policy.reason,
        "alternative": policy.alternative(),
    })
}

fn whole(policy: &Policy) -> Value {
    let mut object = object(policy);
    let document = yaml_value(policy.text).unwrap_or_default();
    let matches = document["hooks"].as_array().into_iter().flatten().map(|hook| hook["match"].clone());
    object["matches"] = json!(matches.collect::<Vec<_>>());
    object["tests"] = tests(policy)
        .into_iter()
        .map(|(command, verdict)| json!({"command": command, "verdict": verdict}))
        .collect();
    object
}
