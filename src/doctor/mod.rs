//! `graymark doctor` as a library call: tries everything that Graymark needs on a server of an unknown make, in schemas
//! or databases of its own, and removes them. It prints nothing.
//!
//! Single `questions` stand in `doctor.sql` of a dialect. `conflicts` are planted between two sessions, and show which
//! isolation levels are in force and by which codes the server asks for a transaction again. A `trial` makes all
//! workloads' tables in a dialect, and runs one of them for a second.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod conflicts;
mod places;
mod questions;
mod trial;

use std::time::{Duration, Instant};

use jiff::Timestamp;
use places::Places;

use crate::drive::Stop;
use crate::engine::dialect::{DIALECTS, Dialect};
use crate::engine::guard::guarded;
use crate::engine::probe::{ProbeSession, ProbedServer};
use crate::engine::{Error, registry};
use crate::plan::Plan;
use crate::result::Via;
use crate::result::doctor::{Diagnosis, Probe, ProbeState, Trial};
use crate::run::open::runtime;

/// The longest that a question may take.
const LIMIT: Duration = Duration::from_secs(30);
/// The longest that the tables of a workload may take: some servers change a schema slowly.
const LONGEST: Duration = Duration::from_secs(180);
/// The longest that the removal of what was made may take when someone asks to stop.
const FAREWELL: Duration = Duration::from_secs(6);

/// Hears of each question, and of each trial, when it has its answer: its name and what came of it.
type OnAnswer<'a> = dyn FnMut(&str, ProbeState) + 'a;

/// An examination that is to be made.
pub struct Doctor<'a> {
    plan: Plan,
    stop: Stop,
    on_answer: Box<OnAnswer<'a>>,
}

/// A server under examination, and what serves to ask it.
struct Examined<'a> {
    runtime: &'a tokio::runtime::Runtime,
    server: &'a dyn ProbedServer,
}

/// What was seen, or what stands against it.
type Seen = Result<String, String>;

impl Doctor<'static> {
    /// Of the server of a plan's database. Of the rest of the plan only the timeout matters.
    pub fn new(plan: Plan) -> Doctor<'static> {
        Doctor { plan, stop: Stop::new(), on_answer: Box::new(|_, _| {}) }
    }
}

impl<'a> Doctor<'a> {
    /// Ends the examination before its time when someone asks to stop by this. What was made is removed all the same.
    pub fn stop(self, stop: Stop) -> Self {
        Doctor { stop, ..self }
    }

