//! The command line: one file per command, which converts arguments into a plan and executes it.

#![warn(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod say;

mod ab;
mod acid;
mod alternating;
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
mod place;
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
mod temporary;
mod trend;
mod tune;
mod verbose;
mod watch;
mod why;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, FromArgMatches, Parser, Subcommand};
use nix::sys::signal::{SigHandler, Signal, signal};
use tokio::runtime::Runtime;

use args::{
    AtRate, CommonRunArgs, Database, Faults, Group, LabelArgs, Loading, Pacing, Profile, Scale, Seed, Stages, Steady,
    Timeout,
};
use dry_run::DryRun;
pub use help::command;

use crate::drive::LoadTarget;
use crate::engine::ConnectOptions;
use crate::engine::Error;
use crate::engine::registry::WorkloadName;
use crate::near::near;
use crate::plan::{Defaults, Plan};
use crate::run::open::{Visitor, open};
use crate::workload::Workload;

/// OLTP benchmark for databases: measures how fast a database is, checks whether the result is correct, and shows what
/// would make it faster.
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
    /// Inject ten faults into a run on a preset schedule, and report how the database recovered from each
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
    /// Test atomicity, consistency, isolation and durability (clause 3), and report how the database ensures them
    #[command(after_help = examples::ACID)]
    Acid(acid::AcidArgs),
    /// Repeat a run with one setting varied, and show its effect
    Sweep(sweep::SweepArgs),
    /// Predict the performance of other hardware or scales, from measured points or by simulation
    Predict(predict::PredictArgs),
    /// Compare two records, or two sets of repeats: faster, slower, or no difference found
    Compare(compare::CompareArgs),
    /// Run two settings of a server alternately, from the same loaded database, and compare them
    Ab(ab::AbArgs),
    /// Compare two databases on a noisy machine: alternate between them every few seconds, or run both at once
    Duet(duet::DuetArgs),
    /// Find out what would make a run faster: change one thing at a time in short runs, and report each gain and its
    /// bound
    Why(why::WhyArgs),
    /// Search for faster settings of a private server, in short alternating runs
    Tune(tune::TuneArgs),
    /// Find step changes in a history of records: where the figure changed, by how much, and what else changed
    Trend(trend::TrendArgs),
    /// Performance gate for CI: repeat a baseline's run until a slowdown is excluded or shown
    Gate(gate::GateArgs),
    /// Test whether a server supports everything that Graymark needs, in temporary schemas or databases
    #[command(after_help = examples::DOCTOR)]
    Doctor(doctor::DoctorArgs),
    /// List the supported databases: which are installed on this machine, and how far each was tested
    #[command(after_help = "Example: graymark engines --json")]
    Engines(engines::EnginesArgs),
    /// Reset a used database to its initial contents, without reloading it
    #[command(after_help = "Example: graymark restore tpcc --db sqlite:tpcc.db")]
    Restore(RestoreArgs),
    /// Reproduce the experiments of a published document, and compare its figures with the measured ones
    #[command(after_help = examples::REPRODUCE)]
    Reproduce(reproduce::ReproduceArgs),
    /// Read every table sequentially, with cold and with warm caches
    #[command(after_help = "Example: graymark scan tpcc --db postgres:local?data=/srv/bench")]
    Scan(ScanArgs),
    /// Drop the tables that Graymark loaded
    #[command(after_help = "Example: graymark drop tpcc --db sqlite:tpcc.db")]
    Drop(DropArgs),
    /// Show a record and rewrite its report, or show several records in a table
    #[command(after_help = examples::REPORT)]
    Report(ReportArgs),
    /// Explain a dip or a latency peak: what differed from the median second, such as a lock holder, a checkpoint, the
    /// disk, or other processes
    #[command(after_help = examples::EXPLAIN)]
    Explain(explain::ExplainArgs),
    /// Watch a run in progress in the terminal: throughput, response times, mix, errors, counters, waits
    #[command(after_help = examples::WATCH)]
    Watch(watch::WatchArgs),
    /// List the records: time, workload, engine, figure, p99, checks, names and tags
    #[command(after_help = "Examples:\n  graymark list\n  graymark list --tag nightly --json")]
    List(list::ListArgs),
    /// Write the initial rows of a table as CSV, to load them with other tools
    #[command(after_help = "Example: graymark rows tpcc stock -w 2 --seed 7 > stock.csv")]
    Rows(RowsArgs),
    /// Show the screens of the emulated terminals with example data
    #[command(after_help = "Example: graymark screens payment")]
    Screens(ScreensArgs),
    /// Print shell completions
    #[command(after_help = examples::COMPLETIONS)]
    Completions(completions::CompletionsArgs),
    /// Write a manual page for each command to a directory
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
    label: LabelArgs,
    /// Number of consecutive runs, each with its own record and inputs; their mean and its 95 % interval are printed at
    /// the end
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: u32,
    /// Print the summary as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Print the full report at the end, not only its ten most important lines
    #[arg(long, conflicts_with = "json")]
    full: bool,
    /// Serve live figures of the run over HTTP, as a page and as Prometheus metrics, on a port of the loopback or on an
    /// address, such as 9464 or 192.0.2.1:9464
    #[arg(long, value_name = "ADDRESS", value_parser = listen::parse_address, hide_short_help = true)]
    listen: Option<std::net::SocketAddr>,
    /// Show the run live in the terminal; q ends it
    #[arg(long)]
    tui: bool,
    /// Exit with 1 unless the verdict is valid
    #[arg(long, hide_short_help = true)]
    require_valid: bool,
    /// Exit with 1 if other processes used more than 10 % of the machine's CPU or of the device's time, or if that is
    /// not known
    #[arg(long)]
    require_quiet: bool,
    /// Take clauses 3.2 to 3.5 of the verdict from a record of graymark acid; may be given several times: the newest
    /// record that matches the run is used
    #[arg(long, value_name = "RECORD")]
    acid: Vec<PathBuf>,
    /// Calculate the price of the result from a price file (TOML: see docs/report.md)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    price: Option<PathBuf>,
    /// Follow the screen of one terminal, such as 3.7: terminal 7 of warehouse or branch 3; with --pace standard
    #[arg(long, value_name = "W.T", value_parser = parse_terminal, hide_short_help = true)]
    show_terminal: Option<(u32, u32)>,
    /// Show what would be done, as a plan file, and exit
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
    of_every_run: CommonRunArgs,
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
    /// Only reinstall the stored procedures in a loaded database: use it after an upgrade, or if they were changed
    #[arg(long, conflicts_with = "json")]
    procedures_only: bool,
    /// Print the load report as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Show what would be done, as a plan file, and exit
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
    /// Show what would be done, as a plan file, and exit
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
    /// Show what would be done, as a plan file, and exit
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
    /// First drop the page cache of the entire system, not only that of the database files; requires root
    #[arg(long)]
    drop_caches: bool,
    /// Directory of the record [default: graymark-runs/TIME-WORKLOAD-scan-ENGINE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Show what would be done, as a plan file, and exit
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
    /// Show what would be done, as a plan file, and exit
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
struct ReportArgs {
    /// A record: its directory, its name, or a unique prefix of the name of its directory in graymark-runs; with
    /// --table, any number of them [default: the newest in graymark-runs]
    #[arg(value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// Take clauses 3.2 to 3.5 of the verdict from a record of graymark acid, replacing any earlier one
    #[arg(long, value_name = "RECORD", conflicts_with = "table")]
    acid: Vec<PathBuf>,
    /// Print a table with one row per record instead of writing reports
    #[arg(
        long,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "text",
        conflicts_with = "price"
    )]
    table: Option<TableFormat>,
    /// Write a page that overlays up to five records: throughput, response times, intervals, and differences
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "several.html",
          conflicts_with_all = ["table", "price", "acid", "full", "json"])]
    html: Option<PathBuf>,
    /// Calculate the price of the result from a price file (TOML: see docs/report.md), replacing any earlier price
    #[arg(long, value_name = "FILE")]
    price: Option<PathBuf>,
    /// Compare the result's price with those of other years (CSV: see docs/report.md)
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    trend: Option<PathBuf>,
    /// Print the full report, not only its ten most important lines
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
    /// Markdown
    Markdown,
    /// For other programs
    Csv,
    /// For papers
    Latex,
    /// The same as --json
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

