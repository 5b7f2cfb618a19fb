//! The bytes of a file to the mapping in it, with the findings that keep it from being read.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread::{self, Builder, available_parallelism};

use lineside_files::Boundary;

use crate::broken::{IsGuard, Words};
use crate::findings::{Findings, filled};
use crate::yaml::{Document, Draft};

/// How many files are looked at by one thread at least: fewer are looked at sooner than a thread begins.
const OF_A_THREAD: usize = 64;

/// How many threads look at the files of a format.
const THREADS: usize = 4;

/// A document, or a line and what is wrong there.
pub(crate) type Parsed = Result<Document, (u32, String)>;

/// How a format reads a file, and the wordings of what can be wrong.
#[derive(Debug)]
pub(crate) struct Syntax {
    /// The largest file, in bytes.
    pub(crate) largest: usize,
    /// The wording for a file that is larger.
    pub(crate) too_large: &'static str,
    /// Whether a larger file counts as a guard, whatever it begins with.
    pub(crate) larger: IsGuard,
    /// The wording for a file that cannot be opened or read: `{why}`.
    pub(crate) unreadable: &'static str,
    /// The wording for bytes that are no text.
    pub(crate) not_utf8: &'static str,
    /// Reads a text.
    pub(crate) parse: fn(&str, &mut Findings) -> Parsed,
    /// The wording for a document that is no mapping.
    pub(crate) no_mapping: &'static str,
    /// The words by which a hook is a guard.
    pub(crate) guard: Words,
}

/// Reads a file; what keeps it from being read goes to the findings.
///
/// # Errors
/// Whether the file may have been a guard, although it cannot be read.
pub(crate) fn read(
    file: &Path,
    boundary: Boundary<'_>,
    syntax: &Syntax,
    findings: &mut Findings,
) -> Result<Draft, IsGuard> {
    let bytes = lineside_files::read(file, boundary, syntax.largest).map_err(|error| {
        findings.error(1, filled(syntax.unreadable, &[("why", &error.to_string())]));
        IsGuard(true)
    })?;
    draft(&bytes, syntax, findings).map_err(|(line, error)| {
        findings.error(line, error);
        let is_larger = syntax.larger.0 && bytes.len() > syntax.largest;
        IsGuard(is_larger || syntax.guard.are_in(&bytes))
    })
}

/// The mapping in the bytes of a file.
///
/// # Errors
/// There is none; with the line and what is wrong.
pub(crate) fn draft(bytes: &[u8], syntax: &Syntax, findings: &mut Findings) -> Result<Draft, (u32, String)> {
    let wrong = |what: &str| (1, what.to_owned());
    if bytes.len() > syntax.largest {
        return Err(wrong(syntax.too_large));
    }
    let text = str::from_utf8(bytes).map_err(|_| wrong(syntax.not_utf8))?;
    (syntax.parse)(text, findings)?.into_draft().ok_or_else(|| wrong(syntax.no_mapping))
}

/// Does the same work for many files, which is to change nothing, in as many threads as there are processors for it. Gives what
/// came of it in the order of the files.
pub(crate) fn each<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let processors = available_parallelism().map_or(1, NonZero::get);
    let threads = (all.len() / OF_A_THREAD).clamp(1, processors.min(THREADS));
    let done = |part: &[T]| part.iter().map(&work).collect::<Vec<R>>();
    let (own, others) = all.split_at(all.len() / threads);
    if others.is_empty() || threads == 1 {
        return done(all);
    }
    thread::scope(|scope| {
        let done = &done;
        let of_thread = |part| (part, Builder::new().spawn_scoped(scope, move || done(part)));
        let others: Vec<_> = others.chunks(others.len().div_ceil(threads - 1)).map(of_thread).collect();
        let mut all = done(own);
        for (part, thread) in others {
            all.extend(match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                // The system has no further thread.
                Err(_) => done(part),
            });
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::{OF_A_THREAD, each};

    #[test]
    fn what_came_of_each_stands_in_the_order_of_the_files() {
        for many in [0, 1, OF_A_THREAD, 2 * OF_A_THREAD + 1, 9 * OF_A_THREAD + 7] {
            let all: Vec<usize> = (0..many).collect();
            assert_eq!(each(&all, |one| one * 2), all.iter().map(|one| one * 2).collect::<Vec<_>>());
        }
    }
}
