//! The stream of signals of a daemon: server-sent events, to JSON objects.

use http_body_util::BodyExt as _;
use lineside_core::json::Map;

use crate::client::Client;
use crate::request::RequestError;
use crate::segment::segment;
use crate::wire;

/// What happens in a daemon, from the time at which it was asked for. Dropping this ends the stream.
#[must_use = "signals are read by `next`"]
pub struct Signals {
    stream: wire::Body,
    blocks: Blocks,
    last: Option<String>,
}

impl std::fmt::Debug for Signals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signals").field("last", &self.last).finish_non_exhaustive()
    }
}

impl Client {
    /// Hears what happens in the daemon from here on, in all sessions: everything that happens after this has returned.
    ///
    /// ```no_run
    ///
    /// # async fn example(client: lineside_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut signals = client.signals().await?;
    /// while let Some(signal) = signals.next().await {
    ///     println!("{}", signal["kind"]);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// No daemon, a broken connection, or a client with a grant, to which the stream of all sessions is closed.
    pub async fn signals(&self) -> Result<Signals, RequestError> {
        self.stream("/v1/signals", None).await.map(Signals::of)
    }

    /// Hears what a query asks for, in the words of `lineside log`, as the decision log has it and without secrets: a decision
    /// with the fields that `lineside log --json` prints and the kind `decided`, everything else with `time`, `session`,
    /// `event`, `hook`, `job`, `took_us` and `detail`.
    ///
    /// It begins after the signal with this id, as [`Signals::last`] gives it, and without one from here on.
    ///
    /// # Errors
    /// As [`signals`](Self::signals), or something that is no query of the stream.
    pub async fn signals_as_logged(&self, query: &str, after: Option<&str>) -> Result<Signals, RequestError> {
        let path = format!("/v1/signals?form=log&query={}", segment(query));
        self.stream(&path, after).await.map(Signals::of)
    }

    /// The same of all machines of the daemon's cluster, from here on, with `machine` in each. One of the kind `machine_away`
    /// says in `detail` why a machine cannot be asked, and `machine_back` that it answers again.
    ///
    /// # Errors
    /// As [`signals_as_logged`](Self::signals_as_logged); the daemon is in no cluster.
    pub async fn signals_of_cluster(&self, query: &str) -> Result<Signals, RequestError> {
        let path = format!("/v1/cluster/signals?query={}", segment(query));
        self.stream(&path, None).await.map(Signals::of)
    }
}

impl Signals {
    pub(crate) fn of(stream: wire::Body) -> Self {
        Self { stream, blocks: Blocks::default(), last: None }
    }

    /// The next signal, as the API describes it: an object with its `kind`. One of the kind `lost` has the number of those
    /// that came too fast. `None` when the daemon ends or the connection breaks.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Map> {
        loop {
            let block = self.block().await?;
            let fields = field(&block, "data:").and_then(|data| lineside_core::json::from_str(data).ok());
            if fields.is_some() {
                return fields;
            }
        }
    }

    /// Waits for the id after which the stream begins: from then on nothing is lost when the connection breaks. Cancel
    /// safe.
    pub async fn begins(&mut self) {
        self.block().await;
    }

    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some(block) = self.blocks.next() {
                if let Some(id) = field(&block, "id:") {
                    self.last = Some(id.to_owned());
                }
                return Some(block);
            }
            let frame = self.stream.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.blocks.text.extend_from_slice(&data);
            }
        }
    }

    /// The id of the last signal, or of the one after which the stream began: a word for the daemon, a hyphen and a number.
    #[must_use]
    pub fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }
}

fn field<'a>(block: &'a str, name: &str) -> Option<&'a str> {
    block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim_start)
}

/// The bytes of a stream of events, to its blocks.
#[derive(Default)]
struct Blocks {
    text: Vec<u8>,
    /// Where the first block begins that was not given yet.
    start: usize,
    /// Up to where no block ends.
    looked: usize,
}

impl Blocks {
    /// The next block that is whole.
    fn next(&mut self) -> Option<String> {
        let rest = self.text.get(self.looked..).unwrap_or_default();
        let Some(end) = rest.windows(2).position(|pair| pair == b"\n\n").map(|at| self.looked + at + 2)
        else {
            self.text.drain(..self.start);
            // The last byte may be the first of the two that end a block.
            (self.start, self.looked) = (0, self.text.len().saturating_sub(1));
            return None;
        };
        let block = String::from_utf8_lossy(self.text.get(self.start..end)?).into_owned();
        (self.start, self.looked) = (end, end);
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::Blocks;

    #[test]
    fn blocks_are_the_same_however_the_bytes_come() {
        let text = "id: 1\ndata: {}\n\n\n\n: still here\n\nid: 2\ndata: {\"a\": \"\u{e9}\"}\n\nid: 3";
        let expected =
            ["id: 1\ndata: {}\n\n", "\n\n", ": still here\n\n", "id: 2\ndata: {\"a\": \"\u{e9}\"}\n\n"];
        for size in 1..=text.len() {
            let (mut blocks, mut found) = (Blocks::default(), Vec::new());
            for part in text.as_bytes().chunks(size) {
                blocks.text.extend_from_slice(part);
                found.extend(std::iter::from_fn(|| blocks.next()));
            }
            assert_eq!(found, expected, "in parts of {size}");
            assert_eq!(blocks.text.get(blocks.start..), Some(&b"id: 3"[..]));
        }
    }
}