    /// Who hears of each answer.
    pub fn on_answer<'b>(self, on_answer: impl FnMut(&str, ProbeState) + 'b) -> Doctor<'b> {
        Doctor { plan: self.plan, stop: self.stop, on_answer: Box::new(on_answer) }
    }

    /// Makes it; none if someone asked to stop before the server was reached. Blocks the calling thread.
    ///
    /// # Errors
    /// If the plan names no server, or one that cannot be reached or that Graymark cannot examine.
    pub fn examine(mut self) -> Result<Option<Diagnosis>, Error> {
        let Some(url) = self.plan.db.clone() else {
            return Err(Error::Usage("give the server with --db, such as --db postgres://me@dbhost/bench".to_owned()));
        };
        let runtime = runtime()?;
        let opened = runtime.block_on(async {
            tokio::select! {
                biased;
                () = self.stop.wait() => None,
                server = guarded(registry::open_probed(&url)) => Some(server),
            }
        });
        let Some(server) = opened.transpose()? else { return Ok(None) };
        let mut diagnosis = Diagnosis {
            graymark: env!("CARGO_PKG_VERSION").to_owned(),
            url: server.shown().to_owned(),
            dialect: server.dialect().name.to_owned(),
            warnings: server.warnings().to_vec(),
            started: Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string(),
            ..Diagnosis::default()
        };
        let mut places = Places::new();
        diagnosis.earlier = runtime.block_on(self.clear(&*server, &places));
        runtime.block_on(self.ask_all(&*server, &mut places, &mut diagnosis));
        if !self.stop.requested() {
            let examined = Examined { runtime: &runtime, server: &*server };
            self.try_dialects(&examined, &mut places, &mut diagnosis);
        }
        diagnosis.interrupted = self.stop.requested();
        let patience = if diagnosis.interrupted { FAREWELL } else { LIMIT };
        diagnosis.left = runtime.block_on(places.remove(&*server, patience));
        // A look-up that hangs in the system keeps nobody waiting.
        runtime.shutdown_background();
        Ok(Some(diagnosis))
    }

    /// Awaits an answer for no longer than a question may take, and until someone asks to stop.
    async fn answer(&self, limit: Duration, work: impl Future<Output = Seen>) -> Seen {
        let limit = self.plan.timeout.map_or(limit, |seconds| limit.min(Duration::from_secs(seconds.into())));
        let guarded = guarded(async { Ok::<_, Error>(work.await) });
        tokio::select! {
            biased;
            () = self.stop.wait() => Err("stopped".to_owned()),
            done = tokio::time::timeout(limit, guarded) => match done {
                Err(_) => Err(format!("no answer within {} s", limit.as_secs())),
                Ok(done) => done.unwrap_or_else(|error| Err(error.to_string())),
            }
        }
    }

    /// Removes what earlier examinations left, for no longer than a question may take.
    async fn clear(&self, server: &dyn ProbedServer, places: &Places) -> Vec<String> {
        tokio::select! {
            biased;
            () = self.stop.wait() => Vec::new(),
            told = tokio::time::timeout(LIMIT, guarded(async { Ok::<_, Error>(places.clear(server).await) })) => {
                told.ok().and_then(Result::ok).unwrap_or_default()
            }
        }
    }

    /// Makes the place for single questions, and asks them.
    async fn ask_all(&mut self, server: &dyn ProbedServer, places: &mut Places, diagnosis: &mut Diagnosis) {
        let title = "this user may make a schema or database of its own".to_owned();
        let (made, took) = timed(self.answer(LIMIT, places.make(server))).await;
        let made = self.keep(diagnosis, Probe::of("place", title, true, made, took));
        if !made {
            return;
        }
        let Some(place) = places.made.last().cloned() else { return };
        for question in questions::all(server.dialect()) {
            if self.stop.requested() {
                return;
            }
            let (seen, took) = timed(self.answer(LIMIT, question.ask(server, &place))).await;
            if question.name == "version" {
                diagnosis.server = seen.clone().unwrap_or_default();
                diagnosis.warnings.extend(server.dialect().advice(&diagnosis.server));
            }
            self.keep(diagnosis, Probe::of(question.name, question.title.to_owned(), question.needed, seen, took));
        }
        let title = "the fast way in takes 1000 rows".to_owned();
        let (seen, took) = timed(self.answer(LIMIT, questions::bulk(server, &place))).await;
        self.keep(diagnosis, Probe::of("bulk load", title, true, seen, took));
        for conflict in conflicts::ALL {
            if self.stop.requested() {
                return;
            }
            let (seen, took) = timed(self.answer(LIMIT, conflict.plant(server, &place))).await;
            let needed = conflict.needed(server.dialect());
            self.keep(diagnosis, Probe::of(conflict.name, conflict.title.to_owned(), needed, seen, took));
        }
    }

    /// Tells of an answer and keeps it; whether the server does what was asked.
    fn keep(&mut self, diagnosis: &mut Diagnosis, probe: Probe) -> bool {
        let state = if probe.state == ProbeState::Works { ProbeState::Works } else { ProbeState::Missing };
        if !self.stop.requested() {
            (self.on_answer)(&probe.id, state);
            diagnosis.probes.push(probe);
        }
        state == ProbeState::Works
    }

    /// Tries the dialect of the URL and, if it does not do, the others of its wire until one does.
    fn try_dialects(&mut self, examined: &Examined<'_>, places: &mut Places, diagnosis: &mut Diagnosis) {
        let asked = examined.server.dialect();
        let others = DIALECTS.iter().copied().filter(|other| other.wire == asked.wire && other.name != asked.name);
        for dialect in std::iter::once(asked).chain(others) {
            let mut works = true;
            for (number, via) in ways(dialect).enumerate() {
                let needed = number == 0;
                for what in trial::STEPS {
                    let began = Instant::now();
                    let seen = self.try_step(examined, places, dialect, via, what);
                    if self.stop.requested() {
                        return;
                    }
                    let trial = Trial::of(dialect.name, via, needed, what.title(), seen, began.elapsed());
                    let state = if trial.state == ProbeState::Works { ProbeState::Works } else { ProbeState::Missing };
                    (self.on_answer)(&format!("{} by {}: {}", dialect.name, trial.via.name(), trial.what), state);
                    works &= !needed || state == ProbeState::Works;
                    diagnosis.trials.push(trial);
                }
            }
            // What a dialect cannot do without beyond the trials: retries that it knows, levels that are in force.
            let lacking = dialect.name == asked.name && diagnosis.probes.iter().any(Probe::fails);
            if works && !lacking {
                diagnosis.works_with = Some(dialect.name.to_owned());
                return;
            }
        }
    }

    /// A part of a trial, in a place of its own.
    fn try_step(
        &self,
        examined: &Examined<'_>,
        places: &mut Places,
        dialect: &'static Dialect,
        via: Via,
        what: &trial::Step,
    ) -> Seen {
        let Examined { runtime, server } = *examined;
        runtime.block_on(self.answer(LIMIT, places.make(server)))?;
        let place = places.made.last().cloned().ok_or_else(|| "there is no place for it".to_owned())?;
        match what {
            trial::Step::Rehearse(workload) => {
                let rehearsal = trial::rehearse(server, dialect, via, *workload, &place);
                runtime.block_on(self.answer(LONGEST, rehearsal))
            }
            trial::Step::Run => trial::run(server.url_within(&place, dialect), via, self.plan.timeout, &self.stop),
        }
    }
}

