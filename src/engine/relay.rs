//! A proxy between Graymark's sessions and a server that simulates a slow, narrow or dead network.
//!
//! It exists only in a run with planned network faults. It runs on its own thread, so that driver threads do not wait
//! for it, and only sessions that execute transactions go through it: all other requests go directly to the server. A
//! server at a Unix socket is relayed over a Unix socket in a directory that only Graymark's user may enter, because
//! such a server may trust local users; one at TCP over a loopback port.

use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::Error;
use super::address::Host;
use super::server::Place;

/// The maximum number of bytes forwarded at once.
const PIECE: usize = 16 << 10;
/// The maximum number of queued pieces in one direction of a connection.
const QUEUE: usize = 64;
/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(20);

/// The state of the network; no fault by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Delay of answers.
    pub delay: Duration,
    /// Bandwidth in bytes per second for each direction, all connections together; `None` is no limit.
    pub bytes_per_second: Option<u64>,
    /// Nothing passes.
    pub parted: bool,
}

/// The relay: it ends when the last of its clones is dropped.
#[derive(Clone, Debug)]
pub struct Relay(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    network: watch::Sender<Network>,
    /// The listening address, if it is in use, with the directory of its socket.
    entry: Mutex<Option<(Host, u16, Option<Place>)>>,
}

/// Accepts connections of sessions.
enum Listener {
    Tcp(TcpListener),
    Socket(UnixListener),
}

impl Relay {
    /// A relay without a server.
    pub fn new() -> Relay {
        Relay(Arc::new(Inner { network: watch::Sender::new(Network::default()), entry: Mutex::default() }))
    }

    /// Sets the state of the network, for existing and new connections.
    pub fn set(&self, network: Network) {
        self.0.network.send_replace(network);
    }

    /// Whether sessions go through it.
    pub fn leads(&self) -> bool {
        self.0.entry.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Starts relaying to a server, given by address or full socket path; returns where sessions have to connect
    /// instead. The socket's file has the same name as the server's.
    ///
    /// # Errors
    /// If it cannot listen, or no thread can be started.
    pub fn lead_to(&self, server: &Host, port: u16) -> Result<(Host, u16), Error> {
        self.lead(server, port, matches!(server, Host::Tcp(_)))
    }

    /// The same from a loopback port, whatever the server listens on; returns the port. It is for servers that require
    /// a password from everybody, and for clients of another user than Graymark's.
    ///
    /// # Errors
    /// If it cannot listen, or no thread can be started.
    pub fn lead_over_tcp(&self, server: &Host, port: u16) -> Result<u16, Error> {
        self.lead(server, port, true).map(|(_, port)| port)
    }

    fn lead(&self, server: &Host, port: u16, tcp: bool) -> Result<(Host, u16), Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let inside = runtime.enter();
        let (listener, entry) = match server {
            Host::Socket(path) if !tcp => {
                let (listener, path, directory) = socket_like(path)?;
                (Listener::Socket(listener), (Host::Socket(path), port, Some(directory)))
            }
            _ => {
                let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                let listener = TcpListener::from_std(listener).map_err(failed)?;
                let port = listener.local_addr().map_err(failed)?.port();
                (Listener::Tcp(listener), (Host::Tcp(Ipv4Addr::LOCALHOST.to_string()), port, None))
            }
        };
        drop(inside);
        let (server, network) = ((server.clone(), port), self.0.network.subscribe());
        let work = move || runtime.block_on(listen(listener, server, network));
        std::thread::Builder::new().name("relay".to_owned()).spawn(work).map_err(failed)?;
        let place = (entry.0.clone(), entry.1);
        *self.0.entry.lock().unwrap_or_else(PoisonError::into_inner) = Some(entry);
        Ok(place)
    }
}

impl Default for Relay {
    fn default() -> Relay {
        Relay::new()
    }
}

/// A socket of the same name, in a private directory.
fn socket_like(path: &Path) -> Result<(UnixListener, PathBuf, Place), Error> {
    let name = path.file_name().ok_or_else(|| failed(io::Error::other("the server's socket has no name")))?;
    let directory = Place::private("relay")?;
    let path = directory.inside().join(name);
    Ok((UnixListener::bind(&path).map_err(failed)?, path, directory))
}

