//! The steps of a run in order.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::runtime::Runtime;

use super::accumulate::Accumulated;
use super::faults::{FaultMeter, against_members, needs_private_server};
use super::open::Visitor;
use super::population::{agree, complete, own, within};
use super::requests::{Requests, Timeouts};
use super::summary::{After, Before, Measured, summarise};
use super::warm::{self, WarmUpOutcome};
use super::{Command, Outcome, Run, history, load, nodes, resolve, settings, steady};
use crate::drive::{self, Controllers, FaultSchedule, Load, LoadTarget, Schedule, Stages};
use crate::engine::relay::Relay;
use crate::engine::seed::Depth;
use crate::engine::server::PrivateServer;
use crate::engine::{DatabaseState, Engine, Error, ServerProcess};
use crate::judge::{self, precheck::Planned};
use crate::measure::process;
use crate::plan::resolved::{Cards, Interval, Resolved};
use crate::plan::{Check, Fault, Pace, Plan, SCALE, Warm, default_record};
use crate::record::{self, RecordWriter, environment};
use crate::report;
use crate::result::format::{Label, Status, file};
use crate::result::maintenance::Maintenance;
use crate::result::scan::CacheState;
use crate::result::summary::Summary;
use crate::result::warm_up::WarmUp;
use crate::result::within::{self, StatementTotals};
use crate::result::{Environment, Event, Finding, LoadReport, Manifest, Procedures, Step};
use crate::workload::Workload;

/// Why a run ended before its summary.
enum RunEnd {
    /// A stop was requested.
    Stopped,
    /// An error.
    Failed(Error),
}

impl From<Error> for RunEnd {
    fn from(error: Error) -> RunEnd {
        RunEnd::Failed(error)
    }
}

impl From<record::Error> for RunEnd {
    fn from(error: record::Error) -> RunEnd {
        RunEnd::Failed(error.into())
    }
}

impl RunEnd {
    /// `Ok(None)` if a stop was requested.
    fn result<T>(self) -> Result<Option<T>, Error> {
        match self {
            RunEnd::Stopped => Ok(None),
            RunEnd::Failed(error) => Err(error),
        }
    }
}

/// The load and its schedule.
struct LoadToOffer<W: Workload> {
    terminals: W::Terminals,
    schedule: Schedule,
    stages: Stages,
}

/// Warm-ups before the load, and those that were not possible.
#[derive(Default)]
struct WarmUps {
    cold: Option<CacheState>,
    done: Vec<Maintenance>,
    /// The transactions of the warm-up by the load itself.
    by_load: Option<WarmUp>,
    notes: Vec<String>,
}

/// A run on an open database.
pub(super) struct Steps<'a, W: Workload> {
    pub(super) run: Run<'a>,
    pub(super) requests: Requests<W>,
}

impl Visitor for Run<'_> {
    type Output = Option<Outcome>;

    fn visit<W: Workload>(mut self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Option<Outcome>, Error> {
        let started = Timestamp::now();
        for warning in engine.warnings() {
            self.tell(Step::Warning(warning.clone()));
        }
        let requests = Requests::new(&engine, &self.stop, Timeouts::of(self.plan.timeout));
        let mut steps = Steps::<W> { run: self, requests };
        // Usage errors are reported before a record is begun, and an unusable directory before the database is loaded.
        let ready = match steps.ready() {
            Ok(ready) => ready,
            Err(end) => return end.result(),
        };
        let mut record =
            RecordWriter::create(&steps.record_directory(started), steps.run.command.name(), W::NAME, W::TRANSACTIONS)?;
        if steps.run.label != Label::default() {
            record.label(&steps.run.label)?;
        }
        match steps.measure(ready, &mut record) {
            Ok(summary) => Ok(Some(finished(summary, record))),
            Err(RunEnd::Stopped) => {
                steps.run.tell(Step::DatabaseDone);
                record.finish(Status::Partial).map(|()| None).map_err(Error::from)
            }
            Err(RunEnd::Failed(error)) => {
                record.abandon();
                Err(match engine.server_ended().or_else(|| engine.out_of_memory()) {
                    Some(why) => Error::Database(format!("{why}; {error}")),
                    None => error,
                })
            }
        }
    }
}

