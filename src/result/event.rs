//! What happens in a run, once, on one stream. The run and its driver tell it; progress lines, the record and a report
//! are consumers of it.

use serde::{Deserialize, Serialize};

use super::phase::Phase;
use super::recorded::Recorded;
use super::step::Step;
use crate::measure::counters::Sample;
use crate::measure::pages::PageReads;
use crate::measure::steady::Settled;
use crate::measure::strangers::ForeignProcess;
use crate::measure::waits::{Blocker, WaitsSeen};
use crate::measure::{Deferred, Interval};
use crate::result::maintenance::{Maintenance, MaintenanceKind};
use crate::result::nodes::StandbyLag;

/// Something that happens in a run, and a line of `events.jsonl`. Times are seconds since the run's start. What
/// `events.jsonl` leaves out stands in other files of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A phase has begun.
    PhaseBegan {
        /// When.
        at: f64,
        /// Which.
        phase: Recorded<Phase>,
    },
    /// A ramp-up that ends when the load is steady is about to end, or its limit is reached.
    Settled {
        /// When this was decided.
        at: f64,
        /// Whole seconds of ramp-up and measurement interval together, as they will be.
        seconds: u32,
        /// How it ended.
        settled: Settled,
    },
    /// A stage of the measurement interval has begun.
    StageBegan {
        /// When.
        at: f64,
        /// Its number, from 0.
        stage: usize,
        /// Clients that work in it.
        clients: u32,
    },
    /// Work of the database that was asked for has ended.
    Maintained(Maintenance),
    /// Work of the database that was asked for was not done.
    NotMaintained {
        /// What kind.
        kind: Recorded<MaintenanceKind>,
        /// Why.
        why: String,
    },
    /// Running totals of the database's page reads at one end of the measurement interval.
    PagesRead {
        /// When.
        at: f64,
        /// The totals.
        pages: Box<PageReads>,
    },
    /// A planned fault has begun.
    FaultBegan {
        /// When.
        at: f64,
        /// Its place among the planned faults in the order of time, from 0.
        fault: usize,
        /// What it does, as it stands in the plan: `stop for 5s`.
        what: String,
    },
    /// A planned fault has ended: the server is there again, or the network is as it was.
    FaultEnded {
        /// When.
        at: f64,
        /// Its place, likewise.
        fault: usize,
        /// Why it could not be carried out; none if it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// What was done, where the plan does not say that: which node was promoted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        done: Option<String>,
    },
    /// Standbys follow: how far each is behind, as the primary tells about once a second.
    StandbysSeen {
        /// When.
        at: f64,
        /// The standbys.
        standbys: Vec<StandbyLag>,
    },
    /// Something that is not counted in this run.
    NotCounted {
        /// What, and why.
        why: String,
    },
    /// Foreign processes worked: the busiest since the last look, about a second before. A record keeps the looks at
    /// which they used much of the machine.
    Strangers {
        /// When.
        at: f64,
        /// Percent of the machine's CPU time that they used, all those told together.
        percent: f64,
        /// The busiest.
        processes: Vec<ForeignProcess>,
    },
    /// What sessions were seen at in the measurement interval, all looks together.
    Waits {
        /// When the last look was.
        at: f64,
        /// What was seen.
        seen: Box<WaitsSeen>,
    },
    /// Sessions have waited for locks for a while: who holds them, as seen about once a second.
    Blocked {
        /// When.
        at: f64,
        /// Who holds them, those for whom most wait first.
        blockers: Vec<Blocker>,
    },
    /// The database was seen at work in background, as it is looked at about once a second.
    Upkeep {
        /// When.
        at: f64,
        /// What it did, in words.
        work: Vec<String>,
    },
    /// A session lost its connection.
    SessionLost {
        /// When.
        at: f64,
        /// Which one.
        session: u32,
        /// In the words of the database or the operating system.
        why: String,
        /// Whether the fate of a transaction is unknown because of it.
        ambiguous: bool,
        /// The host that it was connected to, where the URL names several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// A session was given up, for the reply to a commit could not be read: a transaction's fate is unknown. The
    /// database was not away, and if the session is opened again at once, nothing more is said of it.
    SessionGivenUp {
        /// When.
        at: f64,
        /// Which one.
        session: u32,
        /// What is wrong with the reply.
        why: String,
    },
    /// A session has a connection again.
    SessionRestored {
        /// When.
        at: f64,
        /// Which one.
        session: u32,
        /// Seconds since it was lost.
        after: f64,
        /// The host that it is connected to now, where the URL names several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// A transaction failed for good.
    TransactionFailed {
        /// When.
        at: f64,
        /// Its type.
        transaction: String,
        /// In the words of the database.
        why: String,
    },
    /// The run ended before a transaction did.
    CutOff {
        /// When.
        at: f64,
        /// Its type.
        transaction: String,
        /// Seconds that its user had waited, which count in the response times; none if that began before the
        /// measurement interval, or if nobody waited for it.
        waited: Option<f64>,
        /// Whether the database was at work on it, so that its fate is unknown; otherwise it waited for a database that
        /// was away.
        under_way: bool,
    },
    /// Further failures that were counted in the series but not written here, to bound the file.
    FailuresLeftOff {
        /// How many.
        transactions: u64,
    },
    /// The run has ended.
    RunEnded {
        /// When.
        at: f64,
        /// Whether it was ended before its time.
        interrupted: bool,
    },
    /// A second has passed.
    #[serde(skip)]
    Second {
        /// Its number, from 0.
        second: u32,
        /// The phase it belonged to.
        phase: Phase,
        /// What was measured in it, by all sessions together.
        interval: Box<Interval>,
    },
    /// The counters of database, system and client were read, as they are about once a second.
    #[serde(skip)]
    Sampled(Box<Sample>),
    /// Deferred Deliveries were committed: those of one driver thread in about a second.
    #[serde(skip)]
    Delivered(Vec<Deferred>),
    /// What transactions of one driver thread read and wrote in about a second, as bytes of `history.gz`.
    #[serde(skip)]
    History(Vec<u8>),
    /// The screen of the terminal that is followed has changed.
    #[serde(skip)]
    Screen {
        /// When.
        at: f64,
        /// What its user sees now, line by line.
        screen: String,
    },
    /// A step before or after the load.
    #[serde(skip)]
    Step(Step),
    /// Something that a later Graymark wrote.
    #[serde(other)]
    Unknown,
}
