//! What survives the process: a folder with journals for jobs and for context, and what was found in it.
//!
//! The folder has one journal for each kind of thing that is kept, in a folder of its own: `jobs` for the jobs of
//! automations, `context` for the messages that wait for agents. Beside them, `texts` has the whole texts of messages
//! that were cut. What a record means is known to who keeps it, and how it lies in files to the journal.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use lineside_automation::Automations;
use lineside_automation::engine::{self, OpenError};
use lineside_automation::machine::Bounds;
use lineside_bus::{Bus, BusBuilder};
use lineside_core::journal::{Durability, Record, Sequence, Unavailable};
use lineside_journal::{EmbeddedJournal, OpenJournalError, Options};

use crate::text_files::TextFiles;

mod look;

pub use look::{JournalView, RecordedJob};

/// The folder of the journal of jobs, within the folder of all of them.
pub const JOBS: &str = "jobs";

/// The folder of the journal of context, within the folder of all of them.
pub const CONTEXT: &str = "context";

/// The folder of whole texts, within the folder of all of them.
pub const TEXTS: &str = "texts";

/// What survives the process, in one folder that no other process can open meanwhile.
///
/// It is given back to others when this, the bus, and every run that is under way are gone.
///
/// ```
/// use lineside::durable::Durable;
/// use lineside::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// let durable = Durable::open(path)?;
/// let bus = durable.context(Bus::builder()).build();
/// let (automations, recovered) = durable.automations(&bus, Default::default())?;
/// for finding in durable.findings().iter().map(ToString::to_string) {
///     eprintln!("{finding}");
/// }
/// assert_eq!(recovered.live, 0); // What an earlier life accepted and did not end.
///
/// let session = bus.session("s1").open().await?;
/// session.automate::<AfterToolBatch>("lint").run(async |_batch, _cx| Ok(Report::success("ok")))?;
/// session.publish(AfterToolBatch::new(vec![], vec![])).await?;
/// assert_eq!(automations.kept().await?.as_str(), "disk");
/// # Ok(())
/// # }
/// ```
pub struct Durable {
    path: PathBuf,
    jobs: Arc<EmbeddedJournal>,
    recovered: Mutex<Vec<(Sequence, Record)>>,
    context: Arc<EmbeddedJournal>,
    texts: Arc<TextFiles>,
    findings: Vec<JournalFinding>,
}

impl Durable {
    /// Opens the folder, which is created where it does not exist. What is accepted is on the disk before it is
    /// acknowledged so.
    ///
    /// Blocks the thread while it reads, for about a second for a gigabyte.
    ///
    /// # Errors
    /// Another process has it open, a newer programme wrote it, or its files cannot be read and written.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenDurableError> {
        Self::open_with(path, Durability::Disk)
    }

    /// Like [`open`](Self::open), with another durability. With less than the disk, a loss of power costs what was
    /// accepted in the last tenth of a second; a kill costs nothing.
    ///
    /// ```
    /// use lineside::Durable;
    /// use lineside::core::journal::Durability;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let durable = Durable::open_with(folder.path(), Durability::Process)?;
    /// // One process has it at a time.
    /// assert!(Durable::open(folder.path()).is_err());
    /// durable.close()?;
    /// assert!(Durable::open(folder.path()).is_ok());
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn open_with(path: impl AsRef<Path>, durability: Durability) -> Result<Self, OpenDurableError> {
        let path = path.as_ref();
        let (jobs, mut findings) = journal(path, JOBS, durability)?;
        let recovered = Mutex::new(jobs.recovered().collect());
        let (context, of_context) = journal(path, CONTEXT, durability)?;
        findings.extend(of_context);
        let texts = path.join(TEXTS);
        let texts = match TextFiles::open(&texts, durability) {
            Ok(texts) => Arc::new(texts),
            Err(error) => return Err(OpenDurableError { path: texts, source: error.into() }),
        };
        let (path, jobs, context) = (path.to_path_buf(), Arc::new(jobs), Arc::new(context));
        Ok(Self { path, jobs, recovered, context, texts, findings })
    }

    /// Opens the automations of a bus, whose jobs are kept here, with what an earlier life has left. It is called before
    /// the first automation is registered and before hooks are loaded: hooks with background runs open automations in
    /// memory where there are none.
    ///
    /// # Errors
    /// The bus has automations already, or there is no tokio runtime. What the earlier life has left is then there for
    /// the next call.
    pub fn automations(
        &self,
        bus: &Bus,
        bounds: Bounds,
    ) -> Result<(Automations, engine::Recovered), OpenError> {
        // Taken only by what opens: after an error it is all there for the next call.
        let take = || std::mem::take(&mut *self.recovered.lock().unwrap_or_else(PoisonError::into_inner));
        Automations::open(bus, bounds, Arc::clone(&self.jobs) as _, std::iter::once_with(take).flatten())
    }

    /// A bus about to be made, whose context is kept here, with what an earlier life has left: a session that is opened
    /// under the same id as then has the messages that were not accepted. Called for one bus; a second one has nothing
    /// of the earlier life.
    ///
    /// ```
    /// use lineside::Durable;
    /// use lineside::prelude::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let folder = tempfile::tempdir()?;
    /// let durable = Durable::open(folder.path())?;
    /// let bus = durable.context(Bus::builder()).build();
    /// let session = bus.session("s1").open().await?;
    /// session
    ///     .intercept::<BeforePrompt>("date")
    ///     .gate(async |_, _cx| Judgement::from(Verdict::Continue).append("Today is Monday."))?;
    /// drop(session.publish(BeforePrompt::new("plan the week")).await?);
    /// let (accepted, durability) = session.collect().ready().accept_durably().await?;
    /// assert_eq!((accepted.len(), durability.as_str()), (1, "disk"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn context(&self, bus: BusBuilder) -> BusBuilder {
        let journal = Arc::clone(&self.context);
        let recovered = journal.recovered();
        bus.full_texts(Arc::clone(&self.texts) as _).context_journal(journal, recovered)
    }

    /// Waits until everything is on the disk, and gives the folder back to others, also where automations or a bus of it are
    /// still in use here: nothing of theirs is kept from then on. Blocks the thread.
    ///
    /// # Errors
    /// Not everything is on the disk.
    pub fn close(&self) -> Result<(), Unavailable> {
        self.jobs.close().and(self.context.close())
    }

    /// What was found when it was opened, besides what it keeps. It is in order again.
    #[must_use]
    pub fn findings(&self) -> &[JournalFinding] {
        &self.findings
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Opens one of the journals of a folder.
fn journal(
    path: &Path,
    name: &'static str,
    durability: Durability,
) -> Result<(EmbeddedJournal, Vec<JournalFinding>), OpenDurableError> {
    let path = path.join(name);
    let options = Options { durability, ..Options::default() };
    match EmbeddedJournal::open(&path, options) {
        Ok(opened) => {
            let of = |what: &lineside_journal::Finding| JournalFinding { journal: name, what: what.clone() };
            let findings = opened.findings().iter().map(of).collect();
            Ok((opened, findings))
        }
        Err(source) => Err(OpenDurableError { path, source }),
    }
}

/// Something that was found in the files of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalFinding {
    /// Which journal it is: its folder's name.
    pub journal: &'static str,
    /// What.
    pub what: lineside_journal::Finding,
}

impl fmt::Display for JournalFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.journal, self.what)
    }
}

/// Why what survives the process cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("failed to open the journal in {}", path.display())]
pub struct OpenDurableError {
    /// The folder of the journal.
    pub path: PathBuf,
    /// What went wrong.
    pub source: OpenJournalError,
}
