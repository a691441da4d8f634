//! A run as data: what to load, how to drive it, what to measure. The fields are set by command-line options or by a
//! TOML file, and every record contains them as executed.

mod chaos;
mod defaults;
mod error;
mod fault;
mod mix;
mod pace;
mod ramp_up;
mod rate;
pub mod resolved;
mod share;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::engine::registry::WorkloadName;
use crate::result::{Arrivals, Isolation, ReadOnlyOn, Via};
use crate::url::DatabaseUrl;
pub use chaos::{FaultTarget, SHORTEST_CHAOS, chaos};
use defaults::STAGE_SECONDS;
pub use defaults::{ACID_SCALE, CHECKPOINT_PACED, CLIENTS_OF_RATE, Defaults, ISOLATION, RECONNECT_FOR, SCALE};
pub use error::Error;
pub use fault::{Action, Fault};
pub use mix::Mix;
pub use pace::{Factor, Pace};
pub use ramp_up::RampUp;
pub use rate::Rate;
pub use share::Share;

/// When the consistency conditions are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// Not at all.
    None,
    /// After the run.
    After,
    /// Before and after the run.
    Both,
}

impl Check {
    /// Whether they are checked after the run.
    pub fn is_after(self) -> bool {
        matches!(self, Check::After | Check::Both)
    }
}

/// How caches are filled before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Warm {
    /// By the ramp-up only.
    None,
    /// By reading all tables from end to end.
    Scan,
    /// By reading rows at random until the caches are warm.
    Random,
}

/// A plan, or part of one. Missing values come from a file, from the loaded database or from the defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The database: sqlite:FILE, postgres://USER@HOST/DB, mysql://USER@HOST/DB, virtuoso://USER@HOST, odbc:DSN=NAME,
    /// simulated:service=5ms, or a private server that Graymark starts: postgres:local, mysql:local, virtuoso:local.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db: Option<DatabaseUrl>,
    /// The workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadName>,
    /// Number of warehouses or branches.
    #[serde(default, alias = "warehouses", alias = "branches", skip_serializing_if = "Option::is_none")]
    pub scale: Option<u32>,
    /// The workload's profile. tpcc: standard, or virtuoso (two clients per warehouse, no think time, one hour, a
    /// checkpoint every 20 minutes). debitcredit: gray, tpc-b or tpc-a.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Keying and think times: standard, none, or multiples of the standard's such as standard*0.5 or think*2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// Open loop: transactions a second, such as 2000, sent whether or not the database keeps up, over a pool of
    /// --clients sessions; response times start when each transaction was due. Without think time only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// With --rate: send transactions at random times (poisson) or at equal intervals (constant).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// The mix: cards of each transaction type in a terminal's deck, such as new_order=10,payment=10,delivery=1; types
    /// that are not named do not occur.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<Mix>,
    /// Database sessions. Without think time, each one sends its next transaction at once; with think time, they serve
    /// the queue of all terminals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Each client uses only its own warehouses, or branches, if there are enough of them; with think time, terminals
    /// always do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_home: bool,
    /// Driver threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Time before the measurement interval, such as 30s or 5m; auto ends it when the load is steady, after 5m (20m
    /// with a pace) at most, auto:10m sets that limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp_up: Option<RampUp>,
    /// Length of the measurement interval, such as 60s or 2h.
    #[serde(default, with = "time", skip_serializing_if = "Option::is_none")]
    pub duration: Option<u32>,
    /// Number of clients in each stage of one measurement interval, such as 1,2,4,8, instead of --clients; without
    /// think time only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<u32>,
    /// Length of each stage, instead of --duration.
    #[serde(default, with = "time", skip_serializing_if = "Option::is_none")]
    pub stage_duration: Option<u32>,
    /// Send transactions as stored procedure calls or as statements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// Isolation level of the sessions, if the engine supports several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Send read-only transactions to standbys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_on: Option<ReadOnlyOn>,
    /// Maximum connection attempts a second over all sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_rate: Option<u32>,
    /// Seed of all random numbers.
    #[serde(default, with = "seed", skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// When to check the consistency conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// Request a checkpoint before the interval, at its start, and then periodically, such as every 20m.
    #[serde(default, with = "time", skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<u32>,
    /// Request a vacuum of all tables periodically in the interval.
    #[serde(default, with = "time", skip_serializing_if = "Option::is_none")]
    pub vacuum: Option<u32>,
    /// Maximum number of vacuums in a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vacuums: Option<u32>,
    /// How long to wait for transactions in progress after the end of the interval, and for any other response of the
    /// database.
    #[serde(default, with = "time", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u32>,
    /// Warm the caches before the run: read all tables (scan), or random rows until the hit rate stays the same
    /// (random).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<Warm>,
    /// Start with empty caches: restart a private server and drop its files from the system's page cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cold: bool,
    /// Before the ramp-up, run the same load until throughput and hit rate are steady, at most this long, such as 5m;
    /// without think time only.
    #[serde(default, with = "time", skip_serializing_if = "Option::is_none")]
    pub steady: Option<u32>,
    /// Share of each transaction type that may fail without exit code 1, such as 0.1% or 0.001.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_errors: Option<Share>,
    /// Record what transactions read and wrote for this share of keys, and check it for isolation anomalies afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Share>,
    /// If the database is unreachable when the run ends, wait this long for it, such as 10m, before the report is
    /// written without its count.
    #[serde(default, with = "time", skip_serializing_if = "Option::is_none")]
    pub reconnect_for: Option<u32>,
    /// After the interval, kill the private server and measure how long it takes to recover.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub measure_recovery: bool,
    /// Number of parallel loading sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u32>,
    /// Declare the foreign keys of clause 1.3 when loading.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign_keys: bool,
    /// Date in the loaded rows, such as 2026-01-31T12:00:00Z.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<Timestamp>,
    /// Settings of a private server, such as shared_buffers=4GB.
    #[serde(default, with = "settings", skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(String, String)>,
    /// Faults injected during the measurement interval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fault: Vec<Fault>,
}

