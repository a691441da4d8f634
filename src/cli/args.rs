//! Options that several commands share, in groups. Given options become a plan; missing ones stay unset in it.
//! `help.rs` adds their defaults to the help.
//!
//! The heading of a group also applies to all later options, so a command's own options come before groups.

use clap::Args;
use jiff::Timestamp;

use crate::plan::{
    Check, Fault, MOST_CLIENTS, MOST_JOBS, MOST_THREADS, Mix, Pace, Plan, RampUp, Rate, Share, Warm, parse_interval,
    parse_scale, parse_setting, parse_time,
};
use crate::result::format::Label;
use crate::result::{Arrivals, Isolation, ReadOnlyOn, Via};
use crate::url::DatabaseUrl;

/// Name and tags of a record.
#[derive(Debug, Args)]
pub(super) struct LabelArgs {
    /// A name for the record, by which other commands find it
    #[arg(long, value_name = "NAME", value_parser = parse_label)]
    pub(super) name: Option<String>,
    /// A tag for the record, by which list finds it; may be given several times
    #[arg(long = "tag", value_name = "TAG", value_parser = parse_label, hide_short_help = true)]
    pub(super) tag: Vec<String>,
}

impl LabelArgs {
    /// The label in the record.
    pub(super) fn label(&self) -> Label {
        Label { name: self.name.clone().unwrap_or_default(), tags: self.tag.clone() }
    }
}

/// Names appear in lists and are typed by users, so they are short and on one line; a path is not a name.
pub(super) fn parse_label(text: &str) -> Result<String, String> {
    let strange = |letter: char| letter.is_control() || letter.is_whitespace() || letter == '/';
    if text.is_empty() || text.chars().count() > 64 || text.contains(strange) || text.starts_with(['.', '-']) {
        return Err("give up to 64 letters without blanks and slashes, such as before-upgrade".to_owned());
    }
    Ok(text.to_owned())
}

/// The database.
#[derive(Debug, Args)]
#[command(next_help_heading = "Database")]
pub(super) struct Database {
    /// The database: sqlite:FILE, postgres://USER@HOST/DB, mysql://USER@HOST/DB, virtuoso://USER@HOST, odbc:DSN=NAME,
    /// simulated:service=5ms, or a private server that Graymark starts: postgres:local, mysql:local, virtuoso:local
    #[arg(long, env = "GRAYMARK_DB", hide_env_values = true, value_name = "URL")]
    pub(super) db: Option<DatabaseUrl>,
    /// Setting of a private server, such as shared_buffers=4GB; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub(super) set: Vec<(String, String)>,
}

/// Number of warehouses or branches.
#[derive(Debug, Args)]
#[command(next_help_heading = "Population")]
pub(super) struct Scale {
    /// Number of warehouses or branches
    #[arg(short = 'w', long = "warehouses", visible_short_alias = 'b', visible_alias = "branches", value_name = "N",
          value_parser = parse_scale)]
    pub(super) scale: Option<u32>,
}

/// The profile.
#[derive(Debug, Args)]
#[command(next_help_heading = "Population")]
pub(super) struct Profile {
    /// The workload's profile. tpcc: standard, or virtuoso (two clients per warehouse, no think time, one hour, a
    /// checkpoint every 20 minutes). debitcredit: gray, tpc-b or tpc-a
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
}

/// Options of a load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Population")]
pub(super) struct Loading {
    /// Number of parallel loading sessions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_JOBS)),
          hide_short_help = true)]
    jobs: Option<u32>,
    /// Declare the foreign keys of clause 1.3 when loading
    #[arg(long, hide_short_help = true)]
    foreign_keys: bool,
    /// Date in the loaded rows, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    date: Option<Timestamp>,
}

/// The seed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Population")]
pub(super) struct Seed {
    /// Seed of all random numbers
    #[arg(long, value_name = "N", hide_short_help = true)]
    seed: Option<u64>,
}

/// Time limit.
#[derive(Debug, Args)]
#[command(next_help_heading = "Checks and limits")]
pub(super) struct Timeout {
    /// Give up after this long without progress, such as 10m
    #[arg(long, value_name = "TIME", value_parser = parse_interval, hide_short_help = true)]
    pub(super) timeout: Option<u32>,
}

