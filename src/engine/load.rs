//! Common parts of the loads of all engines: phases and their times, the allowed state of a database, and the threads
//! that load parts.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use futures_util::future::try_join_all;
use tokio::sync::mpsc;

use super::guard::guarded;
use super::{DatabaseState, Error, LoadReport, LoadStep, Manifest};
use crate::workload::{Part, Table};

/// Receives the steps of a load.
pub type LoadObserver<'a> = &'a (dyn Fn(LoadStep) + Send + Sync);

/// Times and reports the phases, and collects the load report.
pub struct Phases<'a> {
    on_step: LoadObserver<'a>,
    begun: Instant,
    /// The report so far.
    pub report: LoadReport,
    current: Option<(&'static str, Instant)>,
}

impl<'a> Phases<'a> {
    /// Begins a load now.
    pub fn new(on_step: LoadObserver<'a>) -> Self {
        Phases { on_step, begun: Instant::now(), report: LoadReport::default(), current: None }
    }

    /// Ends the current phase, if any, and begins another.
    pub fn begin(&mut self, name: &'static str) {
        self.finish();
        (self.on_step)(LoadStep::Phase(name));
        self.current = Some((name, Instant::now()));
    }

    /// Ends the current phase, if any.
    pub fn finish(&mut self) {
        if let Some((name, begun)) = self.current.take() {
            self.report.phases.push((name.to_owned(), begun.elapsed().as_secs_f64()));
        }
    }

    /// Ends the load.
    pub fn end(mut self) -> LoadReport {
        self.finish();
        self.report.seconds = self.begun.elapsed().as_secs_f64();
        self.report
    }

    /// Reports rows that this load inserted.
    pub fn loaded(&mut self, rows: u64, bytes: u64) {
        self.report.rows += rows;
        self.report.bytes += bytes;
        (self.on_step)(LoadStep::Rows { rows, bytes, resumed: false });
    }

    /// Reports that the database has accepted rows of the current part.
    pub fn sent(&self) {
        (self.on_step)(LoadStep::Sent);
    }

    /// Reports rows that existed, if any.
    pub fn resumed(&mut self, rows: u64, bytes: u64) {
        if rows > 0 {
            self.report.resumed_rows += rows;
            (self.on_step)(LoadStep::Rows { rows, bytes, resumed: true });
        }
    }

    /// The parts that are not loaded yet, given those that are (`done`: table, number, rows), whose rows are reported
    /// as resumed.
    ///
    /// An error if a loaded part is not of this population.
    pub fn open_parts(
        &mut self,
        tables: &[Table],
        parts: &[Part],
        done: &[(String, u32, u64)],
    ) -> Result<Vec<Part>, Error> {
        let is = |part: &Part, table: &str, number: u32| tables[part.table].name == table && part.number == number;
        let known = |(table, number, rows): &(String, u32, u64)| {
            parts.iter().any(|part| is(part, table, *number) && part.rows == *rows)
        };
        if let Some((table, number, rows)) = done.iter().find(|done| !known(done)) {
            return Err(Error::Usage(format!(
                "part {number} of {table} was loaded with {rows} rows, which is no part of this population: remove \
                 the tables with \
                 graymark drop and load again"
            )));
        }
        self.resumed(done.iter().map(|(_, _, rows)| rows).sum(), 0);
        let is_open = |part: &&Part| !done.iter().any(|(table, number, _)| is(part, table, *number));
        Ok(parts.iter().filter(is_open).copied().collect())
    }

    /// Loads parts, the largest first, with `jobs` threads that have one connection each: generating the rows takes CPU
    /// time, too.
    ///
    /// `work` runs once on each thread: it connects, and loads parts until its share has no more.
    pub async fn load_parts<W>(&mut self, mut parts: Vec<Part>, jobs: usize, work: W) -> Result<(), Error>
    where
        W: AsyncFn(&Share) -> Result<(), Error> + Send + Sync + 'static,
    {
        parts.sort_by_key(|part| std::cmp::Reverse(part.rows));
        let stop = Stopper(Arc::default());
        let next = Arc::new(AtomicUsize::new(0));
        let (parts, work): (Arc<[Part]>, _) = (parts.into(), Arc::new(work));
        let (sender, mut steps) = mpsc::unbounded_channel();
        for number in 0..jobs.min(parts.len()) {
            let share =
                Share { parts: parts.clone(), next: next.clone(), stop: stop.0.clone(), sender: sender.clone() };
            let work = work.clone();
            let thread = move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let runtime =
                    runtime.map_err(|error| Error::Database(format!("cannot start a loading thread: {error}")));
                if let Err(error) = runtime.and_then(|runtime| runtime.block_on(guarded(work(&share)))) {
                    let _ = share.sender.send(Err(error));
                }
            };
            let thread = std::thread::Builder::new().name(format!("load-{number}")).spawn(thread);
            thread.map_err(|error| Error::Database(format!("cannot start a loading thread: {error}")))?;
        }
        drop(sender);
        let mut failure = None;
        while let Some(step) = steps.recv().await {
            match step {
                Ok(Step::Sent) => self.sent(),
                Ok(Step::Rows { rows, bytes, resumed: false }) => self.loaded(rows, bytes),
                Ok(Step::Rows { rows, bytes, resumed: true }) => self.resumed(rows, bytes),
                Err(error) => {
                    stop.0.store(true, Ordering::Relaxed);
                    failure.get_or_insert(error);
                }
            }
        }
        failure.map_or(Ok(()), Err)
    }
}

