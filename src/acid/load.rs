//! The load of a crash audit: clients that execute the workload's transactions, reconnect when the server is back, and
//! write each confirmed commit into the success file (clause 3.5.4) before they continue.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::session::{SessionOptions, unsupported};
use super::suite::ClientOutcome;
use crate::drive::LoadTarget;
use crate::engine::guard::guarded;
use crate::engine::{Error, Failure};
use crate::run::open::runtime;
use crate::workload::Workload;
use crate::workload::trace::{Footprint, Trace};

/// Delay between attempts to reach a server that is down.
const RECONNECT: Duration = Duration::from_millis(20);
/// Length of the periods in which completed transactions are counted.
pub(super) const PIECE: Duration = Duration::from_millis(100);
/// How long clients may take to finish their transactions.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(30);
/// Number of periods that are counted.
const PIECES: usize = 6_000;

/// The confirmed transactions: counters in memory, and a file for the audit.
#[derive(Debug)]
pub(super) struct SuccessFile {
    file: Mutex<(File, Option<io::Error>)>,
    pub(super) committed: AtomicU64,
    pub(super) rolled_back: AtomicU64,
}

impl SuccessFile {
    /// Creates the file.
    pub(super) fn create(path: &Path) -> Result<SuccessFile, Error> {
        // In a directory that others can write to, an existing link of this name could point to any file.
        let file = File::create_new(path);
        let file = file.map_err(|error| Error::Output(format!("cannot write {}: {error}", path.display())))?;
        Ok(SuccessFile { file: Mutex::new((file, None)), committed: AtomicU64::new(0), rolled_back: AtomicU64::new(0) })
    }

    /// Writes a line before the transaction is counted. It ends with the microseconds since the start of the load.
    fn line(&self, kind: char, mark: usize, trace: &Trace, at: Duration, counter: &AtomicU64) {
        let values: Vec<String> = trace.values.iter().map(ToString::to_string).collect();
        let line = format!("{kind} {mark} {} {} {}\n", values.join(","), trace.amount.0, at.as_micros());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        match file.0.write_all(line.as_bytes()) {
            Ok(()) => {
                counter.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                file.1.get_or_insert(error);
            }
        }
    }

    /// Fails if a line could not be written.
    pub(super) fn kept(&self) -> Result<(), Error> {
        let error = self.file.lock().unwrap_or_else(PoisonError::into_inner).1.take();
        error.map_or(Ok(()), |error| Err(Error::Output(format!("cannot write the success file: {error}"))))
    }
}

/// The state that all clients share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) success: SuccessFile,
    began: Instant,
    over: AtomicBool,
    /// Whether clients must not connect.
    paused: AtomicBool,
    /// Number of clients that are connected or connecting.
    connected: AtomicU64,
    /// Number of lost connections.
    pub(super) disconnected: AtomicU64,
    /// Number of refusals: failed connection attempts, and errors other than lost connections.
    pub(super) refused: AtomicU64,
    /// Completed transactions by period.
    pieces: Vec<AtomicU64>,
    /// The rows of transactions of unknown outcome: the connection was lost before the reply.
    pub(super) unknown: Mutex<Vec<Trace>>,
    /// The first failure other than a lost connection.
    pub(super) failed: Mutex<Option<String>>,
}