/// Finishes the record and writes the report. The result is returned even if the record could not be written.
fn finished(summary: Summary, record: RecordWriter) -> Outcome {
    let directory = record.directory().to_owned();
    let status = if summary.interrupted { Status::Partial } else { Status::Complete };
    let written = record.finish(status).and_then(|()| report::write(&directory));
    let report = written.map(|paths| paths.html).map_err(Error::from);
    Outcome { summary, record: directory, report }
}

pub(super) fn no_private_server() -> Error {
    let which = "give a private one that Graymark starts, postgres:local or mysql:local";
    Error::Usage(format!("--measure-recovery kills the server: {which}"))
}

impl<W: Workload> Steps<'_, W> {
    /// Loads if needed, runs, counts and checks.
    fn measure(&mut self, ready: Option<Manifest>, record: &mut RecordWriter) -> Result<Summary, RunEnd> {
        self.run.tell(Step::Connected(self.engine().identity().clone()));
        let (manifest, loaded) = self.load(ready)?;
        let procedures = self.procedures()?;
        let plan = self.resolve(&manifest)?;
        let environment = self.describe(&plan, loaded.as_ref(), record)?;
        self.warn_if_never_valid(&plan, &environment);
        let (findings, initial_rows) = self.check_before(&plan, &manifest)?;
        let mut warm_ups = WarmUps::default();
        self.empty_caches(&plan, &mut warm_ups)?;
        self.warm_up(&plan, &manifest, &mut warm_ups)?;
        self.await_standbys(&plan)?;
        let offer = self.offer(&plan, &manifest)?;
        self.steady(&plan, &offer, &mut warm_ups)?;
        let before = Before {
            identity: self.engine().identity().clone(),
            via: self.engine().via(),
            isolation: self.engine().isolation().to_owned(),
            constants: W::constants(&offer.terminals),
            durability: judge::durability::of(&environment),
            isolation_settings: judge::acid::isolation_settings(&environment),
            acid: self.run.acid.clone(),
            effects: self.ask(async |engine: &dyn Engine<W>| engine.effects().await)?,
            manifest,
            procedures,
            findings,
            initial_rows,
            nodes: self.engine().nodes(),
        };
        // From here on the record is kept in any case.
        if self.run.out.is_none()
            && let Err(why) = record::directory::link(record.directory())
        {
            self.run.tell(Step::Warning(why));
        }
        let measured = self.drive(&plan, &offer, warm_ups, record)?;
        let mut after = After {
            interrupted: self.run.stop.requested(),
            effects: Err("the run ended before the counts of the database were queried".to_owned()),
            durability: Err("the run ended before they were read again".to_owned()),
            findings: Vec::new(),
            unchecked: if plan.check.is_after() {
                "the command ended before the check".to_owned()
            } else {
                String::new()
            },
            lookup: None,
            recovered_s: None,
            nodes: (self.engine().nodes(), Vec::new()),
        };
        // The result is stored before a count and a check that take minutes and may be interrupted.
        self.keep(&plan, &before, &measured, &after, record);
        if plan.asked.measure_recovery && !after.interrupted {
            after.recovered_s = Some(self.recover()?);
        }
        self.count(&plan, &measured.totals, &mut after);
        after.durability = match &after.effects {
            Ok(_) => settings::again(&self.requests, plan.asked.timeout, &environment),
            Err(why) => Err(why.clone()),
        };
        let mut summary = self.keep(&plan, &before, &measured, &after, record);
        if self.check_after(&plan, &before.manifest, &mut after) {
            summary = self.keep(&plan, &before, &measured, &after, record);
        }
        if self.look_up(&plan, &measured, &mut after) {
            summary = self.keep(&plan, &before, &measured, &after, record);
        }
        if self.check_nodes(&plan, &mut after) {
            summary = self.keep(&plan, &before, &measured, &after, record);
        }
        self.run.tell(Step::DatabaseDone);
        Ok(summary)
    }

    pub(super) fn engine(&self) -> &Arc<dyn LoadTarget<W>> {
        self.requests.engine()
    }

    fn ask<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&dyn Engine<W>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, RunEnd> {
        self.requests.ask(work)?.ok_or(RunEnd::Stopped)
    }

    /// The population to run on; `None` if it has to be loaded first.
    fn ready(&self) -> Result<Option<Manifest>, RunEnd> {
        let alone = |server: &dyn PrivateServer| server.members() == 1 || server.nodes().is_some();
        if self.run.plan.measure_recovery && !self.engine().private_server().is_some_and(alone) {
            return Err(no_private_server().into());
        }
        self.check_faults()?;
        self.check_read_only_target()?;
        let there = self.requests.database_state()?.ok_or(RunEnd::Stopped)?;
        let loaded = match &there {
            DatabaseState::Complete(manifest) | DatabaseState::Unfinished(manifest) => Some(manifest),
            _ => None,
        };
        let plan = &self.run.plan;
        let profile = resolve::profile::<W>(plan, loaded)?;
        resolve::resolve::<W>(plan.clone(), self.run.command.defaults(), loaded)?;
        let url = &self.engine().identity().url;
        match &there {
            DatabaseState::Nothing if self.run.command == Command::Bench => {
                within::<W>(plan.scale.unwrap_or(SCALE), profile)?;
                return Ok(None);
            }
            DatabaseState::Unfinished(manifest) if self.run.command == Command::Bench => {
                agree::<W>(plan, manifest, url)?;
                return Ok(None);
            }
            _ => {}
        }
        let manifest = complete::<W>(there, url)?;
        agree::<W>(plan, &manifest, url)?;
        self.known_procedures()?;
        Ok(Some(manifest))
    }

    /// Whether read-only transactions can be sent where the plan requests.
    fn check_read_only_target(&self) -> Result<(), Error> {
        let refused = |why: String| Err(Error::Usage(format!("--read-only-on {why}: remove it")));
        match self.run.plan.read_only_on {
            None => Ok(()),
            Some(_) if W::ABOUT.read_only.is_empty() => refused(format!("is for reads, and {} has none", W::NAME)),
            Some(_) if self.engine().reads_on_standbys() => Ok(()),
            Some(_) => refused(format!("is for PostgreSQL, and this is {}", self.engine().identity().name)),
        }
    }

    /// Whether all planned faults can be injected.
    fn check_faults(&self) -> Result<(), Error> {
        let name = &self.engine().identity().name;
        let cannot = |fault: &Fault, why: &str| Err(Error::Usage(format!("the fault `{fault}` {why}")));
        let faults = &self.run.plan.fault;
        let mut private = faults.iter().filter(|fault| fault.action.needs_private_server());
        if let Some(fault) = private.next().filter(|_| self.engine().private_server().is_none()) {
            return Err(needs_private_server(fault));
        }
        let members = self.engine().private_server().map_or(0, PrivateServer::members);
        let equal = self.engine().private_server().and_then(PrivateServer::nodes).is_none();
        if let Some((fault, why)) = against_members(faults, members, equal) {
            return cannot(fault, &why);
        }
        let disk = self.engine().private_server().is_some_and(|server| server.disk().is_some());
        if let Some(fault) = faults.iter().find(|fault| fault.action.is_of_disk()).filter(|_| !disk) {
            return cannot(
                fault,
                "needs data on a disk of Graymark's own: give --db postgres:local or mysql:local, or have a \
                 program of yours do it (--fault '5s: script PATH')",
            );
        }
        let nodes = self.engine().private_server().and_then(PrivateServer::nodes);
        if let Some(fault) = faults.iter().find(|fault| fault.action.needs_standbys()).filter(|_| nodes.is_none()) {
            return cannot(fault, "needs standbys that Graymark starts: give --db 'postgres:local?standbys=2'");
        }
        let led = self.run.relay.as_ref().is_some_and(Relay::leads);
        match faults.iter().find(|fault| fault.action.is_of_network()).filter(|_| !led) {
            Some(fault) => cannot(
                fault,
                &format!(
                    "is a network fault, and Graymark has no relay for this {name}: it has one for a single host of \
                     postgres:, mysql: or virtuoso:; use a script of your own instead (script PATH)"
                ),
            ),
            None => Ok(()),
        }
    }

    fn record_directory(&self, now: Timestamp) -> PathBuf {
        let name = self.engine().identity().name.to_lowercase();
        self.run.out.clone().unwrap_or_else(|| default_record(W::NAME, &name, now))
    }

    /// The population, loaded if needed.
    fn load(&mut self, ready: Option<Manifest>) -> Result<(Manifest, Option<LoadReport>), RunEnd> {
        if let Some(manifest) = ready {
            return Ok((manifest, None));
        }
        let loaded = load::fill(&self.requests, &self.run.plan, &mut self.run.consumer)?;
        let (report, manifest) = loaded.ok_or(RunEnd::Stopped)?;
        Ok((manifest, Some(report)))
    }

    /// The stored procedures that the run will call, as far as this user may read them.
    fn procedures(&mut self) -> Result<Procedures, RunEnd> {
        let procedures = self.known_procedures()?;
        if let Procedures::Unread(names) = &procedures {
            self.run.tell(Step::ProceduresUnread(names.clone()));
        }
        Ok(procedures)
    }

    /// The stored procedures, which must have this program's source.
    fn known_procedures(&self) -> Result<Procedures, RunEnd> {
        let procedures = self.ask(async |engine: &dyn Engine<W>| engine.procedures().await)?;
        Ok(own(procedures, W::NAME, &self.engine().identity().url)?)
    }

    /// Fills in the missing values of the plan.
    fn resolve(&mut self, manifest: &Manifest) -> Result<Resolved, Error> {
        let url = self.engine().identity().url.as_str().into();
        let plan = Plan { db: Some(url), ..std::mem::take(&mut self.run.plan) };
        resolve::resolve::<W>(plan, self.run.command.defaults(), Some(manifest))
    }

    /// Writes what is known before the run into the record: plan, prices, environment, load.
    fn describe(
        &self,
        plan: &Resolved,
        loaded: Option<&LoadReport>,
        record: &RecordWriter,
    ) -> Result<Environment, RunEnd> {
        record.put_text(file::PLAN, &plan.file().to_toml().map_err(Error::from)?)?;
        if let Some(price) = &self.run.price {
            record.put_text(file::PRICE, price.text())?;
        }
        let environment = Environment {
            engine: Some(self.engine().identity().clone()),
            settings: self.ask(async |engine: &dyn Engine<W>| engine.settings().await)?,
            ..environment::of_host(self.engine().data_directory().as_deref())
        };
        record.put_json(file::ENVIRONMENT, &environment)?;
        if let Some(report) = loaded {
            record.put_json(file::LOAD, report)?;
        }
        Ok(environment)
    }

    /// Warns about a run that is meant to be valid and cannot be.
    fn warn_if_never_valid(&mut self, plan: &Resolved, environment: &Environment) {
        let planned = Planned {
            paced: plan.pace == Pace::Standard,
            interval_s: match &plan.interval {
                Interval::Whole { seconds, .. } => f64::from(*seconds),
                Interval::Stages { .. } => 0.0,
            },
            checked: plan.check == Check::Both,
            standard_mix: plan.cards == Cards::Standard,
            faults: plan.asked.fault.len(),
            isolation: self.engine().isolation(),
            durability: &judge::durability::of(environment),
        };
        for why in judge::precheck::plan_violations(W::NAME, &planned) {
            self.run.tell(Step::Warning(format!("this run cannot be valid: {why}")));
        }
    }

    /// Checks the conditions before the run, and counts the rows of tables whose growth is judged; empty if the plan
    /// does not request it.
    fn check_before(
        &mut self,
        plan: &Resolved,
        manifest: &Manifest,
    ) -> Result<(Vec<Finding>, BTreeMap<String, u64>), RunEnd> {
        if plan.check != Check::Both {
            return Ok((Vec::new(), BTreeMap::new()));
        }
        let findings = self.check(manifest, false)?.ok_or(RunEnd::Stopped)?;
        let mut rows = BTreeMap::new();
        for table in W::COUNTED_AT_START {
            let counted = self.ask(async move |engine: &dyn Engine<W>| engine.rows(table).await)?;
            rows.extend(counted.map(|counted| ((*table).to_owned(), counted)));
        }
        Ok((findings, rows))
    }

    pub(super) fn check(&mut self, manifest: &Manifest, after: bool) -> Result<Option<Vec<Finding>>, Error> {
        self.run.tell(Step::CheckBegan { after });
        let checked = self.requests.check(manifest, Depth::Usual, &mut self.run.consumer);
        self.run.tell(Step::CheckEnded);
        checked
    }

    /// Empties the caches, if the plan requests it. No session is open yet.
    fn empty_caches(&mut self, plan: &Resolved, warm_ups: &mut WarmUps) -> Result<(), RunEnd> {
        if !plan.asked.cold {
            return Ok(());
        }
        let emptied = self.ask(async |engine: &dyn Engine<W>| engine.empty_caches(false).await)?;
        let Some(caches) = emptied else {
            let name = &self.engine().identity().name;
            return Err(Error::Usage(format!("--cold: the caches of {name} cannot be emptied")).into());
        };
        self.run.tell(Step::CachesEmptied(caches.clone()));
        warm_ups.cold = Some(caches);
        Ok(())
    }

    /// Fills the caches by reading, if the plan requests it.
    fn warm_up(&mut self, plan: &Resolved, manifest: &Manifest, warm_ups: &mut WarmUps) -> Result<(), RunEnd> {
        if plan.warm == Warm::None {
            return Ok(());
        }
        match warm::up(&self.requests, manifest, (plan.warm, plan.seed), &mut self.run.consumer)?
            .ok_or(RunEnd::Stopped)?
        {
            WarmUpOutcome::Absent(why) => warm_ups.notes.push(why),
            WarmUpOutcome::Read(work) => warm_ups.done.push(work),
        }
        Ok(())
    }

    /// Waits until standbys have the whole database, if the plan sends transactions to them.
    fn await_standbys(&mut self, plan: &Resolved) -> Result<(), RunEnd> {
        if plan.asked.read_only_on.is_some() {
            let warnings = nodes::await_standbys(&self.requests, &mut self.run.consumer)?.ok_or(RunEnd::Stopped)?;
            warnings.into_iter().for_each(|warning| self.run.tell(Step::Warning(warning)));
        }
        Ok(())
    }

    /// The load of the plan.
    fn offer(&self, plan: &Resolved, manifest: &Manifest) -> Result<LoadToOffer<W>, Error> {
        let terminals = W::terminals(manifest.scale, &manifest.parameters, plan.seed)
            .map_err(|what| Error::Database(format!("the database's manifest lacks {what}: load it again")))?;
        let terminals = match &plan.cards {
            Cards::Of(cards) => W::with_mix(terminals, cards),
            Cards::Standard => terminals,
        };
        let shown = resolve::followed::<W>(self.run.terminal, plan.pace, manifest.scale)?;
        let schedule = resolve::schedule::<W>(plan, manifest, shown);
        Ok(LoadToOffer { terminals, schedule, stages: resolve::stages(plan) })
    }

    /// Runs the load until it is steady, if the plan requests it.
    fn steady(&mut self, plan: &Resolved, offer: &LoadToOffer<W>, warm_ups: &mut WarmUps) -> Result<(), RunEnd> {
        if plan.steady == 0 {
            return Ok(());
        }
        let (schedule, most) = (offer.schedule, plan.steady);
        let work = steady::reach(&self.requests, &offer.terminals, schedule, most, &mut self.run.consumer)?;
        let (work, transactions) = work.ok_or(RunEnd::Stopped)?;
        warm_ups.done.push(work);
        warm_ups.by_load = Some(transactions);
        Ok(())
    }

    /// Runs the load, and passes the driver's events to all consumers.
    fn drive(
        &mut self,
        plan: &Resolved,
        offer: &LoadToOffer<W>,
        warm_ups: WarmUps,
        record: &mut RecordWriter,
    ) -> Result<Measured, RunEnd> {
        if self.run.stop.requested() {
            return Err(RunEnd::Stopped);
        }
        let LoadToOffer { terminals, schedule, stages } = offer;
        if schedule.load == Load::Paced && W::DEFERRED.is_some() {
            record.begin_results()?;
        }
        if schedule.history > 0 {
            record.begin_history()?;
        }
        let mut accumulated = Accumulated {
            cold: warm_ups.cold,
            faults: FaultMeter::new(&plan.faults),
            maintenance: warm_ups.done,
            warm_up: warm_ups.by_load,
            maintenance_notes: warm_ups.notes,
            ..Accumulated::new::<W>(stages, schedule)
        };
        let seconds = schedule.ramp_up + schedule.duration;
        self.run.tell(Step::DriveBegan {
            seconds,
            ramp_up: schedule.ramp_up,
            headline: W::HEADLINE,
            counts: W::COUNTS,
            workload: W::NAME,
            transactions: W::TRANSACTIONS,
        });
        let controllers = Controllers {
            checkpoint: plan.checkpoint.seconds(),
            vacuum: plan.vacuum.seconds(),
            vacuums: Some(plan.vacuums),
            faults: FaultSchedule { faults: plan.faults.clone(), relay: self.run.relay.clone() },
        };
        let within = self.within();
        let engine = self.requests.engine();
        let (usage_before, server_before) = (process::usage(), engine.server_cpu_seconds());
        let started = Timestamp::now();
        let consumer = &mut self.run.consumer;
        let totals =
            drive::run::<W>(engine, terminals, *schedule, stages, controllers, &self.run.stop, &mut |event| {
                accumulated.event::<W>(event, &|| engine.server_cpu_seconds());
                record.event(event);
                consumer(event);
            })?;
        let (usage, server) = (process::usage(), engine.server_cpu_seconds());
        let peak_rss_bytes = process::peak_rss_bytes();
        record.end_history();
        let within = within.and_then(|before| match before {
            Some(before) => Ok(self.within()?.map(|after| (before, after))),
            None => Ok(None),
        });
        let within = within.unwrap_or_else(|why| {
            let why = format!("statements within procedures: {why}");
            accumulated.event::<W>(&Event::NotCounted { why }, &|| None);
            None
        });
        let share = plan.history.get();
        let history = (schedule.history > 0).then(|| history::check::<W>(record.directory(), share, &totals));
        Ok(Measured {
            started,
            history,
            within: within.map(|(before, after)| within::between(&before, &after, totals.completed)),
            schedule: *schedule,
            accumulated,
            totals,
            result_lines: record.end_results(),
            usage: (usage_before, usage),
            peak_rss_bytes,
            server_cpu_s: server_before.zip(server).map(|(before, after)| after - before),
            in_process: engine.blocking() && engine.server_process() == ServerProcess::InProcess,
            storage: environment::storage(engine.data_directory().as_deref(), engine.log_directory().as_deref()),
        })
    }

    /// The totals of the statements within stored procedures, if the server has them; `None` also if stopped.
    fn within(&self) -> Result<Option<Vec<StatementTotals>>, Error> {
        Ok(self.requests.ask(async |engine: &dyn Engine<W>| engine.statements_within().await)?.flatten())
    }

    /// Judges the results so far, and writes them to the record.
    fn keep(
        &self,
        plan: &Resolved,
        before: &Before,
        measured: &Measured,
        after: &After,
        record: &mut RecordWriter,
    ) -> Summary {
        let summary = summarise::<W>(plan, before, measured, after, record.directory());
        let price = self.run.price.as_ref().map(|price| price.list().of(&summary));
        let summary = Summary { price, ..summary };
        // JSON has no infinity: it would be written as null, and the record could not be read back.
        debug_assert!(
            serde_json::to_string(&summary).is_ok_and(|text| serde_json::from_str::<Summary>(&text).is_ok()),
            "the summary cannot be read again"
        );
        record.keep_json(file::SUMMARY, &summary);
        summary
    }
}
