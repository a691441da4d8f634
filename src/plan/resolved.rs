//! A plan in which every value is set: from the user, from the database, or by default.

use super::{Check, Defaults, Fault, Pace, Plan, RampUp, Rate, Share, Warm};
use crate::result::Arrivals;

/// Number of warehouses or branches of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// This number.
    Of(u32),
    /// The number in the database, which has not been queried yet.
    AsLoaded,
}

/// Number of database sessions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// This number.
    Number(u32),
    /// This number for each warehouse or branch.
    PerUnit(u32),
    /// Enough for the terminals of all warehouses or branches: see [`Defaults::sessions_paced`].
    ForTerminals,
}

impl Clients {
    /// The number of sessions at a scale.
    pub fn at(self, scale: u32) -> u32 {
        match self {
            Clients::Number(number) => number,
            Clients::PerUnit(each) => each.saturating_mul(scale),
            Clients::ForTerminals => Defaults::sessions_paced(scale),
        }
    }
}

/// The measurement interval of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interval {
    /// A constant number of sessions.
    Whole {
        /// The sessions.
        clients: Clients,
        /// Its length in seconds.
        seconds: u32,
    },
    /// Stages with different numbers of sessions.
    Stages {
        /// Number of sessions in each stage.
        clients: Vec<u32>,
        /// Length of each stage in seconds.
        seconds: u32,
    },
}

impl Interval {
    /// Length in seconds.
    pub fn seconds(&self) -> u32 {
        match self {
            Interval::Whole { seconds, .. } => *seconds,
            Interval::Stages { clients, seconds } => seconds.saturating_mul(clients.len() as u32),
        }
    }
}

/// How often a request is repeated in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Never.
    Never,
    /// Once per this number of seconds.
    Every(u32),
}

impl From<Option<u32>> for Period {
    fn from(seconds: Option<u32>) -> Period {
        seconds.filter(|seconds| *seconds > 0).map_or(Period::Never, Period::Every)
    }
}

impl Period {
    /// The period in seconds.
    pub fn seconds(self) -> Option<u32> {
        match self {
            Period::Never => None,
            Period::Every(seconds) => Some(seconds),
        }
    }
}

/// The cards of each transaction type in a deck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cards {
    /// The standard's.
    Standard,
    /// These numbers, in the order of the workload's types.
    Of(Vec<u8>),
}

/// A run as it is executed. Times are in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The requested plan, including how the database is reached and loaded.
    pub asked: Plan,
    /// Number of warehouses or branches.
    pub scale: Scale,
    /// Index of the workload's profile.
    pub profile: usize,
    /// Name of the profile; empty if neither the database nor the user names one.
    pub profile_name: String,
    /// Keying and think times.
    pub pace: Pace,
    /// Rate and arrival process of an open loop; `None` for a closed loop or with a pace.
    pub open_loop: Option<(Rate, Arrivals)>,
    /// The mix of transactions.
    pub cards: Cards,
    /// The measurement interval.
    pub interval: Interval,
    /// Ramp-up before the interval.
    pub ramp_up: RampUp,
    /// The seed of all random numbers.
    pub seed: u64,
    /// When the consistency conditions are checked.
    pub check: Check,
    /// Period of checkpoints.
    pub checkpoint: Period,
    /// Period of vacuums.
    pub vacuum: Period,
    /// Maximum number of vacuums.
    pub vacuums: u32,
    /// How caches are warmed by reading.
    pub warm: Warm,
    /// Time limit of a warm-up that ends when the load is steady; 0 without one.
    pub steady: u32,
    /// Time limit for transactions in progress at the interval's end, and for opening sessions.
    pub timeout: u32,
    /// The share of each transaction type that may fail.
    pub allowed_errors: Share,
    /// The share of keys whose reads and writes are recorded.
    pub history: Share,
    /// How long to wait for a database that is unreachable at the end.
    pub reconnect_for: u32,
    /// Faults of the measurement interval, in order of time.
    pub faults: Vec<Fault>,
}

impl Resolved {
    /// As a plan file: the record's `plan.toml`, and the output of `--dry-run`.
    pub fn file(&self) -> Plan {
        let scale = match self.scale {
            Scale::Of(scale) => Some(scale),
            Scale::AsLoaded => None,
        };
        let (clients, duration, stage_duration) = match &self.interval {
            Interval::Whole { clients: Clients::Number(number), seconds } => (Some(*number), Some(*seconds), None),
            Interval::Whole { clients, seconds } => (scale.map(|scale| clients.at(scale)), Some(*seconds), None),
            Interval::Stages { seconds, .. } => (None, None, Some(*seconds)),
        };
        Plan {
            scale,
            profile: (!self.profile_name.is_empty()).then(|| self.profile_name.clone()),
            pace: Some(self.pace),
            arrivals: self.open_loop.map(|(_, arrivals)| arrivals),
            clients,
            ramp_up: Some(self.ramp_up),
            duration,
            stage_duration,
            seed: Some(self.seed),
            check: Some(self.check),
            checkpoint: self.asked.checkpoint.or(self.checkpoint.seconds()),
            steady: self.asked.steady.or((self.steady > 0).then_some(self.steady)),
            reconnect_for: Some(self.reconnect_for),
            ..self.asked.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_number_of_sessions_follows_the_scale() {
        assert_eq!(Clients::Number(3).at(50), 3);
        assert_eq!(Clients::PerUnit(2).at(50), 100);
        assert_eq!(Clients::PerUnit(2).at(u32::MAX), u32::MAX);
        assert_eq!(Clients::ForTerminals.at(5_000), Defaults::sessions_paced(5_000));
        assert_eq!(Period::from(Some(0)), Period::Never);
    }
}
