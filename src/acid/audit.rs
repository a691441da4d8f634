//! One crash after the other: load, kill, power cut or loss of a medium, recovery, audit.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::Work;
use super::crash::{
    Audit, BEFORE_CUT, BEFORE_KILL, EXAMPLES, MAX_REFUSAL, MAX_THROUGHPUT_RECOVERY, Success, first, success_file,
    times, until_the_crash,
};
use super::load::Clients;
use super::media::Loss;
use super::power::Cut;
use super::session_factory::{SessionSetup, setup};
use crate::drive::LoadTarget;
use crate::engine::seed::Depth;
use crate::engine::{Engine, Error};
use crate::plan::Defaults;
use crate::record::RecordWriter;
use crate::result::Isolation;
use crate::result::acid::Crash;
use crate::run::requests::Requests;
use crate::workload::Workload;
use crate::workload::stream::Source;
use crate::workload::trace::Trace;

/// Topic of the random numbers that choose the moment of a crash and what a power cut loses.
const TOPIC: u64 = 0xdead;

/// The state of the database after a crash.
#[derive(Default)]
struct Found {
    audit: Audit,
    /// New-Orders that the database counts beyond those from before the load.
    grown: i64,
    /// Conditions that failed.
    failed: Vec<String>,
}

/// How the server was crashed and restarted.
struct Down {
    /// When it was crashed, since the start of the load.
    at: Duration,
    /// How long it was down.
    away: Duration,
    /// Why the database cannot be used any more; empty if it can.
    unusable: String,
    /// The kind of crash.
    by: By,
}

/// The kind of a crash.
enum By {
    /// A kill, or the program of the user.
    Kill,
    /// A power cut.
    Power(Cut),
    /// A kill with the loss of a medium.
    Media(Loss),
}

impl<W: Workload> Work<'_, W> {
    /// Crashes the server once under load, and audits it; none if the user asked to stop.
    pub(super) fn crash(
        &mut self,
        requests: &Requests<W>,
        record: &RecordWriter,
        seed: u64,
        number: u32,
    ) -> Result<Option<Crash>, Error> {
        let mut draw = Source::new(seed, TOPIC).stream(number.into());
        let backed_up = self.prepare()?;
        let Some(before) = effects(requests)? else { return Ok(None) };
        let (path, clients) = self.load(record, seed, number)?;
        let stop = self.tests.stop.clone();
        let stopped = || stop.requested();
        let span = if self.tests.power.is_some() { BEFORE_CUT } else { BEFORE_KILL };
        if !until_the_crash(&clients, span, f64::from(draw.within(0, 1_000)) / 1e3, &stopped) {
            clients.end()?;
            return Ok(None);
        }
        let mut down = self.bring_down(&clients, backed_up, seed, number)?;
        // A server that the user's program restarts may still be recovering; a private one accepts connections by now.
        let max_refusal = if self.tests.scripts.is_some() { MAX_THROUGHPUT_RECOVERY } else { MAX_REFUSAL };
        let times = match &down.by {
            _ if !down.unusable.is_empty() => (None, None),
            By::Power(_) => (first(&clients, down.at, max_refusal, &stopped), None),
            By::Kill | By::Media(_) => times(&clients, down.at, max_refusal, &stopped),
        };
        let (shared, stuck) = clients.end()?;
        match stuck {
            // If its files were damaged, a server that no longer answers is a finding.
            Some(why) if down.unusable.is_empty() && !matches!(down.by, By::Kill) => down.unusable = self.said(why),
            Some(why) if matches!(down.by, By::Kill) => return Err(Error::Database(why)),
            _ => {}
        }
        let success = Success::read(&path, &self.suite.marks())?;
        let Some(found) = self.found(requests, &success, before, &mut down)? else { return Ok(None) };
        let fault = shared.failed.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
        let broken = !down.unusable.is_empty() || !found.failed.is_empty() || !fault.is_empty();
        match &mut down.by {
            By::Power(cut) if broken => cut.reset_database(&self.engine)?,
            By::Media(loss) if !down.unusable.is_empty() => loss.reset_database(&self.engine)?,
            _ => {}
        }
        let marks = self.suite.marks();
        let unknown = shared.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        let in_flight = unknown.iter().filter(|trace| marks.contains(&trace.mark)).count() as u64;
        let lost = shared.disconnected.load(Ordering::Relaxed);
        let scripts = self.tests.scripts.as_ref().map(|scripts| scripts.result(lost));
        Ok(Some(Crash { scripts, ..crash_result(&path, &down, &success, found, times, in_flight, fault) }))
    }

    /// Prepares the server for a crash. Returns how long its backup took, if it needs one.
    fn prepare(&self) -> Result<Duration, Error> {
        if self.tests.power.is_some() {
            super::power::settle(&self.engine)?;
        }
        if self.tests.media.is_some() { super::media::back_up(&self.engine) } else { Ok(Duration::ZERO) }
    }

    /// Crashes the server under load, and restarts it.
    fn bring_down(&self, clients: &Clients, backed_up: Duration, seed: u64, number: u32) -> Result<Down, Error> {
        let (at, began) = (clients.shared.elapsed(), Instant::now());
        let (by, unusable) = if self.tests.power.is_some() {
            let (cut, unusable) = super::power::cut(&self.engine, clients, seed, number)?;
            (By::Power(cut), unusable)
        } else if self.tests.media.is_some() {
            let (loss, unusable) = super::media::lose(&self.engine, backed_up, number)?;
            (By::Media(loss), unusable)
        } else if let Some(scripts) = &self.tests.scripts {
            scripts.crash(&self.tests.stop)?;
            (By::Kill, String::new())
        } else {
            (By::Kill, kill(&self.engine)?)
        };
        Ok(Down { at, away: began.elapsed(), unusable, by })
    }

    /// The findings of the audit; none if the user asked to stop.
    fn found(
        &self,
        requests: &Requests<W>,
        success: &Success,
        before: i64,
        down: &mut Down,
    ) -> Result<Option<Found>, Error> {
        if !down.unusable.is_empty() {
            return Ok(Some(Found::default()));
        }
        match self.look(requests, success, before) {
            // If its files were damaged, a database that cannot be read is a finding.
            Err(error) if !matches!(down.by, By::Kill) => {
                down.unusable = self.said(error.to_string());
                Ok(Some(Found::default()))
            }
            found => found,
        }
    }

    /// Why a database cannot be used, with the reason from the server's log.
    fn said(&self, why: String) -> String {
        match self.engine.private_server().and_then(|server| server.complaint()) {
            Some(complaint) => format!("{why}; its log says `{complaint}`"),
            None => why,
        }
    }

    /// Starts the load, and creates its success file.
    fn load(&self, record: &RecordWriter, seed: u64, number: u32) -> Result<(std::path::PathBuf, Clients), Error> {
        let (path, success) = success_file(record.directory(), number)?;
        let isolation = self.levels().first().copied().unwrap_or(Isolation::ReadCommitted);
        let SessionSetup { options, .. } = setup(self.suite, self.dialect, self.engine.via(), isolation, &[])?;
        let (suite, manifest) = (self.suite, self.manifest.clone());
        let pass = seed.wrapping_add(u64::from(number));
        let client = move |client: u64| suite.client(&manifest, pass, client);
        let sessions = self.tests.plan.clients.unwrap_or(Defaults::ACID.clients);
        Clients::start(&self.engine, &options, sessions, client, success).map(|clients| (path, clients))
    }

    /// Looks up all confirmed transactions, and checks the conditions; none if the user asked to stop.
    fn look(&self, requests: &Requests<W>, success: &Success, before: i64) -> Result<Option<Found>, Error> {
        let sought: Vec<Trace> = success.committed.iter().chain(&success.rolled_back).copied().collect();
        let Some(rows) = requests.ask(async move |engine: &dyn Engine<W>| engine.count_traces(&sought).await)? else {
            return Ok(None);
        };
        let rows = rows.ok_or_else(|| Error::Usage("rows cannot be looked up in this database".to_owned()))?;
        let Some(after) = effects(requests)? else { return Ok(None) };
        let Some(findings) = requests.check(&self.manifest, Depth::Usual, &mut |_| {})? else { return Ok(None) };
        let failed = findings.iter().filter(|finding| !finding.held()).map(|finding| finding.id.clone()).collect();
        Ok(Some(Found { audit: Audit::of(success, &rows), grown: after - before, failed }))
    }
}

