//! Go's names for what this program runs on (FL-10).

use std::env::consts::{ARCH, OS};

/// `GOOS`.
pub(super) fn system() -> &'static str {
    system_of(OS)
}

/// `GOARCH`.
pub(super) fn architecture() -> &'static str {
    architecture_of(ARCH, cfg!(target_endian = "little"))
}

fn system_of(name: &'static str) -> &'static str {
    match name {
        "macos" => "darwin",
        same => same,
    }
}

fn architecture_of(name: &'static str, little_endian: bool) -> &'static str {
    match (name, little_endian) {
        ("x86_64", _) => "amd64",
        ("aarch64", _) => "arm64",
        ("x86", _) => "386",
        ("loongarch64", _) => "loong64",
        ("powerpc64", true) => "ppc64le",
        ("powerpc64", false) => "ppc64",
        ("mips", true) => "mipsle",
        ("mips64", true) => "mips64le",
        (same, _) => same,
    }
}

#[cfg(test)]
mod tests {
    use super::{architecture_of, system_of};

    #[test]
    fn the_names_are_those_of_go() {
        // FL-10
        assert_eq!(
            ["linux", "macos", "windows", "freebsd"].map(system_of),
            ["linux", "darwin", "windows", "freebsd"]
        );
        for (name, little_endian, expected) in [
            ("x86_64", true, "amd64"),
            ("aarch64", true, "arm64"),
            ("x86", true, "386"),
            ("arm", true, "arm"),
            ("powerpc64", true, "ppc64le"),
            ("powerpc64", false, "ppc64"),
            ("mips", false, "mips"),
            ("riscv64", true, "riscv64"),
        ] {
            assert_eq!(architecture_of(name, little_endian), expected);
        }
    }
}
