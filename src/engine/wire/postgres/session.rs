//! The messages of a session at work: all statements of an exchange are sent with one Sync.
//!
//! tokio-postgres ends each statement with a Sync, at which the server sends what it has: a packet for each statement
//! of a transaction, for which both sides pay a system call and a wake-up. It still connects, see `handover.rs`.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::{fmt, io};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::{ErrorFields, Header, Message, RowDescriptionBody};
use postgres_protocol::message::frontend::{self, BindError};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_postgres::types::{self, Type};

use super::handover::Stream;
use crate::visible::one_line;

/// Space for answers, in bytes.
const INPUT: usize = 8 << 10;
/// The longest message that a server may send, in bytes. Replies of the workloads are far shorter.
const LONGEST: usize = 16 << 20;
/// The format of arguments and of columns: binary.
const BINARY: [i16; 1] = [1];

/// Why an argument cannot be sent.
type Unfit = Box<dyn Error + Sync + Send>;

/// A session whose messages are written and read in turn.
pub struct Session {
    stream: Box<dyn Stream>,
    output: BytesMut,
    input: BytesMut,
    /// Syncs that the server has not answered yet.
    owed: usize,
    /// Whether a transaction is open, as of the last answer to a Sync.
    open: bool,
}

/// Why an exchange failed.
#[derive(Debug)]
pub enum Problem {
    /// An error of the server. It carries on after the next Sync.
    Refused(Refusal),
    /// The connection broke.
    Lost(String),
    /// An answer is none of the protocol's. What comes after it cannot be read.
    Unreadable(String),
}

/// An error of the server.
#[derive(Debug, Default)]
pub struct Refusal {
    /// The SQLSTATE.
    pub code: String,
    message: String,
    detail: Option<String>,
}

impl Refusal {
    fn of(mut fields: ErrorFields<'_>) -> io::Result<Refusal> {
        let mut refusal = Refusal::default();
        while let Some(field) = fields.next()? {
            let text = || String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'C' => refusal.code = text(),
                b'M' => refusal.message = text(),
                b'D' => refusal.detail = Some(text()),
                _ => {}
            }
        }
        Ok(refusal)
    }

    /// The server's message, detail and code in one line.
    pub fn full_message(&self) -> String {
        let detail = self.detail.iter().map(|detail| format!(" ({})", one_line(detail))).collect::<String>();
        format!("{}{detail} [SQLSTATE {}]", one_line(&self.message), one_line(&self.code))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Refused(refusal) => out.write_str(&refusal.full_message()),
            Problem::Lost(why) | Problem::Unreadable(why) => out.write_str(why),
        }
    }
}

/// Of a message that cannot be read or written.
impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Problem {
        Problem::Unreadable(one_line(&error.to_string()))
    }
}

/// A prepared statement.
#[derive(Debug)]
pub struct Statement {
    pub(super) name: String,
    /// The types of its parameters.
    pub(super) parameters: Vec<Type>,
    /// The types of its columns.
    pub columns: Vec<Type>,
}

impl Session {
    /// A session on a stream on which the server waits for a command.
    pub fn new(stream: Box<dyn Stream>) -> Session {
        let (output, input) = (BytesMut::new(), BytesMut::new());
        Session { stream, output, input, owed: 0, open: false }
    }

    /// Whether answers are missing: an exchange was given up.
    pub fn waits(&self) -> bool {
        self.owed > 0
    }

    /// Whether the server has a transaction open, as of its last answer.
    pub fn in_transaction(&self) -> bool {
        self.open
    }

    /// Prepares statements in one round trip.
    ///
    /// # Errors
    /// If the server refuses one of them, or the connection breaks.
    pub async fn prepare(&mut self, texts: &[&str]) -> Result<Vec<Statement>, Problem> {
        let names: Vec<String> = (0..texts.len()).map(|number| format!("s{number}")).collect();
        for (text, name) in texts.iter().zip(&names) {
            frontend::parse(name, text, [], &mut self.output)?;
            frontend::describe(b'S', name, &mut self.output)?;
        }
        self.sync();
        self.send().await?;
        let mut statements = Vec::new();
        for name in names {
            let (mut parameters, mut columns) = (Vec::new(), None);
            while columns.is_none() {
                match self.next().await? {
                    Message::ParseComplete => {}
                    Message::ParameterDescription(body) => {
                        parameters = body.parameters().map(|oid| Ok(type_of(oid))).collect()?;
                    }
                    Message::RowDescription(body) => {
                        columns = Some(columns_of(&body)?);
                    }
                    Message::NoData => columns = Some(Vec::new()),
                    other => return Err(unexpected(&other)),
                }
            }
            statements.push(Statement { name, parameters, columns: columns.unwrap_or_default() });
        }
        self.drain().await?;
        Ok(statements)
    }

