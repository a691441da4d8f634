//! One crash after the other: load, kill, recovery, audit.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::Work;
use super::company::{Equipment, opening};
use super::crash::{Audit, EXAMPLES, Success, success_file, times, until_the_kill};
use super::load::Clients;
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

/// Of the random numbers by which the moment of a kill is drawn.
const TOPIC: u64 = 0xdead;

impl<W: Workload> Work<'_, W> {
    /// Crashes the server once under load, and audits it; none if someone asked to stop.
    pub(super) fn crash(
        &mut self,
        requests: &Requests<W>,
        record: &RecordWriter,
        seed: u64,
        number: u32,
    ) -> Result<Option<Crash>, Error> {
        let mut draw = Source::new(seed, TOPIC).stream(number.into());
        let Some(before) = requests.ask(async |engine: &dyn Engine<W>| engine.effects().await)? else {
            return Ok(None);
        };
        let (path, success) = success_file(record.directory(), number)?;
        let isolation = self.levels().first().copied().unwrap_or(Isolation::ReadCommitted);
        let Equipment { opening, .. } = opening(self.suite, self.dialect, self.engine.via(), isolation, &[])?;
        let (suite, manifest) = (self.suite, &self.manifest);
        let pass = seed.wrapping_add(u64::from(number));
        let player = |client: u64| suite.player(manifest, pass, client);
        let clients_of_load = self.tests.plan.clients.unwrap_or(Defaults::ACID.clients);
        let clients = Clients::start(&self.engine, &opening, clients_of_load, &player, success)?;
        let stop = self.tests.stop.clone();
        let stopped = || stop.requested();
        let killed = if until_the_kill(&clients, f64::from(draw.within(0, 1_000)) / 1e3, &stopped) {
            Some(kill(&self.engine, &clients)?)
        } else {
            None
        };
        let Some((at, recovered)) = killed else {
            clients.end()?;
            return Ok(None);
        };
        let (first_s, level_s) = times(&clients, at, &stopped);
        let shared = clients.end()?;
        let success = Success::read(&path, &self.suite.marks())?;
        let sought: Vec<Trace> = success.committed.iter().chain(&success.rolled_back).copied().collect();
        let Some(rows) = requests.ask(async move |engine: &dyn Engine<W>| engine.rows_of(&sought).await)? else {
            return Ok(None);
        };
        let rows = rows.ok_or_else(|| Error::Usage("rows cannot be looked up in this database".to_owned()))?;
        let audit = Audit::of(&success, &rows);
        let Some(after) = requests.ask(async |engine: &dyn Engine<W>| engine.effects().await)? else { return Ok(None) };
        let Some(findings) = requests.check(&self.manifest, Depth::Usual, &mut |_| {})? else { return Ok(None) };
        let grown = after.first().copied().unwrap_or_default() - before.first().copied().unwrap_or_default();
        let marks = self.suite.marks();
        let unknown = shared.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = unknown.iter().filter(|trace| marks.contains(&trace.mark)).count() as u64;
        let told = success.committed.len() as i64;
        let fault = shared.failed.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
        Ok(Some(Crash {
            after_s: at.as_secs_f64(),
            committed: success.committed.len() as u64,
            rolled_back: success.rolled_back.len() as u64,
            lost: audit.lost.len() as u64,
            risen: audit.risen.len() as u64,
            excess: grown - told,
            in_flight: unknown,
            failed: findings.iter().filter(|finding| !finding.held()).map(|finding| finding.id.clone()).collect(),
            fault,
            recovered_s: recovered.as_secs_f64(),
            first_s,
            level_s,
            examples: audit.lost.into_iter().chain(audit.risen).take(EXAMPLES).collect(),
            success: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        }))
    }
}

/// Kills the server and starts it again: when, since the load began, and how long it took.
fn kill<W: Workload>(engine: &Arc<dyn LoadTarget<W>>, clients: &Clients) -> Result<(Duration, Duration), Error> {
    let server =
        engine.private_server().ok_or_else(|| Error::Usage("there is no private server to kill".to_owned()))?;
    let (at, began) = (clients.shared.elapsed(), Instant::now());
    server.crash()?;
    server.start_again()?;
    Ok((at, began.elapsed()))
}
