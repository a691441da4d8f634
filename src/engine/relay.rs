//! A relay of Graymark's own between its sessions and a server, in which the network can be made slow, narrow or dead.
//!
//! It exists only in a run that has network faults planned. It works on a thread of its own, so that driver threads do
//! not wait for it, and only sessions that execute transactions are led through it: what else Graymark asks of the
//! server goes straight. A server at a Unix socket is relayed over a Unix socket in a directory that only Graymark's
//! user may enter, for such a server may trust whoever connects; one at TCP over a port of the loopback.

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

/// The most bytes that are handed on at once.
const PIECE: usize = 16 << 10;
/// The most pieces that wait in one direction of a connection.
const QUEUE: usize = 64;
/// Pause after a connection that could not be taken.
const PAUSE: Duration = Duration::from_millis(20);

/// What is wrong with the network; nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// How much later answers arrive.
    pub delay: Duration,
    /// Bytes a second that pass in each direction, all connections together; none sets no limit.
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
    /// Where it listens, if it leads anywhere, with the directory of its socket.
    entry: Mutex<Option<(Host, u16, Option<Place>)>>,
}

/// What listens for sessions.
enum Listener {
    Tcp(TcpListener),
    Socket(UnixListener),
}

impl Relay {
    /// One that leads nowhere yet.
    pub fn new() -> Relay {
        Relay(Arc::new(Inner { network: watch::Sender::new(Network::default()), entry: Mutex::default() }))
    }

    /// Makes the network like this, for connections that there are and for new ones.
    pub fn set(&self, network: Network) {
        self.0.network.send_replace(network);
    }

    /// Whether any session is led through it.
    pub fn leads(&self) -> bool {
        self.0.entry.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Begins to lead to a server, whose socket, if it has one, is named whole; where sessions have to connect to
    /// instead. The file of a socket has the name of the server's.
    ///
    /// # Errors
    /// If no place to listen at, or no thread, can be had.
    pub fn lead_to(&self, server: &Host, port: u16) -> Result<(Host, u16), Error> {
        self.lead(server, port, matches!(server, Host::Tcp(_)))
    }

    /// The same from a port of the loopback, whatever the server listens at; the port. It is for servers that trust
    /// nobody without a password, and for who is another user than Graymark's.
    ///
    /// # Errors
    /// If no place to listen at, or no thread, can be had.
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

/// A socket of the same name, in a directory that nobody else may enter.
fn socket_like(path: &Path) -> Result<(UnixListener, PathBuf, Place), Error> {
    let name = path.file_name().ok_or_else(|| failed(io::Error::other("the server's socket has no name")))?;
    let directory = Place::private("relay")?;
    let path = directory.inside().join(name);
    Ok((UnixListener::bind(&path).map_err(failed)?, path, directory))
}

fn failed(error: io::Error) -> Error {
    Error::Database(format!("cannot relay connections to the server: {error}"))
}

/// Takes connections until the relay is dropped; what they still have to say is then thrown away with the runtime.
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
            // What becomes of a connection, its two ends hear.
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

/// One direction, which all connections share: when it is free again.
#[derive(Default)]
struct Lane(Mutex<Option<Instant>>);

impl Lane {
    /// When so many bytes will have passed.
    fn passed(&self, bytes: usize, bytes_per_second: u64) -> Instant {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let takes = Duration::from_secs_f64(bytes as f64 / bytes_per_second as f64);
        let due = free.map_or(now, |free| free.max(now)) + takes;
        *free = Some(due);
        due
    }

    /// Nobody waits for it any more.
    fn free(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// What one side said, and when it may arrive.
type Piece = (Instant, Vec<u8>);

/// A connection between a session and the server.
struct Link {
    server: (Host, u16),
    network: watch::Receiver<Network>,
    lanes: Arc<[Lane; 2]>,
}

impl Link {
    async fn serve<C: AsyncRead + AsyncWrite>(mut self, client: C) -> io::Result<()> {
        // Where nothing passes, nobody comes to the server.
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

    /// Hands on what one side says, until it says nothing more; whether its pieces are delayed.
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

    /// Writes the pieces, each when it is due and the network lets it pass.
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
        // The end of what a side says does not pass a dead network either.
        network.wait_for(|network| !network.parted).await.map_err(io::Error::other)?;
        // A side that is gone already need not be told.
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

    /// A server that says everything again, for each connection on a thread of its own.
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

        // Half a second each way at the least, and everything arrives.
        relay.set(Network { bytes_per_second: Some(100_000), ..Network::default() });
        assert!(says(&mut stream, &[7; 50_000]) >= Duration::from_millis(500));

        // What is said into a dead network comes back when it lives again; a new connection comes through then, too.
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

        // The end of one side is told to the other, and a relay that is gone takes its connections along.
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
