//! What the driver says happens, once, on one stream. Progress lines and the record writer are consumers of it.

use serde::{Deserialize, Serialize};

use crate::measure::Interval;
use crate::measure::counters::Sample;
use crate::measure::maintenance::{Maintenance, MaintenanceKind};
use crate::measure::pages::PageReads;

/// A phase of a run (clause 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the measurement interval.
    RampUp,
    /// The measurement interval.
    Measurement,
    /// Transactions under way at the end of the interval are completed.
    WindDown,
}

impl Phase {
    /// As it is written in records.
    pub fn name(self) -> &'static str {
        match self {
            Phase::RampUp => "ramp_up",
            Phase::Measurement => "measurement",
            Phase::WindDown => "wind_down",
        }
    }
}

/// Something that happened in a run. Times are seconds since its start.
#[derive(Debug)]
pub enum Event {
    /// A phase has begun.
    PhaseBegan {
        /// When.
        at: f64,
        /// Which.
        phase: Phase,
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
    /// A second has passed.
    Second {
        /// Its number, from 0.
        second: u32,
        /// The phase it belonged to.
        phase: Phase,
        /// What was measured in it, by all sessions together.
        interval: Box<Interval>,
    },
    /// The counters of database, system and client were read, as they are about once a second.
    Sampled(Box<Sample>),
    /// The page reads of the database were asked for, as they are at both ends of the measurement interval.
    PagesRead {
        /// When.
        at: f64,
        /// Running totals.
        pages: Box<PageReads>,
    },
    /// Something that is not counted in this run.
    NotCounted {
        /// What, and why.
        why: String,
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
    },
    /// A session has a connection again.
    SessionRestored {
        /// When.
        at: f64,
        /// Which one.
        session: u32,
        /// Seconds since it was lost.
        after: f64,
    },
    /// A transaction failed for good.
    TransactionFailed {
        /// When.
        at: f64,
        /// Its type, as an index into the workload's transactions.
        transaction: usize,
        /// In the words of the database.
        why: String,
    },
    /// The run ended before a transaction did.
    CutOff {
        /// When.
        at: f64,
        /// Its type, as an index into the workload's transactions.
        transaction: usize,
        /// Seconds that its user had waited; none if that began before the measurement interval, or if nobody waited for it.
        waited: Option<f64>,
        /// Whether the database was at work on it, so that its fate is unknown; otherwise it waited for a database that was away.
        under_way: bool,
    },
    /// The screen of the terminal that is followed has changed.
    Screen {
        /// When.
        at: f64,
        /// What its user sees now, line by line.
        screen: String,
    },
    /// Work of the database that was asked for has ended.
    Maintained(Maintenance),
    /// Work of the database that was asked for was not done.
    NotMaintained {
        /// What kind.
        kind: MaintenanceKind,
        /// Why.
        why: String,
    },
    /// The run has ended.
    RunEnded {
        /// When.
        at: f64,
        /// Whether it was ended before its time.
        interrupted: bool,
    },
}