/// The maximum of all workloads; see [`crate::workload::Workload::max_scale`].
const MOST_SCALE: u32 = 1_000_000;
pub(crate) const MOST_CLIENTS: u32 = 100_000;
pub(crate) const MOST_THREADS: u32 = 1_024;
pub(crate) const MOST_JOBS: u32 = 256;
const MOST_STAGES: usize = 100;
/// Maximum of all times: thirty days.
const LONGEST: u64 = 30 * 86_400;
/// Default time limit in seconds for a response of the database; in a run, after the interval's end.
pub const TIMEOUT: u32 = 60;

impl Plan {
    /// Reads a plan from a TOML file.
    pub fn read(path: &Path) -> Result<Plan, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
        let plan: Plan = toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let why = error.message().lines().next().unwrap_or_default().to_owned();
            Error::Syntax { path: path.to_owned(), line, why }
        })?;
        let wrong = |key, why| Error::Value { path: path.to_owned(), key, why };
        if let Some(scale) = plan.scale {
            parse_scale(&scale.to_string()).map_err(|why| wrong("scale", why))?;
        }
        let limits = [
            ("clients", plan.clients, MOST_CLIENTS),
            ("threads", plan.threads, MOST_THREADS),
            ("jobs", plan.jobs, MOST_JOBS),
            ("duration", plan.duration, u32::MAX),
            ("stage_duration", plan.stage_duration, u32::MAX),
            ("stages", plan.stages.iter().max().copied(), MOST_CLIENTS),
            ("stages", plan.stages.iter().min().copied(), MOST_CLIENTS),
        ];
        for (name, value, most) in limits {
            if value.is_some_and(|value| !(1..=most).contains(&value)) {
                return Err(wrong(name, format!("give a number from 1 to {most}")));
            }
        }
        Ok(plan)
    }

    /// This plan, with missing values taken from another plan. Stages also determine clients and duration, a rate
    /// excludes a pace, and a pace excludes a rate.
    pub fn or(self, mut other: Plan) -> Plan {
        if !self.stages.is_empty() {
            (other.clients, other.duration) = (None, None);
        }
        match (self.rate, self.pace) {
            (Some(_), None) => other.pace = None,
            (None, Some(pace)) if pace != Pace::None => (other.rate, other.arrivals) = (None, None),
            _ => {}
        }
        Plan {
            workload: self.workload.or(other.workload),
            db: self.db.or(other.db),
            profile: self.profile.or(other.profile),
            scale: self.scale.or(other.scale),
            pace: self.pace.or(other.pace),
            rate: self.rate.or(other.rate),
            arrivals: self.arrivals.or(other.arrivals),
            mix: self.mix.or(other.mix),
            clients: self.clients.or(other.clients),
            at_home: self.at_home || other.at_home,
            threads: self.threads.or(other.threads),
            ramp_up: self.ramp_up.or(other.ramp_up),
            duration: self.duration.or(other.duration),
            stages: if self.stages.is_empty() { other.stages } else { self.stages },
            stage_duration: self.stage_duration.or(other.stage_duration),
            via: self.via.or(other.via),
            isolation: self.isolation.or(other.isolation),
            read_only_on: self.read_only_on.or(other.read_only_on),
            connect_rate: self.connect_rate.or(other.connect_rate),
            seed: self.seed.or(other.seed),
            check: self.check.or(other.check),
            checkpoint: self.checkpoint.or(other.checkpoint),
            vacuum: self.vacuum.or(other.vacuum),
            vacuums: self.vacuums.or(other.vacuums),
            warm: self.warm.or(other.warm),
            cold: self.cold || other.cold,
            steady: self.steady.or(other.steady),
            timeout: self.timeout.or(other.timeout),
            allow_errors: self.allow_errors.or(other.allow_errors),
            history: self.history.or(other.history),
            reconnect_for: self.reconnect_for.or(other.reconnect_for),
            measure_recovery: self.measure_recovery || other.measure_recovery,
            jobs: self.jobs.or(other.jobs),
            foreign_keys: self.foreign_keys || other.foreign_keys,
            date: self.date.or(other.date),
            set: if self.set.is_empty() { other.set } else { self.set },
            fault: if self.fault.is_empty() { other.fault } else { self.fault },
        }
    }

    /// The stages and the length of each in seconds; `None` without stages.
    ///
    /// # Errors
    /// If the plan combines stages with an incompatible option, or sets a stage length without stages.
    pub fn staged(&self) -> Result<Option<(&[u32], u32)>, Error> {
        let refused = |why: &str| Err(Error::Stages(why.to_owned()));
        let seconds = self.stage_duration.unwrap_or(STAGE_SECONDS);
        if self.stages.is_empty() {
            return match self.stage_duration {
                Some(_) => refused("--stage-duration is the length of a stage: add --stages 1,2,4,8, or remove it"),
                None => Ok(None),
            };
        }
        if self.clients.is_some() {
            return refused("--stages sets the number of clients: remove --clients");
        }
        if self.duration.is_some() {
            return refused("the stages make up the measurement interval: use --stage-duration instead of --duration");
        }
        if self.ramp_up.is_some_and(RampUp::is_auto) {
            return refused("--ramp-up auto needs a constant load: give a time, such as 30s");
        }
        if self.at_home {
            return refused("each of --stages uses the whole database: remove --at-home");
        }
        if self.pace.is_some_and(|pace| pace != Pace::None) {
            return refused(
                "--stages adds clients without think time: remove --pace, or vary the load with graymark sweep load",
            );
        }
        if self.stages.len() > MOST_STAGES || self.stages.len() as u64 * u64::from(seconds) > LONGEST {
            return Err(Error::Stages(format!(
                "--stages: give at most {MOST_STAGES} stages, which together last at most 30days"
            )));
        }
        Ok(Some((&self.stages, seconds)))
    }

    /// The requested transactions per second and their arrival process; `None` without a rate.
    ///
    /// # Errors
    /// If the plan combines a rate with an incompatible option, or sets arrivals without a rate.
    pub fn open_loop(&self) -> Result<Option<(Rate, Arrivals)>, Error> {
        let refused = |why: &str| Err(Error::Rate(why.to_owned()));
        let Some(rate) = self.rate else {
            return match self.arrivals {
                Some(_) => refused("--arrivals needs a rate: add --rate 100, or remove it"),
                None => Ok(None),
            };
        };
        if self.pace.is_some_and(|pace| pace != Pace::None) {
            return refused("--rate has no think times: remove --pace");
        }
        if !self.stages.is_empty() {
            return refused("--rate is a constant load: remove --stages, or use graymark sweep load --rates");
        }
        if self.at_home {
            return refused("--rate sends any terminal's transactions over any session: remove --at-home");
        }
        if self.steady.is_some_and(|most| most > 0) {
            return refused("--steady waits for a steady throughput, which --rate sets: remove --steady");
        }
        if self.ramp_up.is_some_and(RampUp::is_auto) {
            return refused(
                "--ramp-up auto waits for a steady throughput, which --rate sets: give a time, such as 30s",
            );
        }
        Ok(Some((rate, self.arrivals.unwrap_or(Arrivals::Poisson))))
    }

    /// The maximum seconds of the ramp-up, if the plan sets them.
    pub(crate) fn longest_ramp_up(&self) -> u32 {
        let paced = self.pace.is_some_and(|pace| pace.factors().is_some());
        self.ramp_up.map_or(0, |ramp_up| ramp_up.at_most(paced))
    }

    /// The database's URL.
    pub fn db(&self, workload: WorkloadName) -> DatabaseUrl {
        self.db.clone().unwrap_or_else(|| workload.about().default_db.into())
    }

    /// Settings of a private server by name.
    pub fn settings(&self) -> BTreeMap<String, String> {
        self.set.iter().cloned().collect()
    }

    /// The plan as a TOML file.
    pub fn to_toml(&self) -> Result<String, Error> {
        Ok(toml::to_string(self)?)
    }
}

