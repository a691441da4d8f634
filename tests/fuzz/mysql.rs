//! A server that speaks the protocol of MySQL and MariaDB.

use std::collections::BTreeMap;

use tokio::net::UnixStream;

use crate::answers::{Answer, answer};
use crate::faults::Wire;
use crate::replies::{Line, Over, Shared, fuzz};

/// A file that a hostile server asks for; what it holds must not come.
const ASKED_FOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/LICENSE");
/// A part of it.
const SECRET: &[u8] = b"TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION";

/// Frames: three bytes of length, least first, and a number that counts up within an exchange.
struct Frames {
    sequence: u8,
    /// Whether the client is still logging in: no message then holds a number of columns.
    login: bool,
}

impl Frames {
    /// A message in as many frames as it needs.
    fn frames(&mut self, whole: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in whole.chunks(0xFF_FFFF) {
            bytes.extend(&(part.len() as u32).to_le_bytes()[..3]);
            bytes.push(self.sequence);
            bytes.extend(part);
            self.sequence = self.sequence.wrapping_add(1);
        }
        if whole.is_empty() {
            bytes.extend([0, 0, 0, self.sequence]);
            self.sequence = self.sequence.wrapping_add(1);
        }
        bytes
    }
}

/// Makes what the driver may take for a number of columns at most 65,535: it reserves memory for as many as the server
/// says, which a larger number would exhaust. See docs/security.md.
fn few_columns(message: &mut [u8]) {
    match message {
        [0xFD, _, _, high] | [0xFD, _, _, high, ..] => *high = 0,
        [0xFE, _, _, high @ ..] if high.len() >= 6 => high[..6].fill(0),
        _ => {}
    }
}

impl Wire for Frames {
    // Of the length only the uppermost byte, and the number. A message that says it is shorter than it is would leave
    // bytes behind that begin a message by chance, and might hold a number of columns: see `few_columns`.
    const LENGTH: std::ops::Range<usize> = 2..4;

    fn framed(&mut self, kind: u8, payload: &[u8]) -> Vec<u8> {
        // The kind is the payload's first byte, where a message has one.
        let mut whole: Vec<u8> = if kind == PLAIN { payload.to_vec() } else { [&[kind][..], payload].concat() };
        if !self.login {
            few_columns(&mut whole);
        }
        self.frames(&whole)
    }

    fn error(&mut self, number: u32) -> Vec<u8> {
        const CODES: [u16; 16] =
            [1205, 1213, 1020, 1045, 1049, 1040, 1064, 1146, 1148, 1290, 1305, 1927, 2006, 2013, 3024, 0xFFFF];
        let code = CODES[number as usize % CODES.len()];
        let text = match number % 3 {
            0 => "no\r\nway\u{1b}[31m".to_owned(),
            1 => "x".repeat(70_000),
            _ => String::new(),
        };
        let state = if number.is_multiple_of(2) { "#HY000" } else { "" };
        self.framed(0xFF, &[&code.to_le_bytes()[..], state.as_bytes(), text.as_bytes()].concat())
    }

    fn other(&mut self, number: u32) -> Vec<u8> {
        match number % 8 {
            // A file of the client's, please.
            0 | 1 => self.framed(0xFB, ASKED_FOR.as_bytes()),
            // All is well, and more follows.
            2 => self.framed(0, &[0, 0, 0x0A, 0, 0, 0]),
            3 => self.framed(0xFE, &[0, 0, 2, 0]),
            4 => self.framed(0xFE, b"mysql_clear_password\0"),
            5 => self.framed(0xFE, b"caching_sha2_password\0saltsaltsaltsaltsalt\0"),
            6 => self.framed(1, b"\x04"),
            _ => self.framed(PLAIN, &[]),
        }
    }
}

/// The kind of a message whose first byte is no kind: a column's description, a row, a greeting.
const PLAIN: u8 = 0xF0;
/// Statement ends with its last row.
const END: [u8; 4] = [0, 0, 2, 0];

