//! The arguments of `graymark sweep`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::super::WorkloadName;
use super::super::args::{CommonRunArgs, Group, Loading, Pacing, Scale, Steady};
use super::grid::{Bound, Dimension, MOST_REPEATS};
use crate::engine::Error;
use crate::plan::{Plan, Rate, parse_scale};
use crate::result::Arrivals;
use crate::study::Searched;
use crate::study::constraint::Constraints;
use crate::url::DatabaseUrl;

/// The kind of sweep.
#[derive(Debug, Args)]
pub(in crate::cli) struct SweepArgs {
    #[command(subcommand)]
    pub(super) sweep: Sweep,
}

#[derive(Debug, Subcommand)]
pub(super) enum Sweep {
    /// Measure response time over throughput: run one database at several shares of the full load (clause 5.6.2)
    #[command(after_help = "\
The full load is that of --pace (default: standard); lower loads use longer think times. With --rates, transactions \
arrive at these rates instead, over a pool of --clients sessions. The database is loaded if it does not exist.

Examples:
  graymark sweep load --db sqlite:tpcc.db -w 4 --ramp-up 5m --duration 20m
  graymark sweep load --db sqlite:tpcc.db -w 4 --rates 100,200,400,800
  graymark sweep load --db postgres:local -w 4 --rates 500,1000,2000 --until-latency 10s --and-back
  graymark sweep load --db postgres:local?data=/srv/bench -w 50 --at 25,50,80,100 --out response-curve")]
    Load(LoadArgs),
    /// Find the maximum number of warehouses within the standard's limits, by doubling and then bisection
    #[command(after_help = "\
A number of warehouses passes if the 90th percentiles meet clause 5.2.5.3, the efficiency is at least 70 % of 12.86 \
New-Orders per minute and warehouse, client and database counts agree, and the database is consistent. Each scale is \
loaded when it is needed: a SQLite file or a private server's data directory for each, or, on an existing server, its \
tables are dropped and reloaded (--replace).

Examples:
  graymark sweep warehouses --db postgres:local --to 64 --dry-run
  graymark sweep warehouses --db postgres:local --to 64 --ramp-up 20m --duration 2h --out largest
  graymark sweep warehouses --db postgres:local --to 64 --data-directory /mnt/ext4 --data-directory /mnt/xfs
  graymark sweep warehouses --db postgres:local --to 64 --cpus 0 --cpus 0-1")]
    Warehouses(WarehousesArgs),
    /// Find the maximum number of warehouses or clients within your own constraints, by doubling and then bisection
    #[command(after_help = "\
Constraints are separated by commas: p90(new_order)<5s (mean, p50, p90, p95, p99, p999 or max of new_order, payment, \
order_status, delivery or stock_level), efficiency>0.95, tpm>1000, tps>50, errors<=0, retries<100, hits(data)>90% \
(data, index or overall). In addition, client and database counts must always agree, and the database must be \
consistent.

Examples:
  graymark sweep max --of warehouses --to 64 --until 'p90(new_order)<5s, efficiency>0.95' --db postgres:local
  graymark sweep max --of clients --to 128 --until 'p99(new_order)<50ms, errors<=0' --db postgres:local -w 10 \
--duration 2m")]
    Max(MaxArgs),
    /// Run every combination of warehouses, buffers, CPUs and clients on private servers, in shuffled order
    #[command(after_help = "\
Dimensions:
  warehouses=N,N            also branches=N,N of debitcredit
  buffers=SIZE,SIZE
  cpus=N,N                  numbers of CPUs; fractions such as 0.5 are CPU time quotas
  clients=N,N
  via=procedures,statements
  memory=SIZE,SIZE          limit for the server with its page cache
  stripes=N,N               table spaces of a private PostgreSQL, files of a Virtuoso
  set.NAME=VALUE,VALUE      a setting of the server

For a dimension that is not given, -w, --clients and the server's default apply. Each point has its own server on a \
fresh copy of the database of its scale; points.csv has one line per point.

Examples:
  graymark sweep grid buffers=64MB,128MB,256MB --db postgres:local -w 5
  graymark sweep grid warehouses=2,5,10,20 buffers=64MB,128MB,256MB,512MB,1GB,2GB cpus=1,2 --db postgres:local \
--bound-memory --repeats 2
  graymark sweep grid set.synchronous_commit=on,off set.wal_buffers=1MB,16MB --db postgres:local -w 5
  graymark sweep grid debitcredit branches=10,100 via=procedures,statements --db postgres:local --repeats 3
  graymark sweep grid clients=1,2,4,8 --db postgres:local -w 10 --data-directory /mnt/ext4 --data-directory /mnt/xfs")]
    Grid(GridArgs),
    /// Continue an interrupted sweep
    #[command(after_help = "Example: graymark sweep resume graymark-runs/20260131T120000Z-sweep-warehouses-postgres")]
    Resume(ResumeArgs),
}

