//! A wire between a program and a server, which can swallow what is said on it, and be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

/// What does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swallowed {
    Nothing,
    /// What the program asks for.
    Requests,
    /// What the server answers.
    Replies,
}

/// Its ends are closed when it goes; the listening thread ends with the test's process.
pub struct Wire {
    pub port: u16,
    swallowed: Arc<AtomicU8>,
    ends: Arc<Mutex<Vec<TcpStream>>>,
}

impl Wire {
    /// To the port of a server on this machine.
    pub fn to(server: u16) -> Wire {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let wire = Wire { port, swallowed: Arc::default(), ends: Arc::default() };
        let (swallowed, ends) = (Arc::clone(&wire.swallowed), Arc::clone(&wire.ends));
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                near.set_nodelay(true).unwrap();
                far.set_nodelay(true).unwrap();
                let copy = |end: &TcpStream| end.try_clone().unwrap();
                ends.lock().unwrap().extend([copy(&near), copy(&far)]);
                carry((copy(&near), copy(&far)), Swallowed::Requests, &swallowed);
                carry((far, near), Swallowed::Replies, &swallowed);
            }
        });
        wire
    }

    /// From now on this does not arrive.
    pub fn swallow(&self, what: Swallowed) {
        self.swallowed.store(what as u8, Ordering::SeqCst);
    }

    /// Cuts all connections; new ones carry everything.
    pub fn cut(&self) {
        for end in self.ends.lock().unwrap().drain(..) {
            // The other side may have closed it.
            let _ = end.shutdown(Shutdown::Both);
        }
        self.swallow(Swallowed::Nothing);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.cut();
    }
}

fn carry((mut from, mut to): (TcpStream, TcpStream), what: Swallowed, swallowed: &Arc<AtomicU8>) {
    let swallowed = Arc::clone(swallowed);
    std::thread::spawn(move || {
        let mut bytes = [0; 16 * 1024];
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            if swallowed.load(Ordering::SeqCst) != what as u8 && to.write_all(&bytes[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}
