//! A server that speaks PostgreSQL's protocol, version 3.

use std::collections::BTreeMap;

use tokio::net::UnixStream;

use crate::answers::{Answer, Kind, answer};
use crate::faults::Wire;
use crate::replies::{Line, Over, Shared, fuzz};

/// PostgreSQL's frames: a letter, and a length that counts itself.
struct Frames;

impl Wire for Frames {
    const LENGTH: std::ops::Range<usize> = 1..5;

    fn framed(&mut self, kind: u8, payload: &[u8]) -> Vec<u8> {
        [&[kind][..], &(payload.len() as u32 + 4).to_be_bytes(), payload].concat()
    }

    fn error(&mut self, number: u32) -> Vec<u8> {
        const CODES: [&str; 16] = [
            "40001", "40P01", "55P03", "40003", "57P01", "57P03", "57P05", "25P03", "08006", "53100", "42501", "25006",
            "42883", "28P01", "3D000", "XX",
        ];
        let code = CODES[number as usize % CODES.len()];
        let text = match number % 3 {
            0 => "no\r\nway\u{1b}[31m\0SFATAL".to_owned(),
            1 => "x".repeat(70_000),
            _ => String::new(),
        };
        let tail = self.framed(b'Z', b"E");
        [self.framed(b'E', format!("SERROR\0VERROR\0C{code}\0M{text}\0P{number}\0\0").as_bytes()), tail].concat()
    }

    fn other(&mut self, number: u32) -> Vec<u8> {
        match number % 12 {
            0 => self.framed(b'A', b"\0\0\0\x01channel\0payload\0"),
            1 => self.framed(b'N', b"SNOTICE\0VNOTICE\0C00000\0Mtext\0\0"),
            2 => self.framed(b'G', b"\0\0\x02\0\0\0\0"),
            3 => self.framed(b'H', b"\0\xff\xff"),
            4 => self.framed(b'I', b""),
            5 => self.framed(b's', b""),
            6 => self.framed(b'c', b""),
            7 => self.framed(b'd', &[b'x'; 1_000]),
            8 => self.framed(b'R', b"\0\0\0\x05salt"),
            9 => self.framed(b'R', b"\0\0\0\x0bgarbage"),
            10 => self.framed(b'S', b"client_encoding\0LATIN1\0"),
            _ => self.framed(b'Z', b"?"),
        }
    }
}

/// A statement that a client prepared.
#[derive(Clone, Default)]
struct Prepared {
    sql: String,
    parameters: Vec<u32>,
}

async fn serve(stream: UnixStream, conversation: Shared) {
    let login = conversation.lock().unwrap().login.clone();
    let line = Line::new(stream, conversation, Frames);
    let _ = Server { line, prepared: BTreeMap::new(), bound: (Prepared::default(), 1) }.talk(&login).await;
}

struct Server {
    line: Line<Frames>,
    prepared: BTreeMap<String, Prepared>,
    /// The statement that is bound, and the places of its columns of arguments.
    bound: (Prepared, usize),
}

impl Server {
    async fn talk(&mut self, login: &str) -> Result<(), Over> {
        self.startup().await?;
        self.login(login).await?;
        for (name, value) in [("server_version", "15.13"), ("client_encoding", "UTF8"), ("integer_datetimes", "on")] {
            self.line.send(b'S', format!("{name}\0{value}\0").as_bytes()).await?;
        }
        self.line.send(b'K', &[0, 0, 0, 7, 1, 2, 3, 4]).await?;
        self.line.send(b'Z', b"I").await?;
        loop {
            let (kind, payload) = self.message().await?;
            match kind {
                b'P' => self.parse(&payload).await?,
                b'D' => self.describe(&payload).await?,
                b'B' => self.bind(&payload).await?,
                b'E' => {
                    let (bound, places) = self.bound.clone();
                    self.rows(answer(&bound.sql, places), places, true).await?;
                }
                b'Q' => {
                    let sql = String::from_utf8_lossy(&payload).into_owned();
                    let answer = answer(&sql, 1);
                    if let Some(answer) = &answer {
                        self.line.send(b'T', &description(answer)).await?;
                    }
                    self.rows(answer, 1, false).await?;
                    self.line.send(b'Z', b"I").await?;
                }
                b'S' => self.line.send(b'Z', b"I").await?,
                b'C' => self.line.send(b'3', b"").await?,
                b'X' => return Err(Over),
                _ => {}
            }
        }
    }