enum Step {
    Sent,
    Rows { rows: u64, bytes: u64, resumed: bool },
}

/// The share of a loading thread in the load.
#[derive(Clone)]
pub struct Share {
    parts: Arc<[Part]>,
    next: Arc<AtomicUsize>,
    /// Set when the load is aborted.
    pub stop: Arc<AtomicBool>,
    sender: mpsc::UnboundedSender<Result<Step, Error>>,
}

impl Share {
    /// The next part, which no other thread gets.
    pub fn take(&self) -> Option<&Part> {
        self.parts.get(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Reports that the database has accepted rows of the current part.
    pub fn sent(&self) {
        self.tell(Step::Sent);
    }

    /// Reports a loaded part and its bytes.
    pub fn loaded(&self, part: &Part, bytes: u64) {
        self.tell(Step::Rows { rows: part.rows, bytes, resumed: false });
    }

    /// Reports some loaded rows of a part and their bytes.
    pub fn loaded_rows(&self, rows: u64, bytes: u64) {
        self.tell(Step::Rows { rows, bytes, resumed: false });
    }

    /// Reports a part that existed.
    pub fn resumed(&self, part: &Part) {
        self.tell(Step::Rows { rows: part.rows, bytes: 0, resumed: true });
    }

    fn tell(&self, step: Step) {
        // The receiver is gone if the load was aborted.
        let _ = self.sender.send(Ok(step));
    }
}

/// Stops the loading threads when dropped.
struct Stopper(Arc<AtomicBool>);

impl Drop for Stopper {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Processes a list with several connections in parallel.
pub async fn side_by_side<C, T>(
    connections: &mut [C],
    items: &[T],
    work: impl AsyncFn(&mut C, &T) -> Result<(), Error>,
) -> Result<(), Error> {
    let next = Cell::new(0);
    let worker = async |connection: &mut C| {
        while let Some(item) = items.get(next.replace(next.get() + 1)) {
            work(connection, item).await?;
        }
        Ok(())
    };
    try_join_all(connections.iter_mut().map(worker)).await.map(|_| ())
}

/// The rows that the parts have in each table, by the table's number.
pub fn rows_of_tables(parts: &[Part]) -> BTreeMap<usize, u64> {
    let mut rows = BTreeMap::new();
    for part in parts {
        *rows.entry(part.table).or_default() += part.rows;
    }
    rows
}

/// Whether an unfinished load in a server's database is to be continued; an error if the database is neither that nor
/// empty.
pub fn resumes_load(database_state: DatabaseState, manifest: &Manifest) -> Result<bool, Error> {
    Err(Error::Usage(match database_state {
        DatabaseState::Nothing => return Ok(false),
        DatabaseState::Unfinished(there) if there == *manifest => return Ok(true),
        DatabaseState::Unfinished(there) => format!(
            "the database contains an unfinished load with other parameters (scale {}, seed {}): continue with those, \
             or remove it with graymark drop",
            there.scale, there.seed
        ),
        DatabaseState::Complete(there) => format!(
            "the database is already loaded (scale {}, seed {}): remove the tables with graymark drop to load again",
            there.scale, there.seed
        ),
        DatabaseState::Other { workload } => format!("it holds the workload {workload}: use another database"),
        DatabaseState::Damaged { why } => damaged(&why),
        DatabaseState::Foreign { why } => why,
    }))
}

/// As [`resumes_load`], for engines where another database is easy to use; `other` is what the message suggests, such
/// as `another file`.
pub fn resumes_load_or_suggests(database_state: &DatabaseState, wanted: &Manifest, other: &str) -> Result<bool, Error> {
    Err(Error::Usage(match database_state {
        DatabaseState::Nothing => return Ok(false),
        DatabaseState::Unfinished(found) if found == wanted => return Ok(true),
        DatabaseState::Unfinished(found) => format!(
            "it contains an unfinished load ({}), not the requested one ({}); continue it with its own parameters, or \
             drop its tables first",
            describe(found),
            describe(wanted)
        ),
        DatabaseState::Complete(found) => {
            format!(
                "it is already loaded ({}); use it unchanged, drop its tables first, or name {other}",
                describe(found)
            )
        }
        DatabaseState::Other { workload } => format!("it holds the workload {workload}; name {other}"),
        DatabaseState::Damaged { why } => damaged(why),
        DatabaseState::Foreign { why } => why.clone(),
    }))
}

fn damaged(why: &str) -> String {
    format!("the tables of an earlier load are incomplete ({why}): remove them with graymark drop, and load again")
}

fn describe(manifest: &Manifest) -> String {
    let keys = if manifest.foreign_keys { "with" } else { "without" };
    format!("scale {}, seed {}, date {}, {keys} foreign keys", manifest.scale, manifest.seed, manifest.date)
}

/// Checks the number of a table's rows right after the load.
pub fn counted(table: &str, found: u64, wanted: u64) -> Result<(), Error> {
    if found == wanted {
        return Ok(());
    }
    Err(Error::Database(format!(
        "table {table} has {found} rows instead of {wanted} after the load: drop the tables and load again"
    )))
}

/// As [`counted`], in a server's database, where others may have written rows.
pub fn counted_among_others(table: &str, found: u64, wanted: u64) -> Result<(), Error> {
    if found == wanted {
        return Ok(());
    }
    Err(Error::Database(format!(
        "{table} has {found} rows instead of {wanted}: someone else wrote to it; remove the tables with graymark drop \
         and load again"
    )))
}
