//! Works steps of which nobody knows beforehand who waits: what a session that waits would do next comes when it no
//! longer waits, and what it would do in a transaction that the database refused is left out.

use std::time::{Duration, Instant};

use super::{Cut, END, LOOK, PATIENCE, Scene, Sight, Stage, Standing};
use crate::acid::script::{Deed, Step};
use crate::acid::values::Values;
use crate::engine::Error;
use crate::result::acid::Means;

/// What steps came to.
pub(in crate::acid) struct Interleaved {
    /// Why they were not worked to their end; empty if they were.
    pub(in crate::acid) fault: String,
    pub(in crate::acid) values: Values,
    pub(in crate::acid) transcript: Vec<String>,
}

impl Interleaved {
    /// By what the database kept the sessions apart: by refusing one, else by having one wait, else by versions.
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

impl Stage<'_> {
    /// Works steps, and the last ones when all sessions have come to their end; none if someone asked to stop.
    ///
    /// # Errors
    /// If the database cannot be used.
    pub(in crate::acid) fn interleave(&self, steps: [&[Step]; 3]) -> Result<Option<Interleaved>, Error> {
        let mut scene = Scene::new(self, Values::new());
        let all = steps.into_iter().flatten();
        let worked = scene.open(all).and_then(|()| steps.into_iter().try_for_each(|steps| scene.interleaved(steps)));
        scene.dismiss();
        let fault = match worked {
            Ok(()) => String::new(),
            Err(Cut::Fault(why)) => why,
            Err(Cut::Stopped) => return Ok(None),
            Err(Cut::Error(error)) => return Err(error),
        };
        Ok(Some(Interleaved { fault, values: scene.values, transcript: scene.transcript }))
    }
}

impl Scene<'_> {
    /// Works steps until all sessions have come to their end.
    fn interleaved(&mut self, steps: &[Step]) -> Result<(), Cut> {
        for step in steps {
            let at = self.sessions.iter().position(|session| session.name == step.session);
            let at = at.ok_or_else(|| Cut::Fault(format!("`{}`: there is no such session", step.text)))?;
            if self.session(at)?.standing == Standing::Busy {
                self.look(at, Duration::ZERO)?;
            }
            self.session(at)?.backlog.push_back(step.clone());
            if self.catch_up(at)? {
                self.let_go()?;
            }
        }
        let began = Instant::now();
        while self.busy().next().is_some() {
            if began.elapsed() > END {
                return Err(Cut::Fault(format!("sessions wait for each other for more than {} s", END.as_secs())));
            }
            self.let_go()?;
        }
        Ok(())
    }

    /// Those who have not come to their end.
    fn busy(&self) -> impl Iterator<Item = usize> {
        let busy = |session: &super::Session| session.standing == Standing::Busy || !session.backlog.is_empty();
        (0..self.sessions.len()).filter(move |at| self.sessions.get(*at).is_some_and(busy))
    }

    /// Has a session do what it has before it, until it waits; whether it ended a transaction.
    fn catch_up(&mut self, at: usize) -> Result<bool, Cut> {
        let mut ended = false;
        while self.session(at)?.standing != Standing::Busy {
            let Some(step) = self.session(at)?.backlog.pop_front() else { break };
            if self.session(at)?.over && step.deed != Deed::Begins {
                continue;
            }
            let ends = matches!(step.deed, Deed::Commits | Deed::RollsBack);
            self.step(&step)?;
            let session = self.session(at)?;
            ended |= session.over || (ends && session.standing != Standing::Busy);
        }
        Ok(ended)
    }

    /// Sees to those who may wait no longer, for a transaction has ended.
    fn let_go(&mut self) -> Result<(), Cut> {
        let mut began = Instant::now();
        loop {
            let busy: Vec<usize> = self.busy().collect();
            if busy.is_empty() {
                return Ok(());
            }
            let mut came = false;
            for at in busy {
                if self.session(at)?.standing != Standing::Busy || self.goes_on(at)? {
                    self.catch_up(at)?;
                    came = true;
                }
            }
            // In this process the right to write is handed on at once, but nobody says whom it skips.
            if came {
                began = Instant::now();
            } else if !self.stage.in_process || began.elapsed() > PATIENCE {
                return Ok(());
            }
        }
    }

    /// Whether a session that waited came to the end of what it did.
    fn goes_on(&mut self, at: usize) -> Result<bool, Cut> {
        if self.stage.in_process { Ok(self.look(at, LOOK)? == Sight::Came) } else { self.comes(at) }
    }
}
