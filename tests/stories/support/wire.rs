//! A wire between a program and a server, which can swallow what is said on it, and be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swallowed {
    Nothing,
    /// What the program asks for.
    Requests,
    /// What the server answers.
    Replies,
}

/// What passes on all connections, and what does not.
#[derive(Default)]
struct Traffic {
    /// A [`Swallowed`].
    swallow: AtomicU8,
    /// Replies that arrived.
    replies: AtomicU64,
    /// Messages that did not arrive since the last cut.
    swallowed: AtomicU64,
}

/// Its ends are closed when it goes; the listening thread ends with the test's process.
pub struct Wire {
    pub port: u16,
    traffic: Arc<Traffic>,
    ends: Arc<Mutex<Vec<TcpStream>>>,
}

impl Wire {
    /// To the port of a server on this machine.
    pub fn to(server: u16) -> Wire {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let wire = Wire { port, traffic: Arc::default(), ends: Arc::default() };
        let (traffic, ends) = (Arc::clone(&wire.traffic), Arc::clone(&wire.ends));
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                near.set_nodelay(true).unwrap();
                far.set_nodelay(true).unwrap();
                let copy = |end: &TcpStream| end.try_clone().unwrap();
                ends.lock().unwrap().extend([copy(&near), copy(&far)]);
                carry((copy(&near), copy(&far)), Swallowed::Requests, &traffic);
                carry((far, near), Swallowed::Replies, &traffic);
            }
        });
        wire
    }

    /// From now on this does not arrive.
    pub fn swallow(&self, what: Swallowed) {
        self.traffic.swallow.store(what as u8, Ordering::SeqCst);
    }

    /// Waits until so many further replies have arrived.
    pub fn wait_for_replies(&self, further: u64) {
        let until = self.traffic.replies.load(Ordering::SeqCst) + further;
        wait("replies", || self.traffic.replies.load(Ordering::SeqCst) >= until);
    }

    /// Waits until so many messages were swallowed.
    pub fn wait_for_swallowed(&self, messages: u64) {
        wait("messages to swallow", || self.traffic.swallowed.load(Ordering::SeqCst) >= messages);
    }

    /// Cuts all connections; new ones carry everything.
    pub fn cut(&self) {
        // No new connection begins before all is carried again.
        let mut ends = self.ends.lock().unwrap();
        for end in ends.drain(..) {
            // The other side may have closed it.
            let _ = end.shutdown(Shutdown::Both);
        }
        self.swallow(Swallowed::Nothing);
        self.traffic.swallowed.store(0, Ordering::SeqCst);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.cut();
    }
}

/// How long something may take on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(300);

fn wait(what: &str, enough: impl Fn() -> bool) {
    let began = Instant::now();
    while !enough() {
        assert!(began.elapsed() < PATIENCE, "no {what} within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn carry((mut from, mut to): (TcpStream, TcpStream), what: Swallowed, traffic: &Arc<Traffic>) {
    let traffic = Arc::clone(traffic);
    std::thread::spawn(move || {
        let mut bytes = [0; 16 * 1024];
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            if traffic.swallow.load(Ordering::SeqCst) == what as u8 {
                traffic.swallowed.fetch_add(1, Ordering::SeqCst);
            } else if to.write_all(&bytes[..length]).is_err() {
                break;
            } else if what == Swallowed::Replies {
                traffic.replies.fetch_add(1, Ordering::SeqCst);
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}
