//! Measurements of one driver thread. No other thread touches them; once a second they are passed to the collector.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::hosts::{Change, Counts, HostChange};
use super::ledger::Ledger;
use super::phases::PhaseTimes;
use super::totals::ThreadTotals;
use super::{Load, Report, Schedule};
use crate::history::{Head, codec};
use crate::measure::{Deferred, Interval, Measured, note};
use crate::result::{Event, Phase};
use crate::workload::trace::Trace;
use crate::workload::{Outcome, Workload};

/// A requested transaction whose outcome is not known yet.
#[derive(Clone, Copy)]
pub(super) struct PendingTransaction {
    /// Its type.
    pub(super) transaction: usize,
    /// When the user meant to send it.
    pub(super) intended: Instant,
    /// When the session took it.
    pub(super) taken: Instant,
    /// Whether the user was answered when it was queued, and does not wait for it.
    pub(super) deferred: bool,
}

/// The times at which a transaction was meant to be sent, was taken by a session, and ended.
struct Times {
    intended: Instant,
    taken: Instant,
    now: Instant,
}

/// Failures of one thread that are reported individually; the rest is only counted.
const FAILURES_REPORTED: u64 = 20;

/// Commits that are remembered for each session of a thread, in case a connection is lost: more than one session
/// completes in a second.
const REMEMBERED: usize = 4_096;
/// The maximum of a thread, about 2 MiB.
const MOST_REMEMBERED: usize = 32_768;
/// How long before the loss of a connection commits are looked up: a database that does not wait for its disk may lose
/// them.
const LOOKED_UP: Duration = Duration::from_secs(1);
/// A wait from the ramp-up counts in the response times if this much of it lies in the interval. Shorter ones are those
/// of any transaction in progress at the start.
const LONG_WAIT: Duration = Duration::from_secs(1);

/// Initial capacity for the deferred transactions of one thread in a second.
const DEFERRED_ROOM: usize = 64;

/// Measurements that the tasks of a driver thread share.
pub(super) struct ThreadStats<'a> {
    schedule: Schedule,
    phases: &'a PhaseTimes,
    begin: Instant,
    reports: &'a mpsc::Sender<Report>,
    second: u32,
    pub(super) interval: Box<Interval>,
    pub(super) totals: ThreadTotals,
    /// Deferred transactions that were committed since the last hand-over.
    deferred: Vec<Deferred>,
    /// Recorded reads and writes of transactions since the last hand-over.
    history: Vec<u8>,
    failures: u64,
    /// The last commits, as a ring buffer; when it is full, `oldest` is the next position.
    recent: Vec<(Instant, Trace)>,
    oldest: usize,
    remembered: usize,
    /// Where other threads see the totals, even if this thread never returns.
    pub(super) ledger: &'a Ledger,
}

