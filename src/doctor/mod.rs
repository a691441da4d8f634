//! `graymark doctor` as a library call: tests everything that Graymark needs on an unknown server, in its own schemas
//! or
//! databases, and removes them. It prints nothing.
//!
//! Single `questions` are in `doctor.sql` of a dialect. `conflicts` are planted between two sessions, and show which
//! isolation levels are in force and which error codes ask for a retry. A `trial` creates the tables of all workloads
//! in
//! a dialect, and runs one of them for a second.

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

/// Time limit of a question.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit for the tables of a workload: some servers change a schema slowly.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(180);
/// Time limit for the removal of test schemas after an interrupt.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(20);

/// Receives the name and the result of each question and of each trial.
type OnAnswer<'a> = dyn FnMut(&str, ProbeState) + 'a;

/// A compatibility test of a server.
pub struct Doctor<'a> {
    plan: Plan,
    stop: Stop,
    on_answer: Box<OnAnswer<'a>>,
}

/// A server under test, and what is needed to use it.
struct ServerUnderTest<'a> {
    runtime: &'a tokio::runtime::Runtime,
    server: &'a dyn ProbedServer,
}

/// The answer, or the problem.
type Answer = Result<String, String>;

impl Doctor<'static> {
    /// Tests the server of a plan's database. The plan's other values are ignored, except the timeout.
    pub fn new(plan: Plan) -> Doctor<'static> {
        Doctor { plan, stop: Stop::new(), on_answer: Box::new(|_, _| {}) }
    }
}

impl<'a> Doctor<'a> {
    /// Ends the test early when `stop` is requested. Test schemas are removed all the same.
    pub fn stop(self, stop: Stop) -> Self {
        Doctor { stop, ..self }
    }

