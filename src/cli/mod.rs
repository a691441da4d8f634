//! The command line: one file a command, each turning arguments into a plan and a plan into a result.

#![warn(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod say;

mod ab;
mod acid;
mod args;
mod bench;
mod chaos;
mod check;
mod compare;
mod completions;
mod disk;
mod doctor;
mod drop;
mod dry_run;
mod duet;
mod engines;
mod examples;
mod exit;
mod explain;
mod gate;
mod help;
mod interrupt;
mod list;
mod listen;
mod load;
mod man;
#[cfg(test)]
mod pages;
mod predict;
mod progress;
mod records;
mod report;
mod reproduce;
mod restore;
mod rows;
mod run;
mod scan;
mod screens;
mod script;
mod sweep;
mod trend;
mod tune;
mod turns;
mod verbose;
mod watch;
mod why;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::ErrorKind;
use clap::{Args, FromArgMatches, Parser, Subcommand};
use nix::sys::signal::{SigHandler, Signal, signal};
use tokio::runtime::Runtime;

use args::{
    AtRate, Database, Faults, Group, Labelling, Loading, OfEveryRun, Pacing, Profile, Scale, Seed, Stages, Steady,
    Timeout,
};
use dry_run::DryRun;
pub use help::command;

use crate::drive::LoadTarget;
use crate::engine::ConnectOptions;
use crate::engine::Error;
use crate::engine::registry::WorkloadName;
use crate::plan::{Defaults, Plan};
use crate::run::open::{Visitor, open};
use crate::workload::Workload;

/// Puts a known OLTP load on a database and says how fast it is, whether the number is honest, and what would make it
/// faster.
#[derive(Debug, Parser)]
#[command(name = "graymark", version, propagate_version = true)]
#[command(after_help = format!("{}\n\n{}", examples::GRAYMARK, exit::codes()))]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Show each step on standard error; -vv also shows retries, parts of a load and times
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Output")]
    verbose: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Load if needed, check, warm up, run, check again and report
    #[command(after_help = "Example: graymark bench --db postgres:local -w 4 --clients 4 --duration 60s --json")]
    Bench(BenchArgs),
    /// Disturb a run by ten faults on a ready-made timetable, and say how the database stood each
    #[command(after_help = "Example: graymark chaos --db postgres:local -w 4 --clients 8 --duration 5m")]
    Chaos(chaos::ChaosArgs),
    /// Create and fill the tables, or continue an interrupted load
    #[command(after_help = "Example: graymark load tpcc --db sqlite:tpcc.db -w 10")]
    Load(LoadArgs),
    /// Check the consistency conditions of a loaded database
    #[command(after_help = examples::CHECK)]
    Check(CheckArgs),
    /// Run on a loaded database, count, check and report
    #[command(after_help = examples::RUN)]
    Run(RunArgs),
    /// Test atomicity, consistency, isolation and durability (clause 3), and say by what the database keeps them
    #[command(after_help = examples::ACID)]
    Acid(acid::AcidArgs),
    /// Repeat a run with one setting varied, and show its effect
    Sweep(sweep::SweepArgs),
    /// Predict the performance of other hardware or scales, from measured points or by simulation
    Predict(predict::PredictArgs),
    /// Compare two records, or two sets of repeats: faster, slower, or no difference found
    Compare(compare::CompareArgs),
    /// Run two settings of a server in turns, from the same loaded database, and compare them
    Ab(ab::AbArgs),
    /// Run two databases in quick alternation, or at once, so that a noisy machine cancels out, and compare them
    Duet(duet::DuetArgs),
    /// Change one thing at a time, in short runs in turns, and say what each would bring: measured, beside its bound
    Why(why::WhyArgs),
    /// Try settings of a private server in short runs in turns, and find those that make it faster, if any do
    Tune(tune::TuneArgs),
    /// Find the steps in a history of records: where the figure changed, by how much, and what came in there
    Trend(trend::TrendArgs),
    /// Run a baseline's plan again until a slowdown is excluded or shown
    Gate(gate::GateArgs),
    /// Try everything that Graymark needs on a server, in schemas or databases of its own, and remove them again
    #[command(after_help = examples::DOCTOR)]
    Doctor(doctor::DoctorArgs),
    /// List the engines: what can be used, what is found on this machine, and how far each was run
    #[command(after_help = "Example: graymark engines --json")]
    Engines(engines::EnginesArgs),
    /// Reset a used database to its initial contents, without loading again
    #[command(after_help = "Example: graymark restore tpcc --db sqlite:tpcc.db")]
    Restore(RestoreArgs),
    /// Repeat the experiments of a published document, and compare its figures with the measured ones
    #[command(after_help = examples::REPRODUCE)]
    Reproduce(reproduce::ReproduceArgs),
    /// Read every table sequentially, with cold and with warm caches
    #[command(after_help = "Example: graymark scan tpcc --db postgres:local?data=/srv/bench")]
    Scan(ScanArgs),
    /// Drop the tables that Graymark loaded
    #[command(after_help = "Example: graymark drop tpcc --db sqlite:tpcc.db")]
    Drop(DropArgs),
    /// Show a record and write its report again, or tabulate several records
    #[command(after_help = examples::REPORT)]
    Report(ReportArgs),
    /// Say what differed in the seconds of a dip or a latency peak from the median second: who held a lock, a
    /// checkpoint, the disk, others on the machine
    #[command(after_help = examples::EXPLAIN)]
    Explain(explain::ExplainArgs),
    /// Watch a run that goes on, on the terminal: throughput, response times, mix, errors, counters, waits
    #[command(after_help = examples::WATCH)]
    Watch(watch::WatchArgs),
    /// List the records: when, what, where, the figure, p99, checks, names and tags
    #[command(after_help = "Examples:\n  graymark list\n  graymark list --tag nightly --json")]
    List(list::ListArgs),
    /// Write the initial rows of a table as CSV, to load them with other tools
    #[command(after_help = "Example: graymark rows tpcc stock -w 2 --seed 7 > stock.csv")]
    Rows(RowsArgs),
    /// Show the screens of the emulated terminals with example data
    #[command(after_help = "Example: graymark screens payment")]
    Screens(ScreensArgs),
    /// Print completions of the command line for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions(completions::CompletionsArgs),
    /// Write a manual page of each command into a directory
    #[command(after_help = "Example: graymark man /usr/local/share/man/man1")]
    Man(man::ManArgs),
}

