//! A user watches a run in a browser, and by Prometheus.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::support::command::{graymark, run, start};
use tempfile::TempDir;

/// What a request is answered, as far as it comes before `enough` is in it.
fn get(port: u16, path: &str, enough: &str) -> String {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(connection, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let (mut text, mut piece) = (String::new(), [0_u8; 4096]);
    while !text.contains(enough) {
        match connection.read(&mut piece).unwrap() {
            0 => break,
            length => text.push_str(&String::from_utf8_lossy(&piece[..length])),
        }
    }
    text
}

#[test]
fn a_run_is_shown_while_it_goes_on() {
    let place = TempDir::new().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    let address = port.to_string();
    // A port that is taken is told before anything is run.
    let taken = ["run", "--db", "simulated:service=1ms", "--listen", &address];
    run(place.path(), &taken).refused(2, &["cannot listen", "--listen"]);
    drop(free);
    let arguments = ["--duration", "1h", "--ramp-up", "0s", "--check", "none", "--name", "seen", "--out", "record"];
    let mut working = start(graymark(place.path(), &[&taken[..], &arguments].concat()));
    working.wait_for("listen: http://127.0.0.1:");
    working.wait_for("run: measurement");
    // The stream tells of a second when it is over; then the metrics know it, too.
    let events = get(port, "/events", "\"second\":1");
    assert!(events.contains("text/event-stream") && events.contains("\"workload\":\"tpcc\""), "{events}");
    let metrics = get(port, "/metrics", "# EOF");
    let completed =
        metrics.lines().find(|line| line.starts_with("graymark_transactions_total{workload=\"tpcc\"")).unwrap();
    assert!(completed.contains("type=\"new_order\",run=\"seen\"") && !completed.ends_with(" 0"), "{completed}");
    assert!(metrics.contains("graymark_response_seconds_bucket") && metrics.contains("application/openmetrics-text"));
    assert!(get(port, "/", "</html>").contains("new EventSource"));
    assert!(get(port, "/secret", "/metrics").starts_with("HTTP/1.1 404"));
    working.signal(nix::sys::signal::Signal::SIGINT);
    let (_, done) = working.end();
    assert_eq!(done.code, Some(130), "{done:?}");
}
