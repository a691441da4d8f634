//! Every anomaly is found in a history written by hand, none in random serializable ones, and one that is planted in
//! those is found, too.

use std::collections::{BTreeMap, BTreeSet};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

#[derive(Deserialize)]
struct File {
    history: Vec<ByHand>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ByHand {
    name: String,
    of: Vec<String>,
    shows: BTreeSet<Kind>,
}

/// A key by its name: its first letter is in its first byte.
fn key(name: &str) -> u64 {
    name.bytes().fold(0, |so_far, byte| (so_far << 8) | u64::from(byte))
}

fn versions(key: u64) -> Versions {
    let first = key.to_be_bytes().into_iter().find(|byte| *byte != 0);
    match first {
        Some(b'b') => Versions::Value { whole: true },
        Some(b'v') => Versions::Value { whole: false },
        _ => Versions::Counter,
    }
}

fn parse(lines: &[String]) -> History {
    let mut history = History::default();
    let mut sessions: BTreeMap<&str, u32> = BTreeMap::new();
    for (place, line) in lines.iter().enumerate() {
        let (who, what) = line.split_once(": ").unwrap();
        // Without a session, each has its own.
        let mut head = Head { session: 1_000 + place as u32, began: 0, ended: 100, committed: true };
        let mut words = who.split(' ').skip(1);
        while let Some(word) = words.next() {
            match word {
                "aborted" => head.committed = false,
                "of" => {
                    let next = sessions.len() as u32;
                    head.session = *sessions.entry(words.next().unwrap()).or_insert(next);
                }
                times => {
                    let (began, ended) = times.strip_prefix('@').unwrap().split_once('-').unwrap();
                    (head.began, head.ended) = (began.parse().unwrap(), ended.parse().unwrap());
                }
            }
        }
        let accesses = what.split(", ").map(|access| {
            let words: Vec<&str> = access.split(' ').collect();
            let number = |at: usize| Some(words[at].parse::<i64>().unwrap());
            let (read, wrote) = match words[0] {
                "r" => (number(2), None),
                "w" => (None, number(2)),
                "u" => (number(2), number(3)),
                other => panic!("{other}"),
            };
            Access { key: key(words[1]), read, wrote }
        });
        history.add(head, accesses.collect::<Vec<_>>());
    }
    history
}

#[test]
fn histories_made_by_hand_show_what_they_have_and_nothing_else() {
    let file: File = toml::from_str(include_str!("histories.toml")).unwrap();
    assert!(file.history.len() >= 40, "{}", file.history.len());
    let mut shown = BTreeSet::new();
    for one in file.history {
        let found = parse(&one.of).check(versions);
        let kinds: BTreeSet<Kind> = found.counts.keys().copied().collect();
        assert_eq!(kinds, one.shows, "{}: {found:#?}", one.name);
        assert!(found.examples.iter().all(|anomaly| anomaly.transactions.len() > 1), "{}: {found:#?}", one.name);
        shown.extend(kinds);
    }
    assert_eq!(shown.len(), 9, "every kind is in a history: {shown:?}");
}

/// Transactions executed one after the other, reported with overlapping times. Every `lost`th update ignores the one
/// before it.
fn random(seed: u64, lost: Option<u32>) -> History {
    let mut draw = Xoshiro256PlusPlus::seed_from_u64(seed);
    let names = ["x", "y", "z", "b1", "b2", "v1"];
    let mut state: BTreeMap<&str, i64> = names.iter().map(|name| (*name, if *name < "x" { 500 } else { 0 })).collect();
    let mut history = History::default();
    let mut free = [0_u64; 5];
    let mut previous: BTreeMap<&str, i64> = state.clone();
    for number in 0..60_u32 {
        // It takes effect at this moment, between request and answer; a session sends one request after the other.
        let at = u64::from(number) * 10 + 100;
        let ready: Vec<usize> = (0..free.len()).filter(|session| free[*session] < at).collect();
        let Some(session) = ready.get(draw.random_range(0..ready.len().max(1))).copied() else { continue };
        let began = draw.random_range(free[session]..at).max(at.saturating_sub(60));
        let ended = at + draw.random_range(1..60);
        free[session] = ended + 1;
        let head = Head { session: session as u32, began, ended, committed: draw.random_range(0..10) > 0 };
        let mut accesses: Vec<Access> = Vec::new();
        for _ in 0..draw.random_range(1..4) {
            let name = names[draw.random_range(0..names.len())];
            if accesses.iter().any(|access| access.key == key(name)) {
                continue;
            }
            let mut read = state[name];
            let update = draw.random_range(0..3) > 0;
            let planted = lost.is_some_and(|every| number % every == every - 1) && name == "b1";
            if planted {
                read = previous[name];
            }
            // Balances whose writers are all known recur often; those of others do not within such a short time.
            let next = match name {
                "b1" | "b2" => read + i64::from(draw.random_range(-3..=3_i32)),
                "v1" => read - i64::from(draw.random_range(1..500_000_i32)),
                _ => read + 1,
            };
            let wrote = (update && next != read).then_some(next);
            accesses.push(Access { key: key(name), read: Some(read), wrote });
            if let (Some(next), true) = (wrote, head.committed) {
                previous.insert(name, state[name]);
                state.insert(name, next);
            }
        }
        // A writer that is not in the history.
        if draw.random_range(0..8) == 0 {
            *state.get_mut("v1").unwrap() += i64::from(draw.random_range(1..5_000_000_i32));
        }
        history.add(head, accesses);
    }
    history
}

#[test]
fn a_thousand_random_serializable_histories_raise_no_alarm() {
    for seed in 0..1_000 {
        let history = random(seed, None);
        let found = history.check(versions);
        assert!(history.len() > 40 && found.dependencies > 20, "{found:?}");
        assert!(found.counts.is_empty(), "seed {seed}: {found:#?}");
    }
}

#[test]
fn updates_that_take_no_notice_of_others_are_found() {
    let found = (0..200).filter(|seed| random(*seed, Some(4)).check(versions).counts.contains_key(&Kind::LostUpdate));
    assert!(found.count() > 150);
}