    /// What the client opens with; encryption is refused.
    async fn startup(&mut self) -> Result<(), Over> {
        loop {
            let head = self.line.receive(4).await?;
            let size = u32::from_be_bytes(head.try_into().unwrap()) as usize;
            let body = self.line.receive(size - 4).await?;
            if body[..4] != [4, 210, 22, 47] {
                return Ok(());
            }
            // A single letter, without a frame: spoilt as a message would be, so that it may also be `S`.
            self.line.send(b'N', b"").await?;
        }
    }

    async fn login(&mut self, login: &str) -> Result<(), Over> {
        match login {
            "password" => {
                self.line.send(b'R', &[0, 0, 0, 3]).await?;
                self.message().await?;
            }
            "md5" => {
                self.line.send(b'R', b"\0\0\0\x05salt").await?;
                self.message().await?;
            }
            "scram" => {
                self.line.send(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0").await?;
                let (_, first) = self.message().await?;
                let text = String::from_utf8_lossy(&first).into_owned();
                let nonce = text.rsplit("r=").next().unwrap_or_default();
                self.line.send(b'R', format!("\0\0\0\x0br={nonce}more,s=c2FsdHNhbHRzYWx0,i=4096").as_bytes()).await?;
                self.message().await?;
                // The server does not know the password, so that it cannot prove it.
                self.line.send(b'R', b"\0\0\0\x0cv=c2FsdHNhbHRzYWx0").await?;
            }
            _ => {}
        }
        self.line.send(b'R', &[0, 0, 0, 0]).await
    }

    async fn message(&mut self) -> Result<(u8, Vec<u8>), Over> {
        let head = self.line.receive(5).await?;
        let size = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
        Ok((head[0], self.line.receive(size - 4).await?))
    }

    async fn parse(&mut self, payload: &[u8]) -> Result<(), Over> {
        let mut parts = payload.splitn(3, |byte| *byte == 0);
        let mut text = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        let (name, sql) = (text(), text());
        let parameters = parameters(&sql);
        self.prepared.insert(name, Prepared { sql, parameters });
        self.line.send(b'1', b"").await
    }

    async fn describe(&mut self, payload: &[u8]) -> Result<(), Over> {
        let name = String::from_utf8_lossy(&payload[1..payload.len() - 1]).into_owned();
        let prepared = self.prepared.get(&name).cloned().unwrap_or_default();
        let types = prepared.parameters.iter().flat_map(|oid| oid.to_be_bytes());
        let described: Vec<u8> = (prepared.parameters.len() as u16).to_be_bytes().into_iter().chain(types).collect();
        self.line.send(b't', &described).await?;
        match answer(&prepared.sql, 1) {
            Some(answer) => self.line.send(b'T', &description(&answer)).await,
            None => self.line.send(b'n', b"").await,
        }
    }

    async fn bind(&mut self, payload: &[u8]) -> Result<(), Over> {
        let mut parts = payload.splitn(3, |byte| *byte == 0);
        parts.next();
        let name = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        let prepared = self.prepared.get(&name).cloned().unwrap_or_default();
        self.bound = (prepared, places(parts.next().unwrap_or_default()));
        self.line.send(b'2', b"").await
    }

    async fn rows(&mut self, answer: Option<Answer>, places: usize, binary: bool) -> Result<(), Over> {
        let answer = answer.unwrap_or_default();
        for row in &answer.rows {
            let mut payload = (row.len() as u16).to_be_bytes().to_vec();
            for (value, (_, kind)) in row.iter().zip(&answer.columns) {
                let bytes =
                    value.as_ref().map(|value| if binary { encoded(*kind, value) } else { value.clone().into_bytes() });
                payload.extend(bytes.as_ref().map_or(-1, |bytes| bytes.len() as i32).to_be_bytes());
                payload.extend(bytes.unwrap_or_default());
            }
            self.line.send(b'D', &payload).await?;
        }
        // A statement that changes rows changes one for each of its places.
        let tag = if answer.columns.is_empty() {
            format!("UPDATE {places}\0")
        } else {
            format!("SELECT {}\0", answer.rows.len())
        };
        self.line.send(b'C', tag.as_bytes()).await
    }
}

/// The types of the parameters `$1::TYPE`, `$2::TYPE`, …; text where none is said.
fn parameters(sql: &str) -> Vec<u32> {
    let mut types: Vec<u32> = Vec::new();
    for part in sql.split('$').skip(1) {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(number @ 1..=64) = part[..digits].parse::<usize>() else { continue };
        let rest = part[digits..].strip_prefix("::").unwrap_or_default();
        let known = [
            ("integer[]", 1007),
            ("integer", 23),
            ("numeric[]", 1231),
            ("numeric", 1700),
            ("text[]", 1009),
            ("text", 25),
            ("bigint", 20),
            ("timestamptz", 1184),
        ];
        let oid = known.into_iter().find(|(name, _)| rest.starts_with(name)).map_or(25, |(_, oid)| oid);
        types.resize(types.len().max(number), 25);
        types[number - 1] = oid;
    }
    types
}

/// The places of the columns among the arguments of a bind message behind its names; 1 if there are none.
fn places(bind: &[u8]) -> usize {
    let word = |at: usize| bind.get(at..at + 2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]) as usize);
    let long = |at: usize| bind.get(at..at + 4).map(|bytes| i32::from_be_bytes(bytes.try_into().unwrap()));
    let mut at = 2 + 2 * word(0).unwrap_or(0);
    let number = word(at).unwrap_or(0);
    at += 2;
    for _ in 0..number {
        let Some(size) = long(at) else { break };
        at += 4;
        // An array of one dimension: its element's type stands before its length.
        if size >= 20 && long(at) == Some(1) && matches!(long(at + 8), Some(23 | 25 | 1700)) {
            return long(at + 12).unwrap_or(1).max(1) as usize;
        }
        at += usize::try_from(size).unwrap_or(0);
    }
    1
}

