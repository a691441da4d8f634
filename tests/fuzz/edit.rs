//! Inputs: seeds with a few edits, such as a person, a bad disk or an enemy makes them.

use std::ops::Range;

use proptest::prelude::*;
use proptest::sample::{Index, select};

/// The largest input that edits make, in bytes.
const LARGEST: usize = 256 << 10;

/// Numbers at which programs break.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "100",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999999",
    "0.1",
    "-0.5",
    "1e-320",
    "1e15",
    "1e18",
    "1e19",
    "1e300",
    "1.7976931348623157e308",
    "-1e308",
    "1e309",
    "nan",
    "-nan",
    "inf",
    "-inf",
    "null",
    "",
    "0x10",
    "1_000",
    "٣",
];

/// Pieces that mean something in many formats.
const PIECES: &[&str] = &[
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "\u{1b}[2J",
    "é",
    "𝄞",
    "\"",
    "'",
    "\\",
    "\\u0000",
    "\\ud800",
    "%00",
    "%ff",
    "%",
    "/",
    "../",
    ":",
    "@",
    "?",
    "&",
    "=",
    ",",
    ".",
    ";",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    "#",
    "null",
    "true",
    "false",
    "{}",
    "[]",
    "\"\"",
];

#[derive(Clone, Debug)]
enum Edit {
    /// Another number for one of those there.
    Number(Index, &'static str),
    /// A word in the place of one of those there.
    Word(Index, String),
    /// Something put in.
    Insert(Index, String),
    /// One thing put in many times, up to so many.
    Many(Index, &'static str, u16),
    /// A byte set.
    Byte(Index, u8),
    /// A bit turned over.
    Bit(Index, u8),
    /// A piece taken out.
    Cut(Index, u8),
    /// A piece written twice.
    Double(Index, u8),
    /// All from here on taken away.
    End(Index),
    /// A line taken out.
    CutLine(Index),
    /// A line written again after another one.
    CopyLine(Index, Index),
    /// The second half of another seed.
    Splice(Index, Index),
}

fn edits(words: Vec<String>) -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    let any_piece = prop_oneof![
        select(PIECES).prop_map(str::to_owned),
        select(NUMBERS).prop_map(str::to_owned),
        select(words.clone())
    ];
    prop_oneof![
        6 => (at(), select(NUMBERS)).prop_map(|(at, number)| Edit::Number(at, number)),
        3 => (at(), select(words)).prop_map(|(at, word)| Edit::Word(at, word)),
        3 => (at(), any_piece).prop_map(|(at, piece)| Edit::Insert(at, piece)),
        1 => (at(), select(PIECES), any::<u16>())
            .prop_map(|(at, piece, times)| Edit::Many(at, piece, times >> (times % 16))),
        2 => (at(), any::<u8>()).prop_map(|(at, byte)| Edit::Byte(at, byte)),
        2 => (at(), 0_u8..8).prop_map(|(at, bit)| Edit::Bit(at, bit)),
        2 => (at(), any::<u8>()).prop_map(|(at, length)| Edit::Cut(at, length >> (length % 8))),
        1 => (at(), any::<u8>()).prop_map(|(at, length)| Edit::Double(at, length)),
        1 => at().prop_map(Edit::End),
        2 => at().prop_map(Edit::CutLine),
        2 => (at(), at()).prop_map(|(from, to)| Edit::CopyLine(from, to)),
        1 => (at(), at()).prop_map(|(seed, at)| Edit::Splice(seed, at)),
    ]
}

/// Seeds with a few edits; `words` are those of the format.
pub fn edited(seeds: &[Vec<u8>], words: &[&str]) -> impl Strategy<Value = Vec<u8>> + use<> {
    let seeds = seeds.to_vec();
    let words = words.iter().copied().chain([""]).map(str::to_owned).collect();
    (any::<Index>(), proptest::collection::vec(edits(words), 1..6)).prop_map(move |(seed, edits)| {
        let mut input = seed.get(&seeds).clone();
        edits.iter().for_each(|edit| apply(edit, &mut input, &seeds));
        input
    })
}

fn apply(edit: &Edit, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    let place = |at: &Index, input: &[u8]| at.index(input.len() + 1);
    let piece = |at: &Index, length: u8, input: &[u8]| {
        let from = at.index(input.len() + 1);
        from..(from + usize::from(length)).min(input.len())
    };
    match edit {
        Edit::Number(at, number) => {
            replace(input, at, &runs(input, |byte| byte.is_ascii_digit() || b"-.+".contains(&byte)), number)
        }
        Edit::Word(at, word) => {
            replace(input, at, &runs(input, |byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)), word)
        }
        Edit::Insert(at, text) => {
            let at = place(at, input);
            input.splice(at..at, text.bytes());
        }
        Edit::Many(at, text, times) => {
            let at = place(at, input);
            input.splice(at..at, text.repeat(usize::from(*times)).into_bytes());
        }
        Edit::Byte(at, byte) if !input.is_empty() => *at.get_mut(input) = *byte,
        Edit::Bit(at, bit) if !input.is_empty() => *at.get_mut(input) ^= 1 << bit,
        Edit::Byte(..) | Edit::Bit(..) => {}
        Edit::Cut(at, length) => drop(input.drain(piece(at, *length, input))),
        Edit::Double(at, length) => {
            let range = piece(at, *length, input);
            let copy = input[range.clone()].to_vec();
            input.splice(range.end..range.end, copy);
        }
        Edit::End(at) => input.truncate(at.index(input.len() + 1)),
        Edit::CutLine(at) => {
            let lines = lines(input);
            if !lines.is_empty() {
                drop(input.drain(at.get(&lines).clone()));
            }
        }
        Edit::CopyLine(from, to) => {
            let lines = lines(input);
            if !lines.is_empty() {
                let (line, end) = (input[from.get(&lines).clone()].to_vec(), to.get(&lines).end);
                input.splice(end..end, line);
            }
        }
        Edit::Splice(seed, at) => {
            let other = seed.get(seeds);
            let middle = at.index(other.len() + 1);
            input.truncate(middle);
            input.extend_from_slice(&other[middle..]);
        }
    }
    input.truncate(LARGEST);
}

fn replace(input: &mut Vec<u8>, at: &Index, runs: &[Range<usize>], with: &str) {
    if !runs.is_empty() {
        input.splice(at.get(runs).clone(), with.bytes());
    }
}

/// Where bytes of a kind stand together.
fn runs(input: &[u8], kind: impl Fn(u8) -> bool) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in input.iter().enumerate().filter(|(_, byte)| kind(**byte)) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// Lines with their ends.
fn lines(input: &[u8]) -> Vec<Range<usize>> {
    let mut from = 0;
    input
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| {
            let range = from..from + line.len();
            from = range.end;
            range
        })
        .collect()
}
