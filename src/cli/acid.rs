//! `graymark acid`: tests of a database's ACID properties.

use std::path::{Path, PathBuf};

use clap::Args;

use super::args::Group;
use super::args::{Database, Scale, Seed, Sessions, Timeout};
use super::dry_run::{DryRun, switch, typed};
use super::interrupt::Interrupt;
use super::progress::Console;
use super::{Ended, say};
use crate::acid::{AcidTests, CrashScripts};
use crate::engine::Error;
use crate::engine::registry::WorkloadName;
use crate::engine::server::MediaOptions;
use crate::plan::{Defaults, Plan};
use crate::report::acid::text;
use crate::result::acid::{Crash, Phenomenon, TestResult};
use crate::result::{Event, Step};

/// Arguments.
#[derive(Debug, Args)]
pub(super) struct AcidArgs {
    /// The workload
    #[arg(default_value = "tpcc")]
    workload: WorkloadName,
    /// Directory of the record [default: graymark-runs/TIME-WORKLOAD-acid-ENGINE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Show what would be done, as a plan file, and do nothing
    #[arg(long, conflicts_with = "json")]
    dry_run: bool,
    /// Test every isolation level that the database has, and print them side by side, with the isolation phenomena
    #[arg(long, conflicts_with = "crashing")]
    all_levels: bool,
    /// Crash test instead of the other tests: under load, kill a private server, cut its power or remove its data or
    /// its log at a random moment, recover, and look up every commit that was confirmed to a client
    #[arg(long, value_name = "HOW", group = "crashing")]
    crash: Option<CrashBy>,
    /// Crash test of any server: this program crashes it; when it exits, the server must be down
    #[arg(long, value_name = "PROGRAM", group = "crashing", requires = "recover_with")]
    crash_with: Option<PathBuf>,
    /// Program that recovers the server afterwards; when it exits, the server must accept connections
    #[arg(long, value_name = "PROGRAM", requires = "crash_with")]
    recover_with: Option<PathBuf>,
    /// Number of crashes
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        requires = "crashing",
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    times: u32,
    /// With --crash power: the disk falsely reports writes as durable, to verify that the audit detects it
    #[arg(long, requires = "crash")]
    lying_disk: bool,
    /// With --crash media: the restore omits the last segment of the log, to verify that the audit detects it
    #[arg(long, requires = "crash")]
    without_last_log: bool,
    /// Number of sessions of the load before a crash
    #[arg(long, value_name = "N", requires = "crashing", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: Option<u32>,
    /// Replace statements of the workload by those of the same names in a file, to test whether isolation would still
    /// hold
    #[arg(long, value_name = "FILE")]
    statements: Option<PathBuf>,
    #[command(flatten)]
    database: Database,
    #[command(flatten)]
    scale: Scale,
    #[command(flatten)]
    sessions: Sessions,
    #[command(flatten)]
    seed: Seed,
    #[command(flatten)]
    timeout: Timeout,
}

/// How a server is crashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum CrashBy {
    /// Kill all of its processes with SIGKILL
    Kill,
    /// The same, and its disk loses unsynced writes, in turn: all of them, some pages, parts of pages (Linux)
    Power,
    /// The same, and the directory of its data or of its log is removed, in turn, and restored (PostgreSQL)
    Media,
}

impl CrashBy {
    fn name(self) -> &'static str {
        match self {
            CrashBy::Kill => "kill",
            CrashBy::Power => "power",
            CrashBy::Media => "media",
        }
    }
}