fn failed(error: io::Error) -> Error {
    Error::Database(format!("cannot relay connections to the server: {error}"))
}

/// Accepts connections until the relay is dropped; unsent data is then discarded with the runtime.
async fn listen(listener: Listener, server: (Host, u16), network: watch::Receiver<Network>) {
    let lanes = Arc::new([Lane::default(), Lane::default()]);
    let mut ended = network.clone();
    loop {
        let link = Link { server: server.clone(), network: network.clone(), lanes: Arc::clone(&lanes) };
        let taken = tokio::select! {
            taken = listener.accept() => taken,
            // Never true: an error says that the relay is gone.
            _ = ended.wait_for(|_| false) => return,
        };
        match taken {
            // Both ends of a connection notice its errors.
            Ok(Stream::Tcp(client)) => drop(tokio::spawn(async move { link.serve(client).await })),
            Ok(Stream::Socket(client)) => drop(tokio::spawn(async move { link.serve(client).await })),
            Err(_) => sleep(PAUSE).await,
        }
    }
}

enum Stream {
    Tcp(TcpStream),
    Socket(UnixStream),
}

impl Listener {
    async fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Listener::Socket(listener) => listener.accept().await.map(|(stream, _)| Stream::Socket(stream)),
        }
    }
}

/// One direction, shared by all connections: the time at which it is free again.
#[derive(Default)]
struct Lane(Mutex<Option<Instant>>);

impl Lane {
    /// When this number of bytes will have passed.
    fn passed(&self, bytes: usize, bytes_per_second: u64) -> Instant {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let takes = Duration::from_secs_f64(bytes as f64 / bytes_per_second as f64);
        let due = free.map_or(now, |free| free.max(now)) + takes;
        *free = Some(due);
        due
    }

    /// Resets the waiting time.
    fn free(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Data from one side, with its earliest delivery.
type Piece = (Instant, Vec<u8>);

/// A connection between a session and the server.
struct Link {
    server: (Host, u16),
    network: watch::Receiver<Network>,
    lanes: Arc<[Lane; 2]>,
}

impl Link {
    async fn serve<C: AsyncRead + AsyncWrite>(mut self, client: C) -> io::Result<()> {
        // Without a network, no connection to the server is opened.
        self.network.wait_for(|network| !network.parted).await.map_err(io::Error::other)?;
        match &self.server {
            (Host::Tcp(host), port) => {
                let server = TcpStream::connect((host.as_str(), *port)).await?;
                server.set_nodelay(true)?;
                self.join(client, server).await
            }
            (Host::Socket(path), _) => {
                let server = UnixStream::connect(path).await?;
                self.join(client, server).await
            }
        }
    }

    async fn join<C: AsyncRead + AsyncWrite, S: AsyncRead + AsyncWrite>(&self, client: C, server: S) -> io::Result<()> {
        let (from_client, to_client) = tokio::io::split(client);
        let (from_server, to_server) = tokio::io::split(server);
        let [up, down] = &*self.lanes;
        let questions = self.pump(from_client, to_server, up, false);
        let answers = self.pump(from_server, to_client, down, true);
        tokio::try_join!(questions, answers).map(|_| ())
    }

    /// Forwards data from one side until its end, with a delay if requested.
    async fn pump(
        &self,
        mut from: impl AsyncRead + Unpin,
        to: impl AsyncWrite + Unpin,
        lane: &Lane,
        delayed: bool,
    ) -> io::Result<()> {
        let (sender, pieces) = mpsc::channel::<Piece>(QUEUE);
        let network = self.network.clone();
        let reading = async move {
            let mut room = vec![0; PIECE];
            loop {
                let read = from.read(&mut room).await?;
                let piece = room.get(..read).unwrap_or_default();
                let delay = if delayed { network.borrow().delay } else { Duration::ZERO };
                if read == 0 || sender.send((Instant::now() + delay, piece.to_vec())).await.is_err() {
                    return Ok::<(), io::Error>(());
                }
            }
        };
        tokio::try_join!(reading, self.write(pieces, to, lane)).map(|_| ())
    }

    /// Writes the pieces when they are due and the network is up.
    async fn write(
        &self,
        mut pieces: mpsc::Receiver<Piece>,
        mut to: impl AsyncWrite + Unpin,
        lane: &Lane,
    ) -> io::Result<()> {
        let mut network = self.network.clone();
        while let Some((due, piece)) = pieces.recv().await {
            if due > Instant::now() {
                sleep_until(due).await;
            }
            let limit = network.borrow().bytes_per_second;
            if let Some(limit) = limit {
                let passed = lane.passed(piece.len(), limit);
                tokio::select! {
                    () = sleep_until(passed) => {}
                    _ = network.wait_for(|network| network.bytes_per_second.is_none()) => lane.free(),
                }
            }
            network.wait_for(|network| !network.parted).await.map_err(io::Error::other)?;
            to.write_all(&piece).await?;
        }
        // The end of a stream does not pass a dead network either.
        network.wait_for(|network| !network.parted).await.map_err(io::Error::other)?;
        // A side that is gone need not be notified.
        let _ = to.shutdown().await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net as unix;

    use super::*;

    /// An echo server with a thread for each connection.
    fn echo(mut from: impl Read + Send + 'static, mut to: impl Write + Send + 'static) {
        std::thread::spawn(move || std::io::copy(&mut from, &mut to));
    }

    fn echo_over_tcp() -> u16 {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                echo(stream.try_clone().unwrap(), stream);
            }
        });
        port
    }

