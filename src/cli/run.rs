//! `graymark run`: runs a loaded workload, counts, checks and reports. `bench` is the same with a load before it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::runtime::Runtime;

use super::ask::{Patience, Pulse};
use super::course::Course;
use super::interrupt::Interrupt;
use super::progress::RunProgress;
use super::stages::{self, StageMeter};
use super::steady;
use super::summary::{Fates, Measurements, summarise};
use super::warm::{self, Warmed};
use super::{Ended, RunArgs, check, count, load, lookup, price, say, seed, with_engine};
use crate::drive::{self, Controllers, Load, Schedule, Stages};
use crate::engine::registry::Visitor;
use crate::engine::seed::Depth;
use crate::engine::{DatabaseState, Engine, Error};
use crate::judge;
use crate::judge::incidents::Incidents;
use crate::measure::{note, process};
use crate::plan::{Check, Factor, Pace, Plan, TIMEOUT, Warm, default_record};
use crate::record::{Record, RecordWriter, environment};
use crate::report::{self, model::ReportModel};
use crate::result::Environment;
use crate::result::Procedures;
use crate::result::format::{Status, file};
use crate::result::summary::Summary;
use crate::result::{Event, Phase};
use crate::result::{Finding, Manifest};
use crate::workload::{Users, Workload};

/// Seconds that a database which is away when the run ends is waited for.
const RECONNECT_FOR: u32 = 300;

/// Whether the tables are loaded first if they are absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunCommand {
    /// `bench`
    Bench,
    /// `run`
    Run,
}

/// The command.
pub(super) fn run(args: RunArgs) -> Result<Ended, Error> {
    execute(args, RunCommand::Run)
}

/// `bench` or `run`.
pub(super) fn execute(mut args: RunArgs, extent: RunCommand) -> Result<Ended, Error> {
    if let Some(file) = &args.plan_file {
        args.plan = args.plan.or(Plan::read(file)?);
    }
    start(args, extent, OutputMode::Report, Interrupt::listen()?)
}

/// What a run prints on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputMode {
    /// Its report, or its summary.
    Report,
    /// Nothing: it is a point of a sweep.
    Nothing,
}

/// Runs a plan; whoever else goes on afterwards hears of the same interrupt.
pub(super) fn start(
    mut args: RunArgs,
    extent: RunCommand,
    told: OutputMode,
    interrupt: Interrupt,
) -> Result<Ended, Error> {
    let workload = args.workload.or(args.plan.workload).unwrap_or_default();
    args.plan.workload = Some(workload);
    stages::of(&args.plan)?;
    let price = args.price.as_deref().map(price::File::read).transpose()?;
    let options = load::options(workload, &args.plan);
    with_engine(workload, options, Job { args, price, extent, told, interrupt })
}

struct Job {
    args: RunArgs,
    price: Option<price::File>,
    extent: RunCommand,
    told: OutputMode,
    interrupt: Interrupt,
}

impl Visitor for Job {
    type Output = Ended;

    fn visit<W: Workload, E: Engine<W>>(mut self, _: &Runtime, engine: Arc<E>) -> Result<Ended, Error> {
        let started = Timestamp::now();
        // A mistake is told before a record is begun, and a place that cannot take one before anything is loaded.
        let patience = Patience::of(self.args.plan.timeout);
        let Some(database_state) = self.interrupt.database_state::<W, E>(&engine, patience)? else {
            return Ok(Ended::Interrupted);
        };
        let ready = self.ready::<W, E>(&engine, &database_state)?;
        let mut record = RecordWriter::create(
            &self.record_directory::<W, E>(&engine, started),
            command(self.extent),
            W::NAME,
            W::TRANSACTIONS,
        )?;
        let directory = record.directory().to_owned();
        let summary = match self.measure::<W, E>(engine.clone(), ready, &mut record) {
            Ok(summary) => summary,
            Err(error) => {
                record.abandon();
                return Err(match engine.server_ended() {
                    Some(why) => Error::Database(format!("{why}; {error}")),
                    None => error,
                });
            }
        };
        let whole = summary.as_ref().is_some_and(|summary| !summary.interrupted);
        let finished = record.finish(if whole { Status::Complete } else { Status::Partial });
        let Some(summary) = summary else {
            finished?;
            return Ok(Ended::Interrupted);
        };
        // What was measured is told, also if the record could not be written.
        let written = finished.and_then(|()| report::write(&directory));
        let page = written.as_ref().ok().map(|paths| paths.html.display().to_string());
        if self.told == OutputMode::Nothing || self.args.json {
            report::alarms::of(&summary).iter().for_each(|alarm| say::alarm("run", alarm));
        }
        self.answer(&summary, &directory, page.as_deref());
        self.interrupt.running(false);
        written?;
        Ok(self.ended(&summary))
    }
}

