//! Executes the search: alternating runs, and the record.

use std::time::{Duration, Instant};

use super::super::Ended;
use super::super::alternating::{AlternatingRuns, Side, Turn};
use super::ExtraOptions;
use crate::engine::{Error, ErrorKind};
use crate::plan::SCALE;
use crate::record::{Brief, Record, RecordWriter, environment, writer};
use crate::report;
use crate::report::tune as tune_report;
use crate::result::Environment;
use crate::result::format::{Label, Status, file};
use crate::result::summary::Summary;
use crate::result::tune::{Candidate, Decision, Fate, Tuned};
use crate::study::compare::{SHORTEST, gate};
use crate::study::tune::candidates::leave_out;
use crate::study::tune::outcome::{self, SearchContext};
use crate::study::tune::{Arm, FEWEST_PAIRS, Race, Ran, Runs, START, runs_of_race};

/// Maximum number of fresh pairs: more add little precision.
const MOST_PAIRS: u32 = 20;

/// A running search.
pub(super) struct Tries {
    turns: AlternatingRuns,
    asked: ExtraOptions,
    began: Instant,
    record: Option<RecordWriter>,
    context: SearchContext,
    /// The summary of the start, from the run before the race.
    start: Option<Summary>,
    environment: Option<Environment>,
    took: Duration,
    /// Whether a run of the start failed a check.
    failed: bool,
    /// The first write error.
    unwritten: Option<Error>,
}

impl Tries {
    /// Begins the record.
    pub(super) fn new(
        turns: AlternatingRuns,
        asked: ExtraOptions,
        began: Instant,
        label: &Label,
    ) -> Result<Tries, Error> {
        let plan = &turns.plan;
        let workload = plan.workload.unwrap_or_default().about().name;
        let mut record = RecordWriter::create(&turns.out, "tune", workload, &[])?;
        record.label(label)?;
        record.put_text(file::PLAN, &plan.to_toml()?)?;
        let context = SearchContext {
            workload: workload.to_owned(),
            scheme: turns.origin.url().scheme().to_owned(),
            scale: plan.scale.unwrap_or(SCALE),
            interval_s: plan.duration.unwrap_or_default(),
            allow_loss: asked.allow_loss,
            runs: 0,
            disturbed_runs: 0,
            start_failures: Vec::new(),
            run: None,
        };
        Ok(Tries {
            turns,
            asked,
            began,
            record: Some(record),
            context,
            start: None,
            environment: None,
            took: Duration::ZERO,
            failed: false,
            unwritten: None,
        })
    }

    /// Executes the search; the result is `None` if it was stopped before there was any.
    pub(super) fn all(mut self, candidates: Vec<Candidate>) -> Result<(Option<Tuned>, Ended), Error> {
        let mut race = Race::new(Vec::new());
        let searched = self.search(candidates, &mut race);
        let removed = self.turns.remove();
        let record = self.record.take();
        if searched.is_err() || race.candidates.is_empty() {
            if let Some(record) = record {
                self.put(&race);
                abandon(record, !race.starts.is_empty());
            }
            return searched.and(removed).map(|()| (None, Ended::Interrupted));
        }
        removed?;
        let tuned = self.put(&race);
        self.unwritten.map_or(Ok(()), Err)?;
        let (status, ended) = match race.decision {
            Decision::Undecided => (Status::Partial, Ended::Interrupted),
            _ if self.failed => (Status::Complete, Ended::Failed),
            _ => (Status::Complete, Ended::Held),
        };
        if let Some(record) = record {
            record.finish(status)?;
        }
        report::write(&self.turns.out)?;
        tell!("tune: the record is in {}, with those of its runs", self.turns.out.display());
        Ok((Some(tuned), ended))
    }

    fn search(&mut self, mut candidates: Vec<Candidate>, race: &mut Race) -> Result<(), Error> {
        if !self.turns.load()? || !self.trial()? {
            return Ok(());
        }
        let settings = self.environment.as_ref().map(|found| found.settings.clone()).unwrap_or_default();
        leave_out(&mut candidates, &self.asked.only, self.asked.allow_loss, &settings).map_err(Error::Usage)?;
        self.fit(candidates.iter().filter(|candidate| candidate.fate == Fate::InTheRace).count());
        *race = Race::new(candidates);
        race.run(self)
    }

    /// A run of the start that is not counted, to determine its settings and the duration of a run. `false` if
    /// stopped.
    fn trial(&mut self) -> Result<bool, Error> {
        tell!("tune: a run of the start, to measure its duration");
        let start = Arm { name: START.to_owned(), settings: Default::default() };
        if self.run(&start, 0)? == Ran::Stopped {
            return Ok(false);
        }
        let brief = Brief::open(&self.turns.record(START, 0))?;
        if let Some(summary) = &brief.summary {
            self.context.run = Some((summary.engine.clone(), summary.clients));
        }
        let found = Environment {
            engine: brief.summary.as_ref().map(|summary| summary.engine.clone()),
            ..brief.environment.unwrap_or_else(|| environment::of_host(None))
        };
        if let Some(record) = &self.record {
            record.put_json(file::ENVIRONMENT, &found)?;
        }
        (self.start, self.environment) = (brief.summary, Some(found));
        Ok(true)
    }

