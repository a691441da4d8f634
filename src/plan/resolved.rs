//! A run's plan with nothing left open: what was typed, what the database holds, and defaults for the rest.

use super::{Check, Defaults, Fault, Pace, Plan, RampUp, Rate, Share, Warm};
use crate::result::Arrivals;

/// Warehouses or branches of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// So many.
    Of(u32),
    /// As many as the database holds, which has not been looked at.
    AsLoaded,
}

/// Database sessions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// So many.
    Number(u32),
    /// So many for each warehouse or branch.
    PerUnit(u32),
    /// As many as serve the terminals of all warehouses or branches: see [`Defaults::sessions_paced`].
    ForTerminals,
}

impl Clients {
    /// Their number at a scale.
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
    /// The same sessions work all through it.
    Whole {
        /// The sessions.
        clients: Clients,
        /// Its length in seconds.
        seconds: u32,
    },
    /// It has stages.
    Stages {
        /// The sessions of each.
        clients: Vec<u32>,
        /// The length of each in seconds.
        seconds: u32,
    },
}

impl Interval {
    /// Its length in seconds.
    pub fn seconds(&self) -> u32 {
        match self {
            Interval::Whole { seconds, .. } => *seconds,
            Interval::Stages { clients, seconds } => seconds.saturating_mul(clients.len() as u32),
        }
    }
}

/// How often something is asked of the database in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Not at all.
    Never,
    /// Every so many seconds.
    Every(u32),
}

impl From<Option<u32>> for Period {
    fn from(seconds: Option<u32>) -> Period {
        seconds.filter(|seconds| *seconds > 0).map_or(Period::Never, Period::Every)
    }
}

impl Period {
    /// In seconds.
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
    /// Those of the standard.
    Standard,
    /// These, in the order of the workload's types.
    Of(Vec<u8>),
}

/// A run as it is carried out. Times are in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// What was asked for, and what else a plan file has: how the database is reached and loaded.
    pub asked: Plan,
    /// Warehouses or branches.
    pub scale: Scale,
    /// The number of the workload's profile.
    pub profile: usize,
    /// Its name; empty where neither the database nor anyone has named it.
    pub profile_name: String,
    /// Keying and think times.
    pub pace: Pace,
    /// The transactions a second of an open loop, and how they come; none of a closed one, and with a pace.
    pub open_loop: Option<(Rate, Arrivals)>,
    /// The mix of transactions.
    pub cards: Cards,
    /// The measurement interval.
    pub interval: Interval,
    /// Time before the interval.
    pub ramp_up: RampUp,
    /// The seed of all random numbers.
    pub seed: u64,
    /// When the conditions are checked.
    pub check: Check,
    /// Checkpoints.
    pub checkpoint: Period,
    /// Vacuums.
    pub vacuum: Period,
    /// The most vacuums.
    pub vacuums: u32,
    /// How caches are filled by reading.
    pub warm: Warm,
    /// The most that a warm-up until nothing changes takes; 0 without one.
    pub steady: u32,
    /// How long transactions under way have at the interval's end, and sessions to open.
    pub patience: u32,
    /// The share of each transaction type that may fail.
    pub allowed_errors: Share,
    /// The share of keys of which it is kept what transactions read and wrote.
    pub history: Share,
    /// How long a database that is away at the end is waited for.
    pub reconnect_for: u32,
    /// What goes wrong in the measurement interval, in the order of time.
    pub faults: Vec<Fault>,
}

impl Resolved {
    /// The same as a plan file: the record's `plan.toml`, and what `--dry-run` shows.
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
    fn sessions_follow_the_scale_where_nobody_gives_their_number() {
        assert_eq!(Clients::Number(3).at(50), 3);
        assert_eq!(Clients::PerUnit(2).at(50), 100);
        assert_eq!(Clients::PerUnit(2).at(u32::MAX), u32::MAX);
        assert_eq!(Clients::ForTerminals.at(5_000), Defaults::sessions_paced(5_000));
        assert_eq!(Period::from(Some(0)), Period::Never);
    }
}