impl Job {
    /// Prints the result: the summary as JSON, or the report as text.
    fn answer(&self, summary: &Summary, directory: &Path, page: Option<&str>) {
        if self.told == OutputMode::Report {
            match Record::open(directory) {
                Ok(mut record) if !self.args.json => {
                    record.summary = Some(summary.clone());
                    say::report(report::text::render(&ReportModel::of(&record), page).trim_end());
                    return;
                }
                _ => answer!("{}", serde_json::json!(summary)),
            }
        }
        if let Some(page) = page {
            tell!("report: {page}");
        }
    }

    /// Loads if need be, runs, counts and checks; none if it was interrupted before the run.
    fn measure<W: Workload, E: Engine<W>>(
        &mut self,
        engine: Arc<E>,
        ready: Option<Manifest>,
        record: &mut RecordWriter,
    ) -> Result<Option<Summary>, Error> {
        tell!("database: {} {}, {}", engine.identity().name, engine.identity().version, engine.identity().url);
        let (manifest, loaded) = match ready {
            Some(manifest) => (manifest, None),
            None => match load::fill::<W, E>(&engine, &self.args.plan, &self.interrupt)? {
                Some((report, manifest)) => (manifest, Some(report)),
                None => return Ok(None),
            },
        };
        let Some(procedures) = self.procedures::<W, E>(&engine)? else { return Ok(None) };
        if let Procedures::Unread(names) = &procedures {
            tell!(
                "run: whether the stored procedures are Graymark's is not known: this user may not read {}",
                names.join(", ")
            );
        }
        self.settle::<W>(&engine.identity().url, &manifest)?;
        let plan = self.args.plan.clone();
        record.put_text(file::PLAN, &plan.to_toml()?)?;
        if let Some(price) = &self.price {
            record.put_text(file::PRICE, price.text())?;
        }
        let patience = Patience::of(plan.timeout);
        let settings = async |engine: &E, _: &Pulse| engine.settings().await;
        let Some(settings) = self.interrupt.ask::<W, E, _>(&engine, patience, settings)? else { return Ok(None) };
        let environment = Environment {
            engine: Some(engine.identity().clone()),
            settings,
            ..environment::of_host(engine.data_directory().as_deref())
        };
        record.put_json(file::ENVIRONMENT, &environment)?;
        if let Some(report) = &loaded {
            record.put_json(file::LOAD, report)?;
        }
        let mut before = Vec::new();
        let mut initial_rows = BTreeMap::new();
        if plan.check == Some(Check::Both) {
            let Some(findings) = self.check::<W, E>(&engine, &manifest, "before")? else { return Ok(None) };
            before = findings;
            for table in W::COUNTED_AT_START {
                let count = async move |engine: &E, _: &Pulse| engine.rows(table).await;
                let Some(rows) = self.interrupt.ask::<W, E, _>(&engine, patience, count)? else { return Ok(None) };
                initial_rows.extend(rows.map(|rows| ((*table).to_owned(), rows)));
            }
        }
        let mut maintenance = Vec::new();
        let mut maintenance_notes = Vec::new();
        if let Some(how) = plan.warm.filter(|how| *how != Warm::None) {
            let how = (how, plan.seed.unwrap_or_default());
            match warm::up::<W, E>(&engine, &manifest, how, &self.interrupt)? {
                Some(Warmed::Absent(why)) => maintenance_notes.push(why),
                Some(Warmed::Read(work)) => maintenance.push(work),
                None => return Ok(None),
            }
        }
        let terminals = W::terminals(manifest.scale, &manifest.parameters, plan.seed.unwrap_or_default())
            .map_err(|what| Error::Database(format!("the database's manifest lacks {what}: load it again")))?;
        let stages = stages::of(&plan)?;
        let shown = self.shown::<W>(&plan, manifest.scale)?;
        let profile = profile::<W>(&plan, Some(&manifest))?;
        let at_home = W::preset(profile).clients_per_unit.is_some();
        let schedule = Schedule { shown, at_home, ..schedule::<W>(&plan, &stages, manifest.scale) };
        if let Some(most) = plan.steady.filter(|most| *most > 0) {
            match steady::reach::<W, E>(&engine, &terminals, schedule, most, &self.interrupt)? {
                Some(work) => maintenance.push(work),
                None => return Ok(None),
            }
        }
        let effects = async |engine: &E, _: &Pulse| engine.effects().await;
        let Some(effects_before) = self.interrupt.ask::<W, E, _>(&engine, patience, effects)? else { return Ok(None) };
        if schedule.load == Load::Paced && W::DEFERRED.is_some() {
            record.begin_results()?;
        }
        let (usage_before, server_before) = (process::usage(), engine.server_cpu_seconds());
        let mut progress = RunProgress::new(schedule.ramp_up + schedule.duration, W::HEADLINE, W::COUNTS);
        let mut interval = crate::measure::Interval::new(W::TRANSACTIONS.len(), W::TALLIES.len());
        let mut outcomes = Fates::default();
        let mut course = Course::default();
        let mut meter = StageMeter::new(&stages, &schedule);
        let started = Timestamp::now();
        self.interrupt.running(true);
        let controllers = Controllers { checkpoint: plan.checkpoint, vacuum: plan.vacuum, vacuums: plan.vacuums };
        let totals = drive::run::<W, E>(
            &engine,
            &terminals,
            schedule,
            &stages,
            controllers,
            &self.interrupt.stop,
            &mut |event| {
                match event {
                    Event::Second { phase, interval: second, .. } => {
                        outcomes.second::<W>(second);
                        if *phase == Phase::Measurement {
                            interval.add(second);
                        }
                    }
                    Event::CutOff { transaction, waited, under_way, .. } => {
                        if let Some(transaction) = W::TRANSACTIONS.iter().position(|name| name == transaction) {
                            outcomes.cut_off(transaction, *under_way);
                            if let Some(waited) = waited {
                                note(&mut interval.transactions[transaction].response, (waited * 1e6) as u64);
                            }
                        }
                    }
                    Event::Maintained(done) => maintenance.push(done.clone()),
                    Event::NotMaintained { why, .. } if !maintenance_notes.contains(why) => {
                        maintenance_notes.push(why.clone())
                    }
                    _ => {}
                }
                course.event(event);
                meter.event::<W, E>(event, &engine);
                progress.event(event);
                record.event(event);
            },
        )?;
        let (usage, server) = (process::usage(), engine.server_cpu_seconds());
        let interrupted = self.interrupt.stop.requested();
        let mut measurements = Measurements {
            started,
            schedule,
            constants: W::constants(&terminals),
            procedures,
            stages: meter.summaries::<W>(totals.interval_s),
            interval,
            outcomes,
            course,
            totals,
            result_lines: record.end_results(),
            effects_before,
            effects_after: Err("the run ended before the database was asked".to_owned()),
            unchecked: String::new(),
            lookup: None,
            usage: (usage_before, usage),
            server_cpu_s: server_before.zip(server).map(|(before, after)| after - before),
            findings: (before, Vec::new()),
            interrupted,
            maintenance,
            maintenance_notes,
            durability: judge::durability::of(&environment),
            initial_rows,
        };
        // A result that took hours is kept before a count and a check that take minutes and may be interrupted.
        let mut keep = |measurements: &Measurements| {
            let summary = self.priced(summarise::<W, E>(&plan, &manifest, &*engine, measurements, record.directory()));
            record.keep_json(file::SUMMARY, &summary);
            summary
        };
        keep(&measurements);
        let reconnect_for = Duration::from_secs(u64::from(plan.reconnect_for.unwrap_or_default()));
        measurements.effects_after = count::after::<W, E>(&engine, &self.interrupt, plan.timeout, reconnect_for);
        let mut summary = keep(&measurements);
        let counted = measurements.effects_after.is_ok();
        if counted && !interrupted && matches!(plan.check, Some(Check::After | Check::Both)) {
            match self.check::<W, E>(&engine, &manifest, "after") {
                Ok(Some(findings)) => measurements.findings.1 = findings,
                Ok(None) => measurements.interrupted = true,
                Err(error) => measurements.unchecked = error.to_string(),
            }
            summary = keep(&measurements);
        }
        if measurements.totals.lost > 0 {
            match &measurements.effects_after {
                Ok(_) => self.look_up::<W, E>(&engine, &mut measurements),
                Err(why) => measurements.lookup = Some(lookup::unasked(&measurements.totals, why)),
            }
            summary = keep(&measurements);
        }
        Ok(Some(summary))
    }

