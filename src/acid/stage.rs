//! Works a test: tells its sessions what to do, step by step, and sees who waits for whom.

mod interleave;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) use interleave::Interleaved;

use super::actor::{Actor, Order};
use super::held::{Decision, Hold};
use super::own::Own;
use super::reply::Report;
use super::script::{Deed, Step, Stop, Test, sessions};
use super::suite::Plays;
use super::values::Values;
use crate::drive;
use crate::engine::{Error, Failure};
use crate::result::Recorded;
use crate::result::Via;
use crate::result::acid::{Means, TestResult};
use crate::result::summary::State;

/// From one look at a session to the next.
const LOOK: Duration = Duration::from_millis(20);
/// From one question to the next of who waits: MariaDB tells what it told before if it is asked within 100 ms.
const ASKED: Duration = Duration::from_millis(200);
/// A session that has not come back for so long waits, where the database does not say who does.
const PATIENCE: Duration = Duration::from_millis(500);
/// The same where the database says who waits: then it is slow.
const SLOW: Duration = Duration::from_secs(10);
/// How long a session may take to open, or to come to its end when nobody is in its way.
const END: Duration = Duration::from_secs(60);
/// How long sessions that are let go have to roll back.
const FAREWELL: Duration = Duration::from_secs(20);

/// Opens sessions for tests.
pub(super) trait Crew {
    /// Begins to open a session that speaks in this way.
    fn hire(&self, via: Via) -> Result<Actor, Error>;
}

/// Where tests are worked.
pub(super) struct Stage<'a> {
    pub(super) crew: &'a dyn Crew,
    pub(super) plays: &'static dyn Plays,
    /// How sessions speak that nobody holds.
    pub(super) via: Via,
    pub(super) own: Vec<Arc<Own>>,
    /// The statement by which the database says whether a session waits for a lock.
    pub(super) waits: Option<Arc<Own>>,
    /// Whether the database is in this process, where a session itself says that it waits.
    pub(super) in_process: bool,
    pub(super) stop: drive::Stop,
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It has nothing to do.
    Idle,
    /// It does something.
    Busy,
    /// Its transaction is held open.
    Held,
    /// Its transaction was begun by hand.
    ByHand,
}

struct Session {
    name: String,
    actor: Actor,
    number: Option<i64>,
    standing: Standing,
    /// Whether a transaction begun by hand is open, whatever it does in it.
    by_hand: bool,
    /// Whether what it does ends that transaction.
    ending: bool,
    /// Whether its transaction was refused: what it would have done in it is left out.
    over: bool,
    /// What it does when it no longer waits.
    backlog: VecDeque<Step>,
    /// Where the values of what it does belong.
    label: String,
}

/// Why a test was not worked to its end.
enum Cut {
    /// Someone asked to stop, or the database cannot be used.
    Error(Error),
    Stopped,
    /// A step could not be worked: what the test wants to see did not come about.
    Fault(String),
}

impl From<Error> for Cut {
    fn from(error: Error) -> Cut {
        Cut::Error(error)
    }
}

/// A test that is being worked.
struct Scene<'a> {
    stage: &'a Stage<'a>,
    sessions: Vec<Session>,
    watcher: Option<Actor>,
    /// When the database was last asked who waits.
    asked: Option<Instant>,
    values: Values,
    transcript: Vec<String>,
}

/// What a look at a session shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    /// Nothing new.
    Nothing,
    /// It says that it waits.
    Waits,
    /// It has come to its end, or is held open.
    Came,
}

impl Stage<'_> {
    /// Works a test in a form; none if someone asked to stop.
    ///
    /// # Errors
    /// If the database cannot be used.
    pub(super) fn work(&self, test: &Test, form: &str, cast: Values) -> Result<Option<TestResult>, Error> {
        let mut scene = Scene::new(self, cast);
        let worked = scene.open(test.steps.iter().chain(&test.after)).and_then(|()| scene.steps(&test.steps));
        scene.dismiss();
        let after = if test.after.is_empty() { Ok(()) } else { scene.after(test) };
        let fault = match worked.and(after) {
            Ok(()) => String::new(),
            Err(Cut::Fault(why)) => why,
            Err(Cut::Stopped) => return Ok(None),
            Err(Cut::Error(error)) => return Err(error),
        };
        Ok(Some(scene.judged(test, form, fault)))
    }
}