/// The pace of terminals.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(super) struct Pacing {
    /// Keying and think times: standard, none, or multiples of the standard's such as standard*0.5 or think*2
    #[arg(long, value_name = "PACE")]
    pub(super) pace: Option<Pace>,
}

/// The load and its duration.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(super) struct Offered {
    /// Transaction mix: number of cards of each transaction type in a terminal's deck, such as
    /// new_order=10,payment=10,delivery=1; types that are not named do not occur
    #[arg(long, value_name = "TYPE=CARDS,…")]
    mix: Option<Mix>,
    /// Database sessions. Without think time, each one sends its next transaction at once; with think time, they serve
    /// the queue of all terminals
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_CLIENTS)))]
    pub(super) clients: Option<u32>,
    /// Each client uses only its own warehouses, or branches, if there are enough of them; with think time, terminals
    /// always do
    #[arg(long, hide_short_help = true)]
    at_home: bool,
    /// Driver threads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_THREADS)),
          hide_short_help = true)]
    threads: Option<u32>,
    /// Time before the measurement interval, such as 30s or 5m; auto ends it when the load is steady, after 5m (20m
    /// with a pace) at most, auto:10m sets that limit
    #[arg(long, value_name = "TIME|auto")]
    ramp_up: Option<RampUp>,
    /// Length of the measurement interval, such as 60s or 2h
    #[arg(long, value_name = "TIME", value_parser = parse_interval)]
    pub(super) duration: Option<u32>,
    /// Warm the caches before the run: read all tables (scan), or random rows until the caches are warm (random)
    #[arg(long)]
    warm: Option<Warm>,
    /// Start with empty caches, before any warm-up: restart a private server and drop its files from the system's page
    /// cache
    #[arg(long, hide_short_help = true)]
    cold: bool,
}

/// An open loop.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(super) struct AtRate {
    /// Open loop: send this many transactions a second, such as 2000, whether or not the database keeps up, over a pool
    /// of --clients sessions; response times start when each transaction was due. Without think time only
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    rate: Option<Rate>,
    /// With --rate: send transactions at random times (poisson) or at equal intervals (constant)
    #[arg(long, hide_short_help = true)]
    arrivals: Option<Arrivals>,
}

/// A warm-up by the load itself.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(super) struct Steady {
    /// Before the ramp-up, run the same load until throughput and hit rate are steady, but no longer than this, such as
    /// 5m; without think time only
    #[arg(long, value_name = "TIME", value_parser = parse_time, hide_short_help = true)]
    steady: Option<u32>,
}

/// Planned faults.
#[derive(Debug, Args)]
#[command(next_help_heading = "Faults")]
pub(super) struct Faults {
    /// Inject a fault at a time in the measurement interval, such as '60s: kill'; may be given several times. DO is
    /// kill, restart, stop for 5s (private servers), kill primary, kill standby (postgres:local?standbys=2), kill node
    /// 2 (mysql:local?nodes=3), delay 5ms for 30s, bandwidth 1MB for 10s, partition for 20s, or script PATH
    #[arg(long = "fault", value_name = "AT: DO", hide_short_help = true)]
    pub(super) fault: Vec<Fault>,
}

/// A load in stages.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(super) struct Stages {
    /// Number of clients in each stage of one measurement interval, such as 1,2,4,8, instead of --clients; without
    /// think time only
    #[arg(long, value_name = "N,N,…", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_CLIENTS)), hide_short_help = true)]
    pub(super) stages: Vec<u32>,
    /// Length of each stage, instead of --duration
    #[arg(long, value_name = "TIME", value_parser = parse_interval, hide_short_help = true)]
    stage_duration: Option<u32>,
}

/// Options of sessions.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sessions")]
pub(super) struct Sessions {
    /// Send transactions as stored procedure calls or as statements
    #[arg(long)]
    via: Option<Via>,
    /// Isolation level of the sessions, if the engine supports several
    #[arg(long, hide_short_help = true)]
    isolation: Option<Isolation>,
    /// Send read-only transactions (Order-Status, Stock-Level) to standbys, over a second connection of each session;
    /// PostgreSQL with several hosts
    #[arg(long, value_name = "WHERE", hide_short_help = true)]
    read_only_on: Option<ReadOnlyOn>,
    /// Maximum connection attempts a second over all sessions, at the start of the run and after an outage
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    connect_rate: Option<u32>,
}

