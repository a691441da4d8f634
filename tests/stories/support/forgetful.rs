//! A wire to a PostgreSQL that carries out every commit, and says of some that nobody knows what became of them, as a
//! distributed database does that lost sight of one of its nodes.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Of so many commits, one is forgotten.
const EVERY: u64 = 10;

/// Its listening thread ends with the test's process.
pub struct Forgetful {
    pub port: u16,
    forgotten: Arc<AtomicU64>,
}

impl Forgetful {
    /// To the port of a server on this machine, for connections without TLS. What is said in place of a commit's
    /// answer: an SQLSTATE and a text.
    pub fn to(server: u16, code: &'static str, text: &'static str) -> Forgetful {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (commits, forgotten) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let counted = Arc::clone(&forgotten);
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                near.set_nodelay(true).unwrap();
                far.set_nodelay(true).unwrap();
                let (mut asked, mut to_server) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                std::thread::spawn(move || {
                    let _ = io::copy(&mut asked, &mut to_server);
                    let _ = to_server.shutdown(std::net::Shutdown::Both);
                });
                let (commits, counted) = (Arc::clone(&commits), Arc::clone(&counted));
                let forgets = move || {
                    let forgets = commits.fetch_add(1, Ordering::SeqCst) % EVERY == EVERY - 1;
                    counted.fetch_add(u64::from(forgets), Ordering::SeqCst);
                    forgets
                };
                std::thread::spawn(move || answer(far, near, forgets, &refusal(code, text)));
            }
        });
        Forgetful { port, forgotten }
    }

    /// How many commits were carried out and not reported.
    pub fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::SeqCst)
    }
}

/// Hands on the server's messages, until one side is gone. Only prepared commits are forgotten: those of sessions.
fn answer(from: TcpStream, mut to: TcpStream, forgets: impl Fn() -> bool, refusal: &[u8]) -> io::Result<()> {
    let mut from = io::BufReader::new(from);
    let mut bound = false;
    loop {
        let mut head = [0; 5];
        from.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut message = head.to_vec();
        message.resize(length + 1, 0);
        from.read_exact(&mut message[5..])?;
        let commit = bound && message[0] == b'C' && &message[5..] == b"COMMIT\0";
        bound = message[0] == b'2';
        to.write_all(if commit && forgets() { refusal } else { &message })?;
    }
}

/// An error, as the server writes it.
fn refusal(code: &str, text: &str) -> Vec<u8> {
    let fields = format!("SERROR\0VERROR\0C{code}\0M{text}\0\0");
    let mut message = vec![b'E'];
    message.extend((fields.len() as u32 + 4).to_be_bytes());
    message.extend(fields.as_bytes());
    message
}
