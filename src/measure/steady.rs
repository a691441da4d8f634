//! The end of a warm-up or a ramp-up: when successive windows of equal length agree.

use serde::{Deserialize, Serialize};

use super::Interval;
use super::counters::{Counter, Sample};

/// The result of a window of a warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Transactions completed.
    pub transactions: f64,
    /// Percent of page reads that were not in the database's buffers; `None` if the database does not count them.
    pub miss_percent: Option<f64>,
}

/// The end of a ramp-up that was to end when the load is steady.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Settled {
    /// Whether the load was steady by then; otherwise the limit ended the ramp-up.
    pub steady: bool,
    /// Actual length of the ramp-up in seconds.
    pub ramp_up_s: f64,
    /// The limit in seconds.
    pub most_s: f64,
    /// The criteria, in words.
    pub method: String,
    /// The result, in words.
    pub found: String,
}

/// Windows that are compared with as many before them.
pub const COMPARED: usize = 2;
/// Allowed difference of throughput, in percent of that of the windows before.
pub const THROUGHPUT_PERCENT: f64 = 5.0;
/// Allowed difference of misses, in percent of the misses before,
pub const MISSES_PERCENT: f64 = 5.0;
/// or in percentage points.
pub const MISSES_POINTS: f64 = 0.2;

/// Whether the last two windows agree with the two before them: their throughput within 5 %, their share of misses
/// within 5 % of it or 0.2 points, where it is known.
pub fn reached(windows: &[Window]) -> bool {
    let Some(last) = windows.len().checked_sub(2 * COMPARED).and_then(|first| windows.get(first..)) else {
        return false;
    };
    let (before, after) = last.split_at(COMPARED);
    let mean = |windows: &[Window]| windows.iter().map(|window| window.transactions).sum::<f64>() / COMPARED as f64;
    let misses = |windows: &[Window]| {
        let all: Option<Vec<f64>> = windows.iter().map(|window| window.miss_percent).collect();
        all.map(|all| all.iter().sum::<f64>() / COMPARED as f64)
    };
    let (then, now) = (mean(before), mean(after));
    let throughput = now > 0.0 && (now - then).abs() <= THROUGHPUT_PERCENT / 100.0 * then;
    let missed = misses(before).zip(misses(after));
    throughput
        && missed.is_none_or(|(then, now)| (now - then).abs() <= (MISSES_PERCENT / 100.0 * then).max(MISSES_POINTS))
}

/// Seconds of a ramp-up's window without think time, and with: terminals that think send few transactions.
const WINDOW: (u32, u32) = (5, 30);
/// Differences below this many standard errors are noise.
const NOISE: f64 = 2.0;
/// Allowed difference of response times, in percent of those before,
const RESPONSE_PERCENT: f64 = 10.0;
/// or in milliseconds.
const RESPONSE_MS: f64 = 1.0;
/// Allowed difference of blocks read per transaction, in percent of those before,
const READS_PERCENT: f64 = 10.0;
/// or in blocks.
const READS: f64 = 0.2;

/// The result of a window of a ramp-up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct RampUpWindow {
    seconds: u32,
    transactions: f64,
    /// Responses: their number, sum and sum of squares, in milliseconds.
    responses: (f64, f64, f64),
    /// Blocks that the database read from outside its own buffers; `None` if it does not count them.
    reads: Option<f64>,
}

impl RampUpWindow {
    fn mean_ms(&self) -> f64 {
        if self.responses.0 > 0.0 { self.responses.1 / self.responses.0 } else { 0.0 }
    }

    /// The square of the standard error of the mean.
    fn error_ms(&self) -> f64 {
        let (number, _, squares) = self.responses;
        if number > 1.0 { (squares / number - self.mean_ms().powi(2)).max(0.0) / number } else { 0.0 }
    }

    fn per_transaction(&self) -> Option<f64> {
        self.reads.filter(|_| self.transactions > 0.0).map(|reads| reads / self.transactions)
    }

    fn add(&mut self, other: &RampUpWindow) {
        self.seconds += other.seconds;
        self.transactions += other.transactions;
        self.responses.0 += other.responses.0;
        self.responses.1 += other.responses.1;
        self.responses.2 += other.responses.2;
        self.reads = self.reads.zip(other.reads).map(|(mine, theirs)| mine + theirs);
    }

    /// The sum of several windows.
    fn of(windows: &[RampUpWindow]) -> RampUpWindow {
        let mut sum = RampUpWindow { reads: Some(0.0), ..RampUpWindow::default() };
        windows.iter().for_each(|window| sum.add(window));
        sum
    }