impl<'a> ThreadStats<'a> {
    pub(super) fn new<W: Workload>(
        schedule: Schedule,
        (phases, begin): (&'a PhaseTimes, Instant),
        reports: &'a mpsc::Sender<Report>,
        ledger: &'a Ledger,
        (sessions, hosts): (usize, usize),
    ) -> Self {
        let remembered = REMEMBERED.saturating_mul(sessions.max(1)).min(MOST_REMEMBERED);
        let effects = vec![0; W::EFFECTS.len()];
        ThreadStats {
            schedule,
            phases,
            begin,
            reports,
            second: 0,
            interval: Box::new(Interval::new(W::TRANSACTIONS.len(), W::TALLIES.len())),
            totals: ThreadTotals {
                ambiguous_effects: effects.clone(),
                effects,
                hosts: Counts::new(hosts, W::TRANSACTIONS.len()),
                ..ThreadTotals::default()
            },
            deferred: room_for_deferred::<W>(schedule.load),
            history: Vec::new(),
            failures: 0,
            recent: Vec::with_capacity(remembered),
            remembered,
            oldest: 0,
            ledger,
        }
    }

    /// Seconds since the run's start.
    pub(super) fn at(&self, now: Instant) -> f64 {
        now.duration_since(self.begin).as_secs_f64()
    }

    /// The end of the current second.
    pub(super) fn next_turn(&self) -> Instant {
        self.begin + Duration::from_secs(u64::from(self.second) + 1)
    }

    pub(super) fn tell(&self, event: Event) {
        // The collector outlives all threads; if it is gone, the run is over.
        let _ = self.reports.send(Report::Happened(event));
    }

    /// The connection of a session to a host changed, without an event that tells it.
    pub(super) fn host_changed(&self, at: Instant, host: Option<String>, what: Change) {
        if let Some(host) = host {
            let _ = self.reports.send(Report::HostChanged(HostChange { at: self.at(at), host, what }));
        }
    }

    /// Hands over every second that has passed.
    pub(super) fn turn(&mut self, now: Instant) {
        let current = now.duration_since(self.begin).as_secs() as u32;
        while self.second < current {
            self.hand_over();
            self.second += 1;
        }
    }

    fn hand_over(&mut self) {
        let empty = Interval::new(self.interval.transactions.len(), self.interval.tallies.len());
        let measured = std::mem::replace(&mut self.interval, Box::new(empty));
        // Twice the capacity that was needed, so that a second seldom allocates.
        let room = self.deferred.capacity().min(DEFERRED_ROOM).max(2 * self.deferred.len());
        let deferred = std::mem::replace(&mut self.deferred, Vec::with_capacity(room));
        let _ = self.reports.send(Report::Measured(self.second, measured, deferred));
        if !self.history.is_empty() {
            let room = Vec::with_capacity(self.history.capacity());
            let kept = std::mem::replace(&mut self.history, room);
            self.tell(Event::History(kept));
        }
        self.ledger.copy(&self.totals);
    }

    /// Whether reads and writes of transactions are recorded.
    pub(super) fn keeps(&self) -> bool {
        self.schedule.history > 0
    }

    /// Records the reads and writes of a transaction, sent at `taken`, on the sampled keys.
    pub(super) fn keep<W: Workload>(&mut self, session: u32, input: &W::Input, output: &W::Output, taken: Instant) {
        let mut accesses = W::accesses(input, output);
        accesses.retain(|access| chosen(access.key, self.schedule.history));
        if accesses.is_empty() {
            return;
        }
        let (began, ended) = (micros(self.begin, taken), micros(self.begin, Instant::now()));
        // Times are truncated to microseconds: an answer and a request in the same microsecond overlap.
        let head = Head { session, began, ended: ended + 1, committed: W::outcome(output) != Outcome::RolledBack };
        codec::encode(&mut self.history, &head, &accesses);
    }

    /// Hands over the rest at the end.
    pub(super) fn close(&mut self) {
        self.turn(Instant::now());
        self.hand_over();
    }

    /// Remembers how to find a commit, in place of the oldest one.
    fn remember<W: Workload>(&mut self, input: &W::Input, output: &W::Output, now: Instant) {
        let Some(trace) = W::trace(input, output) else { return };
        if self.recent.len() < self.remembered {
            self.recent.push((now, trace));
        } else {
            self.recent[self.oldest] = (now, trace);
            self.oldest = (self.oldest + 1) % self.remembered;
        }
    }

    /// A connection was lost: the last acknowledged commits are to be looked up. The second is counted back from the
    /// last commit, because a hanging server is noticed late.
    pub(super) fn connection_lost(&mut self) {
        let Some(last) = self.recent.iter().map(|(at, _)| *at).max() else { return };
        let late = |at: Instant| last.saturating_duration_since(at) <= LOOKED_UP;
        let whole = self.recent.len() < self.remembered || self.recent.iter().any(|(at, _)| !late(*at));
        let traces = self.recent.drain(..).filter(|(at, _)| late(*at)).map(|(_, trace)| trace).collect();
        self.oldest = 0;
        let _ = self.reports.send(Report::Uncertain { traces, whole });
    }

    /// A session of the thread, counted from 0 within it, sends a transaction.
    pub(super) fn sent(&self, session: usize, asked: PendingTransaction) {
        let [intended, taken] = [asked.intended, asked.taken].map(|at| micros(self.begin, at));
        self.ledger.sent(session, asked.transaction, [intended, taken]);
    }

    /// A transaction completed while its user waited. `intended` is when the user meant to send it, `taken` when the
    /// session took it.
    pub(super) fn completed<W: Workload>(
        &mut self,
        input: &W::Input,
        output: &W::Output,
        intended: Instant,
        taken: Instant,
        now: Instant,
    ) {
        let same_phase = self.same_phase(intended, now);
        self.finished::<W>(input, output, Times { intended, taken, now }, same_phase, same_phase);
        if !same_phase {
            self.late(W::transaction(input), Times { intended, taken, now }, true);
        }
    }

    /// A transaction of an open loop completed. Throughput counts what was completed in a phase, so that a backlog from
    /// before does not lower it. Response times count what was due in the phase. What ends after the interval is
    /// reported by [`ThreadStats::cut_off`].
    pub(super) fn completed_of_open_loop<W: Workload>(
        &mut self,
        input: &W::Input,
        output: &W::Output,
        asked: PendingTransaction,
        now: Instant,
    ) {
        let PendingTransaction { intended, taken, .. } = asked;
        let timed = self.same_phase(intended, now);
        self.finished::<W>(input, output, Times { intended, taken, now }, timed, true);
        if !timed && self.phases.phase_at(self.at(now)) != Phase::WindDown {
            self.late(asked.transaction, Times { intended, taken, now }, true);
        }
    }

    /// Counts a completed transaction; returns whether its times and its result count in the phase.
    #[inline]
    fn finished<W: Workload>(
        &mut self,
        input: &W::Input,
        output: &W::Output,
        Times { intended, taken, now }: Times,
        timed: bool,
        counted: bool,
    ) {
        self.turn(now);
        self.tenth(now);
        self.totals.completed += 1;
        W::count(output, &mut self.totals.effects);
        self.ledger.count(&self.totals);
        self.remember::<W>(input, output, now);
        let measured = &mut self.interval.transactions[W::transaction(input)];
        measured.completed += 1;
        if timed {
            note(&mut measured.response, micros(intended, now));
            note(&mut measured.service, micros(taken, now));
        }
        if counted {
            measured.counted += 1;
            measured.rolled_back += u64::from(W::outcome(output) == Outcome::RolledBack);
            W::tally(input, output, &mut self.interval.tallies);
        }
    }

    /// A transaction that counts as failed because of its result, although it was committed.
    pub(super) fn committed_but_failed<W: Workload>(&mut self, output: &W::Output) {
        W::count(output, &mut self.totals.effects);
        self.ledger.count(&self.totals);
    }

    /// A deferred transaction was queued at `intended`, and its user was answered at `now`.
    pub(super) fn queued_deferred(&mut self, transaction: usize, intended: Instant, now: Instant) {
        let same_phase = self.same_phase(intended, now);
        let measured = &mut self.interval.transactions[transaction];
        measured.completed += 1;
        if same_phase {
            note(&mut measured.response, micros(intended, now));
            measured.counted += 1;
        }
    }

    /// A deferred transaction ended; its user was answered when it was queued.
    pub(super) fn completed_deferred<W: Workload>(
        &mut self,
        input: &W::Input,
        output: &W::Output,
        queued: Instant,
        taken: Instant,
        now: Instant,
    ) {
        self.turn(now);
        self.tenth(now);
        self.totals.completed += 1;
        W::count(output, &mut self.totals.effects);
        self.ledger.count(&self.totals);
        self.remember::<W>(input, output, now);
        self.interval.pacing().deferred_done += 1;
        let (from, to) = (micros(self.begin, queued), micros(self.begin, now));
        self.deferred.extend(W::delivered(input, output).map(|delivered| Deferred {
            queued: from,
            completed: to,
            delivered,
        }));
        if self.same_phase(queued, now) {
            note(&mut self.interval.transactions[W::transaction(input)].service, micros(taken, now));
            note(&mut self.interval.pacing().deferred, micros(queued, now));
            W::tally(input, output, &mut self.interval.tallies);
        } else {
            self.late(W::transaction(input), Times { intended: queued, taken, now }, false);
        }
    }

    /// A transaction ended in another phase than it began in. What ends after the measurement interval is counted
    /// separately, with how long it was waited for in the interval. A long wait that began in the ramp-up counts in the
    /// response and service times, with its part in the interval, if a user waited: it may be an outage or a lock.
    fn late(&mut self, transaction: usize, Times { intended, taken, now }: Times, user_waits: bool) {
        let [intended, taken, now] = [intended, taken, now].map(|moment| self.at(moment));
        let within = |from| Duration::from_secs_f64(self.phases.within_interval(from, now));
        let (waited, served) = (within(intended), within(taken));
        let measured = &mut self.interval.transactions[transaction];
        match self.phases.phase_at(now) {
            Phase::WindDown => measured.late.note(waited.as_micros() as u64),
            Phase::Measurement if user_waits && waited >= LONG_WAIT => {
                note(&mut measured.response, waited.as_micros() as u64);
                note(&mut measured.service, served.as_micros() as u64);
            }
            Phase::Measurement | Phase::RampUp => {}
        }
    }

    /// Counts a transaction completed in the current second.
    fn tenth(&mut self, now: Instant) {
        if !self.schedule.tenths {
            return;
        }
        let tenth = now.duration_since(self.begin).subsec_millis() as usize / 100;
        if let Some(count) = self.interval.tenths.get_or_insert_default().get_mut(tenth) {
            *count += 1;
        }
    }

    fn same_phase(&self, one: Instant, other: Instant) -> bool {
        self.phases.phase_at(self.at(one)) == self.phases.phase_at(self.at(other))
    }

    /// Reports the screen of a terminal's user, if this terminal is shown.
    pub(super) fn show<W: Workload>(&self, terminal: u32, input: &W::Input, output: Option<&W::Output>) {
        if self.schedule.shown == Some(terminal) {
            self.tell(Event::Screen { at: self.at(Instant::now()), screen: W::screen(input, output) });
        }
    }

    /// A transaction failed, and its user was informed at `ended`.
    pub(super) fn failed<W: Workload>(&mut self, asked: PendingTransaction, ended: Instant, why: String) {
        self.failed_response(asked, ended).errors += 1;
        self.failures += 1;
        *self.totals.errors.entry(why.clone()).or_default() += 1;
        if self.failures <= FAILURES_REPORTED {
            let transaction = W::TRANSACTIONS[asked.transaction].to_owned();
            self.tell(Event::TransactionFailed { at: self.at(Instant::now()), transaction, why });
        }
    }

    /// The connection was lost during a commit: the user was informed at `ended` that its outcome is unknown.
    pub(super) fn unknown<W: Workload>(&mut self, input: &W::Input, asked: PendingTransaction, ended: Instant) {
        self.failed_response(asked, ended).unknown += 1;
        self.uncertain::<W>(input);
    }

    /// A transaction may have been committed, but its reply is not as expected: it failed for its user, and its effects
    /// are uncertain.
    pub(super) fn unreadable<W: Workload>(
        &mut self,
        input: &W::Input,
        asked: PendingTransaction,
        ended: Instant,
        why: String,
    ) {
        self.failed_response(asked, ended).errors += 1;
        *self.totals.errors.entry(why).or_default() += 1;
        self.totals.unreadable += 1;
        self.uncertain::<W>(input);
    }

    /// It is unknown whether a transaction was committed.
    fn uncertain<W: Workload>(&mut self, input: &W::Input) {
        self.totals.ambiguous += 1;
        W::count_at_most(W::transaction(input), &mut self.totals.ambiguous_effects);
        let _ = self.reports.send(Report::Unknown(W::footprint(input)));
        self.ledger.copy(&self.totals);
    }

    /// The user of a failed transaction waited for an answer, too: the wait counts in the response times, otherwise
    /// failures would make a database look faster.
    fn failed_response(&mut self, asked: PendingTransaction, ended: Instant) -> &mut Measured {
        self.turn(ended);
        let same_phase = self.same_phase(asked.intended, ended);
        if !same_phase {
            let PendingTransaction { transaction, intended, taken, deferred } = asked;
            self.late(transaction, Times { intended, taken, now: ended }, !deferred);
        }
        let measured = &mut self.interval.transactions[asked.transaction];
        if same_phase {
            note(&mut measured.service, micros(asked.taken, ended));
            if !asked.deferred {
                note(&mut measured.response, micros(asked.intended, ended));
            }
        }
        measured
    }

    /// The run ended while a user still waited for an unreachable database. The seconds of the interval have been
    /// handed over by then, so it is reported as an event.
    pub(super) fn cut_off<W: Workload>(&self, asked: PendingTransaction, now: Instant) {
        let from = |start| self.phases.waited(self.at(start), self.at(now));
        let (waited, served) = (from(asked.intended).filter(|_| !asked.deferred), from(asked.taken));
        let transaction = W::TRANSACTIONS[asked.transaction].to_owned();
        self.tell(Event::CutOff { at: self.at(now), transaction, waited, served, under_way: false });
    }

    /// Counts a retry.
    pub(super) fn retried(&mut self, transaction: usize, reason: &'static str) {
        self.interval.transactions[transaction].retries += 1;
        *self.totals.retries.entry(reason).or_default() += 1;
    }
}

/// Whether a key is in the sample of `of_a_million` keys per million, which is the same in each thread and run.
fn chosen(key: u64, of_a_million: u32) -> bool {
    let mixed = (key ^ (key >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 32) * 1_000_000) >> 32 < u64::from(of_a_million)
}

/// A buffer for the deferred transactions of a second; empty if the workload defers nothing.
fn room_for_deferred<W: Workload>(load: Load) -> Vec<Deferred> {
    let any = load == Load::Paced && W::DEFERRED.is_some();
    Vec::with_capacity(if any { DEFERRED_ROOM } else { 0 })
}

/// The time between two moments in microseconds.
pub(super) fn micros(from: Instant, to: Instant) -> u64 {
    to.saturating_duration_since(from).as_micros() as u64
}
