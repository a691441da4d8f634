//! Runs two databases in quick alternation, or at the same time, on one machine, so that noise affects both alike.
//!
//! Each side has its own sessions, which stay open; one side pauses while the other runs.

mod rhythm;
mod side;

use std::collections::BTreeMap;
use std::sync::mpsc;

pub use rhythm::Rhythm;
use side::{Played, Second, Shared, Side};

use super::open::{open, options};
use super::random_seed;
use crate::drive::{StartBarrier, Stop};
use crate::engine::Error;
use crate::plan::{Defaults, Pace, Plan};
use crate::result::duet::{Duet, DuetPair};
use crate::study;

/// A side of a duet, before it runs.
#[derive(Clone, Debug)]
pub struct Player {
    /// Its plan.
    pub plan: Plan,
    /// Settings of this side only, for the record; its plan has them, too.
    pub settings: BTreeMap<String, String>,
}

/// A duet, before it runs.
pub struct Duets {
    players: [Player; 2],
    rhythm: Rhythm,
    across_durability: bool,
    stop: Stop,
}

impl Duets {
    /// A duet of two plans with the same workload and load, each with its database. Both databases have to be loaded.
    pub fn new(players: [Player; 2], rhythm: Rhythm) -> Duets {
        Duets { players, rhythm, across_durability: false, stop: Stop::new() }
    }

    /// Also ranks databases that differ in durability.
    pub fn across_durability(self, across_durability: bool) -> Duets {
        Duets { across_durability, ..self }
    }

    /// Ends the duet early when `stop` is requested. A side that fails requests it, too.
    pub fn stop(self, stop: Stop) -> Duets {
        Duets { stop, ..self }
    }

    /// Runs the duet; `None` if it was stopped before it began. `known` receives all pairs each time that one more has
    /// ended, on the calling thread, which is blocked.
    ///
    /// # Errors
    /// If a database cannot be reached or used, or the two databases have different contents.
    pub fn start(self, known: &mut dyn FnMut(&[DuetPair])) -> Result<Option<Duet>, Error> {
        let first = &self.players[0].plan;
        let seed = first.seed.unwrap_or_else(random_seed);
        let (workload, clients) = (first.workload.unwrap_or_default(), first.clients.unwrap_or(Defaults::RUN.clients));
        let shared = Shared {
            rhythm: self.rhythm,
            stop: self.stop.clone(),
            barrier: StartBarrier::default(),
            population: Default::default(),
        };
        let of_all = |plan| Plan { seed: Some(seed), pace: Some(Pace::None), clients: Some(clients), ..plan };
        let players = self.players.clone().map(|player| Player { plan: of_all(player.plan), ..player });
        let mut pairs = Pairs::new(self.rhythm);
        let [a, b] = std::thread::scope(|scope| {
            let (tell, heard) = mpsc::channel();
            let mut number = 0;
            let threads = players.map(|player| {
                let (opened, is_open) = mpsc::channel();
                let side = Side { number, player, shared: shared.clone(), opened, seconds: tell.clone() };
                number += 1;
                let stop = self.stop.clone();
                let thread = scope.spawn(move || {
                    let played = play(side);
                    if played.is_err() {
                        stop.request();
                    }
                    played
                });
                // One after the other, so that two servers do not look for a free port at the same time.
                let _ = is_open.recv();
                thread
            });
            drop(tell);
            for second in heard {
                if pairs.add(second) {
                    known(&pairs.whole());
                }
            }
            threads.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let (Some((a, manifest)), Some((b, _))) = (a?, b?) else { return Ok(None) };
        let pairs = pairs.whole();
        if pairs.is_empty() {
            return Ok(None);
        }
        let figures: Vec<[f64; 2]> = pairs.iter().map(|pair| [pair.a, pair.b]).collect();
        let ratios = study::duet::ratios(&figures);
        let counted = (pairs.len(), self.rhythm.counted());
        let (lead, sentence) = study::duet::decide(ratios.as_ref(), counted, [&a, &b], self.across_durability);
        Ok(Some(Duet {
            workload: workload.about().name.to_owned(),
            scale: manifest.scale,
            clients,
            together: self.rhythm.together,
            slice_s: self.rhythm.slice,
            counted_s: self.rhythm.counted(),
            ramp_up_s: self.rhythm.ramp_up,
            seed,
            interrupted: pairs.len() < self.rhythm.pairs as usize,
            pairs,
            lead: lead.into(),
            sentence,
            paired: ratios.map(|ratios| ratios.paired),
            unpaired: ratios.map(|ratios| ratios.unpaired),
            blocks: ratios.map_or(0, |ratios| ratios.blocks),
            a,
            b,
        }))
    }
}

fn play(side: Side) -> Result<Played, Error> {
    let plan = &side.player.plan;
    let workload = plan.workload.unwrap_or_default();
    open(workload, options(workload, plan), side)
}

/// Combines the transactions of each second of both sides into pairs of slices.
struct Pairs {
    rhythm: Rhythm,
    slices: [Vec<(u32, u32)>; 2],
    orders: Vec<bool>,
    /// For each side and pair: transactions, and the number of known seconds, of those that count.
    sums: [Vec<(u64, u32)>; 2],
    reported: usize,
}

impl Pairs {
    fn new(rhythm: Rhythm) -> Pairs {
        let none = vec![(0, 0); rhythm.pairs as usize];
        Pairs { rhythm, slices: rhythm.slices(), orders: rhythm.orders(), sums: [none.clone(), none], reported: 0 }
    }

    /// Adds a second. Returns whether another pair is complete.
    fn add(&mut self, (side, second, completed): Second) -> bool {
        let (Some(slices), Some(sums)) = (self.slices.get(side), self.sums.get_mut(side)) else { return false };
        let place = slices.iter().position(|slice| self.rhythm.counts(*slice, second));
        if let Some(sum) = place.and_then(|place| sums.get_mut(place)) {
            *sum = (sum.0 + completed, sum.1 + 1);
        }
        let whole = self.whole().len();
        let more = whole > self.reported;
        self.reported = whole;
        more
    }

    /// The pairs whose seconds are all known, in order.
    fn whole(&self) -> Vec<DuetPair> {
        let [a, b] = &self.sums;
        let seconds = self.rhythm.counted();
        let rate = |sum: &(u64, u32)| sum.0 as f64 / f64::from(seconds);
        let all = a.iter().zip(b).zip(&self.orders);
        all.take_while(|((a, b), _)| a.1 == seconds && b.1 == seconds)
            .map(|((a, b), order)| DuetPair { b_first: *order, a: rate(a), b: rate(b) })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_counts_when_all_its_seconds_are_known() {
        let rhythm = Rhythm { slice: 3, pairs: 2, ramp_up: 1, together: false, seed: 3 };
        let mut pairs = Pairs::new(rhythm);
        let mut reported = 0;
        for second in 0..rhythm.seconds() {
            for side in [0, 1] {
                reported += usize::from(pairs.add((side, second, 100 * (side as u64 + 1))));
            }
        }
        let whole = pairs.whole();
        assert_eq!((whole.len(), reported), (2, 2));
        assert!(whole.iter().all(|pair| (pair.a, pair.b) == (100.0, 200.0)), "{whole:?}");
        let mut cut = Pairs::new(rhythm);
        for second in 0..7 {
            assert!(!cut.add((0, second, 1)) && !cut.add((1, second, 1)));
        }
        assert!(cut.whole().is_empty(), "the second slice of the first pair is not over");
    }
}
