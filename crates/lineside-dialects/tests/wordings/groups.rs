//! What came of many inputs, those with the same result together.

/// What came of which, each once, in the order of the first.
#[derive(Default)]
pub(crate) struct Groups(Vec<(String, Vec<String>)>);

impl Groups {
    /// This came of that.
    pub(crate) fn put(&mut self, label: &str, what: String) {
        match self.0.iter_mut().find(|(known, _)| *known == what) {
            Some((_, labels)) => labels.push(label.to_owned()),
            None => self.0.push((what, vec![label.to_owned()])),
        }
    }

    /// All of it, for a snapshot.
    pub(crate) fn text(&self) -> String {
        let groups = self.0.iter().map(|(what, labels)| format!("{}\n{what}", labels.join("\n")));
        groups.collect::<Vec<_>>().join("\n")
    }
}