    /// Sets the length of runs from the budget and the measured duration of a run.
    fn fit(&mut self, candidates: usize) {
        let left = self.left().as_secs_f64();
        let plan = &mut self.turns.plan;
        if self.asked.fixed {
            return;
        }
        let ramp_up = f64::from(plan.longest_ramp_up());
        let beside = self.took.as_secs_f64() - f64::from(plan.duration.unwrap_or_default());
        let runs = runs_of_race(candidates) + 2 * self.asked.pairs.unwrap_or(super::PAIRS);
        let each = left / f64::from(runs.max(1));
        let length = (each - beside.max(ramp_up)).max(SHORTEST as f64) as u32;
        if f64::from(length) + beside > 1.2 * each {
            let minutes = f64::from(runs) * (f64::from(length) + beside) / 60.0;
            tell!(
                "graymark: warning: a run takes {beside:.0} s beside its interval: this will take about {minutes:.0} \
                 min more"
            );
        }
        plan.duration = Some(length);
        self.context.interval_s = length;
        tell!("tune: about {runs} runs of {length} s follow");
    }

    fn left(&self) -> Duration {
        self.asked.budget.saturating_sub(self.began.elapsed())
    }

    /// Writes the results so far. An error is stored.
    fn put(&mut self, race: &Race) -> Tuned {
        let tuned = outcome::of(race, &self.context, self.began.elapsed().as_secs_f64() / 60.0);
        let directory = &self.turns.out;
        let json = serde_json::to_string_pretty(&tuned).unwrap_or_default() + "\n";
        let written = writer::put(directory, file::TUNE, json.as_bytes());
        let written = written.and_then(|()| match tune_report::settings_file(&tuned) {
            Some(text) => writer::put(directory, file::TUNED, text.as_bytes()),
            None => Ok(()),
        });
        if let Err(error) = written {
            self.unwritten.get_or_insert(error.into());
        }
        tuned
    }

    /// Why a finished run does not count; `None` if it does.
    fn bad(&self, summary: &Summary, failed: bool) -> Option<String> {
        let risk = self.start.as_ref().filter(|_| !self.asked.allow_loss);
        if let Some(risk) = risk.and_then(|start| outcome::new_risk(start, summary)) {
            return Some(format!("it may lose commits: {risk}; --allow-loss includes it"));
        }
        failed.then(|| "transactions failed, or a check failed".to_owned())
    }
}

/// Keeps the results of finished runs.
fn abandon(record: RecordWriter, keep: bool) {
    if keep {
        // The error that ended the search is reported, not this one.
        let _ = record.finish(Status::Partial);
    } else {
        record.abandon();
    }
}

impl Runs for Tries {
    type Error = Error;

    fn run(&mut self, arm: &Arm, round: u32) -> Result<Ran, Error> {
        let began = Instant::now();
        let of_start = arm.name == START;
        if round > 0 {
            tell!("tune: round {round}, {}", arm.name);
        }
        let side =
            Side { name: arm.name.clone(), settings: arm.settings.clone().into_iter().collect(), ..Side::default() };
        let failed = match self.turns.run(&side, round) {
            Ok(Turn::Stopped) => return Ok(Ran::Stopped),
            Ok(Turn::Done { failed }) => failed,
            // A server that does not start, or a setting that it does not have.
            Err(error) if !of_start && error.kind() != ErrorKind::Output => return Ok(Ran::Failed(error.to_string())),
            Err(error) => return Err(error),
        };
        self.took += began.elapsed();
        self.context.runs += 1;
        let summary = Brief::open(&self.turns.record(&arm.name, round))?.summary;
        let strangers = summary.as_ref().and_then(|summary| summary.strangers.as_ref());
        self.context.disturbed_runs += u32::from(strangers.is_some_and(|strangers| !strangers.beyond().is_empty()));
        let figure = summary.as_ref().map(|summary| summary.transactions_per_second).filter(|figure| *figure > 0.0);
        let (Some(summary), Some(figure)) = (summary, figure) else {
            let why = "no transaction completed".to_owned();
            return if of_start { Err(Error::Usage(format!("{why} with the start"))) } else { Ok(Ran::Failed(why)) };
        };
        if of_start && failed {
            self.failed = true;
            let record = Record::open(&self.turns.record(&arm.name, round))?;
            self.context.start_failures.extend(gate::failures(&[record]));
        }
        if of_start {
            return Ok(Ran::Figure(figure));
        }
        Ok(self.bad(&summary, failed).map_or(Ran::Figure(figure), Ran::Failed))
    }

    fn pairs(&mut self) -> u32 {
        let pair = 2.0 * self.took.as_secs_f64() / f64::from(self.context.runs.max(1));
        let fit = (self.left().as_secs_f64() / pair) as u32;
        let pairs = self.asked.pairs.unwrap_or(fit.clamp(FEWEST_PAIRS, MOST_PAIRS));
        tell!("tune: {pairs} fresh pairs of runs of the start and of the leader decide");
        pairs
    }

    fn known(&mut self, race: &Race) {
        let tuned = self.put(race);
        let of = |one: &Candidate| Some(format!("{} {:+.1} %", one.name, one.gain?.percent));
        let fresh = tuned.confirmation.as_ref().and_then(|fresh| fresh.gain);
        let gains: Vec<String> = match fresh {
            Some(gain) => vec![format!("fresh runs {:+.1} %", gain.percent)],
            None => tuned.candidates.iter().filter(|one| one.fate == Fate::InTheRace).filter_map(of).collect(),
        };
        if !gains.is_empty() {
            tell!("tune: rung {}: {}", race.rung, gains.join(", "));
        }
    }
}
