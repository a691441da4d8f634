//! The counters of a measurement interval, and figures computed from them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counters::Counter;
use super::pages::PagesSummary;
use super::sums::{Sum, Sums};

/// The growth of a counter in the measurement interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Grown {
    /// Its growth in the seconds in which it is known.
    pub total: f64,
    /// Length of these seconds.
    pub seconds: f64,
    /// `total` over `seconds`.
    pub per_second: f64,
}

/// Counters of the measurement interval and figures computed from them. Unknown ones are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CountersSummary {
    /// By the names of [`Counter`].
    pub grown: BTreeMap<String, Grown>,
    /// Completed transactions per log flush: above 1, commits share flushes (group commit).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transactions_per_log_flush: Option<f64>,
    /// Bytes of log per completed transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_bytes_per_transaction: Option<f64>,
    /// CPUs of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_cpus: Option<f64>,
    /// Percent of the machine's CPU time that this process used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cpu_percent: Option<f64>,
    /// Percent of the machine's CPU time that the server's processes used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpu_percent: Option<f64>,
    /// Percent of the machine's CPU time in which its CPUs were busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_busy_percent: Option<f64>,
    /// Percent of the machine's CPU time that was idle while a process waited for a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_iowait_percent: Option<f64>,
    /// Percent of the machine's CPU time that the hypervisor gave to other machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_steal_percent: Option<f64>,
    /// Of the client's percent, the part in user mode; the rest is kernel time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_user_percent: Option<f64>,
    /// Of the server's percent, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_user_percent: Option<f64>,
    /// Of the machine's percent, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_user_percent: Option<f64>,
    /// Times, queue and utilisation of the block devices below the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceSummary>,
    /// Of the bytes that the database did not find in its own buffers, the percentage that the operating system's page
    /// cache had: those that its processes did not read from storage. Read-ahead and reads of other files make it too
    /// small.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_cache_percent: Option<f64>,
    /// Page reads and hit rates; `None` if the database does not count them, or the interval did not end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<PagesSummary>,
    /// Checkpoints during the whole run, as seen in the database's counters: start in seconds since the run's start,
    /// and length.
    pub checkpoints: Vec<(f64, f64)>,
    /// Counters that are missing, and why.
    pub notes: Vec<String>,
}

impl CountersSummary {
    /// Computed from the growth in the interval; `checkpoints` are those of the whole run.
    pub fn of(sums: &Sums, checkpoints: Vec<(f64, f64)>, notes: Vec<String>) -> CountersSummary {
        let transactions = |sum: &Sum| sum.transactions;
        let per = |over: &dyn Fn(&Sum) -> Option<f64>, under: &dyn Fn(&Sum) -> Option<f64>| {
            let both = sums.each().filter_map(|sum| over(sum).zip(under(sum)));
            let (over, under) = both.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
            (under > 0.0).then(|| over / under)
        };
        let of = |counter: Counter| move |sum: &Sum| sum.grown.get(counter);
        let percent = |counter| per(&of(counter), &of(Counter::MachineCpu)).map(|share| 100.0 * share);
        let ms = |time, number| per(&of(time), &of(number)).map(|seconds| 1e3 * seconds);
        let seconds = |sum: &Sum| Some(sum.seconds);
        CountersSummary {
            grown: Counter::ALL
                .into_iter()
                .filter_map(|counter| Some((counter.name().to_owned(), grown(sums, counter)?)))
                .collect(),
            transactions_per_log_flush: per(&transactions, &of(Counter::LogFlushes)),
            log_bytes_per_transaction: per(&of(Counter::LogBytes), &transactions),
            machine_cpus: per(&of(Counter::MachineCpu), &seconds),
            client_cpu_percent: percent(Counter::ClientCpu),
            server_cpu_percent: percent(Counter::ServerCpu),
            machine_busy_percent: percent(Counter::MachineBusy),
            machine_iowait_percent: percent(Counter::MachineIowait),
            machine_steal_percent: percent(Counter::MachineSteal),
            client_user_percent: percent(Counter::ClientUser),
            server_user_percent: percent(Counter::ServerUser),
            machine_user_percent: percent(Counter::MachineUser),
            device: Some(DeviceSummary {
                read_ms: ms(Counter::DeviceReadTime, Counter::DeviceReads),
                write_ms: ms(Counter::DeviceWriteTime, Counter::DeviceWrites),
                flush_ms: ms(Counter::DeviceFlushTime, Counter::DeviceFlushes),
                queue_depth: per(&of(Counter::DeviceQueued), &seconds),
                busy_percent: per(&of(Counter::DeviceBusy), &seconds).map(|share| 100.0 * share),
            })
            .filter(|device| *device != DeviceSummary::default()),
            page_cache_percent: per(&of(Counter::ServerReadBytes), &of(Counter::BlockReadBytes))
                .map(|share| 100.0 * (1.0 - share).max(0.0)),
            pages: None,
            checkpoints,
            notes,
        }
    }