    /// Looks for the commits that lost connections make doubtful.
    fn look_up<W: Workload, E: Engine<W>>(&self, engine: &Arc<E>, measurements: &mut Measurements) {
        let totals = &measurements.totals;
        match lookup::after::<W, E>(engine, &self.interrupt, self.args.plan.timeout, totals) {
            Ok((lookup, finding)) => {
                if let Some(finding) = finding.as_ref().filter(|finding| !finding.held()) {
                    tell!("{}", report::text::finding(finding));
                }
                measurements.lookup = Some(lookup);
                measurements.findings.1.extend(finding);
            }
            Err(error) => {
                measurements.lookup = Some(lookup::unasked(totals, error.to_string()));
                measurements.unchecked = error.to_string();
            }
        }
    }

    /// The summary with its price, if there is a price file.
    fn priced(&self, summary: Summary) -> Summary {
        Summary { price: self.price.as_ref().map(|price| price.list().of(&summary)), ..summary }
    }

    /// The number of the terminal to follow, if one is asked for.
    fn shown<W: Workload>(&self, plan: &Plan, scale: u32) -> Result<Option<u32>, Error> {
        match self.args.show_terminal {
            None => Ok(None),
            Some(_) if plan.pace.and_then(Pace::factors).is_none() => {
                Err(Error::Usage("--show-terminal follows a terminal: add --pace standard".to_owned()))
            }
            Some((unit, _)) if unit > scale => {
                let (one, units) = (W::SCALE_UNIT.0, check::unit::<W>(scale));
                Err(Error::Usage(format!("there is no terminal of {one} {unit}: the database has {scale} {units}")))
            }
            Some((unit, terminal)) => Ok(Some((unit - 1) * W::TERMINALS + terminal - 1)),
        }
    }

