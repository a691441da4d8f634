//! The crash audit (clause 3.5.4, failures by instantaneous interruption): full load, the whole server killed with
//! SIGKILL at a random moment, recovery, and a lookup of every confirmed commit.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::load::{Clients, PIECE, SuccessFile};
use crate::engine::Error;
use crate::workload::trace::{MOST_COLUMNS, Mark, Trace};
use crate::workload::value::Money;

/// The minimum time of load before a kill, and the range of the random time added to it.
pub(super) const BEFORE_KILL: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(4));
/// The same before a power cut, for which no throughput is measured.
pub(super) const BEFORE_CUT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(1));
/// The maximum wait for the first commit.
const LONGEST: Duration = Duration::from_secs(60);
/// The period before a kill over which the throughput is measured.
const LEVEL: Duration = Duration::from_secs(2);
/// The maximum wait for the throughput to return after recovery.
pub(super) const MAX_THROUGHPUT_RECOVERY: Duration = Duration::from_secs(60);
/// How long a restarted private server may refuse all clients before the first transaction, until the audit stops
/// waiting for it.
pub(super) const MAX_REFUSAL: Duration = Duration::from_secs(30);
/// If the throughput has not risen by [`RISE`] for this long, the audit stops waiting.
const STALLED: Duration = Duration::from_secs(10);
/// The smallest rise that counts, as a factor.
const RISE: f64 = 1.02;
/// The share of the previous throughput that has to return.
const PART: f64 = 0.9;
/// The number of periods over which the throughput after recovery is measured.
const WINDOW: u32 = 10;
/// The number of rows that a finding shows.
pub(super) const EXAMPLES: usize = 5;

/// The contents of a success file: rows that must exist, and rows that must not.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Success {
    pub(super) committed: Vec<Trace>,
    /// When each of them was confirmed, in microseconds since the start of the load, if the file has it.
    pub(super) acknowledged_us: Vec<Option<u64>>,
    pub(super) rolled_back: Vec<Trace>,
}