/// Options of these sweeps.
#[derive(Debug, Args)]
pub(super) struct Common {
    /// The workload
    #[arg(default_value = "tpcc")]
    pub(super) workload: WorkloadName,
    #[command(flatten)]
    pub(super) base: Base,
}

/// Options of all sweeps.
#[derive(Debug, Args)]
pub(super) struct Base {
    /// Read options that are not given from a file, such as the plan.toml of an earlier record
    #[arg(long = "plan", value_name = "FILE")]
    plan_file: Option<PathBuf>,
    /// Directory of the sweep; if it already contains the same sweep, that is continued [default:
    /// graymark-runs/TIME-sweep-KIND-ENGINE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the sweep as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Show the first points and the plan of their runs, and exit
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    of_every_run: CommonRunArgs,
    #[command(flatten)]
    loading: Loading,
}

/// The given options of a sweep.
pub(super) struct GivenOptions {
    /// The common plan of all runs.
    pub(super) plan: Plan,
    pub(super) out: Option<PathBuf>,
    pub(super) json: bool,
    pub(super) dry_run: bool,
}

impl Base {
    /// The given number of clients.
    pub(super) fn clients(&self) -> Option<u32> {
        self.of_every_run.offered.clients
    }

    /// The given options, with `plan` from the options of this kind of sweep, and the plan file.
    ///
    /// # Errors
    /// If the plan file cannot be read.
    pub(super) fn typed(self, mut plan: Plan) -> Result<GivenOptions, Error> {
        let Base { of_every_run, loading, plan_file, out, json, dry_run } = self;
        of_every_run.add_to(&mut plan);
        loading.add_to(&mut plan);
        let file = plan_file.as_deref().map(Plan::read).transpose()?;
        let plan = plan.or(file.unwrap_or_default());
        if !plan.fault.is_empty() {
            let why = "faults are only for graymark run and graymark bench: remove [[fault]] from the plan file";
            return Err(Error::Usage(why.to_owned()));
        }
        Ok(GivenOptions { plan, out, json, dry_run })
    }
}

#[derive(Debug, Args)]
pub(super) struct LoadArgs {
    /// Loads in percent of the full load, which is always included
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_value = "50,80,100",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) at: Vec<u32>,
    /// Open-loop rates in transactions a second, such as 500,1000,2000, instead of loads by think times; sent whether
    /// or not the database keeps up
    #[arg(long, value_name = "N,N,…", value_delimiter = ',')]
    pub(super) rates: Vec<Rate>,
    /// With --rates: repeat the rates afterwards, from the highest down, to test whether the database recovers
    #[arg(long, requires = "rates")]
    pub(super) and_back: bool,
    /// With --rates: increase the rate until New-Order's 90th percentile reaches this, such as 10s; double the last
    /// rate until it does, up to eight times
    #[arg(long, value_name = "TIME", requires = "rates", value_parser = humantime::parse_duration)]
    pub(super) until_latency: Option<Duration>,
    /// With --rates: send transactions at random times (poisson) or at equal intervals (constant)
    #[arg(long, requires = "rates")]
    pub(super) arrivals: Option<Arrivals>,
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) scale: Scale,
    #[command(flatten)]
    pub(super) pacing: Pacing,
}