#[derive(Debug, Args)]
struct RunArgs {
    /// The workload [default: that of the plan file, else tpcc]
    workload: Option<WorkloadName>,
    /// Read options that are not given from a file, such as the plan.toml of an earlier record
    #[arg(long = "plan", value_name = "FILE")]
    plan_file: Option<PathBuf>,
    /// Directory of the record [default: graymark-runs/TIME-WORKLOAD-ENGINE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    label: Labelling,
    /// Runs, one after the other, each with a record and inputs of its own; their mean and how well it is known come
    /// last
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: u32,
    /// Print the summary as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Print the whole report in the end, and not only its ten most important lines
    #[arg(long, conflicts_with = "json")]
    full: bool,
    /// Show the run's figures over HTTP while it goes on, as a page and as metrics for Prometheus, at a port of the
    /// loopback or at an address, such as 9464 or 192.0.2.1:9464
    #[arg(long, value_name = "ADDRESS", value_parser = listen::parse_address, hide_short_help = true)]
    listen: Option<std::net::SocketAddr>,
    /// Draw the run on the terminal while its load is offered; q ends it
    #[arg(long)]
    tui: bool,
    /// Exit with 1 unless the verdict is valid
    #[arg(long, hide_short_help = true)]
    require_valid: bool,
    /// Exit with 1 if others took more than 10 % of the machine's CPU or of the device's time, or if that is not known
    #[arg(long)]
    require_quiet: bool,
    /// Take clauses 3.2 to 3.5 of the verdict from a record of graymark acid; may be given several times: the newest
    /// that fits the run counts
    #[arg(long, value_name = "RECORD")]
    acid: Vec<PathBuf>,
    /// Calculate the price of the result from a price file (TOML: see docs/report.md)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    price: Option<PathBuf>,
    /// Follow the screen of one terminal, such as 3.7: terminal 7 of warehouse or branch 3; with --pace standard
    #[arg(long, value_name = "W.T", value_parser = parse_terminal, hide_short_help = true)]
    show_terminal: Option<(u32, u32)>,
    /// Show what would be done, as a plan file, and do nothing
    #[arg(long, conflicts_with = "json")]
    dry_run: bool,
    #[command(flatten)]
    scale: Scale,
    #[command(flatten)]
    pacing: Pacing,
    #[command(flatten)]
    at_rate: AtRate,
    #[command(flatten)]
    stages: Stages,
    #[command(flatten)]
    steady: Steady,
    #[command(flatten)]
    faults: Faults,
    #[command(flatten)]
    of_every_run: OfEveryRun,
}

#[derive(Debug, Args)]
struct BenchArgs {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    loading: Loading,
}

