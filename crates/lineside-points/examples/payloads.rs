//! Prints the payloads of the points as types of another language, from their declarations: `python`, `typescript`, or
//! `schemas` for JSON Schema. `cargo run -p lineside-points --example payloads -- write` writes all three files.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs)]

#[path = "from/declarations.rs"]
pub(crate) mod declarations;
#[path = "from/python.rs"]
pub(crate) mod python;
#[path = "from/schemas.rs"]
pub(crate) mod schemas;
#[path = "from/typescript.rs"]
pub(crate) mod typescript;

/// The files, from the folder of the crate, and what they hold.
pub(crate) fn files() -> [(&'static str, String); 3] {
    [
        ("../lineside-python/src/lineside/points.py", python::types()),
        ("../lineside-node/src/points.ts", typescript::types()),
        ("src/schemas.json", schemas::types()),
    ]
}

#[allow(dead_code, reason = "the test of the files has no use for it")]
fn main() {
    let [(_, python), (_, typescript), (_, schemas)] = files();
    match std::env::args().nth(1).as_deref() {
        Some("python") => print!("{python}"),
        Some("typescript") => print!("{typescript}"),
        Some("schemas") => print!("{schemas}"),
        Some("write") => {
            for (path, text) in files() {
                std::fs::write(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path), text).unwrap();
            }
        }
        _ => panic!("say which: python, typescript, schemas or write"),
    }
}