#[derive(Debug, Args)]
pub(super) struct WarehousesArgs {
    /// The smallest number of warehouses
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_scale)]
    pub(super) from: u32,
    /// The largest number of warehouses
    #[arg(long, value_name = "N", value_parser = parse_scale)]
    pub(super) to: u32,
    /// Minimum efficiency: percent of the New-Orders that keying and think times allow
    #[arg(long, value_name = "PERCENT", default_value = "70", value_parser = parse_percent)]
    pub(super) efficiency: f64,
    /// A limit for New-Order's 90th percentile below the standard's 5s, such as 500ms
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(super) p90: Option<Duration>,
    #[command(flatten)]
    pub(super) places: Places,
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) pacing: Pacing,
}

#[derive(Debug, Args)]
pub(super) struct MaxArgs {
    /// What to maximise
    #[arg(long, value_name = "WHAT")]
    pub(super) of: Searched,
    /// Constraints that a run must meet, such as 'p90(new_order)<5s, efficiency>0.95'
    #[arg(long, value_name = "CONSTRAINTS")]
    pub(super) until: Constraints,
    /// The smallest number
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_scale)]
    pub(super) from: u32,
    /// The largest number
    #[arg(long, value_name = "N", value_parser = parse_scale)]
    pub(super) to: u32,
    #[command(flatten)]
    pub(super) places: Places,
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) scale: Scale,
    #[command(flatten)]
    pub(super) pacing: Pacing,
    #[command(flatten)]
    pub(super) steady: Steady,
}

/// Places of the databases of a search.
#[derive(Debug, Args)]
pub(super) struct Places {
    /// Directory for the databases, such as on a file system to be measured; may be given several times, one series
    /// each
    #[arg(long, value_name = "DIR")]
    pub(super) data_directory: Vec<PathBuf>,
    /// CPUs that a private server is bound to, as a list such as 0 or 0,2-3, or a CPU time quota with a decimal point,
    /// such as 0.5; may be given several times, one series each
    #[arg(long, value_name = "LIST")]
    pub(super) cpus: Vec<String>,
    /// Keep the databases that the sweep loads [default: each is removed when its point is done]
    #[arg(long)]
    pub(super) keep_databases: bool,
    /// On an existing server: allow the workload's tables to be dropped and reloaded for each point
    #[arg(long)]
    pub(super) replace: bool,
}

#[derive(Debug, Args)]
pub(super) struct GridArgs {
    /// The workload, if it is not tpcc, and dimensions with their values, such as buffers=64MB,128MB
    #[arg(required = true, value_name = "NAME=VALUE,VALUE")]
    pub(super) dimensions: Vec<Dimension>,
    /// Runs of each point
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_REPEATS))
    )]
    pub(super) repeats: u32,
    /// Limit the memory of the server, including its page cache: auto derives the limit from the buffers of each point
    /// (Linux, control groups)
    #[arg(long, value_name = "SIZE|auto", num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub(super) bound_memory: Option<Bound>,
    /// Directory for the databases, such as on a file system to be measured; may be given several times, one series
    /// each
    #[arg(long, value_name = "DIR")]
    pub(super) data_directory: Vec<PathBuf>,
    /// Keep the loaded databases [default: they are removed when the grid is done]
    #[arg(long)]
    pub(super) keep_databases: bool,
    #[command(flatten)]
    pub(super) base: Base,
    #[command(flatten)]
    pub(super) scale: Scale,
    #[command(flatten)]
    pub(super) steady: Steady,
}

#[derive(Debug, Args)]
pub(super) struct ResumeArgs {
    /// Directory of the sweep
    pub(super) directory: PathBuf,
    /// The database's URL, if it needs a password
    #[arg(long, env = "GRAYMARK_DB", hide_env_values = true, value_name = "URL")]
    pub(super) db: Option<DatabaseUrl>,
    /// Print the sweep as one JSON object on standard output
    #[arg(long)]
    pub(super) json: bool,
    /// Show the first points, and exit
    #[arg(long)]
    pub(super) dry_run: bool,
}

fn parse_percent(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| "give a number from 0 to 100".to_owned())
}
