//! Per-second signals, and how far some seconds are from the median of all others.

use std::ops::Range;

use super::{Course, Difference, mean, median, spread};
use crate::measure::counters::{Counter, Growth};

/// A figure is unusual if it is at least this multiple of the spread away.
const SPREADS: f64 = 4.0;
/// And by at least this share of the usual value.
const MORE: f64 = 0.5;
/// Minimum number of transactions in a second for per-transaction figures.
const ENOUGH: f64 = 10.0;

/// How the importance of a difference is computed.
enum Scale {
    /// By the share of the run's sessions that it holds up.
    Sessions,
    /// By the share of the machine's CPUs.
    Cpus,
    /// By its ratio to the usual figure: at most a half, because its cost is unknown.
    Times,
}

/// A figure that is measured each second.
struct Signal {
    cause: &'static str,
    words: &'static str,
    unit: &'static str,
    scale: Scale,
    /// Smaller differences are ignored.
    least: f64,
    /// The figure of a second, from the growth of counters and the completed transactions.
    of: fn(&Growth, f64) -> Option<f64>,
}

fn each(growth: &Growth, counter: Counter) -> Option<f64> {
    Some(growth.grown.get(counter)? / (growth.to - growth.from))
}

/// Mean time in milliseconds; `None` in a second without such an operation.
fn ms(growth: &Growth, time: Counter, number: Counter) -> Option<f64> {
    let number = growth.grown.get(number).filter(|number| *number > 0.0)?;
    Some(1e3 * growth.grown.get(time)? / number)
}

fn strangers(growth: &Growth) -> Option<f64> {
    let of = |counter| each(growth, counter);
    let ours = of(Counter::OursCpu)? + of(Counter::MachineInterrupts)? + of(Counter::KernelThreads)?;
    Some((of(Counter::MachineBusy)? - ours).max(0.0))
}

const fn sessions(cause: &'static str, words: &'static str, of: fn(&Growth, f64) -> Option<f64>) -> Signal {
    Signal { cause, words, unit: "sessions", scale: Scale::Sessions, least: 0.25, of }
}

const fn times(
    cause: &'static str,
    words: &'static str,
    unit: &'static str,
    least: f64,
    of: fn(&Growth, f64) -> Option<f64>,
) -> Signal {
    Signal { cause, words, unit, scale: Scale::Times, least, of }
}

const SIGNALS: [Signal; 18] = [
    sessions("row_locks", "sessions that waited for row locks", |of, _| each(of, Counter::SeenRowLock)),
    sessions("other_locks", "sessions that waited for other locks", |of, _| each(of, Counter::SeenOtherLock)),
    sessions("log", "sessions that wrote or flushed the log", |of, _| each(of, Counter::SeenLog)),
    sessions("page_reads", "sessions that read pages", |of, _| each(of, Counter::SeenPageRead)),
    sessions("other_waits", "sessions that waited for something else", |of, _| each(of, Counter::SeenOther)),
    sessions("not_attributed", "sessions in an unknown state", |of, _| each(of, Counter::SeenUnknown)),
    sessions("client", "sessions whose server waited for the client", |of, _| each(of, Counter::SeenClient)),
    sessions("server_cpu_wait", "sessions whose server waited for a CPU", |of, _| each(of, Counter::SessionsCpuWait)),
    sessions("client_cpu_wait", "threads of the driver that waited for a CPU", |of, _| {
        each(of, Counter::DriverCpuWait)
    }),
    Signal {
        cause: "strangers",
        words: "CPUs used by other processes",
        unit: "CPUs",
        scale: Scale::Cpus,
        least: 0.15,
        of: |of, _| strangers(of),
    },
    Signal {
        cause: "steal",
        words: "CPUs used by other virtual machines",
        unit: "CPUs",
        scale: Scale::Cpus,
        least: 0.05,
        of: |of, _| each(of, Counter::MachineSteal),
    },
    times("flush_time", "time of a flush of the disk", "ms", 1.0, |of, _| {
        ms(of, Counter::DeviceFlushTime, Counter::DeviceFlushes)
    }),
    times("write_time", "time of a write of the device", "ms", 1.0, |of, _| {
        ms(of, Counter::DeviceWriteTime, Counter::DeviceWrites)
    }),
    times("read_time", "time of a read of the device", "ms", 1.0, |of, _| {
        ms(of, Counter::DeviceReadTime, Counter::DeviceReads)
    }),
    times("device_queue", "requests in the device's queue", "requests", 2.0, |of, _| each(of, Counter::DeviceQueued)),
    times("block_reads", "blocks that were not in the database's buffers", "per second", 100.0, |of, _| {
        each(of, Counter::BlockReads)
    }),
    times("block_writes", "blocks that the database wrote", "per second", 100.0, |of, _| {
        each(of, Counter::BlockWrites)
    }),
    times("log_volume", "log of a transaction", "KiB", 1.0, |of, completed| {
        Some(of.grown.get(Counter::LogBytes)? / 1024.0 / Some(completed).filter(|completed| *completed >= ENOUGH)?)
    }),
];

