//! The load of a crash audit: clients that work the workload's transactions, come back when the server does, and write
//! each commit that they are told of into the success file (clause 3.5.4) before they go on.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::actor::{Opening, not_here};
use super::suite::Told;
use crate::drive::LoadTarget;
use crate::engine::guard::guarded;
use crate::engine::{Error, Failure};
use crate::run::open::runtime;
use crate::workload::Workload;
use crate::workload::trace::{Footprint, Trace};

/// From one attempt to reach a server that is away to the next.
const RECONNECT: Duration = Duration::from_millis(20);
/// Of what length the pieces of time are in which completed transactions are counted.
pub(super) const PIECE: Duration = Duration::from_millis(100);
/// How long clients have to come to the end of what they do.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many pieces are counted: beyond them nobody looks.
const PIECES: usize = 6_000;

/// What clients were told, in memory for the counts and in a file for the audit.
#[derive(Debug)]
pub(super) struct SuccessFile {
    file: Mutex<(File, Option<io::Error>)>,
    pub(super) committed: AtomicU64,
    pub(super) rolled_back: AtomicU64,
}

impl SuccessFile {
    /// Begins a file.
    pub(super) fn create(path: &Path) -> Result<SuccessFile, Error> {
        // In a directory of somebody else's, a link of this name would lead to a file that is not Graymark's.
        let file = File::create_new(path);
        let file = file.map_err(|error| Error::Output(format!("cannot write {}: {error}", path.display())))?;
        Ok(SuccessFile { file: Mutex::new((file, None)), committed: AtomicU64::new(0), rolled_back: AtomicU64::new(0) })
    }

    /// A line is in the file, whose machine is not the one that fails, before it counts. It ends with the microseconds
    /// since the load began.
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

    /// Whether all lines could be written.
    pub(super) fn kept(&self) -> Result<(), Error> {
        let error = self.file.lock().unwrap_or_else(PoisonError::into_inner).1.take();
        error.map_or(Ok(()), |error| Err(Error::Output(format!("cannot write the success file: {error}"))))
    }
}

/// What all clients share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) success: SuccessFile,
    began: Instant,
    over: AtomicBool,
    /// Whether nobody is to connect.
    paused: AtomicBool,
    /// Clients that have a connection, or are about to.
    connected: AtomicU64,
    /// Connections that were lost.
    pub(super) disconnected: AtomicU64,
    /// How often a client was refused: by a server that takes no connection, or an error that no lost connection
    /// explains.
    pub(super) refused: AtomicU64,
    /// Transactions completed by pieces of time.
    pieces: Vec<AtomicU64>,
    /// What transactions leave if they are committed whose connection was lost before they were answered.
    pub(super) unknown: Mutex<Vec<Trace>>,
    /// The first failure of a transaction that no lost connection explains.
    pub(super) failed: Mutex<Option<String>>,
}