/// New-Orders that the database counts; none if the user asked to stop.
fn effects<W: Workload>(requests: &Requests<W>) -> Result<Option<i64>, Error> {
    let effects = requests.ask(async |engine: &dyn Engine<W>| engine.effects().await)?;
    Ok(effects.map(|effects| effects.first().copied().unwrap_or_default()))
}

/// The result of a crash for the record.
fn crash_result(
    path: &Path,
    down: &Down,
    success: &Success,
    found: Found,
    (first_s, level_s): (Option<f64>, Option<f64>),
    in_flight: u64,
    fault: String,
) -> Crash {
    let Found { audit, grown, failed } = found;
    let committed = success.committed.len() as u64;
    // Of a database that cannot be used, nothing can be looked up.
    let usable = down.unusable.is_empty();
    let (lost, excess) = if usable { (audit.lost.len() as u64, grown - committed as i64) } else { (committed, 0) };
    let first_lost = if usable { audit.first_lost_us } else { success.acknowledged_us.iter().copied().flatten().min() };
    let oldest_lost_s = first_lost.map(|us| down.at.as_secs_f64() - us as f64 / 1e6);
    let (power, media) = match &down.by {
        By::Kill => (None, None),
        By::Power(cut) => (Some(cut.result(&down.unusable, oldest_lost_s)), None),
        By::Media(loss) => (None, Some(loss.result(&down.unusable, oldest_lost_s))),
    };
    let unusable = if power.is_none() && media.is_none() { down.unusable.clone() } else { String::new() };
    Crash {
        unusable,
        after_s: down.at.as_secs_f64(),
        committed,
        rolled_back: success.rolled_back.len() as u64,
        lost,
        risen: audit.risen.len() as u64,
        excess,
        in_flight,
        failed,
        fault,
        recovered_s: down.away.as_secs_f64(),
        first_s,
        level_s,
        power,
        media,
        scripts: None,
        examples: audit.lost.into_iter().chain(audit.risen).take(EXAMPLES).collect(),
        success: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

/// Kills the server and restarts it. Returns why it does not start, which is a finding, not an error of the audit.
fn kill<W: Workload>(engine: &Arc<dyn LoadTarget<W>>) -> Result<String, Error> {
    let server =
        engine.private_server().ok_or_else(|| Error::Usage("there is no private server to kill".to_owned()))?;
    server.crash()?;
    Ok(server.start_again().err().map(|error| error.to_string()).unwrap_or_default())
}
