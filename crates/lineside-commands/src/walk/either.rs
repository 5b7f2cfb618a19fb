//! Variables that have one of a few values, which branches give them: a command that names one is read with each.

use super::Walk;
use crate::limits;
use crate::parse::{Assigned, Assignment, Redirect, Redirection};
use crate::value::Value;

impl Walk<'_> {
    /// Reads a command by `run` with each value of a variable that it names; answers whether there is one.
    pub(super) fn with_each(&mut self, texts: &[&str], mut run: impl FnMut(&mut Self)) -> bool {
        let variables = &self.scope.variables;
        let is_open =
            |name: &String| variables.get(name).is_some_and(|all| all.iter().any(Value::is_unclear));
        let is_named = |name: &String| is_open(name) && texts.iter().any(|text| names(text, name));
        let Some((name, all)) = self.scope.either.iter().find(|(name, _)| is_named(name)) else {
            return false;
        };
        let (name, all) = (name.clone(), all.clone());
        let Some(left) = self.left.either.checked_sub(all.len()) else { return false };
        let readings = self.left.readings;
        if readings * all.len() > limits::READINGS {
            return false;
        }
        self.left.either = left;
        self.left.readings = readings * all.len();
        let start = self.scope.clone();
        let outer = std::mem::take(&mut self.out);
        let (mut after, mut printed): (_, Option<Value>) = (None, None);
        for values in &all {
            let files = after.is_some().then(|| self.files.clone());
            self.scope.clone_from(&start);
            self.scope.set(&name, values.clone());
            run(self);
            if self.scope.variables.get(&name) == Some(values) {
                let open = start.variables.get(&name).cloned().unwrap_or_default();
                self.scope.variables.insert(name.clone(), open);
                self.scope.either.insert(name.clone(), all.clone());
            }
            // What differs from the way before is not known.
            for (path, file) in files.iter().flatten() {
                if let Some(other) = self.files.get_mut(path).filter(|other| other.content != file.content) {
                    other.content = Value::unknown().from(other.content.origin).from(file.content.origin);
                }
            }
            let out = std::mem::take(&mut self.out);
            printed = match printed {
                Some(before) if before != out => Some(Value::unknown().from(before.origin).from(out.origin)),
                _ => Some(out),
            };
            after = match after {
                Some(mut after) => {
                    super::Scope::merge(&mut after, &self.scope);
                    Some(after)
                }
                None => Some(self.scope.clone()),
            };
        }
        self.left.readings = readings;
        self.scope = after.unwrap_or(start);
        self.out = outer;
        self.out.push(&printed.unwrap_or_default());
        true
    }
}

/// The texts of a command in which variables may be named.
pub(super) fn texts<'t>(
    assignments: &[Assignment<'t>],
    words: &[&'t str],
    redirections: &[Redirection<'t>],
) -> Vec<&'t str> {
    let assigned = assignments.iter().flat_map(|one| match &one.value {
        Assigned::Word(word) => std::slice::from_ref(word),
        Assigned::List(words) => words,
    });
    let targets = redirections.iter().map(|one| match one.kind {
        Redirect::Out(word) | Redirect::Append(word) | Redirect::Both(word) | Redirect::In(word) => word,
        Redirect::InOut(word) | Redirect::Text(word) | Redirect::Duplicate { target: word, .. } => word,
        Redirect::Document { body, .. } => body,
    });
    words.iter().chain(assigned).copied().chain(targets).collect()
}

/// Whether a text names a variable: `$x`, `${x…`.
fn names(text: &str, name: &str) -> bool {
    text.match_indices('$').any(|(at, _)| {
        let rest = text[at + 1..].trim_start_matches(['{', '#', '!']).strip_prefix(name);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    })
}
