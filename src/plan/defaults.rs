//! The defaults of each command, for values that neither the user nor the database sets. Both runs and `--help` take
//! them from here.

use clap::ValueEnum as _;

use super::{Check, Pace, Plan, RampUp, TIMEOUT};
use crate::engine::registry::{WorkloadName, WorkloadVisitor};
use crate::engine::sql::SqlWorkload;
use crate::result::Isolation;
use crate::workload::Users;
use crate::workload::about::About;
use crate::workload::known;

/// Whether the runs of a command have keying and think times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkTime {
    /// If requested, or if the profile has them.
    Optional,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The purpose of a command, which determines its defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Runs on the loaded database.
    Run,
    /// Loads the database if needed, and runs.
    LoadAndRun,
    /// Repeats TPC-C runs, and loads the database if needed.
    Sweep,
    /// Loads each combination of the varied settings.
    Grid,
    /// Executes no run.
    NoRun,
    /// Tests ACID properties, and loads the database if needed.
    Acid,
}

/// The defaults of a command. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Defaults {
    /// The purpose of the command.
    pub purpose: Purpose,
    /// Whether there are keying and think times.
    pub think_time: ThinkTime,
    /// Keying and think times.
    pub pace: Pace,
    /// Number of sessions without think time.
    pub clients: u32,
    /// Ramp-up without think time.
    pub ramp_up: u32,
    /// Length of the measurement interval.
    pub duration: u32,
    /// When the consistency conditions are checked.
    pub check: Check,
    /// Time limit of a warm-up that ends when the load is steady; 0 without one.
    pub steady: u32,
}

/// Number of warehouses or branches to load.
pub const SCALE: u32 = 1;
/// The same for ACID tests, some of which need two.
pub const ACID_SCALE: u32 = 2;
/// Ramp-up with a pace, in seconds.
pub const RAMP_UP_PACED: u32 = 60;
/// Time between checkpoints with a pace, in seconds.
pub const CHECKPOINT_PACED: u32 = 20 * 60;
/// Number of sessions of an open loop.
pub const CLIENTS_OF_RATE: u32 = 16;
/// Length of a stage in seconds.
pub const STAGE_SECONDS: u32 = 30;
/// How long to wait for a database that is unreachable at the end of the run, in seconds.
pub const RECONNECT_FOR: u32 = 5 * 60;
/// The isolation level of sessions.
pub const ISOLATION: Isolation = Isolation::ReadCommitted;
/// With a pace: warehouses or branches for each session, minimum and maximum number of sessions.
const SESSIONS_PACED: (u32, u32, u32) = (100, 8, 1_000);

impl Defaults {
    /// Defaults of `graymark run`.
    pub const RUN: Defaults = Defaults {
        purpose: Purpose::Run,
        think_time: ThinkTime::Optional,
        pace: Pace::None,
        clients: 4,
        ramp_up: 10,
        duration: 60,
        check: Check::After,
        steady: 0,
    };
    /// Defaults of `graymark bench`.
    pub const BENCH: Defaults = Defaults { purpose: Purpose::LoadAndRun, check: Check::Both, ..Defaults::RUN };
    /// Defaults of `graymark chaos`.
    pub const CHAOS: Defaults = Defaults { duration: 5 * 60, ..Defaults::BENCH };
    /// Defaults of commands without a run.
    pub const NO_RUN: Defaults = Defaults { purpose: Purpose::NoRun, ..Defaults::RUN };
    /// Defaults of `graymark acid`.
    pub const ACID: Defaults =
        Defaults { purpose: Purpose::Acid, think_time: ThinkTime::Never, clients: 8, ..Defaults::RUN };
    /// Defaults of `graymark sweep load`. Clause 5.6.2 requires 20 minutes.
    pub const SWEEP_LOAD: Defaults = Defaults { duration: 20 * 60, ..Defaults::SWEEP_WAREHOUSES };
    /// Defaults of `graymark sweep load --rates`.
    pub const SWEEP_RATES: Defaults =
        Defaults { purpose: Purpose::Sweep, think_time: ThinkTime::Never, ..Defaults::RUN };
    /// Defaults of `graymark sweep warehouses`.
    pub const SWEEP_WAREHOUSES: Defaults = Defaults {
        think_time: ThinkTime::Always,
        pace: Pace::Standard,
        duration: 5 * 60,
        purpose: Purpose::Sweep,
        ..Defaults::RUN
    };
    /// Defaults of `graymark sweep max --of clients`.
    pub const SWEEP_MAX_CLIENTS: Defaults = Defaults { purpose: Purpose::Sweep, duration: 5 * 60, ..Defaults::RUN };
    /// Defaults of `graymark sweep max --of warehouses`.
    pub const SWEEP_MAX_WAREHOUSES: Defaults = Defaults { pace: Pace::Standard, ..Defaults::SWEEP_MAX_CLIENTS };
    /// Defaults of `graymark sweep grid`.
    pub const GRID: Defaults = Defaults {
        purpose: Purpose::Grid,
        think_time: ThinkTime::Never,
        clients: 8,
        ramp_up: 5,
        check: Check::None,
        steady: 5 * 60,
        ..Defaults::RUN
    };

    /// Ramp-up in seconds.
    pub fn ramp_up(&self, paced: bool) -> u32 {
        if paced { RAMP_UP_PACED } else { self.ramp_up }
    }

    /// Number of sessions with a pace, for a number of warehouses or branches.
    pub fn sessions_paced(scale: u32) -> u32 {
        let (each, fewest, most) = SESSIONS_PACED;
        scale.div_ceil(each).clamp(fewest, most)
    }