impl Success {
    /// Parses a file whose rows have these marks.
    ///
    /// # Errors
    /// If a line is damaged.
    pub(super) fn parse(text: &str, marks: &[&'static Mark]) -> Result<Success, String> {
        let mut success = Success::default();
        for (number, line) in text.lines().enumerate() {
            let (committed, trace, acknowledged) =
                parse(line, marks).ok_or_else(|| format!("line {} is damaged", number + 1))?;
            if committed {
                success.committed.push(trace);
                success.acknowledged_us.push(acknowledged);
            } else {
                success.rolled_back.push(trace);
            }
        }
        Ok(success)
    }

    /// Reads a file.
    pub(super) fn read(path: &Path, marks: &[&'static Mark]) -> Result<Success, Error> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
        let success = text.and_then(|text| Success::parse(&text, marks));
        success.map_err(|why| Error::Usage(format!("{} is no success file: {why}", path.display())))
    }
}

fn parse(line: &str, marks: &[&'static Mark]) -> Option<(bool, Trace, Option<u64>)> {
    let mut words = line.split(' ');
    let committed = match words.next()? {
        "C" => true,
        "R" => false,
        _ => return None,
    };
    let mark = *marks.get(words.next()?.parse::<usize>().ok()?)?;
    let mut values = [0; MOST_COLUMNS];
    let mut given = words.next()?.split(',');
    for value in &mut values {
        *value = given.next()?.parse().ok()?;
    }
    let amount = Money(words.next()?.parse().ok()?);
    let acknowledged = words.next().map(str::parse).transpose().ok()?;
    let ends = given.next().is_none() && words.next().is_none();
    ends.then_some((committed, Trace { mark, values, amount }, acknowledged))
}

/// The findings of an audit.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Audit {
    /// Commits that are missing.
    pub(super) lost: Vec<String>,
    /// When the first of them was confirmed, in microseconds since the start of the load.
    pub(super) first_lost_us: Option<u64>,
    /// Rolled-back transactions that are present.
    pub(super) risen: Vec<String>,
}

impl Audit {
    /// Compares a success file with the number of rows found for it: first of the committed, then of the rolled-back
    /// transactions. Equal rows must exist as often as they were confirmed.
    pub(super) fn of(success: &Success, rows: &[i64]) -> Audit {
        let (of_committed, of_rolled_back) = rows.split_at_checked(success.committed.len()).unwrap_or((rows, &[]));
        let mut due: HashMap<&Trace, i64> = HashMap::new();
        let mut audit = Audit::default();
        let acknowledged = success.acknowledged_us.iter().copied().chain(std::iter::repeat(None));
        for ((trace, rows), acknowledged) in success.committed.iter().zip(of_committed).zip(acknowledged) {
            let due = due.entry(trace).or_default();
            *due += 1;
            if *rows < *due {
                audit.lost.push(trace.to_string());
                audit.first_lost_us = audit.first_lost_us.into_iter().chain(acknowledged).min();
            }
        }
        let risen = success.rolled_back.iter().zip(of_rolled_back).filter(|(_, rows)| **rows > 0);
        audit.risen = risen.map(|(trace, _)| trace.to_string()).collect();
        audit
    }
}

/// Waits until the moment of the crash, which `draw` chooses from 0 to 1; false if the user asked to stop.
pub(super) fn until_the_crash(
    clients: &Clients,
    before: (Duration, Duration),
    draw: f64,
    stopped: &dyn Fn() -> bool,
) -> bool {
    let moment = before.0 + before.1.mul_f64(draw);
    let success = &clients.shared.success;
    // On a busy machine the first commit may take longer, and without one there is nothing to lose.
    let begun = || success.committed.load(Ordering::Relaxed) > 0 || clients.shared.elapsed() > LONGEST;
    while clients.shared.elapsed() < moment || !begun() {
        if stopped() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Watches a restarted server until its first transaction.
struct Restarted {
    since: Instant,
    /// The number of refusals before.
    refused: u64,
    max_refusal: Duration,
}

impl Restarted {
    fn new(clients: &Clients, max_refusal: Duration) -> Restarted {
        Restarted { since: Instant::now(), refused: clients.shared.refused.load(Ordering::Relaxed), max_refusal }
    }

    /// Whether clients have been refused for so long that no transaction can be expected.
    fn is_lost(&self, clients: &Clients) -> bool {
        let refused = clients.shared.refused.load(Ordering::Relaxed) - self.refused;
        lost(self.since.elapsed(), refused, self.max_refusal)
    }
}

/// Whether to stop waiting for a server that restarted `back` ago and has refused clients this often.
fn lost(back: Duration, refused: u64, max_refusal: Duration) -> bool {
    back > max_refusal && refused > 0
}

/// Seconds from the crash to the first transaction after the restart; none if it did not come in time. A server may
/// refuse all clients for at most `max_refusal`.
pub(super) fn first(
    clients: &Clients,
    crashed: Duration,
    max_refusal: Duration,
    stopped: &dyn Fn() -> bool,
) -> Option<f64> {
    let shared = &clients.shared;
    let (from, end) = (crashed + 2 * PIECE, Instant::now() + MAX_THROUGHPUT_RECOVERY);
    let restarted = Restarted::new(clients, max_refusal);
    while Instant::now() < end && !stopped() && !restarted.is_lost(clients) {
        let now = shared.elapsed();
        if shared.completed(from, now + PIECE) > 0 {
            return Some((now - crashed).as_secs_f64());
        }
        std::thread::sleep(PIECE / 4);
    }
    None
}

/// After the restart: seconds from the kill to the first transaction, and to the previous throughput; none if that did
/// not come in time. Times are since the start of the load. A server may refuse all clients for at most `max_refusal`
/// before its first transaction.
pub(super) fn times(
    clients: &Clients,
    killed: Duration,
    max_refusal: Duration,
    stopped: &dyn Fn() -> bool,
) -> (Option<f64>, Option<f64>) {
    let shared = &clients.shared;
    let before = shared.completed(killed.saturating_sub(LEVEL), killed) as f64 / LEVEL.as_secs_f64();
    // Transactions in progress at the kill may be answered in its period, or in the next.
    let from = killed + 2 * PIECE;
    let mut first = None;
    let mut highest = (0.0, Instant::now());
    let end = Instant::now() + MAX_THROUGHPUT_RECOVERY;
    let restarted = Restarted::new(clients, max_refusal);
    while Instant::now() < end && !stopped() && (first.is_some() || !restarted.is_lost(clients)) {
        let now = shared.elapsed();
        if first.is_none() && shared.completed(from, now + PIECE) > 0 {
            first = Some((now - killed).as_secs_f64());
        }
        let window = PIECE * WINDOW;
        if now > from + window {
            let level = shared.completed(now - window, now) as f64 / window.as_secs_f64();
            if first.is_some() && level >= PART * before {
                return (first, Some((now - killed).as_secs_f64()));
            }
            if first.is_none() || level > RISE * highest.0 {
                highest = (level, Instant::now());
            } else if highest.1.elapsed() > STALLED {
                break;
            }
        }
        std::thread::sleep(PIECE / 4);
    }
    (first, None)
}

/// Creates the success file of a crash.
pub(super) fn success_file(record: &Path, number: u32) -> Result<(std::path::PathBuf, SuccessFile), Error> {
    let path = record.join(format!("success-{number}.txt"));
    SuccessFile::create(&path).map(|file| (path, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_back_and_refuses_everybody_is_not_waited_for_as_long_as_one_that_is_slow() {
        let (soon, late) = (Duration::from_secs(3), Duration::from_secs(31));
        let ours = |back, refused| lost(back, refused, MAX_REFUSAL);
        assert_eq!([ours(soon, 100), ours(late, 0), ours(late, 1)], [false, false, true]);
        // One that the user's program brings back may still recover.
        assert!(!lost(late, 1, MAX_THROUGHPUT_RECOVERY));
    }

    static ORDER: Mark = Mark { table: "orders", joined: None, columns: &["w", "d", "o"], amount: None };

    #[test]
    fn what_is_lost_and_what_has_risen_is_found_and_nothing_else() {
        let text = [
            "C 0 1,1,3001,0,0,0,0,0 0 1500",
            "C 0 1,1,3002,0,0,0,0,0 0 700",
            "R 0 1,2,3001,0,0,0,0,0 0",
            "C 0 1,1,3002,0,0,0,0,0 0",
        ]
        .join("\n");
        let success = Success::parse(&text, &[&ORDER]).unwrap();
        assert_eq!((success.committed.len(), success.rolled_back.len()), (3, 1));
        assert_eq!(Audit::of(&success, &[1, 2, 2, 0]), Audit::default());
        let audit = Audit::of(&success, &[0, 1, 1, 1]);
        // Two of 3002 were acknowledged, and one is there.
        assert_eq!(audit.lost, ["w=1 d=1 o=3001", "w=1 d=1 o=3002"]);
        assert_eq!(audit.risen, ["w=1 d=2 o=3001"]);
        assert_eq!(audit.first_lost_us, Some(1_500));
        for damaged in
            ["C 0 1,1 0", "X 0 1,1,3001,0,0,0,0,0 0", "C 1 1,1,3001,0,0,0,0,0 0", "C 0 1,1,3001,0,0,0,0,0", "C"]
        {
            assert!(Success::parse(damaged, &[&ORDER]).is_err(), "{damaged}");
        }
    }
}
