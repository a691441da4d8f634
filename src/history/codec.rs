//! A binary format of histories: one transaction after the other, with variable-length numbers. Driver threads write
//! it, and a checker reads it.

use std::io::{self, Read};

use super::{Access, Head, History};
use crate::workload::access::{Accesses, MOST_ACCESSES};

/// The first bytes of the file.
pub(crate) const BEGINS: &[u8] = b"graymark history 1\n";

/// Appends a transaction.
pub(crate) fn encode(to: &mut Vec<u8>, head: &Head, accesses: &Accesses) {
    number(to, head.session.into());
    number(to, head.began);
    number(to, head.ended.saturating_sub(head.began));
    number(to, ((accesses.len() as u64) << 1) | u64::from(head.committed));
    for Access { key, read, wrote } in accesses {
        number(to, *key);
        number(to, u64::from(read.is_some()) | (u64::from(wrote.is_some()) << 1));
        read.iter().chain(wrote).for_each(|version| number(to, zigzag(*version)));
    }
}

/// Reads a file to its end.
///
/// # Errors
/// If it is not such a file, or ends in the middle of a transaction.
pub(crate) fn decode(from: &mut impl Read) -> io::Result<History> {
    let mut begins = vec![0; BEGINS.len()];
    from.read_exact(&mut begins)?;
    if begins != BEGINS {
        return Err(damaged());
    }
    let mut history = History::default();
    while let Some(session) = first(from)? {
        let session = u32::try_from(session).map_err(|_| damaged())?;
        let began = next(from)?;
        let ended = began.saturating_add(next(from)?);
        let what = next(from)?;
        let head = Head { session, began, ended, committed: what & 1 == 1 };
        let mut accesses = Accesses::new();
        if what >> 1 > MOST_ACCESSES as u64 {
            return Err(damaged());
        }
        for _ in 0..what >> 1 {
            let (key, which) = (next(from)?, next(from)?);
            let read = if which & 1 == 1 { Some(unzigzag(next(from)?)) } else { None };
            let wrote = if which & 2 == 2 { Some(unzigzag(next(from)?)) } else { None };
            accesses.try_push(Access { key, read, wrote }).map_err(|_| damaged())?;
        }
        history.add(head, accesses);
    }
    Ok(history)
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is damaged")
}

/// Seven bits a byte, the lowest first; all but the last have the highest bit set.
fn number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn next(from: &mut impl Read) -> io::Result<u64> {
    first(from)?.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "it ends in the middle of a transaction"))
}

/// The next number; `None` at the end.
fn first(from: &mut impl Read) -> io::Result<Option<u64>> {
    let mut number = 0_u64;
    for place in 0..10 {
        let mut byte = [0];
        if from.read(&mut byte)? == 0 {
            return if place == 0 { Ok(None) } else { Err(damaged()) };
        }
        let [byte] = byte;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Ok(Some(number));
        }
    }
    Err(damaged())
}

/// Maps small numbers of either sign to small unsigned ones.
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_is_damaged_is_refused() {
        let mut expected = History::default();
        let mut bytes = BEGINS.to_vec();
        for number in 0..50_u32 {
            let (head, version) = (
                Head {
                    session: number,
                    began: u64::from(number) << 30,
                    ended: u64::MAX >> 1,
                    committed: number % 3 > 0,
                },
                i64::from(number),
            );
            let accesses: Accesses = [
                Access::update(u64::MAX - u64::from(number), i64::MIN + version, i64::MAX - version),
                Access::read(7, -version),
                Access::write(u64::from(number), version),
            ]
            .into_iter()
            .collect();
            encode(&mut bytes, &head, &accesses);
            expected.add(head, accesses);
        }
        assert_eq!(decode(&mut &bytes[..]).unwrap(), expected);
        assert!(decode(&mut &bytes[..bytes.len() - 1]).is_err());
        assert!(decode(&mut &bytes[1..]).is_err());
        assert!(decode(&mut &[BEGINS, &[0xff; 40]].concat()[..]).is_err());
        assert!(decode(&mut &[BEGINS, &[1, 1, 1, 200, 200, 1]].concat()[..]).is_err());
    }
}
