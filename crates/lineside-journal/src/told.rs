//! What cannot be put right is found at each opening, and reported once.

use std::io;

use crate::findings::Finding;
use crate::storage::{Storage, write_whole};

/// The file with the lasting findings of the last opening, one a line.
const NAME: &str = "findings.told";

/// These findings without those that the last opening has reported.
pub(crate) fn anew(storage: &dyn Storage, findings: Vec<Finding>) -> io::Result<Vec<Finding>> {
    let is_known = storage.names()?.iter().any(|name| name == NAME);
    let known = if is_known { storage.read(NAME)? } else { Vec::new() };
    let known = String::from_utf8_lossy(&known);
    let lasts = |finding: &Finding| matches!(finding, Finding::Missing { .. } | Finding::Damaged { .. });
    let lasting: String =
        findings.iter().filter(|finding| lasts(finding)).map(|finding| format!("{finding}\n")).collect();
    if lasting != known {
        write_whole(storage, NAME, &[lasting.as_bytes()])?;
    }
    let was_told = |finding: &Finding| known.lines().any(|line| line == finding.to_string());
    Ok(findings.into_iter().filter(|finding| !lasts(finding) || !was_told(finding)).collect())
}