/// Running clients.
pub(super) struct Clients {
    pub(super) shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Clients {
    /// Starts the load with this many clients.
    pub(super) fn start<W: Workload>(
        engine: &Arc<dyn LoadTarget<W>>,
        options: &SessionOptions,
        clients: u32,
        new_client: impl Fn(u64) -> Result<Box<dyn super::suite::LoadClient>, Error> + Clone + Send + 'static,
        success: SuccessFile,
    ) -> Result<Clients, Error> {
        let shared = Arc::new(Shared {
            success,
            began: Instant::now(),
            over: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            connected: AtomicU64::new(0),
            disconnected: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            pieces: (0..PIECES).map(|_| AtomicU64::new(0)).collect(),
            unknown: Mutex::default(),
            failed: Mutex::default(),
        });
        // Reports an error before the load starts. Each client is created on its thread, which owns its connection.
        drop(new_client(0)?);
        let mut threads = Vec::new();
        for number in 0..clients {
            let new_client = new_client.clone();
            let (engine, options, shared) = (Arc::clone(engine), options.clone(), Arc::clone(&shared));
            let runtime = runtime()?;
            let work = move || {
                match new_client(number.into()) {
                    Ok(mut one) => runtime.block_on(client(&*engine, &options, &shared, &mut *one)),
                    Err(error) => shared.fail(error.to_string()),
                }
                drop(runtime);
            };
            let thread = std::thread::Builder::new().name("acid-client".to_owned()).spawn(work);
            threads.push(thread.map_err(|error| Error::Usage(format!("cannot start a thread: {error}")))?);
        }
        Ok(Clients { shared, threads })
    }

    /// Prevents new connections; clients that lose theirs wait.
    pub(super) fn pause(&self) {
        self.shared.paused.store(true, Ordering::SeqCst);
    }

    /// Waits until all connections are closed, so that none of them is left when new ones are opened.
    pub(super) fn wait_until_disconnected(&self) -> Result<(), Error> {
        let end = Instant::now() + CLIENT_TIMEOUT;
        while self.shared.connected.load(Ordering::SeqCst) > 0 {
            if Instant::now() > end {
                let seconds = CLIENT_TIMEOUT.as_secs();
                return Err(Error::Database(format!(
                    "a client's connection is still open {seconds} s after the power cut"
                )));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Allows clients to connect again.
    pub(super) fn go_on(&self) {
        self.shared.paused.store(false, Ordering::SeqCst);
    }

    /// Ends the load and waits for transactions in progress. If one does not end in time, returns a message in addition
    /// to the shared state; its client ends with its connection.
    pub(super) fn end(self) -> Result<(Arc<Shared>, Option<String>), Error> {
        self.shared.over.store(true, Ordering::Relaxed);
        let end = Instant::now() + CLIENT_TIMEOUT;
        let mut stuck = None;
        while self.threads.iter().any(|thread| !thread.is_finished()) {
            if Instant::now() > end {
                let seconds = CLIENT_TIMEOUT.as_secs();
                stuck = Some(format!("the transaction of a client did not end within {seconds} s"));
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.shared.success.kept()?;
        Ok((self.shared, stuck))
    }
}

impl Shared {
    /// Time since the start of the load.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Transactions completed between two times since the start of the load.
    pub(super) fn completed(&self, from: Duration, to: Duration) -> u64 {
        let piece = |at: Duration| (at.as_millis() / PIECE.as_millis()) as usize;
        let pieces = self.pieces.get(piece(from).min(PIECES)..piece(to).min(PIECES)).unwrap_or_default();
        pieces.iter().map(|piece| piece.load(Ordering::Relaxed)).sum()
    }

    fn count(&self) {
        let piece = (self.elapsed().as_millis() / PIECE.as_millis()) as usize;
        if let Some(piece) = self.pieces.get(piece) {
            piece.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn fail(&self, why: String) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }
}

/// Counts a client as connected while it exists.
struct Connected<'a>(&'a Shared);

impl Connected<'_> {
    fn of(shared: &Shared) -> Connected<'_> {
        shared.connected.fetch_add(1, Ordering::SeqCst);
        Connected(shared)
    }
}

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.0.connected.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Executes transactions until the load ends, and reconnects after a lost connection.
async fn client<W: Workload>(
    engine: &dyn LoadTarget<W>,
    options: &SessionOptions,
    shared: &Shared,
    load_client: &mut dyn super::suite::LoadClient,
) {
    while !shared.is_over() {
        if shared.paused.load(Ordering::SeqCst) {
            tokio::time::sleep(RECONNECT).await;
            continue;
        }
        // Counted before the second check, so that `wait_until_disconnected` misses no client.
        let _connected = Connected::of(shared);
        if shared.paused.load(Ordering::SeqCst) {
            continue;
        }
        let connection = match guarded(engine.open_connection(&options.commands, options.isolation)).await {
            Ok(Some(connection)) => connection,
            Ok(None) => return shared.fail(unsupported(&engine.identity().name).to_string()),
            // The server is down.
            Err(_) => {
                shared.refused.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(RECONNECT).await;
                continue;
            }
        };
        load_client.begin(connection, options.via);
        while !shared.is_over() {
            match load_client.next().await {
                ClientOutcome::Committed(row) => {
                    if let Some((mark, trace)) = row {
                        shared.success.line('C', mark, &trace, shared.elapsed(), &shared.success.committed);
                    }
                    shared.count();
                }
                ClientOutcome::RolledBack(row) => {
                    if let Some((mark, trace)) = row {
                        shared.success.line('R', mark, &trace, shared.elapsed(), &shared.success.rolled_back);
                    }
                    shared.count();
                }
                // Refused again and again.
                ClientOutcome::Failed(Failure::Retry { .. }, _) => {
                    shared.refused.fetch_add(1, Ordering::Relaxed);
                }
                // A session whose disk is off may report unreadable data as damage.
                ClientOutcome::Failed(Failure::Invalid(_), _) if shared.paused.load(Ordering::SeqCst) => break,
                ClientOutcome::Failed(Failure::Invalid(why), _) => {
                    shared.fail(why);
                    tokio::time::sleep(RECONNECT).await;
                }
                ClientOutcome::Failed(Failure::Disconnected { ambiguous, .. }, footprint) => {
                    shared.disconnected.fetch_add(1, Ordering::Relaxed);
                    if let (true, Footprint::Row(trace)) = (ambiguous, footprint) {
                        shared.unknown.lock().unwrap_or_else(PoisonError::into_inner).push(trace);
                    }
                    break;
                }
                ClientOutcome::Failed(Failure::Unreadable(_), footprint) => {
                    if let Footprint::Row(trace) = footprint {
                        shared.unknown.lock().unwrap_or_else(PoisonError::into_inner).push(trace);
                    }
                    break;
                }
            }
        }
        load_client.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_success_file_is_made_anew_and_never_behind_a_link() {
        let place = tempfile::tempdir().unwrap();
        let (secret, file) = (place.path().join("secret"), place.path().join("success"));
        std::fs::write(&secret, "of another").unwrap();
        for to in ["secret", "nowhere"] {
            std::os::unix::fs::symlink(to, &file).unwrap();
            let refused = SuccessFile::create(&file).err().unwrap();
            assert!(matches!(&refused, Error::Output(why) if why.contains("success")), "{refused}");
            std::fs::remove_file(&file).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "of another");
        assert!(!place.path().join("nowhere").exists());
        assert!(SuccessFile::create(&file).is_ok());
    }
}
