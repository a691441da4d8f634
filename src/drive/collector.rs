//! Merges the reports of the driver threads into one ordered stream of events.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::hosts::{self, Change, Counts, HostChange};
use super::ledger::Ledger;
use super::phases::PhaseTimes;
use super::{GRACE, Load, MARGIN, PAUSE, Report, Schedule, Stages, Stop, Totals};
use crate::measure::Interval;
use crate::measure::steady::RampUp;
use crate::result::{Event, Phase};
use crate::workload::Workload;

/// A run in progress.
pub(super) struct Running<'a> {
    /// Threads that execute transactions.
    pub(super) threads: u32,
    /// Other threads.
    pub(super) others: u32,
    pub(super) schedule: Schedule,
    pub(super) phases: &'a PhaseTimes,
    pub(super) stages: &'a Stages,
    pub(super) begin: Instant,
    /// One ledger for each thread that executes transactions.
    pub(super) ledgers: &'a [Ledger],
    /// The hosts of the URL, if there are several.
    pub(super) hosts: Vec<String>,
}

struct Collector<'a> {
    schedule: Schedule,
    phases: &'a PhaseTimes,
    /// Detects the end of a ramp-up that ends when the load is steady.
    ramp_up: Option<RampUp>,
    stages: &'a Stages,
    threads: u32,
    tell: &'a mut dyn FnMut(&Event),
    phase: Option<Phase>,
    /// Stages whose start has been reported.
    staged: usize,
    /// Seconds that some threads have not reported yet.
    open: BTreeMap<u32, (u32, Box<Interval>)>,
    /// Sessions without a connection, and since when.
    away: BTreeMap<u32, f64>,
    outage_began: Option<f64>,
    /// Sessions that connected to a host or left one.
    moves: Vec<HostChange>,
    of_hosts: Counts,
    totals: Totals,
}