/// The differences of `seconds` from the median of `others`, and the causes that are unknown in them.
pub(super) fn differences(
    course: &Course,
    seconds: &Range<usize>,
    others: &[usize],
) -> (Vec<Difference>, Vec<&'static str>) {
    let (mut found, mut not_known) = (Vec::new(), Vec::new());
    let counted = |second| Some((course.growth(second)?, course.completed.get(second).copied().unwrap_or_default()));
    let at_that_time: Vec<(&Growth, f64)> = seconds.clone().filter_map(counted).collect();
    let at_others: Vec<(&Growth, f64)> = others.iter().filter_map(|second| counted(*second)).collect();
    for signal in &SIGNALS {
        let of = |(growth, completed): &(&Growth, f64)| (signal.of)(growth, *completed);
        let within: Vec<f64> = at_that_time.iter().filter_map(of).collect();
        let usually: Vec<f64> = at_others.iter().filter_map(of).collect();
        if within.is_empty() || usually.is_empty() {
            not_known.push(signal.cause);
            continue;
        }
        let (is, usual) = (mean(&within), median(&usually));
        let more = is - usual;
        let least = match signal.scale {
            Scale::Sessions => signal.least.max(0.1 * course.clients),
            _ => signal.least,
        };
        if more > least.max(SPREADS * spread(&usually, usual)).max(MORE * usual) {
            found.push(difference(course, signal, seconds, is, usual));
        }
    }
    (found, not_known)
}

fn difference(course: &Course, signal: &Signal, seconds: &Range<usize>, is: f64, usual: f64) -> Difference {
    let cpus = seconds.clone().find_map(|second| each(course.growth(second)?, Counter::MachineCpu));
    let weight = match signal.scale {
        Scale::Sessions => (is - usual) / course.clients,
        Scale::Cpus => (is - usual) / cpus.unwrap_or(1.0).max(1.0),
        Scale::Times => 0.5 * (1.0 - usual / is),
    };
    let named: Vec<String> = match signal.cause {
        "strangers" => course.foreign(seconds).into_iter().take(3).map(|(name, _)| name).collect(),
        _ => Vec::new(),
    };
    let named = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
    Difference {
        cause: signal.cause,
        words: format!("{}{named}", signal.words),
        found: Some(is),
        usual: Some(usual),
        unit: signal.unit,
        weight: weight.clamp(0.0, 1.0),
    }
}

impl Course {
    /// Growth of the counters in a second; samples are taken a little after the full second.
    pub(super) fn growth(&self, second: usize) -> Option<&Growth> {
        let place = self.growths.partition_point(|growth| growth.to.round() <= second as f64);
        self.growths.get(place).filter(|growth| growth.from.round() <= second as f64)
    }
}
