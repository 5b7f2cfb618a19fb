//! What stands in for plugins and configuration files that do not load. A plugin is a guard where `failClosed` or
//! `catchErrors` says that the failure of a handler blocks (OC-56).

use std::path::Path;

use lineside_core::{Diagnostic, Layer, Origin, PointInfo, Severity};
use lineside_files::Boundary;

use super::catalogue::{self, Row};
use super::config::Config;
use super::findings::About;
use super::identity::DIALECT;
use crate::broken::{Broken, Owner, Repair};
use crate::dialect::{CONFIGURATION, Inert, Loaded, Trust, Why};

/// Puts what was found and is no hook behind what is loaded; what is broken stands closed where its failures block.
pub(super) fn stand_in(
    inert: Vec<Inert>,
    config: &Config,
    of_project: Trust,
    diagnostics: &[Diagnostic],
    loaded: &mut Loaded,
) {
    for inert in inert {
        if inert.why != Why::Error {
            loaded.inert.push(inert);
            continue;
        }
        let closing = rows(|row| config.closes(row));
        let is_guard = !closing.is_empty();
        Broken {
            error: error_of(&inert, diagnostics),
            name: inert.name,
            line: 1,
            points: if is_guard { closing } else { rows(Row::can_close) },
            is_guard,
            select: None,
        }
        .stand_in(
            &owner(inert.layer, of_project),
            &inert.origin.unwrap_or_else(|| Origin::new("", 1)),
            loaded,
        );
    }
}

/// Puts what stands in for a configuration file that cannot be read behind what is loaded.
pub(super) fn stand_in_for_file(
    file: &Path,
    layer: Layer,
    boundary: Boundary<'_>,
    of_project: Trust,
    diagnostics: &[Diagnostic],
    loaded: &mut Loaded,
) {
    Broken {
        name: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        line: 1,
        error: error(&file.display().to_string(), diagnostics),
        points: rows(Row::can_close),
        is_guard: may_close(file, boundary),
        select: None,
    }
    .stand_in(&owner(layer, of_project), &Origin::new(file, 1), loaded);
}

/// Whether a file that cannot be read may have said that failures block.
fn may_close(file: &Path, boundary: Boundary<'_>) -> bool {
    let says = |bytes: &[u8], word: &str| bytes.windows(word.len()).any(|window| window == word.as_bytes());
    match lineside_files::read(file, boundary, CONFIGURATION) {
        Ok(bytes) if bytes.len() <= CONFIGURATION => {
            says(&bytes, "failClosed") || says(&bytes, "catchErrors")
        }
        Ok(_) | Err(_) => true,
    }
}

/// What is wrong with a plugin. As long as its id is not known, the finding names its directory.
fn error_of(inert: &Inert, diagnostics: &[Diagnostic]) -> Repair {
    let file = inert.origin.as_ref().map(|origin| &origin.file);
    let directory = file.map(|file| About::Directory(file.to_path_buf()).to_string());
    let directory = directory.map(|directory| format!("{directory}: "));
    let is_of =
        |finding: &&Diagnostic| directory.as_ref().is_some_and(|about| finding.text.starts_with(about));
    match diagnostics.iter().find(is_of) {
        Some(found) => Repair::first(std::slice::from_ref(found), ""),
        None => error(&format!("plugin \"{}\"", inert.name), diagnostics),
    }
}

fn error(about: &str, diagnostics: &[Diagnostic]) -> Repair {
    let first = diagnostics
        .iter()
        .find(|finding| finding.severity == Severity::Error && finding.text.starts_with(about));
    Repair::first(first.map_or(&[], std::slice::from_ref), "")
}

fn owner(layer: Layer, of_project: Trust) -> Owner {
    Owner { dialect: DIALECT, layer, trust: of_project.of_layer(layer), priority: 0 }
}

/// The points of the hooks for which this holds, each once.
fn rows(holds: impl Fn(&Row) -> bool) -> Vec<(&'static PointInfo, String)> {
    let mut points: Vec<(&'static PointInfo, String)> = Vec::new();
    for row in catalogue::rows().filter(|row| holds(row)) {
        for point in row.points.iter().copied() {
            if !points.iter().any(|(other, _)| *other == point) {
                points.push((point, row.name.to_owned()));
            }
        }
    }
    points
}