/// Default directory of a record, from the time, the workload and the engine, with a number if another record of the
/// same second has the name.
pub fn default_record(workload: &str, engine: &str, now: Timestamp) -> PathBuf {
    let name = format!("{}-{workload}-{engine}", now.strftime("%Y%m%dT%H%M%SZ"));
    free(&Path::new("graymark-runs").join(name))
}

/// The path, or the first of `PATH-2`, `PATH-3` and so on that does not exist.
fn free(path: &Path) -> PathBuf {
    let numbered =
        |number: u32| if number == 1 { path.to_owned() } else { format!("{}-{number}", path.display()).into() };
    (1..1_000).map(numbered).find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| path.to_owned())
}

/// Parses a scale: an integer within the range of the keys.
pub(crate) fn parse_scale(text: &str) -> Result<u32, String> {
    let most = MOST_SCALE;
    match text.parse::<u32>() {
        Ok(scale) if (1..=most).contains(&scale) => Ok(scale),
        _ => Err(format!("give a whole number from 1 to {most}")),
    }
}

pub(crate) fn parse_time(text: &str) -> Result<u32, String> {
    let hint = "give a time in whole seconds, such as 90s, 5m or 2h";
    let time = humantime::parse_duration(text).map_err(|_| hint.to_owned())?;
    if time.subsec_nanos() != 0 || time.as_secs() > LONGEST {
        return Err(format!("{hint}, at most 30days"));
    }
    Ok(time.as_secs() as u32)
}