    fn record_directory<W: Workload, E: Engine<W>>(&self, engine: &E, now: Timestamp) -> PathBuf {
        let name = engine.identity().name.to_lowercase();
        self.args.out.clone().unwrap_or_else(|| default_record(W::NAME, &name, now))
    }

    /// The population to run on; none if it has to be loaded first.
    fn ready<W: Workload, E: Engine<W>>(
        &self,
        engine: &Arc<E>,
        there: &DatabaseState,
    ) -> Result<Option<Manifest>, Error> {
        let loaded = if let DatabaseState::Complete(manifest) | DatabaseState::Unfinished(manifest) = there {
            Some(manifest)
        } else {
            None
        };
        let plan = &self.args.plan;
        let profile = profile::<W>(plan, loaded)?;
        pace::<W>(plan, profile)?;
        let url = &engine.identity().url;
        match there {
            DatabaseState::Nothing if self.extent == RunCommand::Bench => {
                return load::within::<W>(plan.scale.unwrap_or(1), profile).map(|()| None);
            }
            DatabaseState::Unfinished(manifest) if self.extent == RunCommand::Bench => {
                return load::agree::<W>(plan, manifest, url).map(|()| None);
            }
            _ => {}
        }
        let manifest = check::complete::<W>(there.clone(), url)?;
        load::agree::<W>(plan, &manifest, url)?;
        self.procedures::<W, E>(engine)?;
        Ok(Some(manifest))
    }

    /// The stored procedures that the run will call, which must not be others than this program makes: their work would
    /// be no one's. None if someone asks to stop before the database tells.
    fn procedures<W: Workload, E: Engine<W>>(&self, engine: &Arc<E>) -> Result<Option<Procedures>, Error> {
        let patience = Patience::of(self.args.plan.timeout);
        let told =
            self.interrupt.ask::<W, E, _>(engine, patience, async |engine: &E, _: &Pulse| engine.procedures().await)?;
        match told {
            Some(Procedures::Other(names)) => Err(Error::Database(format!(
                "the stored procedures in {} are not those of this Graymark ({}): make them anew with graymark load {} --procedures-only",
                engine.identity().url,
                names.join(", "),
                W::NAME
            ))),
            known => Ok(known),
        }
    }