    fn says(stream: &mut (impl Read + Write), text: &[u8]) -> Duration {
        let began = std::time::Instant::now();
        stream.write_all(text).unwrap();
        let mut answer = vec![0; text.len()];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, text);
        began.elapsed()
    }

    #[test]
    fn answers_pass_late_narrowly_or_not_at_all_as_the_network_is() {
        let relay = Relay::new();
        assert!(!relay.leads());
        let (host, port) = relay.lead_to(&Host::Tcp("127.0.0.1".to_owned()), echo_over_tcp()).unwrap();
        assert!(relay.leads() && host == Host::Tcp("127.0.0.1".to_owned()));
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        says(&mut stream, b"well");

        relay.set(Network { delay: Duration::from_millis(300), ..Network::default() });
        assert!(says(&mut stream, b"late") >= Duration::from_millis(300));

        // At least half a second each way, and everything arrives.
        relay.set(Network { bytes_per_second: Some(100_000), ..Network::default() });
        assert!(says(&mut stream, &[7; 50_000]) >= Duration::from_millis(500));

        // Data sent into a dead network arrives when it is up again; a new connection is established then, too.
        relay.set(Network { parted: true, ..Network::default() });
        stream.write_all(b"lost?").unwrap();
        let mut other = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        other.write_all(b"new").unwrap();
        for silent in [&mut stream, &mut other] {
            silent.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            assert!(silent.read(&mut [0; 8]).is_err());
            silent.set_read_timeout(None).unwrap();
        }
        relay.set(Network::default());
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"lost?");
        other.read_exact(&mut answer[..3]).unwrap();
        assert_eq!(&answer[..3], b"new");

        // The end of one side is forwarded to the other, and a relay that is dropped closes its connections.
        other.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(other.read(&mut answer).unwrap(), 0);
        drop(relay);
        assert_eq!(stream.read(&mut answer).unwrap_or(0), 0);
    }

    #[test]
    fn a_socket_is_relayed_over_a_socket_that_nobody_else_can_reach() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(".s.PGSQL.5432");
        let listener = unix::UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                echo(stream.try_clone().unwrap(), stream);
            }
        });
        let relay = Relay::new();
        let (Host::Socket(entry), 5432) = relay.lead_to(&Host::Socket(path.clone()), 5432).unwrap() else {
            panic!("no socket");
        };
        let directory = entry.parent().unwrap().to_owned();
        assert_eq!((entry.file_name(), entry == path), (path.file_name(), false));
        assert_eq!(directory.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        says(&mut unix::UnixStream::connect(&entry).unwrap(), b"well");
        // Or over a port, for another user.
        let open = Relay::new();
        let port = open.lead_over_tcp(&Host::Socket(path), 5432).unwrap();
        says(&mut std::net::TcpStream::connect(("127.0.0.1", port)).unwrap(), b"well");
        drop(relay);
        assert!(!directory.exists());
    }
}
