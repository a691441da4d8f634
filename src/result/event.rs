//! The events of a run, on a single stream. The run and its driver emit them; progress lines, the record and reports
//! consume them.

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

/// An event of a run, and a line of `events.jsonl`. Times are seconds since the run's start. Events that are not in
/// `events.jsonl` are in other files of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A phase has begun.
    PhaseBegan {
        /// Time.
        at: f64,
        /// The phase.
        phase: Recorded<Phase>,
    },
    /// An automatic ramp-up is about to end: the load is steady, or the limit is reached.
    Settled {
        /// Time of the decision.
        at: f64,
        /// Whole seconds of ramp-up and measurement interval together.
        seconds: u32,
        /// How it ended.
        settled: Settled,
    },
    /// A stage of the measurement interval has begun.
    StageBegan {
        /// Time.
        at: f64,
        /// Its number, from 0.
        stage: usize,
        /// Number of clients in it.
        clients: u32,
    },
    /// A maintenance request has ended.
    Maintained(Maintenance),
    /// A maintenance request was not executed.
    NotMaintained {
        /// Kind of maintenance.
        kind: Recorded<MaintenanceKind>,
        /// Why.
        why: String,
    },
    /// Running totals of the database's page reads at one end of the measurement interval.
    PagesRead {
        /// Time.
        at: f64,
        /// The totals.
        pages: Box<PageReads>,
    },
    /// A planned fault has begun.
    FaultBegan {
        /// Time.
        at: f64,
        /// Its index among the planned faults in order of time, from 0.
        fault: usize,
        /// The fault as in the plan: `stop for 5s`.
        what: String,
    },
    /// A planned fault has ended: the server is available again, or the network is restored.
    FaultEnded {
        /// Time.
        at: f64,
        /// Its index.
        fault: usize,
        /// Why it could not be executed; `None` if it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Details that the plan does not have, such as which node was promoted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        done: Option<String>,
    },
    /// Replication lag of each standby, sampled by the primary about once a second.
    StandbysSeen {
        /// Time.
        at: f64,
        /// The standbys.
        standbys: Vec<StandbyLag>,
    },
    /// A counter that is not available in this run.
    NotCounted {
        /// Which one, and why.
        why: String,
    },
    /// CPU time of other processes: the busiest since the last sample, about a second before. A record keeps the
    /// samples in which they used much of the machine.
    Strangers {
        /// Time.
        at: f64,
        /// Percent of the machine's CPU time that the listed processes used together.
        percent: f64,
        /// The busiest.
        processes: Vec<ForeignProcess>,
    },
    /// Sampled wait states of sessions in the measurement interval, all samples together.
    Waits {
        /// Time of the last sample.
        at: f64,
        /// The states.
        seen: Box<WaitsSeen>,
    },
    /// Sessions have waited for locks for some time: the lock holders, sampled about once a second.
    Blocked {
        /// Time.
        at: f64,
        /// The holders, those with the most waiters first.
        blockers: Vec<Blocker>,
    },
    /// Background work of the database, sampled about once a second.
    #[serde(rename = "upkeep")]
    BackgroundWork {
        /// Time.
        at: f64,
        /// The work, in words.
        work: Vec<String>,
    },
    /// A session lost its connection.
    SessionLost {
        /// Time.
        at: f64,
        /// The session.
        session: u32,
        /// The error of the database or the operating system.
        why: String,
        /// Whether a transaction has an unknown outcome because of it.
        ambiguous: bool,
        /// The host of the connection, if the URL names several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// A session was closed because the reply to a commit could not be read: a transaction has an unknown outcome. The
    /// database was available; if the session is opened again at once, no other event follows.
    SessionGivenUp {
        /// Time.
        at: f64,
        /// The session.
        session: u32,
        /// What is wrong with the reply.
        why: String,
    },
    /// A session was reconnected.
    SessionRestored {
        /// Time.
        at: f64,
        /// The session.
        session: u32,
        /// Seconds since it was lost.
        after: f64,
        /// The host of the new connection, if the URL names several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// A transaction failed after all retries.
    TransactionFailed {
        /// Time.
        at: f64,
        /// Its type.
        transaction: String,
        /// The error of the database.
        why: String,
    },
    /// A transaction was in progress when the run ended.
    CutOff {
        /// Time.
        at: f64,
        /// Its type.
        transaction: String,
        /// Seconds that its user had waited, which count in the response times; `None` if it began before the
        /// measurement interval, or if no user waited for it.
        waited: Option<f64>,
        /// Seconds of the interval in which a session had it, which count in the service times; `None` if there are
        /// none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        served: Option<f64>,
        /// Whether the database was executing it, so that its outcome is unknown; otherwise it waited for an
        /// unavailable database.
        under_way: bool,
    },
    /// Further failures, counted in the series but not written here to limit the file.
    FailuresLeftOff {
        /// Their number.
        transactions: u64,
    },
    /// The run has ended.
    RunEnded {
        /// Time.
        at: f64,
        /// Whether it was stopped early.
        interrupted: bool,
    },
    /// A second has passed.
    #[serde(skip)]
    Second {
        /// Its number, from 0.
        second: u32,
        /// Its phase.
        phase: Phase,
        /// The measurements of all sessions in it.
        interval: Box<Interval>,
    },
    /// A sample of the counters of database, system and client, about once a second.
    #[serde(skip)]
    Sampled(Box<Sample>),
    /// Deferred Deliveries that one driver thread committed in about a second.
    #[serde(skip)]
    Delivered(Vec<Deferred>),
    /// Reads and writes of transactions of one driver thread in about a second, as bytes of `history.gz`.
    #[serde(skip)]
    History(Vec<u8>),
    /// The screen of the followed terminal has changed.
    #[serde(skip)]
    Screen {
        /// Time.
        at: f64,
        /// The screen, line by line.
        screen: String,
    },
    /// A step before or after the load.
    #[serde(skip)]
    Step(Step),
    /// An event of a later version.
    #[serde(other)]
    Unknown,
}