#[derive(Debug, Args)]
struct LoadArgs {
    /// The workload
    #[arg(default_value = "tpcc")]
    workload: WorkloadName,
    /// Only install the stored procedures again, in a loaded database: use it after an upgrade or if somebody changed
    /// them
    #[arg(long, conflicts_with = "json")]
    procedures_only: bool,
    /// Print the load report as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Show what would be done, as a plan file, and do nothing
    #[arg(long, conflicts_with = "json")]
    dry_run: bool,
    #[command(flatten)]
    database: Database,
    #[command(flatten)]
    scale: Scale,
    #[command(flatten)]
    profile: Profile,
    #[command(flatten)]
    loading: Loading,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    timeout: Timeout,
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// The workload
    #[arg(default_value = "tpcc")]
    workload: WorkloadName,
    /// Also compare every column that transactions do not change with the seed: reads all tables
    #[arg(long)]
    deep: bool,
    /// Print the findings as one JSON array on standard output
    #[arg(long)]
    json: bool,
    /// Show what would be done, as a plan file, and do nothing
    #[arg(long, conflicts_with = "json")]
    dry_run: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
struct RestoreArgs {
    /// The workload
    #[arg(default_value = "tpcc")]
    workload: WorkloadName,
    /// Print the report as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Show what would be done, as a plan file, and do nothing
    #[arg(long, conflicts_with = "json")]
    dry_run: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
struct ScanArgs {
    /// The workload
    #[arg(default_value = "tpcc")]
    workload: WorkloadName,
    /// First drop the page cache of the whole system, not only that of the database files; needs root
    #[arg(long)]
    drop_caches: bool,
    /// Directory of the record [default: graymark-runs/TIME-WORKLOAD-scan-ENGINE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Show what would be done, as a plan file, and do nothing
    #[arg(long, conflicts_with = "json")]
    dry_run: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
struct DropArgs {
    /// The workload
    #[arg(default_value = "tpcc")]
    workload: WorkloadName,
    /// Show what would be done, as a plan file, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
struct ReportArgs {
    /// A record: its directory, or its name or the name of its directory in graymark-runs as far as no other begins so;
    /// with --table, any number of them [default: the newest in graymark-runs]
    #[arg(value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// Take clauses 3.2 to 3.5 of the verdict from a record of graymark acid, replacing any earlier one
    #[arg(long, value_name = "RECORD", conflicts_with = "table")]
    acid: Vec<PathBuf>,
    /// Print a table with a row for each record instead of writing reports
    #[arg(
        long,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "text",
        conflicts_with = "price"
    )]
    table: Option<TableFormat>,
    /// Write a page that lays up to five records over each other: throughput, response times, intervals, and what
    /// differs
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "several.html",
          conflicts_with_all = ["table", "price", "acid", "full", "json"])]
    html: Option<PathBuf>,
    /// Calculate the price of the result from a price file (TOML: see docs/report.md), replacing any earlier price
    #[arg(long, value_name = "FILE")]
    price: Option<PathBuf>,
    /// Set the result's price among those of other years (CSV: see docs/report.md)
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    trend: Option<PathBuf>,
    /// Print the whole report, and not only its ten most important lines
    #[arg(long, conflicts_with_all = ["json", "table"])]
    full: bool,
    /// Print the summary as one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// How a table of records is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum TableFormat {
    /// Aligned columns
    Text,
    /// For pages
    Markdown,
    /// For other programs
    Csv,
    /// For papers
    Latex,
    /// As --json prints it
    Json,
}

#[derive(Debug, Args)]
struct RowsArgs {
    /// The workload
    workload: WorkloadName,
    /// The table
    table: String,
    /// Number of warehouses or branches
    #[arg(
        short = 'w',
        long = "warehouses",
        visible_short_alias = 'b',
        visible_alias = "branches",
        value_name = "N",
        default_value = "1",
        value_parser = crate::plan::parse_scale
    )]
    scale: u32,
    /// The workload's profile [default: its first]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Seed of all rows
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Date in the rows
    #[arg(long, value_name = "TIME", default_value = "2026-01-01T00:00:00Z")]
    date: jiff::Timestamp,
}

#[derive(Debug, Args)]
struct ScreensArgs {
    /// The transaction [default: all five]
    transaction: Option<screens::Transaction>,
}

/// Which database, for commands that need no more.
#[derive(Debug, Args)]
struct Target {
    #[command(flatten)]
    database: Database,
    #[command(flatten)]
    timeout: Timeout,
}

impl Target {
    fn plan(self, workload: WorkloadName) -> Plan {
        let mut plan = Plan { workload: Some(workload), ..Plan::default() };
        self.database.add_to(&mut plan);
        self.timeout.add_to(&mut plan);
        plan
    }

    /// What `command` would do.
    fn show(self, command: &str, workload: WorkloadName, switches: &[(&str, Option<String>)]) -> Result<Ended, Error> {
        let more = dry_run::typed(switches);
        DryRun { path: &[command], defaults: Defaults::NO_RUN, more, varied: &[] }.show(self.plan(workload))
    }
}