/// Checks and time limits.
#[derive(Debug, Args)]
#[command(next_help_heading = "Checks and limits")]
pub(super) struct Checks {
    /// When to check the consistency conditions
    #[arg(long)]
    check: Option<Check>,
    /// Share of each transaction type that may fail without exit code 1, such as 0.1% or 0.001
    #[arg(long, value_name = "SHARE", hide_short_help = true)]
    allow_errors: Option<Share>,
    /// Record what transactions read and wrote for this share of keys, such as 10%, and check it for lost updates,
    /// dirty and stale reads and cycles afterwards
    #[arg(long, value_name = "SHARE", hide_short_help = true)]
    history: Option<Share>,
    /// How long to wait for transactions in progress after the end of the interval, and for any other response of the
    /// database
    #[arg(long, value_name = "TIME", value_parser = parse_interval, hide_short_help = true)]
    timeout: Option<u32>,
    /// If the database is unreachable when the run ends, wait this long for it, such as 10m, before the report is
    /// written without its count
    #[arg(long, value_name = "TIME", value_parser = parse_time, hide_short_help = true)]
    reconnect_for: Option<u32>,
    /// After the interval, kill the private server with SIGKILL and measure how long it takes to recover; the count and
    /// the checks then show whether anything was lost
    #[arg(long, hide_short_help = true)]
    measure_recovery: bool,
}

/// Maintenance requests.
#[derive(Debug, Args)]
#[command(next_help_heading = "Maintenance")]
pub(super) struct Maintenance {
    /// Request a checkpoint before the interval, at its start, and then periodically, such as every 20m
    #[arg(long, value_name = "TIME", value_parser = parse_time, hide_short_help = true)]
    checkpoint: Option<u32>,
    /// Request a vacuum of all tables periodically in the interval
    #[arg(long, value_name = "TIME", value_parser = parse_time, hide_short_help = true)]
    vacuum: Option<u32>,
    /// Maximum number of vacuums in a run
    #[arg(long, value_name = "N", requires = "vacuum", hide_short_help = true)]
    vacuums: Option<u32>,
}

/// A group of options that sets fields of a plan.
pub(super) trait Group {
    /// Sets the given options in a plan.
    fn add_to(self, plan: &mut Plan);
}

/// Moves the fields of a group into the fields of the plan that have the same names.
macro_rules! group {
    ($($group:ty { $($field:ident),* })*) => {
        $(impl Group for $group {
            fn add_to(self, plan: &mut Plan) {
                $(plan.$field = self.$field;)*
            }
        })*
    };
}

group! {
    Database { db, set }
    Scale { scale }
    Profile { profile }
    Loading { jobs, foreign_keys, date }
    Seed { seed }
    Timeout { timeout }
    Pacing { pace }
    Offered { mix, clients, at_home, threads, ramp_up, duration, warm, cold }
    AtRate { rate, arrivals }
    Steady { steady }
    Faults { fault }
    Stages { stages, stage_duration }
    Sessions { via, isolation, read_only_on, connect_rate }
    Checks { check, allow_errors, history, timeout, reconnect_for, measure_recovery }
    Maintenance { checkpoint, vacuum, vacuums }
}

/// Options of all runs.
#[derive(Debug, Args)]
pub(super) struct CommonRunArgs {
    #[command(flatten)]
    pub(super) database: Database,
    #[command(flatten)]
    profile: Profile,
    #[command(flatten)]
    pub(super) offered: Offered,
    #[command(flatten)]
    sessions: Sessions,
    #[command(flatten)]
    checks: Checks,
    #[command(flatten)]
    maintenance: Maintenance,
    #[command(flatten)]
    seed: Seed,
}

impl Group for CommonRunArgs {
    fn add_to(self, plan: &mut Plan) {
        self.database.add_to(plan);
        self.profile.add_to(plan);
        self.offered.add_to(plan);
        self.sessions.add_to(plan);
        self.checks.add_to(plan);
        self.maintenance.add_to(plan);
        self.seed.add_to(plan);
    }
}