/// The ways in which a dialect speaks, its usual one first.
fn ways(dialect: &Dialect) -> impl Iterator<Item = Via> {
    let procedures = dialect.procedures.then_some(Via::Procedures);
    procedures.into_iter().chain(dialect.statements.then_some(Via::Statements))
}

/// Two sessions in a place, for conflicts between them.
async fn pair(server: &dyn ProbedServer, place: &str) -> Result<[Box<dyn ProbeSession>; 2], String> {
    let failed = |error: Error| error.to_string();
    Ok([server.session(Some(place)).await.map_err(failed)?, server.session(Some(place)).await.map_err(failed)?])
}

async fn timed(work: impl Future<Output = Seen>) -> (Seen, Duration) {
    let began = Instant::now();
    (work.await, began.elapsed())
}

fn state_of(seen: Seen) -> (ProbeState, String) {
    match seen {
        Ok(found) => (ProbeState::Works, found),
        Err(why) => (ProbeState::Missing, why),
    }
}

impl Probe {
    fn of(id: &str, title: String, needed: bool, seen: Seen, took: Duration) -> Probe {
        let (state, found) = state_of(seen);
        Probe { id: id.to_owned(), title, state: state.into(), needed, found, seconds: took.as_secs_f64() }
    }
}

impl Trial {
    fn of(dialect: &str, via: Via, needed: bool, what: String, seen: Seen, took: Duration) -> Trial {
        let (state, found) = state_of(seen);
        let (dialect, via, state) = (dialect.to_owned(), via.into(), state.into());
        Trial { dialect, via, needed, what, state, found, seconds: took.as_secs_f64() }
    }
}