async fn serve(stream: UnixStream, conversation: Shared) {
    let login = conversation.lock().unwrap().login.clone();
    let line = Line::new(stream, conversation, Frames { sequence: 0, login: true });
    let _ = Server { line, prepared: BTreeMap::new(), next: 1 }.talk(&login).await;
}

struct Server {
    line: Line<Frames>,
    prepared: BTreeMap<u32, String>,
    next: u32,
}

impl Server {
    async fn talk(&mut self, login: &str) -> Result<(), Over> {
        self.login(login).await?;
        self.line.wire.login = false;
        loop {
            let payload = self.packet().await?;
            let (kind, rest) = payload.split_first().ok_or(Over)?;
            match kind {
                // COM_QUIT
                1 => return Err(Over),
                // COM_QUERY
                3 => {
                    let sql = String::from_utf8_lossy(rest).into_owned();
                    match answer(&sql, 1) {
                        Some(answer) => self.rows(&answer, false, sql.contains("CALL")).await?,
                        None => self.ok(1).await?,
                    }
                }
                // COM_STMT_PREPARE
                0x16 => self.prepare(String::from_utf8_lossy(rest).into_owned()).await?,
                // COM_STMT_EXECUTE
                0x17 => {
                    let id = u32::from_le_bytes(rest.get(..4).ok_or(Over)?.try_into().map_err(|_| Over)?);
                    let sql = self.prepared.get(&id).cloned().unwrap_or_default();
                    match answer(&sql, places(&sql, rest)) {
                        // Of the one district that it is asked for.
                        Some(mut answer) if sql.starts_with("DELETE") => {
                            answer.rows.drain(..answer.rows.len() - 1);
                            self.rows(&answer, true, false).await?;
                        }
                        Some(answer) => self.rows(&answer, true, sql.contains("CALL")).await?,
                        None => self.ok(places(&sql, rest) as u8).await?,
                    }
                }
                // COM_STMT_CLOSE has no answer.
                0x19 => {}
                _ => self.ok(0).await?,
            }
        }
    }

    async fn login(&mut self, login: &str) -> Result<(), Over> {
        let plugin = if login == "sha2" { "caching_sha2_password" } else { "mysql_native_password" };
        let mut greeting = vec![10];
        greeting.extend(b"5.5.5-10.11.6-MariaDB\0");
        greeting.extend([7, 0, 0, 0]);
        greeting.extend(b"saltsalt\0");
        // What it can do: protocol 4.1, transactions, secure connections, plugins, local files, several results.
        greeting.extend([0xFF, 0xF7, 33, 2, 0, 0x3F, 0, 21]);
        greeting.extend([0; 10]);
        greeting.extend(b"saltsaltsalt\0");
        greeting.extend(plugin.as_bytes());
        greeting.push(0);
        self.line.send(PLAIN, &greeting).await?;
        self.packet().await?;
        if login == "sha2" {
            // It knows the client from before.
            self.line.send(1, &[3]).await?;
        }
        self.ok(0).await
    }

    /// The client's next packet. None may hold what stands in the file that this server asks for.
    async fn packet(&mut self) -> Result<Vec<u8>, Over> {
        let head = self.line.receive(4).await?;
        let size = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
        self.line.wire.sequence = head[3].wrapping_add(1);
        let payload = self.line.receive(size).await?;
        if payload.windows(SECRET.len()).any(|window| window == SECRET) {
            self.line.leaked();
        }
        Ok(payload)
    }

    async fn ok(&mut self, rows: u8) -> Result<(), Over> {
        self.line.send(0, &[rows, 0, 2, 0, 0, 0]).await
    }