    /// Whether it differs only by noise from as many seconds before it.
    fn agrees(&self, before: &RampUpWindow) -> bool {
        let within = |now: f64, then: f64, percent: f64, least: f64| {
            (now - then).abs() <= (percent / 100.0 * then.abs()).max(least)
        };
        let noise = NOISE * (self.transactions + before.transactions).sqrt();
        let reads = self.per_transaction().zip(before.per_transaction());
        let error = NOISE * (self.error_ms() + before.error_ms()).sqrt();
        self.transactions > 0.0
            && within(self.transactions, before.transactions, THROUGHPUT_PERCENT, noise)
            && within(self.mean_ms(), before.mean_ms(), RESPONSE_PERCENT, error.max(RESPONSE_MS))
            && reads.is_none_or(|(now, then)| within(now, then, READS_PERCENT, READS))
    }
}

/// Time of a sample of block reads in seconds, and their cumulative count.
type BlockReads = Option<(f64, f64)>;

/// Follows a ramp-up second by second, to find when the load is steady: when two windows agree with the two before them
/// in throughput, response time and block reads per transaction, within fixed limits or two standard errors.
#[derive(Debug)]
pub struct RampUp {
    window: u32,
    deferred: Option<usize>,
    windows: Vec<RampUpWindow>,
    current: RampUpWindow,
    /// The last sample of block reads, and the one at the end of the last window.
    reads: (BlockReads, BlockReads),
}

impl RampUp {
    /// For a run that has just begun. `deferred` is the type that is only queued while its user waits.
    pub fn new(paced: bool, deferred: Option<usize>) -> RampUp {
        let window = if paced { WINDOW.1 } else { WINDOW.0 };
        RampUp { window, deferred, windows: Vec::new(), current: RampUpWindow::default(), reads: (None, None) }
    }

    /// Adds the measurements of the next second.
    pub fn second(&mut self, interval: &Interval) {
        self.current.seconds += 1;
        for (number, measured) in interval.transactions.iter().enumerate() {
            let times = &measured.response;
            let (count, mean, deviation) = (times.len() as f64, times.mean() / 1e3, times.stdev() / 1e3);
            self.current.transactions += interval.ended(self.deferred, number) as f64;
            if count > 0.0 {
                self.current.responses.0 += count;
                self.current.responses.1 += count * mean;
                self.current.responses.2 += count * (mean * mean + deviation * deviation);
            }
        }
        if self.current.seconds >= self.window {
            // Samples come a little before or after the ends of windows, so the reads are taken as a rate.
            let grown = self.reads.0.zip(self.reads.1).filter(|(now, then)| now.0 > then.0);
            let rate = grown.map(|(now, then)| (now.1 - then.1) / (now.0 - then.0));
            self.current.reads = rate.map(|rate| rate * f64::from(self.window));
            self.reads.1 = self.reads.0;
            self.windows.push(std::mem::take(&mut self.current));
        }
    }

    /// Adds a sample of the counters.
    pub fn sampled(&mut self, sample: &Sample) {
        self.reads.0 = sample.counters.get(Counter::BlockReads).map(|reads| (sample.at, reads)).or(self.reads.0);
        self.reads.1 = self.reads.1.or(self.reads.0);
    }

    /// Whether the last windows show a steady load.
    pub fn steady(&self) -> bool {
        let Some(last) = self.windows.len().checked_sub(2 * COMPARED).and_then(|first| self.windows.get(first..))
        else {
            return false;
        };
        let (before, after) = last.split_at(COMPARED);
        RampUpWindow::of(after).agrees(&RampUpWindow::of(before))
    }