    /// The default of an option as shown in `--help`; options are named as in a plan. `None` if there is nothing to
    /// show.
    pub fn text(&self, option: &str) -> Option<String> {
        let text = self.without_rates(option)?;
        let with_rates =
            Defaults::SWEEP_RATES.without_rates(option).filter(|with| *self == Self::SWEEP_LOAD && *with != text);
        Some(match (option, with_rates) {
            ("clients", Some(_)) => format!("{text}; {CLIENTS_OF_RATE} with --rates"),
            ("pace" | "checkpoint", _) | (_, None) => text,
            (_, Some(with)) => format!("{text}; {with} with --rates"),
        })
    }

    /// The same, for commands other than sweeps of rates.
    fn without_rates(&self, option: &str) -> Option<String> {
        let by_pace = |without: String, with: String| match self.think_time {
            ThinkTime::Optional if without == with => without,
            ThinkTime::Optional => format!("{without}; {with} with a pace"),
            ThinkTime::Always => with,
            ThinkTime::Never => without,
        };
        Some(match option {
            "db" => match self.purpose {
                Purpose::Sweep | Purpose::Grid => WorkloadName::default().about().default_db.to_owned(),
                _ => {
                    let of = |about: &&About| match about.name == WorkloadName::default().about().name {
                        true => about.default_db.to_owned(),
                        false => format!("{}: {}", about.name, about.default_db),
                    };
                    known::all().iter().map(of).collect::<Vec<_>>().join("; ")
                }
            },
            "scale" => match self.purpose {
                Purpose::Run => "as loaded".to_owned(),
                Purpose::Grid => SCALE.to_string(),
                Purpose::Acid => format!("as loaded, else {ACID_SCALE}"),
                _ => format!("as loaded, else {SCALE}"),
            },
            "profile" => "as loaded, else the first".to_owned(),
            "pace" => match (self.pace, &usual_pace()[..]) {
                (Pace::None, [first, ..]) if self.purpose != Purpose::Sweep => {
                    format!("{}; {first}: {}", Pace::None, Pace::Standard)
                }
                (pace, _) => pace.to_string(),
            },
            "clients" => {
                let (each, fewest, most) = SESSIONS_PACED;
                let paced = format!("one for every {each} warehouses, from {fewest} to {most}");
                let at_rate = match self.purpose {
                    Purpose::Run | Purpose::LoadAndRun => format!("; {CLIENTS_OF_RATE} with --rate"),
                    _ => String::new(),
                };
                by_pace(self.clients.to_string(), paced) + &at_rate
            }
            "threads" => "one for every four processors; one for each client of an embedded engine".to_owned(),
            "ramp_up" => by_pace(time(self.ramp_up), time(RAMP_UP_PACED)),
            "duration" => time(self.duration),
            "stage_duration" => time(STAGE_SECONDS),
            "via" => "procedures if the engine supports them".to_owned(),
            "isolation" => format!("{}; with row locks", ISOLATION.words().replace(' ', "-")),
            "seed" => "random, and recorded".to_owned(),
            "check" => match self.check {
                Check::None => "none",
                Check::After => "after",
                Check::Both => "both",
            }
            .to_owned(),
            "checkpoint" => by_pace("none".to_owned(), time(CHECKPOINT_PACED)),
            "arrivals" => "poisson".to_owned(),
            "vacuum" | "warm" | "allow_errors" | "history" | "rate" => "none".to_owned(),
            "vacuums" | "connect_rate" => "no limit".to_owned(),
            "steady" if self.steady == 0 => "off".to_owned(),
            "steady" => time(self.steady),
            "timeout" if matches!(self.purpose, Purpose::NoRun | Purpose::Acid) => {
                "no limit while the server responds".to_owned()
            }
            "timeout" => {
                format!("{} for transactions; no limit for other requests while the server responds", time(TIMEOUT))
            }
            "reconnect_for" => time(RECONNECT_FOR),
            "jobs" => "one for each processor".to_owned(),
            "foreign_keys" => "no".to_owned(),
            "date" => "now".to_owned(),
            _ => return None,
        })
    }

    /// Fills in the values that must be the same for all runs of a sweep.
    pub fn of_all_points(&self, plan: Plan) -> Plan {
        let pace = plan.pace.unwrap_or(self.pace);
        plan.or(Plan {
            pace: Some(pace),
            steady: (self.steady > 0).then_some(self.steady),
            ramp_up: Some(RampUp::Seconds(self.ramp_up(pace.factors().is_some()))),
            duration: Some(self.duration),
            check: Some(self.check),
            ..Plan::default()
        })
    }
}

/// Profiles that have the standard's pace by default.
fn usual_pace() -> Vec<&'static str> {
    struct Usual;
    impl WorkloadVisitor for Usual {
        type Output = Vec<&'static str>;

        fn visit<W: SqlWorkload>(self) -> Vec<&'static str> {
            let usual = |(number, name): (usize, &&'static str)| (W::users(number) == Users::Usual).then_some(*name);
            W::PROFILES.iter().enumerate().filter_map(usual).collect()
        }
    }
    WorkloadName::value_variants().iter().flat_map(|name| name.visit(Usual)).collect()
}

/// A time in the notation of the command line.
fn time(seconds: u32) -> String {
    if seconds >= 120 && seconds.is_multiple_of(60) { format!("{}m", seconds / 60) } else { format!("{seconds}s") }
}