    /// Adds a prepared statement to the next message. `serialize` writes an argument as a type.
    ///
    /// # Errors
    /// If an argument does not fit its type. Then nothing is added.
    pub fn execute<T>(
        &mut self,
        statement: &Statement,
        arguments: impl ExactSizeIterator<Item = T>,
        mut serialize: impl FnMut(T, &Type, &mut BytesMut) -> Result<types::IsNull, Unfit>,
    ) -> Result<(), String> {
        if arguments.len() != statement.parameters.len() {
            return Err(format!("it has {} parameters, not {}", statement.parameters.len(), arguments.len()));
        }
        let arguments = arguments.zip(&statement.parameters);
        self.bind(&statement.name, arguments, |(argument, of), out| serialize(argument, of, out))?;
        self.add(|out| frontend::execute("", 0, out))
    }

    /// Adds a statement that is not prepared, with the types of its arguments.
    ///
    /// # Errors
    /// If an argument does not fit its type. Then nothing is added.
    pub fn execute_text<T>(
        &mut self,
        text: &str,
        arguments: impl Iterator<Item = (T, Type)> + Clone,
        mut serialize: impl FnMut(T, &Type, &mut BytesMut) -> Result<types::IsNull, Unfit>,
    ) -> Result<(), String> {
        let before = self.output.len();
        let oids = arguments.clone().map(|(_, of)| of.oid());
        self.add(|out| frontend::parse("", text, oids, out))?;
        let bound = self.bind("", arguments, |(argument, of), out| serialize(argument, &of, out));
        if bound.is_err() {
            self.output.truncate(before);
            return bound;
        }
        self.add(|out| frontend::describe(b'P', "", out))?;
        self.add(|out| frontend::execute("", 0, out))
    }

    fn bind<T>(
        &mut self,
        name: &str,
        arguments: impl Iterator<Item = T>,
        mut serialize: impl FnMut(T, &mut BytesMut) -> Result<types::IsNull, Unfit>,
    ) -> Result<(), String> {
        let before = self.output.len();
        let serialize = |argument, out: &mut BytesMut| {
            serialize(argument, out).map(|null| match null {
                types::IsNull::Yes => IsNull::Yes,
                types::IsNull::No => IsNull::No,
            })
        };
        let bound = frontend::bind("", name, BINARY, arguments, serialize, BINARY, &mut self.output);
        bound.map_err(|error| {
            self.output.truncate(before);
            match error {
                BindError::Conversion(error) => one_line(&error.to_string()),
                BindError::Serialization(error) => one_line(&error.to_string()),
            }
        })
    }

    fn add(&mut self, message: impl FnOnce(&mut BytesMut) -> io::Result<()>) -> Result<(), String> {
        message(&mut self.output).map_err(|error| one_line(&error.to_string()))
    }

    /// Drops what was added and not sent.
    pub fn forget(&mut self) {
        self.output.clear();
        self.owed = 0;
    }

    /// Adds a Sync: the server ends a transaction that is not open beyond it, answers, and carries on after an error.
    pub fn sync(&mut self) {
        frontend::sync(&mut self.output);
        self.owed += 1;
    }

    /// Sends what was added.
    ///
    /// # Errors
    /// If the connection is broken.
    pub async fn send(&mut self) -> Result<(), Problem> {
        let sent = async {
            self.stream.write_all(&self.output).await?;
            self.stream.flush().await
        };
        let sent = sent.await;
        self.output.clear();
        sent.map_err(broken)
    }

    /// Waits for the next message that answers something. An answer to a Sync is noted.
    ///
    /// # Errors
    /// An error of the server, or of the connection.
    pub async fn next(&mut self) -> Result<Message, Problem> {
        loop {
            if let Some(header) = Header::parse(&self.input)?
                && usize::try_from(header.len()).is_ok_and(|length| length > LONGEST)
            {
                return Err(Problem::Unreadable(format!("the server sends a message of {} bytes", header.len())));
            }
            match Message::parse(&mut self.input)? {
                Some(Message::NoticeResponse(_) | Message::ParameterStatus(_) | Message::NotificationResponse(_)) => {}
                Some(Message::ErrorResponse(body)) => return Err(Problem::Refused(Refusal::of(body.fields())?)),
                Some(Message::ReadyForQuery(body)) => {
                    self.owed = self.owed.saturating_sub(1);
                    self.open = body.status() != b'I';
                    return Ok(Message::ReadyForQuery(body));
                }
                Some(message) => return Ok(message),
                None => {
                    if self.input.is_empty() {
                        self.input.reserve(INPUT);
                    }
                    if self.stream.read_buf(&mut self.input).await.map_err(broken)? == 0 {
                        return Err(Problem::Lost("the server closed the connection".to_owned()));
                    }
                }
            }
        }
    }

