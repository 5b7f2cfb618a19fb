//! `lineside kit`: what a program of a language needs beside itself, as one file on standard output.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use lineside::KITS;

mod client;

use client::CLIENTS;

/// Print the file that turns functions of a language into hooks, or its client of the daemon.
///
/// For example: lineside kit python > lineside_hook.py, or lineside kit typescript --client > lineside.ts
#[derive(Debug, Args)]
pub(crate) struct KitArgs {
    /// The language.
    #[arg(value_name = "LANGUAGE", value_parser = PossibleValuesParser::new(languages()))]
    language: String,

    /// Print the client of the daemon, with which a program publishes events and registers hooks.
    #[arg(long)]
    client: bool,
}

/// The languages that there is something for.
fn languages() -> Vec<&'static str> {
    let mut languages: Vec<_> = KITS.iter().map(|kit| kit.language).collect();
    for client in &CLIENTS {
        if !languages.contains(&client.language) {
            languages.push(client.language);
        }
    }
    languages
}

/// Does what was asked.
///
/// # Errors
/// There is no such file for the language, or standard output cannot be written.
pub(crate) fn run(args: &KitArgs) -> Result<ExitCode> {
    let KitArgs { language, client } = args;
    let text = match client {
        true => CLIENTS.iter().find(|client| client.language == language).map(client::Client::text),
        false => KITS.iter().find(|kit| kit.language == language).map(|kit| kit.text.to_owned()),
    };
    let Some(text) = text else { bail!("{}", missing(language, *client)) };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// What there is instead.
fn missing(language: &str, client: bool) -> String {
    let (what, others): (_, Vec<_>) = match client {
        true => ("client", CLIENTS.iter().map(|client| format!("`{} --client`", client.language)).collect()),
        false => ("kit", KITS.iter().map(|kit| format!("`{}`", kit.language)).collect()),
    };
    format!("there is no {what} for {language}; there is {}", others.join(" and "))
}
