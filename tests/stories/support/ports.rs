//! Ports for servers of the tests' own.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports that the system gives to whoever asks for any: a free one of these is not given to another program
/// before the test's server listens at it.
const FIRST: u16 = 20_000;
const PORTS: u16 = 12_000;

/// The first of so many free ports in a row, which no other test of this process is given.
pub fn free_ports(count: u16) -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Each process begins elsewhere.
    let begin = (std::process::id() % u32::from(PORTS / 64)) as u16 * 64;
    for _ in 0..PORTS {
        let at = (begin + NEXT.fetch_add(count, Ordering::Relaxed) % PORTS) % PORTS;
        let first = FIRST + at;
        if (first..first + count).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()) {
            return first;
        }
    }
    panic!("no {count} free ports from {FIRST} on");
}
