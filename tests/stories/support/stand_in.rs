//! A wire to a PostgreSQL or MariaDB that is used in the place of a database with a syntax or answers of its own.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

/// What is said, and what is understood instead, of the same length.
pub type Words = &'static [(&'static str, &'static str)];
/// The same as bytes.
type Replaced = Vec<(&'static [u8], &'static [u8])>;

/// Opens a wire to the port of a server on this machine, for connections without TLS, on which other texts come in the
/// place of some in whatever is asked.
pub fn with_words(server: u16, words: Words) -> u16 {
    let words = words.iter().map(|(said, understood)| (said.as_bytes(), understood.as_bytes()));
    open(server, words.collect(), Vec::new())
}

/// The same for one text in whatever is answered.
pub fn with_answers(server: u16, said: &'static [u8], heard: &'static [u8]) -> u16 {
    open(server, Vec::new(), vec![(said, heard)])
}

/// Its listening thread ends with the test's process.
fn open(server: u16, of_asked: Replaced, of_answered: Replaced) -> u16 {
    assert!(of_asked.iter().chain(&of_answered).all(|(said, heard)| said.len() == heard.len()));
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Ok(far) = TcpStream::connect(("127.0.0.1", server)) else { continue };
            near.set_nodelay(true).unwrap();
            far.set_nodelay(true).unwrap();
            let (asked, answered) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            let (of_asked, of_answered) = (of_asked.clone(), of_answered.clone());
            std::thread::spawn(move || carry(asked, far, &of_asked));
            std::thread::spawn(move || carry(answered, near, &of_answered));
        }
    });
    port
}

/// Carries until one side ends. What is still answered after that is read and left, so that the server carries out all
/// that it was sent before its client went.
fn carry(mut from: TcpStream, mut to: TcpStream, words: &Replaced) {
    let mut bytes = [0; 64 * 1024];
    // Loads pass through here: few bytes begin a word.
    let mut begins = [false; 256];
    words.iter().for_each(|(said, _)| begins[usize::from(said[0])] = true);
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        let read = &mut bytes[..length];
        for at in 0..length {
            if begins[usize::from(read[at])]
                && let Some((said, heard)) = words.iter().find(|(said, _)| read[at..].starts_with(said))
            {
                read[at..at + said.len()].copy_from_slice(heard);
            }
        }
        let _ = to.write_all(read);
    }
    let _ = to.shutdown(Shutdown::Write);
}
