//! Replies of servers. Graymark's engines talk to a server of this test over a socket; it leads them on with answers
//! that are right, and spoils those that the input names.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use graymark::engine::guard::guarded;
use graymark::engine::registry::{AnyEngine, WorkloadName, WorkloadVisitor, open};
use graymark::engine::sql::SqlWorkload;
use graymark::engine::{ConnectOptions, Error, Failure, Session, Sessions};
use graymark::result::maintenance::MaintenanceKind;
use graymark::result::{Isolation, Via};
use graymark::workload::value::Timestamp;
use graymark::workload::{Terminal, Workload};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;
use tokio::task::yield_now;

use crate::faults::{Fault, Sent, Wire, conversations, read, spoil};
use crate::watch::Target;

/// What clients do: the workload, how it speaks, and what is asked of the engine.
///
/// A fourth word is how the server wants to be shown who the client is.
pub const ASKED: [&str; 19] = [
    "tpcc procedures transactions",
    "tpcc statements transactions",
    "debitcredit procedures transactions",
    "debitcredit statements transactions",
    "tpcc procedures open",
    "tpcc procedures database_state",
    "tpcc procedures settings",
    "tpcc procedures observe",
    "tpcc procedures check",
    "tpcc procedures effects",
    "tpcc procedures maintain",
    "tpcc procedures scan",
    "tpcc procedures drop",
    "debitcredit procedures check",
    "debitcredit procedures database_state",
    "tpcc procedures open password",
    "tpcc procedures open md5",
    "tpcc procedures open sha2",
    UNPROVED,
];

/// What no server of this test can do: it would have to know the password.
const UNPROVED: &str = "tpcc procedures open scram";
/// What these servers do not know the whole answer to.
const UNLED: [&str; 7] = ["check", "drop", "effects", "database_state", "observe", "scan", "settings"];

/// Turns that the others get before a server that waits for its client knows that the client waits for it. All are in
/// one thread, so that what one has sent the other has got.
const PATIENCE: usize = 48;

/// Messages after which the server hangs up; no conversation that goes well has as many. Without such an end, a server
/// that gives each column a type of its own making would lead the PostgreSQL driver on, type by type, until the stack
/// overflows: see docs/security.md.
const MOST_MESSAGES: u32 = 2_000;

/// How long a question may remain without an answer, as there is for each of Graymark's commands (`--timeout`,
/// `connect_timeout`).
const SILENCE: Duration = Duration::from_secs(1);

/// One conversation: the faults, and how many messages the server has sent.
pub struct Conversation {
    faults: Vec<Fault>,
    sent: u32,
    /// How the client has to show who it is, if not by its name alone.
    pub login: String,
    /// Whether the client gave away what nobody may have.
    leaked: bool,
}

/// A conversation that the connections of an input share.
pub type Shared = Arc<Mutex<Conversation>>;

/// The server's end of a connection.
pub struct Line<W> {
    stream: UnixStream,
    received: Vec<u8>,
    conversation: Shared,
    /// Its protocol.
    pub wire: W,
}

/// The conversation is over: the client went away, or waits for what never comes.
pub struct Over;

impl<W: Wire> Line<W> {
    /// Of a client that has just come.
    pub fn new(stream: UnixStream, conversation: Shared, wire: W) -> Line<W> {
        Line { stream, received: Vec::new(), conversation, wire }
    }

    /// The next bytes of the client, so many.
    pub async fn receive(&mut self, size: usize) -> Result<Vec<u8>, Over> {
        while self.received.len() < size {
            let idle = async {
                for _ in 0..PATIENCE {
                    yield_now().await;
                }
            };
            tokio::select! {
                biased;
                read = self.stream.read_buf(&mut self.received) => if read.unwrap_or(0) == 0 { return Err(Over) },
                () = idle => return Err(Over),
            }
        }
        let rest = self.received.split_off(size);
        Ok(std::mem::replace(&mut self.received, rest))
    }

    /// Notes that the client sent what nobody may have.
    pub fn leaked(&self) {
        self.conversation.lock().unwrap().leaked = true;
    }

    /// Sends a message, spoilt if the input says so.
    pub async fn send(&mut self, kind: u8, payload: &[u8]) -> Result<(), Over> {
        let sent = {
            let mut conversation = self.conversation.lock().unwrap();
            let number = conversation.sent;
            conversation.sent += 1;
            if number > MOST_MESSAGES {
                return Err(Over);
            }
            spoil(&mut self.wire, &conversation.faults, number, kind, payload)
        };
        match sent {
            Sent::Bytes(bytes) => self.put(&bytes).await,
            Sent::Closed => Err(Over),
        }
    }

    async fn put(&mut self, mut bytes: &[u8]) -> Result<(), Over> {
        while !bytes.is_empty() {
            match self.stream.try_write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    // The client does not read: it may be writing itself, which this server then does not read either.
                    let mut turns = 0..PATIENCE;
                    loop {
                        if turns.next().is_none() {
                            return Err(Over);
                        }
                        yield_now().await;
                        if self.stream.try_write(&[]).is_ok() {
                            break;
                        }
                    }
                }
                Err(_) => return Err(Over),
            }
        }
        Ok(())
    }
}