    /// The growth of a counter, if known.
    pub fn grown(&self, counter: Counter) -> Option<&Grown> {
        self.grown.get(counter.name())
    }
}

fn grown(sums: &Sums, counter: Counter) -> Option<Grown> {
    let known = sums.each().filter_map(|sum| Some((sum.grown.get(counter)?, sum.seconds)));
    let (total, seconds) = known.fold((0.0, 0.0), |all, sum| (all.0 + sum.0, all.1 + sum.1));
    (seconds > 0.0).then(|| Grown { total, seconds, per_second: total / seconds })
}

/// Activity of the devices in the measurement interval, from the growth of their counters. What is unknown or did not
/// happen is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DeviceSummary {
    /// Mean duration of a read, queueing included, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ms: Option<f64>,
    /// Mean duration of a write, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_ms: Option<f64>,
    /// Mean duration of a flush of the disks' own caches, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_ms: Option<f64>,
    /// Mean number of requests queued or in service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<f64>,
    /// Percent of the time with at least one request; for several disks, the sum of theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_percent: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::counters::growths;
    use crate::measure::counters::tests::sample;

    #[test]
    fn a_summary_has_what_is_known_of_the_interval_and_no_more() {
        // One second of ramp-up, four of the interval; the log counter is missing in one of them.
        let at = |second: f64, flushes: Option<f64>| {
            let mut sample = sample(
                second + 0.003,
                &[
                    (Counter::MachineCpu, 2.0 * second),
                    (Counter::ClientCpu, 0.5 * second),
                    (Counter::LogBytes, 1e9 + 4_000.0 * second),
                ],
            );
            sample.counters.set(Counter::LogFlushes, flushes);
            sample
        };
        let samples = [
            at(0.0, Some(0.0)),
            at(1.0, Some(70.0)),
            at(2.0, Some(80.0)),
            at(3.0, Some(90.0)),
            at(4.0, None),
            at(5.0, None),
        ];
        let mut sums = Sums::default();
        sums.add(&growths(&samples), &(1.0..5.0), &[1_000, 40, 60, 30, 30]);
        let found = CountersSummary::of(&sums, Vec::new(), vec!["why".to_owned()]);
        assert_eq!(found.grown(Counter::LogFlushes).unwrap().total, 20.0);
        assert!((found.grown(Counter::LogFlushes).unwrap().per_second - 10.0).abs() < 1e-9);
        assert_eq!(found.transactions_per_log_flush, Some(5.0));
        assert_eq!(found.log_bytes_per_transaction, Some(100.0));
        assert_eq!(found.client_cpu_percent, Some(25.0));
        assert!((found.machine_cpus.unwrap() - 2.0).abs() < 1e-9);
        assert_eq!((found.server_cpu_percent, found.grown(Counter::ServerCpu)), (None, None));
        assert_eq!(found.notes, ["why"]);
        assert_eq!(CountersSummary::of(&Sums::default(), Vec::new(), Vec::new()), CountersSummary::default());
    }

    #[test]
    fn a_summary_of_an_earlier_version_is_read() {
        let found: CountersSummary = serde_json::from_str("{\"notes\":[\"x\"]}").unwrap();
        assert_eq!(found, CountersSummary { notes: vec!["x".to_owned()], ..CountersSummary::default() });
    }
}