    /// The result for the record, after a ramp-up of `ramp_up` seconds and a limit of `most` seconds.
    pub fn found(&self, steady: bool, ramp_up: u32, most: u32) -> Settled {
        let figures = |window: &RampUpWindow| {
            let rate = window.transactions / f64::from(window.seconds.max(1));
            let reads = window.per_transaction().map(|reads| format!(", {reads:.1} reads each")).unwrap_or_default();
            format!("{rate:.1} tps at {:.1} ms{reads}", window.mean_ms())
        };
        let from = self.windows.len().saturating_sub(2 * COMPARED);
        let last: Vec<String> = self.windows.iter().skip(from).map(figures).collect();
        let state = if steady { "steady" } else { "not steady within the limit" };
        let shown = if last.is_empty() { String::new() } else { format!("; the last ones: {}", last.join("; ")) };
        Settled {
            steady,
            ramp_up_s: ramp_up.into(),
            most_s: most.into(),
            method: format!(
                "two windows of {} s against the two before: throughput within {THROUGHPUT_PERCENT:.0} %, response \
                 time \
                 within {RESPONSE_PERCENT:.0} %, block reads a transaction within {READS_PERCENT:.0} %, or {NOISE:.0} \
                 standard errors",
                self.window
            ),
            found: format!("{state} after {} windows of {} s{shown}", self.windows.len(), self.window),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(all: &[(f64, f64)]) -> Vec<Window> {
        all.iter()
            .map(|(transactions, misses)| Window { transactions: *transactions, miss_percent: Some(*misses) })
            .collect()
    }

    #[test]
    fn the_last_windows_agree_with_those_before() {
        let flat = [(100.0, 2.0), (104.0, 2.1), (101.0, 1.9), (103.0, 2.2)];
        assert!(reached(&windows(&flat)));
        assert!(!reached(&windows(&flat[..3])), "too few");
        assert!(!reached(&windows(&[(80.0, 2.0), (90.0, 2.0), (100.0, 2.0), (103.0, 2.0)])), "throughput rises");
        assert!(!reached(&windows(&[(100.0, 8.0), (100.0, 7.0), (100.0, 6.0), (100.0, 5.0)])), "misses fall");
        assert!(
            reached(&windows(&[(10.0, 30.0), (100.0, 0.3), (100.0, 0.3), (100.0, 0.2), (100.0, 0.2)])),
            "what is long past"
        );
        assert!(!reached(&windows(&[(0.0, 0.0); 4])), "nothing was done");
        let mut unknown = windows(&flat);
        unknown[1].miss_percent = None;
        assert!(reached(&unknown));
    }

    /// A number of seconds; `of` returns the transactions of each and their milliseconds.
    fn ramp_up(paced: bool, seconds: u32, of: impl Fn(u32) -> (u64, u64)) -> RampUp {
        let mut ramp_up = RampUp::new(paced, None);
        for second in 0..seconds {
            let (number, ms) = of(second);
            let mut interval = Interval::new(1, 0);
            interval.transactions[0].completed = number;
            for _ in 0..number {
                crate::measure::note(&mut interval.transactions[0].response, 1_000 * ms);
            }
            ramp_up.second(&interval);
        }
        ramp_up
    }

    #[test]
    fn a_ramp_up_is_steady_when_throughput_response_and_reads_are() {
        assert!(!ramp_up(false, 19, |_| (100, 10)).steady(), "too short to tell");
        assert!(ramp_up(false, 20, |_| (100, 10)).steady());
        assert!(!ramp_up(false, 20, |second| (1_000 + 50 * u64::from(second), 10)).steady(), "throughput rises");
        assert!(!ramp_up(false, 20, |second| (100, 10 + u64::from(second))).steady(), "responses slow down");
        assert!(!ramp_up(false, 20, |_| (0, 0)).steady(), "nothing is done");
        assert!(!ramp_up(true, 119, |_| (1, 10)).steady(), "terminals that think have longer windows");
        // A few transactions per second differ by chance.
        assert!(ramp_up(true, 120, |second| (u64::from(second * 7 % 5 == 0), 10)).steady());
        assert!(!ramp_up(true, 120, |second| (u64::from(second > 60) + u64::from(second > 70), 10)).steady());
    }

    #[test]
    fn a_cache_that_still_fills_is_not_steady() {
        let sampled = |reads: fn(u32) -> f64| {
            let mut ramp_up = ramp_up(false, 0, |_| (0, 0));
            for second in 0..20 {
                let mut sample = Sample { at: second.into(), ..Sample::default() };
                sample.counters.set(Counter::BlockReads, reads(second));
                ramp_up.sampled(&sample);
                let mut interval = Interval::new(1, 0);
                interval.transactions[0].completed = 100;
                crate::measure::note(&mut interval.transactions[0].response, 10_000);
                ramp_up.second(&interval);
            }
            ramp_up
        };
        assert!(sampled(|second| 500.0 * f64::from(second)).steady());
        let filling = sampled(|second| 10_000.0 * (1.0 - (-f64::from(second) / 10.0).exp()));
        assert!(!filling.steady());
        let result = filling.found(false, 300, 300);
        assert!(result.found.contains("not steady within the limit after 4 windows of 5 s"), "{}", result.found);
        assert!(result.found.contains("reads each"), "{}", result.found);
    }
}
