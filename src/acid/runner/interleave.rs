//! Runs steps of which it is not known in advance which session waits: the next steps of a waiting session are executed
//! when it no longer waits, and the steps of a transaction that the database has aborted are skipped.

use std::time::{Duration, Instant};

use super::{
    Abort, POLL_INTERVAL, Progress, RELEASE_TIMEOUT, SLOW_TIMEOUT, SessionState, TestRun, TestRunner, WAIT_TIMEOUT,
    WaitQuery,
};
use crate::acid::script::{Action, Step};
use crate::acid::values::Values;
use crate::engine::Error;
use crate::result::acid::Means;

/// The result of the steps.
pub(in crate::acid) struct InterleavedRun {
    /// Why not all steps could be executed; empty if they could.
    pub(in crate::acid) fault: String,
    pub(in crate::acid) values: Values,
    pub(in crate::acid) transcript: Vec<String>,
}

impl InterleavedRun {
    /// How the database isolated the sessions: by an abort, otherwise by waiting, otherwise by versions.
    pub(in crate::acid) fn means(&self) -> Means {
        let any = |key: &str| self.values.iter().any(|(name, value)| name.ends_with(key) && *value > 0);
        if any(".refused") {
            Means::Abort
        } else if any(".waited") {
            Means::Waiting
        } else {
            Means::Version
        }
    }
}

impl TestRunner<'_> {
    /// Runs three groups of steps, each after all sessions have finished the previous one; none if the user asked to
    /// stop.
    ///
    /// # Errors
    /// If the database cannot be used.
    pub(in crate::acid) fn interleave(&self, steps: [&[Step]; 3]) -> Result<Option<InterleavedRun>, Error> {
        let mut run = TestRun::new(self, Values::new());
        let all = steps.into_iter().flatten();
        let result = run.open_all(all).and_then(|()| steps.into_iter().try_for_each(|steps| run.interleaved(steps)));
        let fault = match run.close(result) {
            Ok(()) => String::new(),
            Err(Abort::Fault(why)) => why,
            Err(Abort::Stopped) => return Ok(None),
            Err(Abort::Error(error)) => return Err(error),
        };
        Ok(Some(InterleavedRun { fault, values: run.values, transcript: run.transcript }))
    }
}

impl TestRun<'_> {
    /// Runs steps until all sessions have finished.
    fn interleaved(&mut self, steps: &[Step]) -> Result<(), Abort> {
        for step in steps {
            let at = self.sessions.iter().position(|session| session.name == step.session);
            let at = at.ok_or_else(|| Abort::Fault(format!("`{}`: there is no such session", step.text)))?;
            if self.session(at)?.state == SessionState::Busy {
                self.poll(at, Duration::ZERO)?;
            }
            self.session(at)?.backlog.push_back(step.clone());
            if self.run_backlog(at)? {
                self.continue_waiting()?;
            }
        }
        let began = Instant::now();
        while self.busy().next().is_some() {
            if began.elapsed() > self.runner.limit {
                let seconds = self.runner.limit.as_secs();
                return Err(Abort::Fault(format!("sessions wait for each other for more than {seconds} s")));
            }
            self.continue_waiting()?;
        }
        Ok(())
    }

    /// The sessions that have not finished.
    fn busy(&self) -> impl Iterator<Item = usize> {
        let busy = |session: &super::Session| session.state == SessionState::Busy || !session.backlog.is_empty();
        (0..self.sessions.len()).filter(move |at| self.sessions.get(*at).is_some_and(busy))
    }

    /// Executes the backlog of a session until it waits. Whether a transaction ended.
    fn run_backlog(&mut self, at: usize) -> Result<bool, Abort> {
        let mut ended = false;
        while self.session(at)?.state != SessionState::Busy {
            let Some(step) = self.session(at)?.backlog.pop_front() else { break };
            if self.session(at)?.aborted && step.action != Action::Begin {
                continue;
            }
            let ends = matches!(step.action, Action::Commit | Action::Rollback);
            self.step(&step)?;
            let session = self.session(at)?;
            ended |= session.aborted || (ends && session.state != SessionState::Busy);
        }
        Ok(ended)
    }

    /// Continues sessions that may no longer wait, because a transaction has ended.
    fn continue_waiting(&mut self) -> Result<(), Abort> {
        let mut began = Instant::now();
        loop {
            let busy: Vec<usize> = self.busy().collect();
            if busy.is_empty() {
                return Ok(());
            }
            let mut came = false;
            for at in busy {
                if self.session(at)?.state != SessionState::Busy || self.has_continued(at)? {
                    self.run_backlog(at)?;
                    came = true;
                }
            }
            // In this process the next session gets the right to write at once, but none reports that it still waits.
            if came {
                began = Instant::now();
            } else if !self.runner.in_process || began.elapsed() > WAIT_TIMEOUT {
                return Ok(());
            }
        }
    }

    /// Whether the request of a session that was waiting has ended.
    fn has_continued(&mut self, at: usize) -> Result<bool, Abort> {
        match (&self.runner.waits, &self.watcher) {
            _ if self.runner.in_process => Ok(self.poll(at, POLL_INTERVAL)? == Progress::Done),
            (Some(WaitQuery::OfSession(_)), Some(_)) => self.finishes_without_waiting(at, SLOW_TIMEOUT),
            _ => self.finishes_without_waiting(at, RELEASE_TIMEOUT),
        }
    }
}