/// Runs the command.
pub(super) fn acid(args: AcidArgs) -> Result<Ended, Error> {
    let AcidArgs {
        workload,
        out,
        json,
        dry_run,
        all_levels,
        statements,
        crash,
        crash_with,
        recover_with,
        times,
        lying_disk,
        without_last_log,
        clients,
        database,
        scale,
        sessions,
        seed,
        timeout,
    } = args;
    let mut plan = Plan { workload: Some(workload), clients, ..Plan::default() };
    database.add_to(&mut plan);
    scale.add_to(&mut plan);
    sessions.add_to(&mut plan);
    seed.add_to(&mut plan);
    timeout.add_to(&mut plan);
    if lying_disk && crash != Some(CrashBy::Power) {
        return Err(Error::Usage("--lying-disk is for --crash power".to_owned()));
    }
    if without_last_log && crash != Some(CrashBy::Media) {
        return Err(Error::Usage("--without-last-log is for --crash media".to_owned()));
    }
    if dry_run {
        let path = |path: &Path| format!("{:?}", path.display().to_string());
        let more = typed(&[
            ("out", out.as_deref().map(path)),
            ("statements", statements.as_deref().map(path)),
            switch("all_levels", all_levels),
            ("crash", crash.map(|by| format!("\"{}\"", by.name()))),
            ("crash_with", crash_with.as_deref().map(path)),
            ("recover_with", recover_with.as_deref().map(path)),
            ("times", (crash.is_some() || crash_with.is_some()).then(|| times.to_string())),
            switch("lying_disk", lying_disk),
            switch("without_last_log", without_last_log),
        ]);
        return DryRun { path: &["acid"], defaults: Defaults::ACID, more, varied: &[] }.show(plan);
    }
    let mut tests = AcidTests::new(plan);
    if let Some(out) = out {
        tests = tests.out(out);
    }
    if let Some(by) = crash {
        tests = tests.crashes(times);
        tests = match by {
            CrashBy::Kill => tests,
            CrashBy::Power => tests.power(super::disk::wanted(lying_disk)?),
            CrashBy::Media => tests.media(MediaOptions { without_last_log }),
        };
    }
    if let (Some(crash), Some(recover)) = (crash_with, recover_with) {
        tests = tests.crashes(times).scripts(CrashScripts { crash, recover });
    }
    if all_levels {
        tests = tests.all_levels();
    }
    if let Some(file) = statements {
        let shown = file.display();
        let text = std::fs::read_to_string(&file);
        tests = tests.statements(text.map_err(|error| Error::Usage(format!("cannot read {shown}: {error}")))?);
    }
    let interrupt = Interrupt::listen()?;
    let mut console = Console::default();
    let tests = tests.stop(interrupt.stop.clone()).on_event(|event| {
        // From here on the tests stop by themselves, and keep their results so far.
        if matches!(event, Event::Step(Step::CheckBegan { after: false })) {
            interrupt.running(true);
            interrupt.ending();
        }
        console.event(event);
    });
    let tests = tests.on_test(print_test).on_phenomenon(print_phenomenon).on_crash(print_crash);
    let Some(outcome) = tests.start()? else { return Ok(Ended::Interrupted) };
    if json {
        answer!("{}", serde_json::json!(outcome.acid));
    } else {
        say::report(text(&outcome.acid).trim_end());
    }
    if let Some(error) = outcome.ended_by {
        return Err(error);
    }
    let ended = if outcome.acid.failed() {
        Ended::Failed
    } else if outcome.acid.interrupted {
        Ended::Interrupted
    } else {
        Ended::Held
    };
    outcome.report.map(|_| ended)
}

/// Prints a line for a test.
fn print_test(isolation: &str, test: &TestResult) {
    let by = test.by.as_ref().map(|by| format!(" by {}", by.name())).unwrap_or_default();
    let form = if test.form.is_empty() { String::new() } else { format!(" {}", test.form) };
    tell!("acid: {isolation}: {}{form}: {}{by}", test.id, test.state.name());
}

/// Prints a line for a phenomenon.
fn print_phenomenon(isolation: &str, one: &Phenomenon) {
    let by = one.by.as_ref().map(|by| format!(" by {}", by.name())).unwrap_or_default();
    tell!("acid: {isolation}: {} {}: {}{by}", one.id, one.name, one.outcome.name());
}

/// Prints a line for a crash.
fn print_crash(crash: &Crash) {
    let Crash { after_s, committed, lost, risen, recovered_s, .. } = crash;
    let how = match (&crash.power, &crash.media) {
        (Some(power), _) => format!("power cut ({})", power.loss),
        (None, Some(media)) => format!("{} lost", media.medium),
        (None, None) if crash.scripts.is_some() => "crashed".to_owned(),
        (None, None) => "killed".to_owned(),
    };
    if !crash.unusable().is_empty() {
        tell!("acid: {how} after {after_s:.1} s: the database is unusable: {}", crash.unusable());
        return;
    }
    tell!(
        "acid: {how} after {after_s:.1} s: {committed} commits, {lost} lost, {risen} risen; back in {recovered_s:.1} s"
    );
}