fn oid(kind: Kind) -> u32 {
    match kind {
        Kind::Int => 23,
        Kind::Big => 20,
        Kind::Number => 1700,
        Kind::Text => 25,
        Kind::Date => 1184,
        Kind::Truth => 16,
        Kind::Ints => 1007,
        Kind::Numbers => 1231,
        Kind::Texts => 1009,
    }
}

fn description(answer: &Answer) -> Vec<u8> {
    let mut payload = (answer.columns.len() as u16).to_be_bytes().to_vec();
    for (name, kind) in &answer.columns {
        payload.extend(name.as_bytes());
        payload.extend([0, 0, 0, 0, 0, 0, 0]);
        payload.extend(oid(*kind).to_be_bytes());
        payload.extend([0, 4, 0xFF, 0xFF, 0xFF, 0xFF, 0, 1]);
    }
    payload
}

/// A value in binary form.
fn encoded(kind: Kind, value: &str) -> Vec<u8> {
    let number = |text: &str| text.parse::<f64>().unwrap_or(0.0);
    match kind {
        Kind::Int => (number(value) as i32).to_be_bytes().to_vec(),
        Kind::Big => (number(value) as i64).to_be_bytes().to_vec(),
        Kind::Number => {
            let parts = (number(value).abs() * 1e4).round() as u64;
            let digits = [(parts / 10_000) as u16, (parts % 10_000) as u16];
            let words = [2, 0, if value.starts_with('-') { 0x4000 } else { 0 }, 2, digits[0], digits[1]];
            words.into_iter().flat_map(u16::to_be_bytes).collect()
        }
        Kind::Text => value.as_bytes().to_vec(),
        Kind::Date => 800_000_000_000_000_i64.to_be_bytes().to_vec(),
        Kind::Truth => vec![u8::from(value == "1")],
        Kind::Ints | Kind::Numbers | Kind::Texts => {
            let (element, of) = match kind {
                Kind::Ints => (23_i32, Kind::Int),
                Kind::Numbers => (1700, Kind::Number),
                _ => (25, Kind::Text),
            };
            let values: Vec<&str> = value.split(' ').filter(|value| !value.is_empty()).collect();
            let mut bytes: Vec<u8> =
                [1, 0, element, values.len() as i32, 1].into_iter().flat_map(i32::to_be_bytes).collect();
            for value in values {
                let element = encoded(of, value);
                bytes.extend((element.len() as u32).to_be_bytes());
                bytes.extend(element);
            }
            bytes
        }
    }
}

#[test]
fn replies_of_postgres() {
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join(".s.PGSQL.6000");
    let url = format!("postgres://ann:secret@/bench?host={}&port=6000&connect_timeout=1", place.path().display());
    fuzz("replies_of_postgres", &socket, &url, serve);
}
