//! What a hostile server, or a broken line, does to the messages of a conversation. An input says it in words: on the
//! first line what the client does, on each further one a fault, as the number of a message, what is done to it, and
//! two numbers. `12+` are all messages from there on.

use proptest::prelude::*;
use proptest::sample::select;

/// What can be done to a message.
const KINDS: [&str; 14] =
    ["byte", "bit", "word", "cut", "grow", "length", "type", "drop", "twice", "error", "other", "close", "big", "null"];

/// A fault of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The number of the message, from 0.
    pub at: u32,
    /// Whether all that come later are meant, too.
    pub on: bool,
    /// One of [`KINDS`].
    pub kind: String,
    /// Where, or which.
    pub place: u32,
    /// What.
    pub value: u32,
}

/// Conversations of clients that do one of `what`, each with a few faults.
pub fn conversations(what: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    // Many conversations are short.
    let at = (0_u32..11).prop_flat_map(|bits| 0..(1_u32 << bits));
    let fault = (
        at,
        prop::bool::weighted(0.1),
        select(&KINDS[..]),
        any::<u16>(),
        prop_oneof![any::<u8>().prop_map(u32::from), any::<u32>()],
    );
    (select(what), proptest::collection::vec(fault, 1..4)).prop_map(|(what, faults)| {
        let mut text = what.to_owned();
        for (at, on, kind, place, value) in faults {
            let on = if on { "+" } else { "" };
            text += &format!("\n{at}{on} {kind} {place} {value}");
        }
        text.into_bytes()
    })
}

/// What the client does, and the faults; none of what cannot be read.
pub fn read(input: &[u8]) -> Option<(&str, Vec<Fault>)> {
    let mut lines = std::str::from_utf8(input).ok()?.lines();
    let what = lines.next()?;
    let fault = |line: &str| {
        let mut words = line.split(' ');
        let at = words.next()?;
        let (at, on) = at.strip_suffix('+').map_or((at, false), |at| (at, true));
        let (at, kind) = (at.parse().ok()?, words.next()?.to_owned());
        Some(Fault { at, on, kind, place: words.next()?.parse().ok()?, value: words.next()?.parse().ok()? })
    };
    Some((what, lines.map(fault).collect::<Option<_>>()?))
}

/// What has become of a message.
pub enum Sent {
    /// These bytes are sent instead.
    Bytes(Vec<u8>),
    /// The server hangs up.
    Closed,
}

/// How a protocol frames its messages and what else it knows.
pub trait Wire {
    /// A message with its frame.
    fn framed(&mut self, kind: u8, payload: &[u8]) -> Vec<u8>;
    /// The place of the length in a frame.
    const LENGTH: std::ops::Range<usize>;
    /// An error of a number.
    fn error(&mut self, number: u32) -> Vec<u8>;
    /// A message that has no place here, by a number.
    fn other(&mut self, number: u32) -> Vec<u8>;
}

/// Does to a message what the faults of its number say.
pub fn spoil<W: Wire>(wire: &mut W, faults: &[Fault], number: u32, kind: u8, payload: &[u8]) -> Sent {
    let (mut kind, mut payload) = (kind, payload.to_vec());
    let mut times = 1;
    let mut length = None;
    for fault in faults.iter().filter(|fault| fault.at == number || (fault.on && fault.at < number)) {
        let at = fault.place as usize % payload.len().max(1);
        let room = |size: usize| at + size <= payload.len();
        match fault.kind.as_str() {
            "byte" if room(1) => payload[at] = fault.value as u8,
            "bit" if room(1) => payload[at] ^= 1 << (fault.value % 8),
            "word" if room(2) => payload[at..at + 2].copy_from_slice(&(fault.value as u16).to_be_bytes()),
            "null" if room(4) => payload[at..at + 4].fill(0xFF),
            "cut" => payload.truncate(at),
            "grow" => payload.extend(std::iter::repeat_n(fault.value as u8, fault.place as usize)),
            // One value that is large, as its own length says.
            "big" if room(4) => {
                payload.truncate(at);
                payload.extend(fault.value.to_be_bytes());
                payload.extend(std::iter::repeat_n(b'9', (fault.value % 100_000) as usize));
            }
            "length" => length = Some(fault.value),
            "type" => kind = fault.value as u8,
            "drop" => times = 0,
            "twice" => times += 1,
            "error" => return Sent::Bytes(wire.error(fault.value)),
            "other" => return Sent::Bytes(wire.other(fault.value)),
            "close" => return Sent::Closed,
            _ => {}
        }
    }
    let mut bytes = Vec::new();
    for _ in 0..times {
        let mut framed = wire.framed(kind, &payload);
        if let Some(length) = length {
            let place = &mut framed[W::LENGTH];
            let size = place.len();
            place.copy_from_slice(&length.to_be_bytes()[4 - size..]);
        }
        bytes.extend(framed);
    }
    Sent::Bytes(bytes)
}
