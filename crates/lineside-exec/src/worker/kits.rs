//! The kits: one file for each language, which turns a function into a hook of a worker.

/// A kit.
///
/// ```
/// use lineside_exec::KITS;
///
/// let python = KITS.iter().find(|kit| kit.language == "python").unwrap();
/// assert!(python.file.ends_with(".py") && !python.text.is_empty());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kit {
    /// The language, in small letters.
    pub language: &'static str,
    /// The name of the file.
    pub file: &'static str,
    /// What is in it.
    pub text: &'static str,
}

/// All of them.
pub const KITS: [Kit; 2] = [
    Kit { language: "python", file: "lineside_hook.py", text: include_str!("kits/lineside_hook.py") },
    Kit { language: "node", file: "lineside-hook.mjs", text: include_str!("kits/lineside-hook.mjs") },
];
