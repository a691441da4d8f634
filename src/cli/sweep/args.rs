//! The arguments of `graymark sweep`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::super::WorkloadName;
use super::super::args::{Group, Loading, OfEveryRun, Pacing, Scale, Steady};
use super::grid::{Bound, Dimension, MOST_REPEATS};
use crate::engine::Error;
use crate::plan::{Plan, Rate, parse_scale};
use crate::result::Arrivals;
use crate::study::Searched;
use crate::study::constraint::Constraints;
use crate::url::DatabaseUrl;

/// Which sweep.
#[derive(Debug, Args)]
pub(in crate::cli) struct SweepArgs {
    #[command(subcommand)]
    pub(super) sweep: Sweep,
}

#[derive(Debug, Subcommand)]
pub(super) enum Sweep {
    /// Run one database at shares of the full load: New-Order's response time over throughput (clause 5.6.2)
    #[command(after_help = "\
The full load is that of --pace (default: standard); less load is offered by longer think times. With --rates, \
transactions come at these rates
instead, over a pool of --clients sessions. The database is loaded if it is absent.

Examples:
  graymark sweep load --db sqlite:tpcc.db -w 4 --ramp-up 5m --duration 20m
  graymark sweep load --db sqlite:tpcc.db -w 4 --rates 100,200,400,800
  graymark sweep load --db postgres:local -w 4 --rates 500,1000,2000 --until-latency 10s --and-back
  graymark sweep load --db postgres:local?data=/srv/bench -w 50 --at 25,50,80,100 --out response-curve")]
    Load(LoadArgs),
    /// Find the largest number of warehouses that keeps the limits, by doubling and then bisection
    #[command(after_help = "\
A number of warehouses passes if the 90th percentiles keep clause 5.2.5.3, the efficiency is at least 70 % of 12.86 \
New-Orders a minute \
and warehouse, client and database agree, and the database is consistent. Each scale is loaded when its turn comes: a \
SQLite file or a \
private server's data directory for each, or, on a server that is there, its tables dropped and loaded again \
(--replace).

Examples:
  graymark sweep warehouses --db postgres:local --to 64 --dry-run
  graymark sweep warehouses --db postgres:local --to 64 --ramp-up 20m --duration 2h --out largest
  graymark sweep warehouses --db postgres:local --to 64 --data-directory /mnt/ext4 --data-directory /mnt/xfs
  graymark sweep warehouses --db postgres:local --to 64 --cpus 0 --cpus 0-1")]
    Warehouses(WarehousesArgs),
    /// Find the largest number of warehouses or clients that keeps constraints of your own, by doubling and then
    /// bisection
    #[command(after_help = "\
Constraints are separated by commas: p90(new_order)<5s (mean, p50, p90, p95, p99, p999 or max of new_order, payment, \
order_status, delivery or \
stock_level), efficiency>0.95, tpm>1000, tps>50, errors<=0, retries<100, hits(data)>90% (data, index or overall). That \
client and database count \
the same, and that the database is consistent, is asked for always.

Examples:
  graymark sweep max --of warehouses --to 64 --until 'p90(new_order)<5s, efficiency>0.95' --db postgres:local
  graymark sweep max --of clients --to 128 --until 'p99(new_order)<50ms, errors<=0' --db postgres:local -w 10 --duration 2m")]
    Max(MaxArgs),
    /// Run every combination of warehouses, buffers, CPUs and clients on private servers, in shuffled order
    #[command(after_help = "\
Dimensions: warehouses=N,N  buffers=SIZE,SIZE  cpus=N,N (numbers of CPUs; fractions such as 0.5 are quotas of their time)  clients=N,N  via=procedures,statements  \
memory=SIZE,SIZE (of the server with its page cache)  stripes=N,N (table spaces of a private PostgreSQL, files of a Virtuoso)  set.NAME=VALUE,VALUE \
(a setting of the server). A dimension that is left out is as -w, --clients and the \
server have it. Each point has a server of its own on a fresh copy of the database of its scale; points.csv has a line \
for each.

Examples:
  graymark sweep grid buffers=64MB,128MB,256MB --db postgres:local -w 5
  graymark sweep grid warehouses=2,5,10,20 buffers=64MB,128MB,256MB,512MB,1GB,2GB cpus=1,2 --db postgres:local --bound-memory --repeats 2
  graymark sweep grid set.synchronous_commit=on,off set.wal_buffers=1MB,16MB --db postgres:local -w 5
  graymark sweep grid debitcredit branches=10,100 via=procedures,statements --db postgres:local --repeats 3
  graymark sweep grid clients=1,2,4,8 --db postgres:local -w 10 --data-directory /mnt/ext4 --data-directory /mnt/xfs")]
    Grid(GridArgs),
    /// Go on with a sweep that was interrupted
    #[command(after_help = "Example: graymark sweep resume graymark-runs/20260131T120000Z-sweep-warehouses-postgres")]
    Resume(ResumeArgs),
}