/// How a command ended well enough to have a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Every check that ran held: exit code 0.
    Held,
    /// A check failed: exit code 1.
    Failed,
    /// A gate could neither pass nor fail: exit code 5.
    Undecided,
    /// Someone asked to stop: exit code 130.
    Interrupted,
}

/// Parses the arguments, carries out the command, and tells how it ended.
pub fn main() -> ExitCode {
    // A driver's panic may quote a server's answer, which a terminal must not obey.
    std::panic::set_hook(Box::new(|panic| tell!("graymark: fault in the program: {panic}")));
    hear_of_large_files();
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if let Some(ended) = disk::served(&arguments) {
        return ended;
    }
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    verbose::listen(cli.verbose);
    let ended = match cli.command {
        Command::Bench(args) => bench::bench(args),
        Command::Chaos(args) => chaos::chaos(args),
        Command::Load(args) => load::load(args),
        Command::Check(args) => check::check(args),
        Command::Run(args) => run::run(args),
        Command::Acid(args) => acid::acid(args),
        Command::Sweep(args) => sweep::sweep(args),
        Command::Predict(args) => predict::predict(args),
        Command::Compare(args) => compare::compare(&args),
        Command::Ab(args) => ab::ab(args),
        Command::Duet(args) => duet::duet(args),
        Command::Why(args) => why::why(args),
        Command::Tune(args) => tune::tune(args),
        Command::Trend(args) => trend::trend(&args),
        Command::Gate(args) => gate::gate(&args),
        Command::Doctor(args) => doctor::doctor(args),
        Command::Engines(args) => engines::engines(&args),
        Command::Restore(args) => restore::restore(args),
        Command::Reproduce(args) => reproduce::reproduce(args),
        Command::Scan(args) => scan::scan(args),
        Command::Drop(args) => drop::drop_tables(args),
        Command::Report(args) => report::report(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Rows(args) => rows::rows(&args),
        Command::Screens(args) => screens::screens(&args),
        Command::Watch(args) => watch::watch(args),
        Command::List(args) => list::list(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => man::man(&args),
    };
    exit::with(ended)
}

/// A file that grows beyond the limit of the system (`ulimit -f`) is an error of writing, not this process' end. The
/// programs that it starts have the default again, for the signal is not ignored but caught.
fn hear_of_large_files() {
    extern "C" fn nothing(_: i32) {}
    // SAFETY: the handler does nothing.
    let _ = unsafe { signal(Signal::SIGXFSZ, SigHandler::Handler(nothing)) };
}

/// The arguments of this process.
fn parse() -> Result<Cli, clap::Error> {
    let mut matches = command().try_get_matches()?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command()))
}

/// What `graymark sweep resume DIRECTORY --dry-run` prints: how far the sweep in a directory has come, and the points
/// that are left.
///
/// # Errors
/// If the directory holds no sweep, or a damaged one.
pub fn preview_sweep(directory: &std::path::Path) -> Result<String, Error> {
    sweep::preview(directory, None)
}

/// What the points that the sweep in a directory has done say together.
///
/// # Errors
/// If the directory holds no sweep, or a damaged one.
pub fn study_sweep(directory: &std::path::Path) -> Result<crate::study::Study, Error> {
    sweep::study(directory)
}

/// Help and version as they are; a mistake as one line.
fn refuse(error: &clap::Error) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        // Help that was asked for goes to standard output, help for no command at all to standard error.
        let asked = !error.use_stderr();
        say::note(error.print());
        return if asked { exit::with(Ok(Ended::Held)) } else { ExitCode::from(2) };
    }
    exit::bad_usage(&error.render().to_string())
}

/// Warehouse or branch, and terminal.
fn parse_terminal(text: &str) -> Result<(u32, u32), String> {
    let pair = text.split_once('.').and_then(|(w, t)| Some((w.parse().ok()?, t.parse().ok()?)));
    pair.filter(|(w, t)| *w >= 1 && (1..=10).contains(t))
        .ok_or_else(|| "give warehouse and terminal as W.T, such as 1.10".to_owned())
}

/// Opens the database of `options` for a workload and hands it to `visitor`.
fn with_engine<V: Visitor>(workload: WorkloadName, options: ConnectOptions, visitor: V) -> Result<V::Output, Error> {
    open(workload, options, Warned(visitor))
}

/// Tells the engine's warnings first.
struct Warned<V>(V);

impl<V: Visitor> Visitor for Warned<V> {
    type Output = V::Output;

    fn visit<W: Workload>(self, runtime: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<V::Output, Error> {
        for warning in engine.warnings() {
            tell!("graymark: warning: {warning}");
        }
        self.0.visit(runtime, engine)
    }
}
