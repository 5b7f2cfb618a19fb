//! Functions that are the same are one in the command, where the linker is the one that Rust brings: that knows how to.

use std::env;
use std::path::Path;
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|set| set == value);
    let chosen = env::var_os("RUSTC_LINKER").is_some() || !is("CARGO_ENCODED_RUSTFLAGS", "");
    if is("PROFILE", "release") && is("TARGET", TARGET) && !chosen && brings_one() {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}

/// Whether the compiler has its own linker beside it, which is then what it uses for this target.
fn brings_one() -> bool {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let asked = Command::new(compiler).args(["--print", "sysroot"]).output();
    asked.is_ok_and(|said| {
        let root = String::from_utf8_lossy(&said.stdout);
        Path::new(root.trim()).join("lib/rustlib").join(TARGET).join("bin/gcc-ld/ld.lld").exists()
    })
}