/// What these sweeps have.
#[derive(Debug, Args)]
pub(super) struct Common {
    /// The workload
    #[arg(default_value = "tpcc")]
    pub(super) workload: WorkloadName,
    #[command(flatten)]
    pub(super) base: Base,
}

/// What all sweeps have.
#[derive(Debug, Args)]
pub(super) struct Base {
    /// Take what the flags leave open from a file, such as the plan.toml of an earlier record
    #[arg(long = "plan", value_name = "FILE")]
    plan_file: Option<PathBuf>,
    /// Directory of the sweep; one that holds the same sweep already is gone on with [default:
    /// graymark-runs/TIME-sweep-KIND-ENGINE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the sweep as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Show which points come first and the plan of their runs, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    of_every_run: OfEveryRun,
    #[command(flatten)]
    loading: Loading,
}

/// What was typed for a sweep.
pub(super) struct Typed {
    /// What is the same in all runs.
    pub(super) plan: Plan,
    pub(super) out: Option<PathBuf>,
    pub(super) json: bool,
    pub(super) dry_run: bool,
}

impl Base {
    /// The number of clients that was typed.
    pub(super) fn clients(&self) -> Option<u32> {
        self.of_every_run.offered.clients
    }

    /// What was typed, with `plan` of the options that this sweep has beside those of all, and the plan file.
    ///
    /// # Errors
    /// If the plan file cannot be read.
    pub(super) fn typed(self, mut plan: Plan) -> Result<Typed, Error> {
        let Base { of_every_run, loading, plan_file, out, json, dry_run } = self;
        of_every_run.add_to(&mut plan);
        loading.add_to(&mut plan);
        let file = plan_file.as_deref().map(Plan::read).transpose()?;
        let plan = plan.or(file.unwrap_or_default());
        if !plan.fault.is_empty() {
            let why = "faults are for graymark run and graymark bench: take the [[fault]] tables out of the plan file";
            return Err(Error::Usage(why.to_owned()));
        }
        Ok(Typed { plan, out, json, dry_run })
    }
}

#[derive(Debug, Args)]
pub(super) struct LoadArgs {
    /// Loads in percent of the full one, which is always among them
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_value = "50,80,100",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) at: Vec<u32>,
    /// Instead of loads by think times: transactions a second, such as 500,1000,2000, each sent whether or not the
    /// database keeps up
    #[arg(long, value_name = "N,N,…", value_delimiter = ',')]
    pub(super) rates: Vec<Rate>,
    /// With --rates: run the rates again afterwards, from the highest down, to see whether the database recovers
    #[arg(long, requires = "rates")]
    pub(super) and_back: bool,
    /// With --rates: end the way up when New-Order's 90th percentile reaches this, such as 10s, and double the last
    /// rate until it does, up to eight times
    #[arg(long, value_name = "TIME", requires = "rates", value_parser = humantime::parse_duration)]
    pub(super) until_latency: Option<Duration>,
    /// With --rates: whether transactions come at random times (poisson) or at equal distances (constant)
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
    /// The least percent of the New-Orders that keying and think times allow
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
    /// Of what the largest number is searched
    #[arg(long, value_name = "WHAT")]
    pub(super) of: Searched,
    /// What a run must keep, such as 'p90(new_order)<5s, efficiency>0.95'
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

/// Where the databases of a search are.
#[derive(Debug, Args)]
pub(super) struct Places {
    /// Where the databases are, such as a file system to be measured; may be given several times, a series each
    #[arg(long, value_name = "DIR")]
    pub(super) data_directory: Vec<PathBuf>,
    /// CPUs that a private server is bound to, as a list such as 0 or 0,2-3, or a quota of their time with a point, such
    /// as 0.5; may be given several times, a series each
    #[arg(long, value_name = "LIST")]
    pub(super) cpus: Vec<String>,
    /// Keep the databases that the sweep loads [default: each is removed when its point is done]
    #[arg(long)]
    pub(super) keep_databases: bool,
    /// On a server that is there: the workload's tables may be dropped and loaded again for each point
    #[arg(long)]
    pub(super) replace: bool,
}

#[derive(Debug, Args)]
pub(super) struct GridArgs {
    /// The workload, where it is not tpcc, and dimensions with their values, such as buffers=64MB,128MB
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
    /// Bound the memory of the server, its page cache included: auto suits the buffers of each point (Linux, control
    /// groups)
    #[arg(long, value_name = "SIZE|auto", num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub(super) bound_memory: Option<Bound>,
    /// Where the databases are, such as a file system to be measured; may be given several times, a series each
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
    /// The database's URL again, where it needs a password
    #[arg(long, env = "GRAYMARK_DB", hide_env_values = true, value_name = "URL")]
    pub(super) db: Option<DatabaseUrl>,
    /// Print the sweep as one JSON object on standard output
    #[arg(long)]
    pub(super) json: bool,
    /// Say which points come first, and do nothing
    #[arg(long)]
    pub(super) dry_run: bool,
}

fn parse_percent(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| "give a number from 0 to 100".to_owned())
}
