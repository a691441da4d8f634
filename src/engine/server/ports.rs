//! Ports of the loopback for private servers.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::TcpListener;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::engine::Error;

/// Below the ports that systems give to connections (from 32,768 on in Linux): a free one of these is not given away
/// before the server listens on it, nor while the server is down.
const FIRST: u16 = 10_000;
const PORTS: u16 = 10_000;

/// So many free ports, which are distinct and which this process has not taken lately.
pub(super) fn free(count: usize) -> Result<Vec<u16>, Error> {
    // Each process begins elsewhere.
    static NEXT: LazyLock<AtomicU64> =
        LazyLock::new(|| AtomicU64::new(RandomState::new().build_hasher().finish() % u64::from(PORTS)));
    // All are held until the last one is found.
    let mut held = Vec::with_capacity(count);
    for _ in 0..PORTS {
        if held.len() == count {
            break;
        }
        let port = FIRST + (NEXT.fetch_add(1, Ordering::Relaxed) % u64::from(PORTS)) as u16;
        held.extend(TcpListener::bind(("127.0.0.1", port)).ok().map(|listener| (listener, port)));
    }
    if held.len() < count {
        let last = FIRST + (PORTS - 1);
        return Err(Error::Database(format!("no {count} free ports on the loopback between {FIRST} and {last}")));
    }
    Ok(held.into_iter().map(|(_, port)| port).collect())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// A process that another test starts holds copies of all sockets between fork and exec, so a port may be in use
    /// for a moment after its listener is gone.
    fn soon_free(port: u16) -> TcpListener {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            match TcpListener::bind(("127.0.0.1", port)) {
                Ok(listener) => return listener,
                Err(why) => assert!(Instant::now() < until, "port {port}: {why}"),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn ports_are_free_distinct_and_not_those_of_connections() {
        let taken = free(1).unwrap();
        let _holds = soon_free(taken[0]);
        let mut ports = free(40).unwrap();
        assert!(ports.iter().all(|port| (FIRST..FIRST + PORTS).contains(port)), "{ports:?}");
        assert!(!ports.contains(&taken[0]));
        ports.iter().for_each(|port| drop(soon_free(*port)));
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 40);
    }
}