    /// Fills in whatever the plan leaves open.
    fn settle<W: Workload>(&mut self, url: &str, manifest: &Manifest) -> Result<(), Error> {
        let plan = std::mem::take(&mut self.args.plan);
        let stage_duration = plan.staged()?.map(|(_, seconds)| seconds);
        let profile = profile::<W>(&plan, Some(manifest))?;
        let pace = pace::<W>(&plan, profile)?;
        let paced = pace.factors().is_some();
        let preset = W::preset(profile);
        // A profile that the database does not hold is the run's own matter: told where it was asked for.
        let known = plan.profile.is_some() || W::profile(&manifest.parameters).is_some();
        let name = known.then(|| W::PROFILES.get(profile).map(|name| (*name).to_owned())).flatten();
        let clients = preset.clients_per_unit.map(|clients| clients.saturating_mul(manifest.scale));
        let usual = if paced { manifest.scale.div_ceil(100).clamp(8, 1_000) } else { 4 };
        self.args.plan = Plan { db: Some(url.into()), profile: name, ..plan }.or(Plan {
            scale: Some(manifest.scale),
            pace: Some(pace),
            clients: Some(clients.filter(|_| !paced).unwrap_or(usual)),
            ramp_up: preset.ramp_up.or(Some(if paced { 60 } else { 10 })),
            checkpoint: preset.checkpoint.or(paced.then_some(20 * 60)),
            duration: preset.duration.or(Some(60)),
            stage_duration,
            seed: Some(seed::drawn()),
            check: Some(if self.extent == RunCommand::Bench { Check::Both } else { Check::After }),
            reconnect_for: Some(RECONNECT_FOR),
            ..Plan::default()
        });
        Ok(())
    }

    fn check<W: Workload, E: Engine<W>>(
        &self,
        engine: &Arc<E>,
        manifest: &Manifest,
        when: &str,
    ) -> Result<Option<Vec<Finding>>, Error> {
        tell!("check: the consistency conditions {when} the run");
        let told = |finding: &Finding| {
            if !finding.held() {
                tell!("{}", report::text::finding(finding));
            }
        };
        self.interrupt.check::<W, E>(engine, manifest, Depth::Usual, Patience::of(self.args.plan.timeout), told)
    }

    fn ended(&self, summary: &Summary) -> Ended {
        let broken = !summary.consistency.failed.is_empty() || summary.database.agrees == Some(false);
        // What a run that was stopped did not come to is told by its exit code already.
        let unknown = !summary.database.uncounted.is_empty() || !summary.consistency.unchecked.is_empty();
        if broken || (self.args.require_valid && !summary.verdict.valid) {
            Ended::Failed
        } else if summary.interrupted {
            Ended::Interrupted
        } else if unknown || Incidents::of(summary).beyond_allowed {
            Ended::Failed
        } else {
            Ended::Held
        }
    }
}

/// The profile that a run has: the database's, else the one that is asked for, else the usual one.
fn profile<W: Workload>(plan: &Plan, manifest: Option<&Manifest>) -> Result<usize, Error> {
    let asked = load::profile::<W>(plan.profile.as_deref())?;
    Ok(manifest.and_then(|manifest| W::profile(&manifest.parameters)).or(asked).unwrap_or_default())
}

/// The pace that is asked for, else the profile's usual one.
fn pace<W: Workload>(plan: &Plan, profile: usize) -> Result<Pace, Error> {
    match (W::users(profile), plan.pace) {
        (Users::None, Some(pace)) if pace.factors().is_some() => {
            let name = W::PROFILES.get(profile).copied().unwrap_or_default();
            Err(Error::Usage(format!(
                "the profile {name} has no terminals that could think: leave out --pace, or give another --profile"
            )))
        }
        (_, Some(pace)) => Ok(pace),
        // Stages add clients without think time.
        (Users::Usual, None) if plan.stages.is_empty() => Ok(Pace::Standard),
        (_, None) => Ok(Pace::None),
    }
}

fn command(extent: RunCommand) -> &'static str {
    match extent {
        RunCommand::Bench => "bench",
        RunCommand::Run => "run",
    }
}

fn schedule<W: Workload>(plan: &Plan, stages: &Stages, scale: u32) -> Schedule {
    let most = stages.clients().iter().max().copied();
    let clients = most.or(plan.clients).unwrap_or(1);
    let terminals = u64::from(scale) * u64::from(W::TERMINALS);
    let factors = plan.pace.and_then(Pace::factors);
    let (load, terminals) = match factors {
        None => (Load::ClosedLoop, terminals.max(u64::from(clients))),
        Some(_) => (Load::Paced, terminals),
    };
    let (keying, think) = factors.unwrap_or((Factor::ONE, Factor::ONE));
    Schedule {
        load,
        clients,
        terminals,
        at_home: false,
        shown: None,
        pass: 0,
        seed: plan.seed.unwrap_or_default(),
        threads: plan.threads,
        keying,
        think,
        ramp_up: plan.ramp_up.unwrap_or_default(),
        patience: plan.timeout.unwrap_or(TIMEOUT),
        duration: if stages.is_empty() {
            plan.duration.unwrap_or(1)
        } else {
            stages.clients().len() as u32 * stages.seconds()
        },
    }
}