/// The database, for commands without further options.
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

    /// Prints the dry run of `command`.
    fn show(self, command: &str, workload: WorkloadName, switches: &[(&str, Option<String>)]) -> Result<Ended, Error> {
        let more = dry_run::typed(switches);
        DryRun { path: &[command], defaults: Defaults::NO_RUN, more, varied: &[] }.show(self.plan(workload))
    }
}

/// The outcome of a command without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Every check that ran held: exit code 0.
    Held,
    /// A check failed: exit code 1.
    Failed,
    /// A gate could neither pass nor fail: exit code 5.
    Undecided,
    /// Interrupted: exit code 130.
    Interrupted,
}

/// Parses the arguments, executes the command, and returns its exit code.
pub fn main() -> ExitCode {
    // A panic message may contain text of a server, whose control characters are escaped.
    std::panic::set_hook(Box::new(|panic| tell!("graymark: fault in the program: {panic}")));
    handle_file_size_signal();
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
    for why in crate::engine::server::kept() {
        tell!("graymark: warning: {why}");
    }
    exit::with(ended)
}

/// A file that exceeds the system's limit (`ulimit -f`) becomes a write error instead of ending the process. Child
/// processes have the default again, because the signal is not ignored but handled.
fn handle_file_size_signal() {
    extern "C" fn nothing(_: i32) {}
    // SAFETY: the handler does nothing.
    let _ = unsafe { signal(Signal::SIGXFSZ, SigHandler::Handler(nothing)) };
}

