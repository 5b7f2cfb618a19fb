//! Looking at what survives, while a process has it open or none has: nothing is locked, created or put right.

use std::path::Path;

use lineside_automation::machine::job::JobId;
use lineside_automation::machine::{Bounds, JobSummary, Machine, Progress};
use lineside_automation::offered::Offered;
use lineside_automation::record::Record;
use lineside_journal::{EmbeddedJournal, Holder};

use super::{Durable, JOBS, OpenDurableError};

/// The jobs of a folder, as their records tell them.
#[derive(Debug)]
pub struct JournalView {
    /// The jobs, in the order in which their first events came. Of those that came to a good end or were cancelled
    /// there are those that were not compacted away.
    pub jobs: Vec<RecordedJob>,
    /// What is wrong with the files and the records, for a person. Everything else is among the jobs.
    pub findings: Vec<String>,
    /// Who has the journal open.
    pub holder: Option<Holder>,
}

/// A job that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedJob {
    /// What is known of it. Its standing is that of a job whose automation is not there.
    pub shown: JobSummary,
    /// How far it has come.
    pub progress: Progress,
}

impl RecordedJob {
    /// Its number.
    #[must_use]
    pub fn job(&self) -> JobId {
        self.shown.job
    }
}

impl Durable {
    /// The jobs of a folder, without opening it: also while another process has it open, and also when it is damaged.
    ///
    /// Blocks the thread while it reads, for about a second for a gigabyte.
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
    /// let (automations, _) = durable.automations(&bus, Default::default())?;
    /// bus.automate::<OnIdle>("tidy").run(async |_idle, _cx| Ok(Report::success("nothing to do")))?;
    /// let session = bus.session("s1").open().await?;
    /// drop(session.publish(OnIdle::new()).await?);
    /// automations.all_settled().await?;
    ///
    /// let look = Durable::look(folder.path())?;
    /// assert_eq!(look.jobs.len(), 1);
    /// assert!(look.holder.is_some(), "this process has it open");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// There is no journal of jobs, a newer programme wrote it, or its files cannot be read.
    pub fn look(path: impl AsRef<Path>) -> Result<JournalView, OpenDurableError> {
        let path = path.as_ref().join(JOBS);
        let reading = match EmbeddedJournal::read(&path) {
            Ok(reading) => reading,
            Err(source) => return Err(OpenDurableError { path, source }),
        };
        let mut findings: Vec<String> =
            reading.findings.iter().map(|finding| format!("{JOBS}/{}", finding.what())).collect();
        let mut places = Vec::new();
        let readable = reading.records.into_iter().filter_map(|(at, entry)| {
            let record = Record::<Offered>::read(&entry);
            match record {
                Ok(record) => {
                    places.push(at);
                    Some(record)
                }
                Err(error) => {
                    findings.push(format!("record {at} cannot be used: {error}"));
                    None
                }
            }
        });
        // A reader forgets nothing.
        let all = Bounds { finished: usize::MAX, dead: usize::MAX, bytes: usize::MAX, ..Bounds::default() };
        let (machine, troubles) = Machine::recover(all, readable);
        findings.extend(troubles.iter().map(|trouble| match places.get(trouble.place()) {
            Some(at) => format!("record {at} is left out: {trouble}"),
            None => format!("a record is left out: {trouble}"),
        }));
        let looked = |job| Some(RecordedJob { shown: machine.show(job)?, progress: machine.progress(job)? });
        let jobs = machine.jobs().into_iter().filter_map(looked).collect();
        Ok(JournalView { jobs, findings, holder: reading.holder })
    }
}