impl<'a> Scene<'a> {
    fn new(stage: &'a Stage<'a>, values: Values) -> Scene<'a> {
        Scene { stage, sessions: Vec::new(), watcher: None, asked: None, values, transcript: Vec::new() }
    }

    /// Opens all sessions of steps before the first.
    fn open<'b>(&mut self, steps: impl Iterator<Item = &'b Step>) -> Result<(), Cut> {
        for (name, led) in sessions(steps) {
            self.hire(name, if led { Via::Statements } else { self.stage.via })?;
        }
        if self.stage.waits.is_some() {
            self.watcher = Some(self.stage.crew.hire(Via::Statements)?);
        }
        self.watcher.iter().try_for_each(|watcher| opened(watcher).map(|_| ()))?;
        self.opened()
    }

    /// Waits until all sessions are open: they open side by side.
    fn opened(&mut self) -> Result<(), Cut> {
        for session in &mut self.sessions {
            session.number = opened(&session.actor)?;
        }
        Ok(())
    }

    /// Begins to open a session.
    fn hire(&mut self, name: &str, via: Via) -> Result<(), Cut> {
        let actor = self.stage.crew.hire(via)?;
        let (name, label) = (name.to_owned(), name.to_owned());
        self.sessions.push(Session {
            name,
            actor,
            number: None,
            standing: Standing::Idle,
            by_hand: false,
            ending: false,
            over: false,
            backlog: VecDeque::new(),
            label,
        });
        Ok(())
    }

    /// What is to be done however the test ended, by new sessions.
    fn after(&mut self, test: &Test) -> Result<(), Cut> {
        let mut names: Vec<&str> = test.after.iter().map(|step| step.session.as_str()).collect();
        names.dedup();
        self.sessions.clear();
        names.into_iter().try_for_each(|name| self.hire(name, self.stage.via))?;
        self.opened()?;
        let done = self.steps(&test.after);
        self.dismiss();
        done
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), Cut> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> Result<(), Cut> {
        let at = self.sessions.iter().position(|session| session.name == step.session);
        let at = at.ok_or_else(|| Cut::Fault(format!("`{}`: there is no such session", step.text)))?;
        let standing = self.session(at)?.standing;
        self.transcript.push(step.text.clone());
        match &step.deed {
            Deed::Begins => self.order(at, Order::Begin, &step.session),
            Deed::Does { what, with, stop, label } => {
                let order = self.deed(what, with, stop.as_ref()).map_err(Cut::Fault)?;
                self.order(at, order, label.as_deref().unwrap_or(&step.session))
            }
            Deed::Ends => self.ended(at),
            Deed::GoesOn | Deed::Commits | Deed::RollsBack if standing == Standing::Held => {
                let back = step.deed == Deed::RollsBack;
                self.session(at)?.actor.decide(if back { Decision::RollBack } else { Decision::GoOn });
                self.session(at)?.standing = Standing::Busy;
                self.follow(at)
            }
            Deed::Commits | Deed::RollsBack if standing == Standing::ByHand => {
                let order = if step.deed == Deed::Commits { Order::Commit } else { Order::Rollback };
                self.order(at, order, &step.session)
            }
            Deed::GoesOn | Deed::Commits | Deed::RollsBack => {
                self.say(at, "holds no transaction open any more");
                Ok(())
            }
        }
    }

    /// What a session is told for `does`.
    fn deed(
        &self,
        what: &str,
        with: &[(String, super::values::Expression)],
        stop: Option<&Stop>,
    ) -> Result<Order, String> {
        let mut values = self.values.clone();
        for (name, expression) in with {
            let value = expression.value(&self.values);
            values.insert(name.clone(), value.ok_or_else(|| format!("{what}: {name} has no value"))?);
        }
        if let Some(own) = self.stage.own.iter().find(|own| own.name == what) {
            let value = |(name, _): &(String, bool)| {
                values.get(name).copied().ok_or_else(|| format!("{what} needs a value for {name}"))
            };
            let arguments = own.takes.iter().map(value).collect::<Result<Vec<i64>, String>>()?;
            return Ok(Order::Own(Arc::clone(own), arguments));
        }
        let hold = match stop {
            None => None,
            Some(Stop::BeforeTheEnd) => Some(Hold::BeforeTheEnd),
            Some(Stop::After(name)) => {
                let number = self.stage.plays.statement(name);
                Some(Hold::After(number.ok_or_else(|| format!("there is no statement {name}"))?))
            }
        };
        if !self.stage.plays.knows(what) {
            return Err(format!("there is no {what}"));
        }
        Ok(Order::Play(what.to_owned(), values, hold))
    }

    fn session(&mut self, at: usize) -> Result<&mut Session, Cut> {
        self.sessions.get_mut(at).ok_or_else(|| Cut::Fault("there is no such session".to_owned()))
    }

    fn order(&mut self, at: usize, order: Order, label: &str) -> Result<(), Cut> {
        let session = self.session(at)?;
        if matches!(session.standing, Standing::Busy | Standing::Held) {
            return Err(Cut::Fault(format!("{} has not come to the end of what it did before", session.name)));
        }
        session.by_hand |= matches!(order, Order::Begin);
        session.over &= !matches!(order, Order::Begin);
        session.ending = matches!(order, Order::Commit | Order::Rollback);
        session.label = label.to_owned();
        session.standing = Standing::Busy;
        session.actor.order(order);
        for of in [label, &session.name.clone()] {
            for key in ["waited", "refused", "failed"] {
                self.values.entry(format!("{of}.{key}")).or_insert(0);
            }
        }
        self.follow(at)
    }

    /// Follows a session until it ends, is held, or waits for another.
    fn follow(&mut self, at: usize) -> Result<(), Cut> {
        if !self.comes(at)? {
            self.set(at, "waited", 1)?;
            self.say(at, "waits");
        }
        Ok(())
    }

    /// Whether a session comes to its end, or is held, without waiting for another.
    fn comes(&mut self, at: usize) -> Result<bool, Cut> {
        let began = Instant::now();
        let limit = if self.watcher.is_some() || self.stage.in_process { SLOW } else { PATIENCE };
        loop {
            match self.look(at, LOOK)? {
                Sight::Came => return Ok(true),
                Sight::Waits => return Ok(false),
                Sight::Nothing => {}
            }
            let ask = began.elapsed() > 2 * LOOK && self.asked.is_none_or(|asked| asked.elapsed() > ASKED);
            if began.elapsed() > limit || (ask && self.waits(at)?) {
                return Ok(false);
            }
        }
    }

    /// Waits for a session's end.
    fn ended(&mut self, at: usize) -> Result<(), Cut> {
        let began = Instant::now();
        while self.session(at)?.standing == Standing::Busy {
            if began.elapsed() > END {
                let name = self.session(at)?.name.clone();
                return Err(Cut::Fault(format!("{name} did not come to its end within {} s", END.as_secs())));
            }
            self.look(at, LOOK)?;
        }
        Ok(())
    }

    /// Looks for a report of a session.
    fn look(&mut self, at: usize, within: Duration) -> Result<Sight, Cut> {
        if self.stage.stop.requested() {
            return Err(Cut::Stopped);
        }
        let Some(report) = self.session(at)?.actor.report(within)? else { return Ok(Sight::Nothing) };
        match report {
            Report::Waits => return Ok(Sight::Waits),
            Report::Held => {
                self.session(at)?.standing = Standing::Held;
                self.say(at, "is held open");
            }
            Report::Ended(done, refused) => self.done(at, done, refused)?,
            Report::Ready(_) | Report::Unopened(_) => {}
        }
        Ok(Sight::Came)
    }

    fn done(&mut self, at: usize, done: Result<Values, Failure>, refused: u32) -> Result<(), Cut> {
        if refused > 0 {
            self.add(at, "refused", refused.into())?;
            self.say(at, &format!("was refused {refused} times, and tried again"));
        }
        let session = self.session(at)?;
        let label = session.label.clone();
        match done {
            Ok(values) => {
                session.by_hand &= !session.ending;
                session.standing = if session.by_hand { Standing::ByHand } else { Standing::Idle };
                let told: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
                if !told.is_empty() {
                    self.say(at, &format!("sees {}", told.join(" ")));
                }
                self.values.extend(values.into_iter().map(|(name, value)| (format!("{label}.{name}"), value)));
            }
            Err(failure) => {
                (session.standing, session.by_hand, session.over) = (Standing::Idle, false, true);
                match failure {
                    Failure::Retry { ref detail, .. } => {
                        self.say(at, &format!("is refused: {detail}"));
                        self.add(at, "refused", 1)?;
                    }
                    Failure::Invalid(ref detail) => {
                        self.say(at, &format!("fails: {detail}"));
                        self.add(at, "failed", 1)?;
                    }
                    Failure::Disconnected { detail, .. } | Failure::Unreadable(detail) => {
                        return Err(Cut::Error(Error::Database(format!("a session of the tests was lost: {detail}"))));
                    }
                }
            }
        }
        Ok(())
    }

    fn names(&mut self, at: usize) -> Result<Vec<String>, Cut> {
        let session = self.session(at)?;
        let mut names = vec![session.name.clone(), session.label.clone()];
        names.dedup();
        Ok(names)
    }

    fn set(&mut self, at: usize, key: &str, value: i64) -> Result<(), Cut> {
        for name in self.names(at)? {
            self.values.insert(format!("{name}.{key}"), value);
        }
        Ok(())
    }

    fn add(&mut self, at: usize, key: &str, value: i64) -> Result<(), Cut> {
        for name in self.names(at)? {
            *self.values.entry(format!("{name}.{key}")).or_insert(0) += value;
        }
        Ok(())
    }

    fn say(&mut self, at: usize, what: &str) {
        let name = self.sessions.get(at).map(|session| session.name.clone()).unwrap_or_default();
        self.transcript.push(format!("    {name} {what}"));
    }

    /// Whether the database says that a session waits for a lock.
    fn waits(&mut self, at: usize) -> Result<bool, Cut> {
        let number = self.session(at)?.number;
        let (Some(watcher), Some(waits), Some(number)) = (&self.watcher, &self.stage.waits, number) else {
            return Ok(false);
        };
        self.asked = Some(Instant::now());
        watcher.order(Order::Own(Arc::clone(waits), vec![number]));
        match watcher.report(END)? {
            Some(Report::Ended(Ok(values), _)) => Ok(values.get("waits").is_some_and(|waits| *waits > 0)),
            _ => {
                // This user may not see who waits: patience has to do.
                self.watcher = None;
                Ok(false)
            }
        }
    }

    /// Lets all sessions go, and waits until what they held open is rolled back.
    fn dismiss(&mut self) {
        self.sessions.iter_mut().for_each(|session| session.actor.dismiss());
        self.watcher = None;
        let end = Instant::now() + FAREWELL;
        while self.sessions.iter().any(|session| !session.actor.is_gone()) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What the test comes to.
    fn judged(self, test: &Test, form: &str, fault: String) -> TestResult {
        let values = &self.values;
        let unmet = |checks: &[super::script::Check]| -> Vec<String> {
            checks.iter().filter(|check| !check.0.holds(values)).map(|check| check.0.told(values)).collect()
        };
        let always = unmet(&test.always);
        let way = test.ways.iter().find(|way| unmet(&way.when).is_empty());
        let held = fault.is_empty() && always.is_empty() && (test.ways.is_empty() || way.is_some());
        let mut found = Vec::new();
        found.extend(Some(fault).filter(|fault| !fault.is_empty()));
        found.extend(always);
        if way.is_none() {
            let ways = test.ways.iter().map(|way| format!("not by {}: {}", named(way.by), unmet(&way.when).join("; ")));
            found.extend(ways);
        }
        TestResult {
            id: test.id.clone(),
            title: test.title.clone(),
            form: form.to_owned(),
            state: if held { State::Held } else { State::Broken }.into(),
            by: way.filter(|_| held).map(|way| way.by.into()),
            clause: String::new(),
            case: way.filter(|_| held).and_then(|way| way.case.clone()),
            found: if held { Vec::new() } else { found },
            note: if held { String::new() } else { test.note.clone() },
            transcript: self.transcript,
        }
    }
}

/// Waits until a session is open.
fn opened(actor: &Actor) -> Result<Option<i64>, Error> {
    match actor.report(END)? {
        Some(Report::Ready(number)) => Ok(number),
        Some(Report::Unopened(error)) => Err(error),
        _ => Err(Error::Database(format!("a session could not be opened within {} s", END.as_secs()))),
    }
}

fn named(means: Means) -> String {
    Recorded::from(means).name()
}