/// The arguments of this process.
fn parse() -> Result<Cli, clap::Error> {
    let mut matches = command().try_get_matches()?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command()))
}

/// The output of `graymark sweep resume DIRECTORY --dry-run`: the progress of the sweep in a directory, and the points
/// that are left.
///
/// # Errors
/// If the directory contains no sweep, or a damaged one.
pub fn preview_sweep(directory: &std::path::Path) -> Result<String, Error> {
    sweep::preview(directory, None)
}

/// The analysis of the measured points of the sweep in a directory.
///
/// # Errors
/// If the directory contains no sweep, or a damaged one.
pub fn study_sweep(directory: &std::path::Path) -> Result<crate::study::Study, Error> {
    sweep::study(directory)
}

/// Prints help and version as they are, and errors on one line.
fn refuse(error: &clap::Error) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        // Requested help goes to standard output, help without a command to standard error.
        let asked = !error.use_stderr();
        say::note(error.print());
        return if asked { exit::with(Ok(Ended::Held)) } else { ExitCode::from(2) };
    }
    let text = error.render().to_string();
    match similar(error) {
        // A tip follows the first line, before the usage.
        Some(name) => {
            let first = text.lines().next().unwrap_or_default();
            exit::bad_usage(&format!("{first}\n  tip: a similar subcommand exists: '{name}'"))
        }
        None => exit::bad_usage(&text),
    }
}

/// The command that was probably meant, where clap itself sees none: it does not notice swapped letters.
fn similar(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::InvalidSubcommand || error.get(ContextKind::SuggestedSubcommand).is_some() {
        return None;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let names = command().get_subcommands().map(|command| command.get_name().to_owned()).collect::<Vec<_>>();
    near(word, names.iter().map(String::as_str)).map(str::to_owned)
}

/// Parses a warehouse or branch, and a terminal.
fn parse_terminal(text: &str) -> Result<(u32, u32), String> {
    let pair = text.split_once('.').and_then(|(w, t)| Some((w.parse().ok()?, t.parse().ok()?)));
    pair.filter(|(w, t)| *w >= 1 && (1..=10).contains(t))
        .ok_or_else(|| "give warehouse and terminal as W.T, such as 1.10".to_owned())
}

/// Opens the database of `options` for a workload and calls `visitor`.
fn with_engine<V: Visitor>(workload: WorkloadName, options: ConnectOptions, visitor: V) -> Result<V::Output, Error> {
    open(workload, options, WithWarnings(visitor))
}

/// Prints the engine's warnings first.
struct WithWarnings<V>(V);

impl<V: Visitor> Visitor for WithWarnings<V> {
    type Output = V::Output;

    fn visit<W: Workload>(self, runtime: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<V::Output, Error> {
        for warning in engine.warnings() {
            tell!("graymark: warning: {warning}");
        }
        self.0.visit(runtime, engine)
    }
}
