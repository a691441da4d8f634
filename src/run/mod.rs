//! A run as a library call: from a plan to a summary.
//!
//! [`Run::start`] loads if requested, checks, warms up, runs the load, counts, checks again, looks up commits of
//! unknown outcome, judges and records. It prints nothing and knows no terminal. It reports progress as a stream of
//! [`Event`]s.
//!
//! ```no_run
//! use graymark::plan::Plan;
//! use graymark::run::Run;
//!
//! let plan = Plan { db: Some("sqlite:tpcc.db".into()), duration: Some(30), ..Plan::default() };
//! let outcome = Run::bench(plan).out("first-run").start()?;
//! # Ok::<(), graymark::engine::Error>(())
//! ```

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod accumulate;
mod afterwards;
mod count;
mod counted;
pub mod duet;
mod faults;
mod history;
#[cfg(test)]
mod hours;
pub(crate) mod load;
mod lookup;
mod nodes;
pub(crate) mod open;
pub(crate) mod population;
mod price;
pub(crate) mod requests;
mod resolve;
mod settings;
mod stages;
mod steady;
mod steps;
mod summary;
mod task;
#[cfg(test)]
mod tests;
mod timeline;
mod warm;

use std::path::PathBuf;

use crate::drive::Stop;
use crate::engine::relay::Relay;
pub use crate::engine::seed::Depth;
use crate::engine::server::url::is_private;
use crate::engine::{ConnectOptions, Error, ErrorKind};
use crate::judge::incidents::Incidents;
use crate::plan::{self, Defaults, Plan};
use crate::powercut::DiskOptions;
use crate::record;
use crate::result::acid::AcidProof;
use crate::result::format::Label;
use crate::result::summary::Summary;
use crate::result::{Event, Step};
pub use price::PriceFile;
pub(crate) use resolve::{known_profile, preview, random_seed};
pub use task::{Dropped, Loaded, Restored, ScanOutcome, Task};

/// A run that has not been started yet.
pub struct Run<'a> {
    plan: Plan,
    command: Command,
    out: Option<PathBuf>,
    label: Label,
    price: Option<PriceFile>,
    acid: Vec<AcidProof>,
    terminal: Option<(u32, u32)>,
    stop: Stop,
    /// The proxy between sessions and server, for network faults.
    relay: Option<Relay>,
    disk: Option<DiskOptions>,
    consumer: Box<dyn FnMut(&Event) + 'a>,
}

/// The command that a run belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    /// Loads first if needed.
    Bench,
    /// Requires a loaded database.
    Run,
}

impl Command {
    /// Its name in the record.
    fn name(self) -> &'static str {
        match self {
            Command::Bench => "bench",
            Command::Run => "run",
        }
    }

    /// The defaults of the command.
    fn defaults(self) -> &'static Defaults {
        match self {
            Command::Bench => &Defaults::BENCH,
            Command::Run => &Defaults::RUN,
        }
    }
}

impl Run<'static> {
    /// A run on a loaded database, like `graymark run`. Values that the plan does not set are filled in from the
    /// database, or by default.
    pub fn new(plan: Plan) -> Run<'static> {
        let consumer = Box::new(|_: &Event| {});
        Run {
            plan,
            command: Command::Run,
            out: None,
            label: Label::default(),
            price: None,
            acid: Vec::new(),
            terminal: None,
            stop: Stop::new(),
            relay: None,
            disk: None,
            consumer,
        }
    }

    /// A run that first loads an empty database or continues an interrupted load, and checks the database before and
    /// after, like `graymark bench`.
    pub fn bench(plan: Plan) -> Run<'static> {
        Run { command: Command::Bench, ..Run::new(plan) }
    }
}

impl<'a> Run<'a> {
    /// The directory of the record; by default one below `graymark-runs` named by time, workload and engine. It must be
    /// empty.
    pub fn out(self, directory: impl Into<PathBuf>) -> Self {
        Run { out: Some(directory.into()), ..self }
    }

    /// Name and tags of the record.
    pub fn label(self, label: Label) -> Self {
        Run { label, ..self }
    }

    /// Prices the result.
    pub fn price(self, price: PriceFile) -> Self {
        Run { price: Some(price), ..self }
    }

    /// Results of ACID tests of the database, for the verdict: the newest that match the run are used.
    pub fn acid(self, tests: Vec<AcidProof>) -> Self {
        Run { acid: tests, ..self }
    }

    /// Sends the screens of a terminal of a warehouse or branch, both counted from 1, as [`Event::Screen`].
    pub fn terminal(self, unit: u32, terminal: u32) -> Self {
        Run { terminal: Some((unit, terminal)), ..self }
    }

    /// Options of the simulated disk for the data of a private server, used if the plan has disk faults.
    pub fn disk(self, disk: DiskOptions) -> Self {
        Run { disk: Some(disk), ..self }
    }

    /// Ends the run early when a stop is requested through this.
    pub fn stop(self, stop: Stop) -> Self {
        Run { stop, ..self }
    }

    /// The consumer of the events, called on the thread that started the run. Transactions never wait for it.
    pub fn on_event<'b>(self, consumer: impl FnMut(&Event) + 'b) -> Run<'b> {
        let Run { plan, command, out, label, price, acid, terminal, stop, relay, disk, consumer: _ } = self;
        Run { plan, command, out, label, price, acid, terminal, stop, relay, disk, consumer: Box::new(consumer) }
    }

    /// Executes the run; `None` if a stop was requested before the load started. Blocks the calling thread.
    ///
    /// # Errors
    /// If the plan is invalid, the database cannot be reached or used, or the record cannot be created.
    pub fn start(mut self) -> Result<Option<Outcome>, Error> {
        let workload = self.plan.workload.unwrap_or_default();
        self.plan.workload = Some(workload);
        self.plan.staged()?;
        self.plan.open_loop()?;
        // Graymark only moves the data of private servers.
        let wanted = self.plan.has_disk_faults() && is_private(self.plan.db(workload).reveal());
        let disk = self.disk.clone().filter(|_| wanted);
        let options = ConnectOptions { disk, ..open::options(workload, &self.plan) };
        self.relay = options.relay.clone();
        open::open(workload, options, self)
    }

    fn tell(&mut self, step: Step) {
        (self.consumer)(&Event::Step(step));
    }
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The result, with its verdict.
    pub summary: Summary,
    /// The directory of the record.
    pub record: PathBuf,
    /// The path of the HTML report, or why the record is incomplete.
    pub report: Result<PathBuf, Error>,
}

impl Outcome {
    /// Whether a check failed: the database is inconsistent, or its counts differ from the client's, or, unless the run
    /// was stopped, it could not be counted, or more transactions failed than are allowed.
    pub fn failed(&self) -> bool {
        let summary = &self.summary;
        let broken = !summary.consistency.failed.is_empty() || summary.database.agrees == Some(false);
        // What a stopped run did not finish is not a failure.
        let unknown = !summary.database.uncounted.is_empty() || !summary.consistency.unchecked.is_empty();
        let anomalies = summary.history.as_ref().is_some_and(|history| history.found() > 0);
        broken || anomalies || (!summary.interrupted && (unknown || Incidents::of(summary).beyond_allowed))
    }
}

impl From<plan::Error> for Error {
    fn from(error: plan::Error) -> Error {
        Error::of(ErrorKind::Usage, error)
    }
}

impl From<record::Error> for Error {
    fn from(error: record::Error) -> Error {
        Error::of(if error.is_of_writing() { ErrorKind::Output } else { ErrorKind::Usage }, error)
    }
}
