//! The installed file `lineside`: does `hook` itself, and becomes the full command for everything else.

use std::process::ExitCode;

use lineside_shim::{Environment, FullCommand};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    lineside_shim::run(&arguments, &Environment::of_process(), &FullCommand::Beside)
}