/// Fuzzes an engine against a server of this test.
pub fn fuzz<S: Future<Output = ()> + Send + 'static>(
    name: &'static str,
    socket: &Path,
    url: &str,
    serve: impl Fn(UnixStream, Shared) -> S + Send + Copy + 'static,
) {
    let listener = UnixListener::bind(socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    let led = |asked: &&&str| **asked != UNPROVED && !UNLED.iter().any(|unled| asked.ends_with(unled));
    let seeds = ASKED.iter().filter(led).map(|asked| asked.as_bytes().to_vec()).collect();
    Target { name, inputs: 1_500, seeds }.run(&conversations(&ASKED), |input| {
        let Some((asked, faults)) = read(input) else { return false };
        let login = asked.split(' ').nth(3).unwrap_or_default().to_owned();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let conversation = Arc::new(Mutex::new(Conversation { faults, sent: 0, login, leaked: false }));
        let listener = listener.try_clone().unwrap();
        let shared = conversation.clone();
        runtime.spawn(async move {
            let listener = tokio::net::UnixListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, shared.clone()));
            }
        });
        let taken = ask(&runtime, url, asked);
        assert!(!conversation.lock().unwrap().leaked, "the client gave away a file");
        taken
    });
}

/// Does what is asked for; whether it was all answered.
fn ask(runtime: &Runtime, url: &str, asked: &str) -> bool {
    let mut words = asked.split(' ');
    let workload = match words.next() {
        Some("debitcredit") => WorkloadName::DebitCredit,
        _ => WorkloadName::Tpcc,
    };
    let via = if words.next() == Some("statements") { Via::Statements } else { Via::Procedures };
    let options = ConnectOptions {
        disk: None,
        media: None,
        relay: None,
        node_partitions: false,
        url: url.parse().unwrap(),
        via: Some(via),
        scale: None,
        profile: None,
        isolation: Isolation::ReadCommitted,
        read_only_on: None,
        settings: Default::default(),
    };
    match workload.visit(Ask { runtime, options, what: words.next().unwrap_or_default() }) {
        Ok(()) => true,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            if std::env::var_os("GRAYMARK_FUZZ_TELL").is_some() {
                eprintln!("{asked}: {error}");
            }
            false
        }
    }
}

struct Ask<'a> {
    runtime: &'a Runtime,
    options: ConnectOptions,
    what: &'a str,
}

impl WorkloadVisitor for Ask<'_> {
    type Output = Result<(), Error>;

    fn visit<W: SqlWorkload>(self) -> Result<(), Error> {
        let Asked(ask) = open::<W, Asked>(self.runtime, self.options)?;
        ask(self.runtime, self.what)
    }
}

/// An engine of any kind: does with it what is asked for.
struct Asked(Answer);

/// Answers a question by its name.
type Answer = Box<dyn FnOnce(&Runtime, &str) -> Result<(), Error>>;

impl<W: Workload> AnyEngine<W> for Asked {
    fn of<E: Sessions<W>>(engine: E) -> Asked {
        Asked(Box::new(move |runtime, what| answer::<W, E>(runtime, &engine, what)))
    }
}

fn answer<W: Workload, E: Sessions<W>>(runtime: &Runtime, engine: &E, what: &str) -> Result<(), Error> {
    let asked = async {
        match what {
            "transactions" => transactions::<W, E>(engine).await?,
            "database_state" => drop(engine.database_state().await?),
            "settings" => drop(engine.settings().await?),
            "check" => drop(engine.check(&mut |_| {}).await?),
            "effects" => drop(engine.effects().await?),
            "drop" => drop(engine.drop_tables().await?),
            "observe" => {
                let mut observer = engine.observer();
                for _ in 0..2 {
                    let _ = observer.look().await?;
                    let _ = observer.pages().await?;
                }
            }
            "maintain" => {
                for kind in [MaintenanceKind::Checkpoint, MaintenanceKind::Vacuum] {
                    engine.maintain(kind).await?;
                }
            }
            "scan" => {
                for table in W::TABLES {
                    engine.scan(table).await?;
                }
                engine.table_bytes().await?;
            }
            _ => {}
        }
        Ok(())
    };
    // As Graymark's commands do: a driver that waits for a type while rows that nobody takes wait before it would
    // wait for ever.
    let limited = async { tokio::time::timeout(SILENCE, guarded(asked)).await };
    runtime.block_on(limited).unwrap_or_else(|_| Err(Error::Database("no answer in time".to_owned())))
}

/// Each type of transaction twice, with all that is made of its result.
async fn transactions<W: Workload, E: Sessions<W>>(engine: &E) -> Result<(), Error> {
    let population = W::population(1, 7, Timestamp(1_000_000_000_000_000), 0);
    let terminals = W::terminals(1, &W::parameters(&population), 7).map_err(Error::Usage)?;
    let mut terminal = W::terminal(&terminals, 0);
    let mut session = guarded(engine.open_session()).await?;
    let mut failed = None;
    for transaction in (0..W::TRANSACTIONS.len()).cycle().take(2 * W::TRANSACTIONS.len()) {
        let input = terminal.input(transaction);
        match guarded(session.execute(&input)).await {
            Ok(output) => {
                let _ = (W::screen(&input, Some(&output)), W::outcome(&output));
                W::count(&output, &mut vec![0; W::EFFECTS.len()]);
                W::tally(&input, &output, &mut vec![0; W::TALLIES.len()]);
            }
            Err(failure @ (Failure::Disconnected { .. } | Failure::Unreadable(_))) => {
                return Err(Error::Database(format!("{failure}")));
            }
            Err(failure) => failed = Some(format!("{failure}")),
        }
    }
    failed.map_or(Ok(()), |why| Err(Error::Database(why)))
}