pub(crate) fn parse_interval(text: &str) -> Result<u32, String> {
    parse_time(text).and_then(|time| if time == 0 { Err("give at least 1s".to_owned()) } else { Ok(time) })
}

pub(crate) fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err("give NAME=VALUE, such as shared_buffers=4GB".to_owned()),
    }
}

/// Serializes seconds as `90s`.
mod time {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(time: &Option<u32>, to: S) -> Result<S::Ok, S::Error> {
        match time {
            Some(seconds) => to.serialize_str(&format!("{seconds}s")),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
        let text = String::deserialize(from)?;
        super::parse_time(&text).map(Some).map_err(D::Error::custom)
    }
}

/// Serializes a seed as text, because TOML has no unsigned 64-bit integers.
mod seed {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(seed: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        match seed {
            Some(seed) => to.serialize_str(&seed.to_string()),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map(Some).map_err(|_| D::Error::custom("seed: give a whole number from 0 to 2^64 - 1 in quotes"))
    }
}

/// Serializes settings as a table.
mod settings {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(set: &[(String, String)], to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(set.iter().map(|(name, value)| (name, value)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, String)>, D::Error> {
        Ok(BTreeMap::<String, String>::deserialize(from)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_record_in_the_same_second_has_another_name() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("20260131T120000Z-tpcc-sqlite");
        assert_eq!(free(&path), path);
        std::fs::create_dir(&path).unwrap();
        let second = place.path().join("20260131T120000Z-tpcc-sqlite-2");
        assert_eq!(free(&path), second);
        // A dangling link occupies the name, too.
        std::os::unix::fs::symlink("nowhere", &second).unwrap();
        assert_eq!(free(&path), place.path().join("20260131T120000Z-tpcc-sqlite-3"));
    }

    #[test]
    fn a_plan_is_read_back_from_its_file() {
        let plan = Plan {
            db: Some("postgres:local".into()),
            scale: Some(4),
            pace: Some(Pace::None),
            clients: Some(8),
            ramp_up: Some(RampUp::Seconds(0)),
            duration: Some(90),
            via: Some(Via::Statements),
            isolation: Some(Isolation::ReadCommitted),
            seed: Some(u64::MAX),
            foreign_keys: true,
            date: Some(Timestamp::UNIX_EPOCH),
            set: vec![("shared_buffers".to_owned(), "1GB".to_owned())],
            ..Plan::default()
        };
        let text = plan.to_toml().unwrap();
        let read: Plan = toml::from_str(&text).unwrap();
        assert_eq!(read, plan, "{text}");
    }

    #[test]
    fn flags_override_the_file() {
        let flags = Plan { clients: Some(2), ..Plan::default() };
        let file = Plan { clients: Some(8), scale: Some(3), ..Plan::default() };
        let plan = flags.or(file);
        assert_eq!((plan.clients, plan.scale), (Some(2), Some(3)));
    }

    #[test]
    fn stages_replace_clients_and_duration() {
        let staged = Plan { stages: vec![1, 2, 1], ..Plan::default() };
        assert_eq!(staged.staged().unwrap(), Some((&[1, 2, 1][..], STAGE_SECONDS)));
        let file = Plan { clients: Some(8), duration: Some(60), ramp_up: Some(RampUp::Auto(None)), ..Plan::default() };
        let plan = staged.clone().or(file);
        assert_eq!((plan.clients, plan.duration, plan.ramp_up), (None, None, Some(RampUp::Auto(None))));
        let written: Plan = toml::from_str(&plan.to_toml().unwrap()).unwrap();
        assert_eq!(written, plan);
        assert_eq!(Plan { clients: Some(8), ..Plan::default() }.staged().unwrap(), None);

        let with = |change: fn(&mut Plan)| {
            let mut plan = Plan { stages: vec![1, 2, 1], ..Plan::default() };
            change(&mut plan);
            plan.staged().unwrap_err().to_string()
        };
        assert!(with(|plan| plan.clients = Some(2)).contains("remove --clients"));
        assert!(with(|plan| plan.duration = Some(60)).contains("use --stage-duration"));
        assert!(with(|plan| plan.pace = Some(Pace::Standard)).contains("remove --pace"));
        assert!(
            Plan { stage_duration: Some(5), ..Plan::default() }
                .staged()
                .unwrap_err()
                .to_string()
                .contains("add --stages")
        );
        assert!(with(|plan| plan.stages = vec![1; 101]).contains("at most 100 stages"));
        assert!(with(|plan| plan.stage_duration = Some(20 * 86_400)).contains("30days"));
    }

    #[test]
    fn invalid_scales_and_times_are_refused() {
        for scale in ["0", "-1", "1e9", "1000000000", "", "x"] {
            assert!(parse_scale(scale).is_err(), "{scale}");
        }
        assert_eq!(parse_scale("10"), Ok(10));
        assert_eq!(parse_time("2h"), Ok(7200));
        for time in ["", "5", "1500ms", "-1s", "99y"] {
            assert!(parse_time(time).is_err(), "{time}");
        }
        assert!(parse_interval("0s").is_err());
    }

    #[test]
    fn an_invalid_file_is_reported_with_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plan.toml");
        std::fs::write(&path, "clients = 2\nclientz = 3\n").unwrap();
        let error = Plan::read(&path).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("clientz"), "{error}");
    }
}
