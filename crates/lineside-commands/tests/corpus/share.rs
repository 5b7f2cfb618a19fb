//! How many of several commands are not as they should be, and which.

#[derive(Default)]
pub(crate) struct Share {
    of: usize,
    found: Vec<String>,
}

impl Share {
    pub(crate) fn count(&mut self, hit: bool, say: impl FnOnce() -> String) {
        self.of += 1;
        if hit {
            self.found.push(say());
        }
    }

    /// Prints what was found, and answers what is more than the bound in percent.
    pub(crate) fn beyond(&self, what: &str, bound: f64) -> Option<String> {
        let percent = 100.0 * self.found.len() as f64 / self.of.max(1) as f64;
        println!("{what}: {} of {} ({percent:.2} %)", self.found.len(), self.of);
        for line in &self.found {
            println!("  {line}");
        }
        (percent > bound).then(|| format!("{what}: {percent:.2} % are more than {bound} %"))
    }
}