    /// Waits for the answers to all Syncs, whatever comes before them.
    ///
    /// # Errors
    /// The first error of the server, or an error of the connection.
    pub async fn drain(&mut self) -> Result<(), Problem> {
        let mut refused = None;
        while self.owed > 0 {
            match self.next().await {
                Ok(_) => {}
                Err(Problem::Refused(refusal)) => refused = refused.or(Some(refusal)),
                Err(lost) => return Err(lost),
            }
        }
        refused.map_or(Ok(()), |refusal| Err(Problem::Refused(refusal)))
    }

    /// Executes a text without arguments and rows.
    ///
    /// # Errors
    /// An error of the server, or of the connection.
    pub async fn say(&mut self, text: &str) -> Result<(), Problem> {
        frontend::query(text, &mut self.output)?;
        self.owed += 1;
        self.send().await?;
        self.drain().await
    }
}

/// The types of a reply's columns.
///
/// # Errors
/// If the description is damaged.
pub fn columns_of(body: &RowDescriptionBody) -> Result<Vec<Type>, Problem> {
    Ok(body.fields().map(|field| Ok(type_of(field.type_oid()))).collect()?)
}

fn type_of(oid: types::Oid) -> Type {
    Type::from_oid(oid).unwrap_or(Type::UNKNOWN)
}

/// A message that does not belong where it came.
pub fn unexpected(message: &Message) -> Problem {
    let what = match message {
        Message::ReadyForQuery(_) => "ends before its answer is complete",
        Message::CopyInResponse(_) | Message::CopyOutResponse(_) | Message::CopyData(_) | Message::CopyDone => {
            "is a copy that nobody asked for"
        }
        _ => "is none that belongs there",
    };
    Problem::Unreadable(format!("a message of the server {what}"))
}

fn broken(error: io::Error) -> Problem {
    Problem::Lost(one_line(&error.to_string()))
}

impl Drop for Session {
    /// Tells the server that the session ends, if that needs no waiting.
    fn drop(&mut self) {
        let mut farewell = BytesMut::new();
        frontend::terminate(&mut farewell);
        let mut context = Context::from_waker(Waker::noop());
        let mut stream = Pin::new(&mut self.stream);
        let _ = stream.as_mut().poll_write(&mut context, &farewell);
        let _ = stream.as_mut().poll_flush(&mut context);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex};

    use super::*;

    fn session() -> (Session, DuplexStream) {
        let (near, far) = duplex(1 << 16);
        (Session::new(Box::new(near)), far)
    }

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
    }

    #[tokio::test]
    async fn an_error_ends_what_was_sent_with_it_and_no_more() {
        let (mut session, mut server) = session();
        session.sync();
        session.sync();
        session.send().await.unwrap();
        let error = message(b'E', b"SERROR\0C40001\0Mno\nway\0Dtoo late\0\0");
        let answers =
            [error, message(b'Z', b"E"), message(b'N', b"\0"), message(b'C', b"UPDATE 3\0"), message(b'Z', b"I")];
        server.write_all(&answers.concat()).await.unwrap();
        let Err(Problem::Refused(refusal)) = session.next().await else { panic!("it is an error") };
        assert_eq!(
            (refusal.code.as_str(), refusal.full_message().as_str()),
            ("40001", "no way (too late) [SQLSTATE 40001]")
        );
        assert!(session.waits());
        session.drain().await.unwrap();
        assert!(!session.waits() && !session.in_transaction());
    }

    #[tokio::test]
    async fn what_is_no_message_cannot_be_read() {
        let endless = [&[b'D'][..], &u32::MAX.to_be_bytes()].concat();
        let long = [&[b'D'][..], &(LONGEST as u32 + 1).to_be_bytes()].concat();
        let odd = message(b'?', b"");
        for wrong in [endless, long, odd, b"D\0\0\0\x01".to_vec(), message(b'E', b"Cno end")] {
            let (mut session, mut server) = session();
            server.write_all(&wrong).await.unwrap();
            assert!(matches!(session.next().await, Err(Problem::Unreadable(_))), "{wrong:?}");
        }
        let (mut session, mut server) = session();
        server.write_all(b"C\0\0").await.unwrap();
        drop(server);
        assert!(matches!(session.next().await, Err(Problem::Lost(_))));
    }

    #[tokio::test]
    async fn the_server_is_told_that_a_session_ends() {
        let (session, mut server) = session();
        drop(session);
        let mut heard = Vec::new();
        server.read_to_end(&mut heard).await.unwrap();
        assert_eq!(heard, message(b'X', b""));
    }
}