/// Clients at work.
pub(super) struct Clients {
    pub(super) shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Clients {
    /// Begins the load with so many clients.
    pub(super) fn start<W: Workload>(
        engine: &Arc<dyn LoadTarget<W>>,
        opening: &Opening,
        clients: u32,
        player: &dyn Fn(u64) -> Result<Box<dyn super::suite::Player>, Error>,
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
        let mut threads = Vec::new();
        for number in 0..clients {
            let mut player = player(number.into())?;
            let (engine, opening, shared) = (Arc::clone(engine), opening.clone(), Arc::clone(&shared));
            let runtime = runtime()?;
            let work = move || {
                runtime.block_on(client(&*engine, &opening, &shared, &mut *player));
                drop(runtime);
            };
            let thread = std::thread::Builder::new().name("acid-client".to_owned()).spawn(work);
            threads.push(thread.map_err(|error| Error::Usage(format!("cannot start a thread: {error}")))?);
        }
        Ok(Clients { shared, threads })
    }

    /// Lets nobody connect any more; those that lose their connections wait.
    pub(super) fn pause(&self) {
        self.shared.paused.store(true, Ordering::SeqCst);
    }

    /// Waits until all connections are gone: what is left of them must not meet those that come after.
    pub(super) fn wait_until_gone(&self) -> Result<(), Error> {
        let end = Instant::now() + PATIENCE;
        while self.shared.connected.load(Ordering::SeqCst) > 0 {
            if Instant::now() > end {
                let seconds = PATIENCE.as_secs();
                return Err(Error::Database(format!(
                    "a client did not notice within {seconds} s that the power is off"
                )));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Lets clients connect again.
    pub(super) fn go_on(&self) {
        self.shared.paused.store(false, Ordering::SeqCst);
    }

    /// Ends the load; transactions under way come to their end, or are given up after a while.
    pub(super) fn end(self) -> Result<Arc<Shared>, Error> {
        self.shared.over.store(true, Ordering::Relaxed);
        let end = Instant::now() + PATIENCE;
        while self.threads.iter().any(|thread| !thread.is_finished()) {
            if Instant::now() > end {
                return Err(Error::Database(format!(
                    "a client of the crash audit did not come to its end within {} s",
                    PATIENCE.as_secs()
                )));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.shared.success.kept()?;
        Ok(self.shared)
    }
}

impl Shared {
    /// How long the load has gone on.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Transactions completed from one time to another, since the load began.
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

/// A client that has a connection, or is about to.
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

/// Works until the load is over, with one connection after the other.
async fn client<W: Workload>(
    engine: &dyn LoadTarget<W>,
    opening: &Opening,
    shared: &Shared,
    player: &mut dyn super::suite::Player,
) {
    while !shared.is_over() {
        if shared.paused.load(Ordering::SeqCst) {
            tokio::time::sleep(RECONNECT).await;
            continue;
        }
        // Counted before it looks again, so that who waits until all are gone misses nobody.
        let _connected = Connected::of(shared);
        if shared.paused.load(Ordering::SeqCst) {
            continue;
        }
        let connection = match guarded(engine.open_connection(&opening.commands, opening.isolation)).await {
            Ok(Some(connection)) => connection,
            Ok(None) => return shared.fail(not_here(&engine.identity().name).to_string()),
            // The server is away, or not yet back.
            Err(_) => {
                shared.refused.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(RECONNECT).await;
                continue;
            }
        };
        player.begin(connection, opening.via);
        while !shared.is_over() {
            match player.next().await {
                Told::Committed(row) => {
                    if let Some((mark, trace)) = row {
                        shared.success.line('C', mark, &trace, shared.elapsed(), &shared.success.committed);
                    }
                    shared.count();
                }
                Told::RolledBack(row) => {
                    if let Some((mark, trace)) = row {
                        shared.success.line('R', mark, &trace, shared.elapsed(), &shared.success.rolled_back);
                    }
                    shared.count();
                }
                Told::Failed(Failure::Retry { .. }, _) => {}
                // A session whose disk is off may take what it cannot read for damage.
                Told::Failed(Failure::Invalid(_), _) if shared.paused.load(Ordering::SeqCst) => break,
                Told::Failed(Failure::Invalid(why), _) => {
                    shared.fail(why);
                    tokio::time::sleep(RECONNECT).await;
                }
                Told::Failed(Failure::Disconnected { ambiguous, .. }, footprint) => {
                    shared.disconnected.fetch_add(1, Ordering::Relaxed);
                    if let (true, Footprint::Row(trace)) = (ambiguous, footprint) {
                        shared.unknown.lock().unwrap_or_else(PoisonError::into_inner).push(trace);
                    }
                    break;
                }
                Told::Failed(Failure::Unreadable(_), footprint) => {
                    if let Footprint::Row(trace) = footprint {
                        shared.unknown.lock().unwrap_or_else(PoisonError::into_inner).push(trace);
                    }
                    break;
                }
            }
        }
        player.end();
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