    async fn prepare(&mut self, sql: String) -> Result<(), Over> {
        let parameters = sql.matches('?').count();
        // What a call returns is not known beforehand.
        let columns = answer(&sql, 1).filter(|_| !sql.contains("CALL")).unwrap_or_default().columns;
        let id = self.next;
        self.next += 1;
        self.prepared.insert(id, sql);
        let mut head = id.to_le_bytes().to_vec();
        head.extend((columns.len() as u16).to_le_bytes());
        head.extend((parameters as u16).to_le_bytes());
        head.extend([0, 0, 0]);
        self.line.send(0, &head).await?;
        for _ in 0..parameters {
            self.line.send(PLAIN, &column("?")).await?;
        }
        if parameters > 0 {
            self.line.send(0xFE, &END).await?;
        }
        for (name, _) in &columns {
            self.line.send(PLAIN, &column(name)).await?;
        }
        if !columns.is_empty() {
            self.line.send(0xFE, &END).await?;
        }
        Ok(())
    }

    async fn rows(&mut self, answer: &Answer, binary: bool, call: bool) -> Result<(), Over> {
        self.line.send(PLAIN, &[answer.columns.len() as u8]).await?;
        for (name, _) in &answer.columns {
            self.line.send(PLAIN, &column(name)).await?;
        }
        // Behind a call's rows comes its own end.
        let end = if call { [0, 0, 0x0A, 0] } else { END };
        self.line.send(0xFE, &end).await?;
        for row in &answer.rows {
            let mut payload = Vec::new();
            if binary {
                payload.push(0);
                payload.extend(std::iter::repeat_n(0, (row.len() + 7 + 2) / 8));
            }
            for value in row {
                match value {
                    Some(value) => text(&mut payload, value.as_bytes()),
                    None => payload.push(0xFB),
                }
            }
            self.line.send(PLAIN, &payload).await?;
        }
        self.line.send(0xFE, &end).await?;
        if call { self.ok(0).await } else { Ok(()) }
    }
}

/// A text with its length before it.
fn text(to: &mut Vec<u8>, text: &[u8]) {
    match text.len() {
        size @ 0..=250 => to.push(size as u8),
        size => {
            to.push(0xFC);
            to.extend((size as u16).to_le_bytes());
        }
    }
    to.extend(text);
}

/// The description of a column, all of which are texts here.
fn column(name: &str) -> Vec<u8> {
    let mut payload = Vec::new();
    for part in ["def", "bench", "t", "t", name, name] {
        text(&mut payload, part.as_bytes());
    }
    payload.push(12);
    payload.extend([45, 0, 0, 1, 0, 0, 253, 0, 0, 0, 0, 0]);
    payload
}

/// Places of a statement's columns of arguments: those of its document, or what a question about procedures has to be
/// answered with.
fn places(sql: &str, execute: &[u8]) -> usize {
    let reported = String::from_utf8_lossy(execute);
    if sql.contains("information_schema.parameters") {
        let known = [
            ("new_order", 7),
            ("payment", 7),
            ("delivery", 2),
            ("order_status", 4),
            ("stock_level", 3),
            ("tpc", 4),
            ("debit_credit", 3),
        ];
        return known.into_iter().find(|(name, _)| reported.ends_with(name)).map_or(1, |(_, number)| number);
    }
    if sql.starts_with("DELETE") {
        // Its last argument is the district.
        return execute
            .len()
            .checked_sub(8)
            .and_then(|at| execute.get(at))
            .map_or(1, |district| usize::from(*district).clamp(1, 10));
    }
    let document = reported.find("[[").map_or("", |at| &reported[at..]);
    document.matches('[').count().saturating_sub(1).max(1)
}

#[test]
fn replies_of_mysql() {
    let asked_for = std::fs::read(ASKED_FOR).unwrap();
    assert!(asked_for.windows(SECRET.len()).any(|window| window == SECRET));
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("mysql.sock");
    let url = format!("mysql://ann:secret@localhost/?socket={}", socket.display());
    fuzz("replies_of_mysql", &socket, &url, serve);
}