    /// Receives each answer.
    pub fn on_answer<'b>(self, on_answer: impl FnMut(&str, ProbeState) + 'b) -> Doctor<'b> {
        Doctor { plan: self.plan, stop: self.stop, on_answer: Box::new(on_answer) }
    }

    /// Runs the test; `None` if it was stopped before the server was reached. Blocks the calling thread.
    ///
    /// # Errors
    /// If the plan names no server, or one that cannot be reached or tested, or that ends meanwhile.
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
        let mut done = runtime.block_on(self.ask_all(&*server, &mut places, &mut diagnosis));
        if done.is_ok() && !self.stop.requested() {
            let examined = ServerUnderTest { runtime: &runtime, server: &*server };
            done = self.try_dialects(&examined, &mut places, &mut diagnosis);
        }
        diagnosis.interrupted = self.stop.requested();
        let patience = if diagnosis.interrupted { REMOVAL_TIMEOUT } else { QUESTION_TIMEOUT };
        diagnosis.left = runtime.block_on(places.remove(&*server, patience));
        // Does not wait for a name lookup that hangs.
        runtime.shutdown_background();
        done.map(|()| Some(diagnosis))
    }

    /// An error if the server accepts no session any more: then a failure of `what` says nothing about it.
    async fn ensure_there(&self, server: &dyn ProbedServer, what: &str) -> Result<(), Error> {
        let open = async {
            let opened = server.session(None).await;
            opened.map(|_| String::new()).map_err(|error| error.to_string())
        };
        let opened = self.answer(QUESTION_TIMEOUT, open).await;
        match server.ended().or(opened.err()) {
            Some(why) if !self.stop.requested() => {
                Err(Error::Database(format!("the test ended early, at `{what}`: {why}")))
            }
            _ => Ok(()),
        }
    }

    /// Awaits an answer up to the time limit, and until stop is requested.
    async fn answer(&self, limit: Duration, work: impl Future<Output = Answer>) -> Answer {
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

    /// Removes what earlier tests left, within the time limit of a question.
    async fn clear(&self, server: &dyn ProbedServer, places: &Places) -> Vec<String> {
        tokio::select! {
            biased;
            () = self.stop.wait() => Vec::new(),
            lines = tokio::time::timeout(QUESTION_TIMEOUT, guarded(async {
                Ok::<_, Error>(places.clear(server).await)
            })) => {
                lines.ok().and_then(Result::ok).unwrap_or_default()
            }
        }
    }

    /// Creates the schema for single questions, and asks them.
    async fn ask_all(
        &mut self,
        server: &dyn ProbedServer,
        places: &mut Places,
        diagnosis: &mut Diagnosis,
    ) -> Result<(), Error> {
        let title = "this user may create a schema or database".to_owned();
        let (made, took) = timed(self.answer(QUESTION_TIMEOUT, places.make(server))).await;
        let made = self.keep(server, diagnosis, Probe::of("place", title, true, made, took)).await?;
        let Some(place) = places.made.last().cloned().filter(|_| made) else { return Ok(()) };
        for question in questions::all(server.dialect()) {
            if self.stop.requested() {
                return Ok(());
            }
            let (seen, took) = timed(self.answer(QUESTION_TIMEOUT, question.ask(server, &place))).await;
            if question.name == "version" {
                diagnosis.server = seen.clone().unwrap_or_default();
            }
            if ["version", "extensions"].contains(&question.name) {
                let advice = server.dialect().advice(seen.as_deref().unwrap_or_default());
                diagnosis.warnings.extend(advice);
            }
            let probe = Probe::of(question.name, question.title.to_owned(), question.needed, seen, took);
            self.keep(server, diagnosis, probe).await?;
        }
        let title = "the bulk load takes 1000 rows".to_owned();
        let (seen, took) = timed(self.answer(QUESTION_TIMEOUT, questions::bulk(server, &place))).await;
        self.keep(server, diagnosis, Probe::of("bulk load", title, true, seen, took)).await?;
        for conflict in conflicts::ALL {
            if self.stop.requested() {
                return Ok(());
            }
            let (seen, took) = timed(self.answer(QUESTION_TIMEOUT, conflict.plant(server, &place))).await;
            let needed = conflict.needed(server.dialect());
            let probe = Probe::of(conflict.name, conflict.title.to_owned(), needed, seen, took);
            self.keep(server, diagnosis, probe).await?;
        }
        Ok(())
    }

    /// Reports and stores an answer. Returns whether the server passed.
    ///
    /// # Errors
    /// If it did not, and has ended.
    async fn keep(
        &mut self,
        server: &dyn ProbedServer,
        diagnosis: &mut Diagnosis,
        probe: Probe,
    ) -> Result<bool, Error> {
        let state = if probe.state == ProbeState::Works { ProbeState::Works } else { ProbeState::Missing };
        if state == ProbeState::Missing {
            self.ensure_there(server, &probe.id).await?;
        }
        if !self.stop.requested() {
            (self.on_answer)(&probe.id, state);
            diagnosis.probes.push(probe);
        }
        Ok(state == ProbeState::Works)
    }

    /// Tries the dialect of the URL and, if it fails, the others of its wire until one passes.
    fn try_dialects(
        &mut self,
        examined: &ServerUnderTest<'_>,
        places: &mut Places,
        diagnosis: &mut Diagnosis,
    ) -> Result<(), Error> {
        let asked = examined.server.dialect();
        let others = DIALECTS.iter().copied().filter(|other| other.wire == asked.wire && other.name != asked.name);
        for dialect in std::iter::once(asked).chain(others) {
            let mut works = true;
            for (number, via) in methods(dialect).enumerate() {
                let needed = number == 0;
                for what in trial::STEPS {
                    let began = Instant::now();
                    let seen = self.try_step(examined, places, dialect, via, what);
                    if self.stop.requested() {
                        return Ok(());
                    }
                    let trial = Trial::of(dialect.name, via, needed, what.title(), seen, began.elapsed());
                    let state = if trial.state == ProbeState::Works { ProbeState::Works } else { ProbeState::Missing };
                    let name = format!("{} by {}: {}", dialect.name, trial.via.name(), trial.what);
                    if state == ProbeState::Missing {
                        examined.runtime.block_on(self.ensure_there(examined.server, &name))?;
                    }
                    (self.on_answer)(&name, state);
                    works &= !needed || state == ProbeState::Works;
                    diagnosis.trials.push(trial);
                }
            }
            // Requirements of a dialect beyond the trials: known retry codes, isolation levels in force.
            let lacking = dialect.name == asked.name && diagnosis.probes.iter().any(Probe::fails);
            if works && !lacking {
                diagnosis.works_with = Some(dialect.name.to_owned());
                return Ok(());
            }
        }
        Ok(())
    }

    /// A step of a trial, in its own schema.
    fn try_step(
        &self,
        examined: &ServerUnderTest<'_>,
        places: &mut Places,
        dialect: &'static Dialect,
        via: Via,
        what: &trial::Step,
    ) -> Answer {
        let ServerUnderTest { runtime, server } = *examined;
        runtime.block_on(self.answer(QUESTION_TIMEOUT, places.make(server)))?;
        let place = places.made.last().cloned().ok_or_else(|| "there is no schema for it".to_owned())?;
        match what {
            trial::Step::Rehearse(workload) => {
                let rehearsal = trial::rehearse(server, dialect, via, *workload, &place);
                runtime.block_on(self.answer(TRIAL_TIMEOUT, rehearsal))
            }
            trial::Step::Run => trial::run(&server.url_within(&place, dialect), via, self.plan.timeout, &self.stop),
        }
    }
}

/// The methods that a dialect supports, its default first.
fn methods(dialect: &Dialect) -> impl Iterator<Item = Via> {
    let procedures = dialect.procedures.then_some(Via::Procedures);
    procedures.into_iter().chain(dialect.statements.then_some(Via::Statements))
}

/// Two sessions in a schema, for conflicts between them.
async fn pair(server: &dyn ProbedServer, place: &str) -> Result<[Box<dyn ProbeSession>; 2], String> {
    let failed = |error: Error| error.to_string();
    Ok([server.session(Some(place)).await.map_err(failed)?, server.session(Some(place)).await.map_err(failed)?])
}

async fn timed(work: impl Future<Output = Answer>) -> (Answer, Duration) {
    let began = Instant::now();
    (work.await, began.elapsed())
}

fn state_of(seen: Answer) -> (ProbeState, String) {
    match seen {
        Ok(found) => (ProbeState::Works, found),
        Err(why) => (ProbeState::Missing, why),
    }
}

impl Probe {
    fn of(id: &str, title: String, needed: bool, seen: Answer, took: Duration) -> Probe {
        let (state, found) = state_of(seen);
        Probe { id: id.to_owned(), title, state: state.into(), needed, found, seconds: took.as_secs_f64() }
    }
}

impl Trial {
    fn of(dialect: &str, via: Via, needed: bool, what: String, seen: Answer, took: Duration) -> Trial {
        let (state, found) = state_of(seen);
        let (dialect, via, state) = (dialect.to_owned(), via.into(), state.into());
        Trial { dialect, via, needed, what, state, found, seconds: took.as_secs_f64() }
    }
}
