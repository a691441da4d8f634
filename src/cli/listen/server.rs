//! A small HTTP server: three pages, read only.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::live::Live;

const PAGE: &str = include_str!("page.html");
/// Maximum size of a request in bytes.
const MAX_REQUEST_BYTES: usize = 8 << 10;
/// Maximum number of connections; further ones are closed at once.
const MAX_CONNECTIONS: usize = 32;
/// Time limit of a write.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval of comments that keep an idle stream alive.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// Listens on a separate thread. Returns the address: port 0 means any free port.
pub(super) fn start(address: SocketAddr, live: Arc<Live>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    let open = Arc::new(AtomicUsize::new(0));
    thread::Builder::new().name("listen".to_owned()).spawn(move || {
        for connection in listener.incoming().filter_map(Result::ok) {
            if open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (live, of_thread) = (Arc::clone(&live), Arc::clone(&open));
            let served = thread::Builder::new().name("listen-reader".to_owned()).spawn(move || {
                // A client that disconnects is not an error.
                let _ = serve(connection, &live);
                of_thread.fetch_sub(1, Ordering::Relaxed);
            });
            if served.is_err() {
                open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    })?;
    Ok(address)
}

fn serve(mut connection: TcpStream, live: &Live) -> io::Result<()> {
    connection.set_read_timeout(Some(WRITE_TIMEOUT))?;
    connection.set_write_timeout(Some(WRITE_TIMEOUT))?;
    let head = head(&mut connection)?;
    let mut words = head.split_ascii_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    match (method, path) {
        ("GET", "/") => answer(&mut connection, "200 OK", "text/html; charset=utf-8", PAGE),
        ("GET", "/metrics") => match live.metrics() {
            Ok(text) => {
                let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                answer(&mut connection, "200 OK", kind, &text)
            }
            Err(error) => answer(&mut connection, "500 Internal Server Error", "text/plain", &error.to_string()),
        },
        ("GET", "/events") => events(&mut connection, live),
        ("GET", _) => answer(&mut connection, "404 Not Found", "text/plain", "/, /events or /metrics\n"),
        _ => answer(&mut connection, "405 Method Not Allowed", "text/plain", "GET alone\n"),
    }
}

/// Reads a request and returns its first line; headers are ignored.
fn head(connection: &mut TcpStream) -> io::Result<String> {
    let (mut request, mut piece) = (Vec::new(), [0_u8; 1024]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = connection.read(&mut piece)?;
        if length == 0 || request.len() > MAX_REQUEST_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        request.extend_from_slice(piece.get(..length).unwrap_or_default());
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    Ok(String::from_utf8_lossy(line).into_owned())
}

fn answer(connection: &mut TcpStream, status: &str, kind: &str, body: &str) -> io::Result<()> {
    write!(
        connection,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: \
         close\r\n\r\n{body}",
        body.len()
    )?;
    connection.flush()
}

/// Server-sent events: all stored seconds, then each new one.
fn events(connection: &mut TcpStream, live: &Live) -> io::Result<()> {
    connection.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
    )?;
    let mut from = 0;
    loop {
        let (messages, next) = live.messages(from, KEEP_ALIVE_INTERVAL);
        let text: String = messages.iter().map(|message| format!("data: {message}\n\n")).collect();
        connection.write_all(if text.is_empty() { b": nothing new\n\n" } else { text.as_bytes() })?;
        connection.flush()?;
        from = next;
    }
}