/// Receives reports until all threads of a run have ended, or the wait for them times out; then it returns false.
pub(super) fn collect<W: Workload>(
    inbox: &Receiver<Report>,
    run: Running<'_>,
    stop: &Stop,
    tell: &mut dyn FnMut(&Event),
) -> (Totals, bool) {
    let Running { threads, others, schedule, phases, stages, begin, ledgers, hosts } = run;
    let none = vec![0; W::EFFECTS.len()];
    let totals = Totals { effects: none.clone(), ambiguous_effects: none, threads, ..Totals::default() };
    let mut collector = Collector {
        schedule,
        phases,
        ramp_up: schedule.settles.then(|| RampUp::new(schedule.load == Load::Paced, W::DEFERRED)),
        stages,
        threads,
        tell,
        phase: None,
        staged: 0,
        open: BTreeMap::new(),
        away: BTreeMap::new(),
        outage_began: None,
        moves: Vec::new(),
        of_hosts: Counts::new(hosts.len(), W::TRANSACTIONS.len()),
        totals,
    };
    let mut stopped_at = None;
    let mut running = threads + others;
    let mut last = Duration::MAX;
    loop {
        let whole = Duration::from_secs(u64::from(phases.seconds()) + u64::from(schedule.patience)) + MARGIN;
        if running == 0 || begin.elapsed() >= last.min(whole) {
            break;
        }
        let now = begin.elapsed().as_secs_f64();
        if stopped_at.is_none() && stop.requested() {
            stopped_at = Some(now);
            last = last.min(begin.elapsed() + GRACE + MARGIN);
        }
        if stopped_at.is_none() {
            collector.settle(now);
            collector.enter(now);
        }
        match inbox.recv_timeout(PAUSE) {
            Ok(Report::Measured(second, interval, deferred)) => {
                if !deferred.is_empty() {
                    collector.happened(Event::Delivered(deferred));
                }
                collector.measured(second, interval);
            }
            Ok(Report::Happened(event)) => collector.happened(event),
            Ok(Report::HostChanged(change)) => collector.moves.push(change),
            Ok(Report::Uncertain { traces, whole }) => collector.totals.uncertain.acknowledged(traces, whole),
            Ok(Report::Unknown(footprint)) => collector.totals.uncertain.unknown(footprint),
            Ok(Report::Ended) => running -= 1,
            Ok(Report::Ready(_)) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    for ledger in ledgers {
        let last = stopped_at.unwrap_or(f64::INFINITY);
        for (transaction, times) in ledger.under_way() {
            let [waited, served] = times.map(|from| phases.waited(Duration::from_micros(from).as_secs_f64(), last));
            // The user of a deferred transaction was answered when it was queued.
            let deferred = schedule.load == Load::Paced && W::DEFERRED == Some(transaction);
            let waited = waited.filter(|_| !deferred);
            let at = begin.elapsed().as_secs_f64();
            let name = W::TRANSACTIONS[transaction].to_owned();
            collector.happened(Event::CutOff { at, transaction: name, waited, served, under_way: true });
            collector.totals.abandoned += 1;
            collector.totals.ambiguous += 1;
            W::count_at_most(transaction, &mut collector.totals.ambiguous_effects);
        }
        collector.add(&ledger.totals());
    }
    let end = begin.elapsed().as_secs_f64();
    collector.totals.by_nodes = collector.of_hosts.by_nodes();
    collector.totals.hosts = hosts::totals(&hosts, &collector.of_hosts, std::mem::take(&mut collector.moves), end);
    collector.finish(end, stopped_at);
    (collector.totals, running == 0)
}

impl Collector<'_> {
    /// Ends a ramp-up of unknown length when the load is steady or its maximum is reached.
    fn settle(&mut self, now: f64) {
        let Some(ramp_up) = &self.ramp_up else { return };
        let steady = ramp_up.steady();
        if self.phases.is_open(now) && !steady {
            return;
        }
        let steady = steady && self.phases.is_open(now);
        let ramp_up_s = if steady { self.phases.settle(now) } else { self.phases.ramp_up() };
        let settled = ramp_up.found(steady, ramp_up_s, self.schedule.ramp_up);
        self.ramp_up = None;
        (self.tell)(&Event::Settled { at: now, seconds: self.phases.seconds(), settled });
    }

    /// Reports each phase and stage that has begun by now.
    fn enter(&mut self, now: f64) {
        let current = self.phases.phase_at(now);
        for (phase, from) in
            [(Phase::RampUp, 0), (Phase::Measurement, self.phases.ramp_up()), (Phase::WindDown, self.phases.seconds())]
        {
            let reached = phase as u8 <= current as u8;
            let new = self.phase.is_none_or(|last| phase as u8 > last as u8);
            let empty = phase == Phase::RampUp && self.phases.ramp_up() == 0;
            if reached && new && !empty {
                self.phase = Some(phase);
                if phase == Phase::WindDown {
                    self.enter_stages(now);
                }
                (self.tell)(&Event::PhaseBegan { at: f64::from(from), phase: phase.into() });
            }
        }
        self.enter_stages(now);
    }

    fn enter_stages(&mut self, now: f64) {
        while let Some(clients) = self.stages.clients().get(self.staged) {
            let at = f64::from(self.phases.ramp_up()) + self.staged as f64 * f64::from(self.stages.seconds());
            if at > now {
                return;
            }
            (self.tell)(&Event::StageBegan { at, stage: self.staged, clients: *clients });
            self.staged += 1;
        }
    }

    fn measured(&mut self, second: u32, interval: Box<Interval>) {
        match self.open.entry(second) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert((1, interval));
            }
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                let (threads, sum) = entry.get_mut();
                *threads += 1;
                sum.add(&interval);
            }
        }
        while let Some(first) = self.open.first_entry().filter(|first| first.get().0 == self.threads) {
            let (second, (_, interval)) = first.remove_entry();
            self.report_second(second, interval);
        }
    }

    fn report_second(&mut self, second: u32, interval: Box<Interval>) {
        let phase = self.phases.phase_at(f64::from(second));
        if let Some(ramp_up) = &mut self.ramp_up {
            ramp_up.second(&interval);
        }
        (self.tell)(&Event::Second { second, phase, interval });
    }

    fn happened(&mut self, event: Event) {
        match &event {
            Event::SessionLost { at, session, host, .. } => {
                self.host_changed(*at, host, Change::Lost);
                self.totals.lost += 1;
                self.away.insert(*session, *at);
                // A sleeping client does not know whether its connection is still open.
                let wanted = self.stages.wanted(*at, self.phases.ramp_up(), self.schedule.clients);
                let all_away =
                    self.away.len() >= wanted as usize && self.away.range(..wanted).count() == wanted as usize;
                if all_away && self.outage_began.is_none() {
                    self.outage_began = Some(*at);
                }
            }
            Event::SessionRestored { at, session, after, host } => {
                self.host_changed(*at, host, Change::Opened);
                self.totals.restored += 1;
                self.totals.longest_away = self.totals.longest_away.max(*after);
                self.away.remove(session);
                if let Some(began) = self.outage_began.take() {
                    self.totals.outages.push((began, at - began));
                }
            }
            Event::Sampled(sample) => {
                if let Some(ramp_up) = &mut self.ramp_up {
                    ramp_up.sampled(sample);
                }
            }
            _ => {}
        }
        (self.tell)(&event);
    }

    fn host_changed(&mut self, at: f64, host: &Option<String>, what: Change) {
        self.moves.extend(host.iter().map(|host| HostChange { at, host: host.clone(), what }));
    }

    fn add(&mut self, part: &super::totals::ThreadTotals) {
        let totals = &mut self.totals;
        totals.completed += part.completed;
        totals.ambiguous += part.ambiguous;
        totals.unreadable += part.unreadable;
        totals.unfinished += part.unfinished;
        self.of_hosts.add(&part.hosts);
        totals.trips.add(&part.trips);
        for (sum, count) in totals.effects.iter_mut().zip(&part.effects) {
            *sum += count;
        }
        for (sum, count) in totals.ambiguous_effects.iter_mut().zip(&part.ambiguous_effects) {
            *sum += count;
        }
        for (reason, count) in &part.retries {
            *totals.retries.entry(reason).or_default() += count;
        }
        for (why, count) in &part.errors {
            *totals.errors.entry(why.clone()).or_default() += count;
        }
    }

    fn finish(&mut self, end: f64, stopped_at: Option<f64>) {
        // Threads that had ended earlier did not report the last seconds.
        for (second, (_, interval)) in std::mem::take(&mut self.open) {
            self.report_second(second, interval);
        }
        if let Some(began) = self.outage_began.take() {
            self.totals.outages.push((began, end - began));
        }
        let longest = self.away.values().map(|since| end - since).fold(self.totals.longest_away, f64::max);
        self.totals.longest_away = longest;
        let full = f64::from(self.phases.seconds());
        let interrupted = stopped_at.is_some_and(|at| at < full);
        let last = stopped_at.map_or(full, |at| at.min(full));
        self.totals.interval_s = (last - f64::from(self.phases.ramp_up())).max(0.0);
        self.totals.ramp_up = self.phases.ramp_up();
        if !interrupted {
            self.enter(full);
        }
        (self.tell)(&Event::RunEnded { at: end, interrupted });
    }
}
