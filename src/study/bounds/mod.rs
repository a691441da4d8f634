//! Bounds of a run's throughput: the utilisation law, asymptotic bounds and Little's law, after Denning and Buzen, "The
//! Operational Analysis of Queueing Network Models" (ACM Computing Surveys 10, 1978). They hold for any arrivals and
//! any service: they need measured demands, and no assumption about distributions.
//!
//! - Utilisation law: a resource that each transaction needs for `D` seconds is busy for `X * D` of each second.
//! - So the throughput of a resource with `m` servers is at most `m / D` transactions per second.
//! - `N` clients that need `R` seconds per transaction without waiting for each other reach at most `N / R`; both
//!   bounds cross at `N* = m * R / D` clients.
//! - Bounds of the gain of a change: `laws`.
//! - Little's law: clients = throughput x (response time + think time). A run that violates it has measured something
//!   wrong.

mod laws;

use crate::measure::counters::Counter;
use crate::measure::waterfall::{Part, Waterfall};
use crate::result::bounds::{Bounds, Gain, LittlesLaw, Resource};
use crate::result::summary::Summary;
pub use laws::Limits;
use laws::{Cpu, Measured};

/// A resource with this utilisation is the limit, whatever else transactions wait for, but for what
/// [`keeps_cpus_busy`] says.
const SATURATED: f64 = 0.85;
/// Waits for row locks of this share of the response time may be what keeps the CPUs busy.
const MOST_OF_THE_TIME: f64 = 0.5;
/// Sessions that wait for a CPU for less than this share of their CPU time form no queue there. Measured here: 0 to
/// 0.27 where removing the row locks made a run 2.5 times as fast, 0.67 to 0.84 where it gained 5 to 29 %.
const QUEUE: f64 = 0.5;
/// User-mode CPU time with warm caches, relative to that with idle or shared CPUs. Measured here:
/// 270 of 651 us when log flushes of 5 ms were removed, 421 of 945 when competing programs were stopped.
const WARM_USER_SHARE: f64 = 0.4;
/// Tolerance of Little's law in percent, in addition to transactions at the interval's ends.
const TOLERANCE_PERCENT: f64 = 5.0;
/// Number of gains that are reported.
const MAX_GAINS: usize = 4;
/// CPU usage of other processes, in percent, above which they are named as the cause of a busy CPU.
const OTHER_CPU_PERCENT: f64 = crate::measure::strangers::LIMIT;

/// The bounds of a run; `None` without transactions.
pub fn of(summary: &Summary) -> Option<Bounds> {
    let rate = summary.transactions_per_second;
    if rate <= 0.0 || summary.interval_s <= 0.0 {
        return None;
    }
    let mut resources = resources(summary, rate);
    resources.sort_by(|one, other| other.utilisation_percent.total_cmp(&one.utilisation_percent));
    let seen_enough = summary.waterfall.as_ref().is_none_or(Waterfall::tells);
    let gains = if seen_enough { largest(gains(summary, &resources, measured(summary))) } else { Vec::new() };
    let little = little(summary);
    let without_waiting = summary.waterfall.as_ref().map(needed_us);
    let closed_loop = summary.pace == "none" && summary.open_loop.is_none();
    let saturates_at_clients = resources.first().zip(without_waiting).filter(|_| closed_loop).map(|(busiest, us)| {
        // With fewer clients than servers, it cannot be busy all the time.
        (busiest.servers * us / busiest.demand_us).max(busiest.servers)
    });
    let bottleneck = gains.first().map(|gain| gain.what.clone()).unwrap_or_default();
    let found = Bounds { bottleneck, resources, gains, saturates_at_clients, little };
    (found != Bounds::default()).then_some(found)
}

/// The gains that are reported.
fn largest(gains: Vec<Gain>) -> Vec<Gain> {
    gains.into_iter().filter(|gain| gain.at_most_times.is_none_or(|times| times > 1.005)).take(MAX_GAINS).collect()
}

/// Maximum speed-up without a cause, named as in [`Gain::what`]; `None` if it has no bound, or if the time was not
/// broken down.
pub fn at_most(summary: &Summary, what: &str) -> Option<f64> {
    summary.waterfall.as_ref()?;
    let gains = gains(summary, &resources(summary, rate(summary)?), measured(summary));
    // A cause that takes no time gains nothing.
    gains.iter().find(|gain| gain.what == what).map_or(Some(1.0), |gain| gain.at_most_times)
}

/// Maximum speed-up without lock waits.
pub fn without_locks(summary: &Summary) -> Option<f64> {
    let measured = measured(summary)?;
    let locks = measured.locks_s + 2.0 * errors_s(summary, &[Part::RowLocks, Part::OtherLocks]);
    measured.without_rework(locks).without(locks, locks)
}

/// Bounds of the speed-up with another number of clients. Unknown without a time breakdown, or with think times.
pub fn with_clients(summary: &Summary, clients: u32) -> Limits {
    let measured = measured(summary).filter(|_| summary.pace == "none");
    measured.map_or(Limits::default(), |measured| measured.with_clients(f64::from(clients)))
}

/// Bounds of the speed-up with `times` the server's CPUs.
pub fn with_cpus(summary: &Summary, times: f64) -> Limits {
    measured(summary).map_or(Limits::default(), |measured| measured.with_cpus(times))
}

fn rate(summary: &Summary) -> Option<f64> {
    Some(summary.transactions_per_second).filter(|rate| *rate > 0.0)
}

const AT_CPU: [Part; 4] = [Part::ServerCpu, Part::ServerCpuWait, Part::ClientCpu, Part::ClientCpuWait];

/// The measurements for the bounds; `None` without a time breakdown.
fn measured(summary: &Summary) -> Option<Measured> {
    let (waterfall, rate) = (summary.waterfall.as_ref()?, rate(summary)?);
    let seconds = |parts: &[Part]| 1e-6 * parts.iter().map(|part| waterfall.all.part(*part)).sum::<f64>();
    let locks_s = seconds(&[Part::RowLocks, Part::OtherLocks]);
    // Waits for a CPU used by other processes do not shrink with fewer clients.
    let own = taken_percent(summary) <= OTHER_CPU_PERCENT;
    let cpu_waits = if own { seconds(&[Part::ServerCpuWait, Part::ClientCpuWait]) } else { 0.0 };
    Some(Measured {
        clients: f64::from(summary.clients),
        rate,
        response_s: 1e-6 * waterfall.all.response_us,
        at_cpu_s: seconds(&AT_CPU),
        waits_s: locks_s + cpu_waits,
        locks_s,
        cpu: cpu(summary, rate),
    })
}

/// CPU demand of the mean transaction; `None` if the server's processes are not visible. All of the machine's
/// CPUs count, because more demand also gets CPU time from other processes. Kernel threads are left out, because
/// they may work for other processes.
fn cpu(summary: &Summary, rate: f64) -> Option<Cpu> {
    let counters = summary.counters.as_ref()?;
    let each = |counter| counters.grown(counter).map(|grown| grown.per_second);
    let ours = each(Counter::OursCpu)?;
    let server = if each(Counter::ServerCpu).is_some() { each(Counter::ServerUser)? } else { 0.0 };
    let user = (each(Counter::ClientUser)? + server).min(ours);
    let cpus = counters.machine_cpus?.max(ours);
    let busy = ours / cpus;
    let least_user_s = user / rate * (busy + (1.0 - busy) * WARM_USER_SHARE);
    (user > 0.0).then(|| Cpu { cpus, user_s: user / rate, least_user_s, kernel_s: (ours - user) / rate })
}

/// One standard error of the sum of sampled parts, in seconds.
fn errors_s(summary: &Summary, parts: &[Part]) -> f64 {
    let Some(waterfall) = &summary.waterfall else { return 0.0 };
    let of = |part: &Part| waterfall.all.error_us.get(part.name()).copied().unwrap_or_default();
    1e-6 * parts.iter().map(of).fold(0.0, f64::hypot)
}

/// The time of a transaction that waits for no other: all parts except waits for a CPU and for locks.
fn needed_us(waterfall: &Waterfall) -> f64 {
    let waits = [Part::DriverQueue, Part::ClientCpuWait, Part::ServerCpuWait, Part::RowLocks, Part::OtherLocks];
    waterfall.all.response_us - waits.iter().map(|part| waterfall.all.part(*part)).sum::<f64>()
}

/// The use of a resource at this rate, from its busy time per second.
fn resource(name: &str, busy: f64, servers: f64, rate: f64) -> Option<Resource> {
    (busy > 0.0 && servers > 0.0).then(|| Resource {
        name: name.to_owned(),
        demand_us: 1e6 * busy / rate,
        servers,
        utilisation_percent: 100.0 * busy / servers,
        limit_per_second: rate * servers / busy,
    })
}

fn resources(summary: &Summary, rate: f64) -> Vec<Resource> {
    let Some(counters) = &summary.counters else { return Vec::new() };
    let each = |counter| counters.grown(counter).map(|grown| grown.per_second);
    let mut found = Vec::new();
    if let (Some(cpus), Some(ours)) = (counters.machine_cpus, each(Counter::OursCpu)) {
        let strangers = summary.strangers.as_ref();
        let percent = |share: Option<f64>| cpus * share.unwrap_or_default() / 100.0;
        let kernel = percent(strangers.and_then(|strangers| strangers.kernel));
        let taken = percent(strangers.and_then(|of| of.cpu)) + percent(strangers.and_then(|of| of.steal));
        // The clocks of processes and machine differ: the available time is never less than the used time.
        found.extend(resource(CPU, ours + kernel, (cpus - taken).max(ours + kernel), rate));
    }
    let device = counters.device.as_ref();
    if let (Some(flushes), Some(device)) = (each(Counter::LogFlushes), device)
        && let Some(flush_ms) = device.flush_ms
    {
        // A log is written and flushed by one session at a time.
        let busy = flushes * (flush_ms + device.write_ms.unwrap_or_default()) / 1e3;
        found.extend(resource(LOG, busy.min(1.0), 1.0, rate));
    }
    if let Some(busy) = device.and_then(|device| device.busy_percent) {
        found.extend(resource(DEVICE, (busy / 100.0).min(1.0), 1.0, rate));
    }
    if let (Some(driver), true) = (each(Counter::DriverCpu), summary.client.threads > 0) {
        let in_process = summary.server.cpu_s.is_none() && each(Counter::SessionsCpu).is_none();
        let threads = f64::from(summary.client.threads);
        found.extend(resource("driver thread", driver, threads, rate).filter(|_| !in_process));
    }
    found
}

/// The cause of waits for a CPU that other processes use.
pub const OTHER_PROCESSES: &str = "CPU used by other processes";
const CPU: &str = "CPU";
const LOG: &str = "log flush";
const DEVICE: &str = "device";

/// The maximum gain without each cause, the largest first.
fn gains(summary: &Summary, resources: &[Resource], measured: Option<Measured>) -> Vec<Gain> {
    let mut found: Vec<(f64, Gain)> = Vec::new();
    let mut add = |what: &str, share: f64, times: Option<f64>, weight: f64| {
        let at_most_times = times.filter(|times| times.is_finite()).map(|times| times.max(1.0));
        found.push((weight, Gain { what: what.to_owned(), share_percent: 100.0 * share, at_most_times }));
    };
    let parts = |all: &[Part]| -> f64 {
        let Some(waterfall) = &summary.waterfall else { return 0.0 };
        all.iter().map(|part| waterfall.all.part(*part)).sum::<f64>() / waterfall.all.response_us.max(1e-9)
    };
    let without = |share: f64| if share < 1.0 { 1.0 / (1.0 - share) } else { f64::INFINITY };
    let cpu = resources.iter().find(|resource| resource.name == CPU);
    let passed = |kernel: fn(Cpu) -> f64| {
        let passed = measured.and_then(|of| Some(of.cpus_pass(of.cpu?, kernel(of.cpu?))));
        passed.unwrap_or(f64::INFINITY).max(1.0)
    };
    // If other processes use the CPUs, kernel time is mostly context switches.
    let passed = |disturbed: bool| if disturbed { passed(|_| 0.0) } else { passed(|cpu| cpu.kernel_s) };
    let taken = taken_percent(summary);
    let cpu_waits = parts(&[Part::ServerCpuWait, Part::ClientCpuWait]);
    let disturbed =
        taken > OTHER_CPU_PERCENT && (cpu_waits > 0.1 || cpu.is_some_and(|cpu| cpu.utilisation_percent > 60.0));
    if disturbed {
        // Lock holders and log writers also wait for a CPU, and others wait for them.
        let waits = cpu_waits + parts(&[Part::Log, Part::RowLocks, Part::OtherLocks]);
        add(OTHER_PROCESSES, cpu_waits, Some(without(waits).min(passed(true))), cpu_waits + taken / 100.0);
    }
    if parts(&[Part::ClientCpuWait]) > 0.0 {
        let share = parts(&[Part::ClientCpuWait]);
        // A driver that waits more than the server is limited by its priority or its number of threads.
        let starved = share > parts(&[Part::ServerCpuWait]) && share > 0.1;
        let weight = share + if starved && disturbed { 2.0 } else { 0.0 };
        let locks = parts(&[Part::RowLocks, Part::OtherLocks]);
        // While it waits, replies of several sessions gather. It then sends their next transactions at once, and these
        // wait for each other at the server, and for the driver to take their replies.
        let gathered = [Part::ServerCpuWait, Part::Log, Part::Network];
        let others = locks + if starved && disturbed { parts(&gathered) } else { 0.0 };
        add("the client's wait for a CPU", share, Some(without(share + others).min(passed(disturbed))), weight);
    }
    let on_cpu = parts(&[Part::ServerCpu, Part::ServerCpuWait, Part::ClientCpu]);
    let by_waits = keeps_cpus_busy(parts(&[Part::RowLocks]), cpu_waits, parts(&[Part::ServerCpu, Part::ClientCpu]));
    let saturated = cpu.is_some_and(|cpu| cpu.utilisation_percent / 100.0 >= SATURATED) && !by_waits;
    if on_cpu > 0.0 || saturated {
        let weight = if saturated && !disturbed { 1.0 + on_cpu } else { parts(&[Part::ServerCpu, Part::ClientCpu]) };
        add("CPU of client and server", on_cpu, measured.and_then(|of| of.without_cpu()), weight);
    }
    for (what, part) in [
        ("log write and flush", Part::Log),
        ("row locks", Part::RowLocks),
        ("other locks", Part::OtherLocks),
        ("page reads", Part::PageReads),
        ("network and wake-up", Part::Network),
        ("other waits", Part::OtherWaits),
    ] {
        let share = parts(&[part]);
        if share > 0.0 {
            add(what, share, measured.and_then(|of| without_part(summary, &of, part)), share);
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.into_iter().map(|(_, gain)| gain).collect()
}

/// Whether waits for row locks keep the CPUs busy, from shares of the response time: transactions wait for rows most of
/// the time, and hardly for a CPU. After each wait the server evaluates the statement again, and the kernel switches
/// sessions, so that CPUs without a queue may be busy all the time.
fn keeps_cpus_busy(row_locks: f64, cpu_waits: f64, on_cpu: f64) -> bool {
    row_locks > MOST_OF_THE_TIME && cpu_waits < QUEUE * on_cpu
}

/// Maximum speed-up without a part and the waits that depend on it.
fn without_part(summary: &Summary, measured: &Measured, part: Part) -> Option<f64> {
    let waterfall = summary.waterfall.as_ref()?;
    // Two standard errors are added for sampling.
    let part_s = 1e-6 * waterfall.all.part(part) + 2.0 * errors_s(summary, &[part]);
    // Parts that take time while rows are locked cause lock waits, which may disappear with them.
    let is_lock = matches!(part, Part::RowLocks | Part::OtherLocks);
    let locks_s = if is_lock { 0.0 } else { measured.locks_s };
    let measured = if is_lock { measured.without_rework(part_s) } else { *measured };
    let log_s = match part {
        // Reads delay log flushes on the same device by at most their share of the device's time.
        Part::PageReads => 1e-6 * waterfall.all.part(Part::Log) * (part_s * measured.rate).min(1.0),
        _ => 0.0,
    };
    // Kernel time of a wait is at most its length; sending and receiving happens outside of waits.
    let kernel_s = if part == Part::Network { f64::INFINITY } else { part_s + locks_s };
    measured.without(part_s + locks_s + log_s, kernel_s)
}

/// Percent of the machine's CPU time used by other processes.
fn taken_percent(summary: &Summary) -> f64 {
    summary.strangers.as_ref().map_or(0.0, |of| of.cpu.unwrap_or_default() + of.steal.unwrap_or_default())
}

/// Little's law over the interval; `None` if it cannot be checked.
fn little(summary: &Summary) -> Option<LittlesLaw> {
    // Clients that wait for a connection or after a failure are not in a transaction.
    let disturbed = summary.connections.lost > 0
        || summary.interrupted
        // An open loop has no number of users.
        || summary.open_loop.is_some()
        || summary.transactions.values().any(|of| of.errors > 0 || of.unknown > 0);
    if disturbed {
        return None;
    }
    let paced = summary.pacing.as_ref();
    let (mut found, mut longest) = (0.0, 0.0_f64);
    for (name, of) in &summary.transactions {
        let mut seconds = of.response_ms.mean / 1e3;
        if let Some(pacing) = paced {
            seconds += pacing.keying_s.get(name)?.mean + pacing.think_s.get(name)?.mean;
        }
        found += of.completed as f64 / summary.interval_s * seconds;
        longest = longest.max(if of.completed > 0 { seconds } else { 0.0 });
    }
    let mean = |clients: f64, seconds: f64| if seconds > 0.0 { clients / seconds } else { 0.0 };
    let clients = match (&summary.stages[..], paced) {
        (_, Some(_)) => summary.client.terminals as f64,
        ([], None) => f64::from(summary.clients),
        (stages, None) => mean(
            stages.iter().map(|stage| f64::from(stage.clients) * stage.seconds).sum(),
            stages.iter().map(|stage| stage.seconds).sum(),
        ),
    };
    if clients <= 0.0 {
        return None;
    }
    let off_percent = 100.0 * (found / clients - 1.0);
    // If other processes use the CPU, a client is often preempted between transactions, which is not a fault of the
    // measurement.
    if off_percent < 0.0 && taken_percent(summary) > OTHER_CPU_PERCENT {
        return None;
    }
    // A transaction at an end of the interval counts neither in the throughput nor in the times; with
    // think times, cycles are random, and a few of them have a large error.
    let cycles = summary.transactions.values().map(|of| of.completed as f64).sum::<f64>().max(1.0);
    let chance = if paced.is_some() { 300.0 / cycles.sqrt() } else { 0.0 };
    let allowed_percent = TOLERANCE_PERCENT + 200.0 * longest / summary.interval_s + chance;
    Some(LittlesLaw { clients, found, off_percent, allowed_percent, held: off_percent.abs() <= allowed_percent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::counters_summary::DeviceSummary;
    use crate::measure::counters_summary::{CountersSummary, Grown};
    use crate::measure::strangers::Strangers;
    use crate::measure::waterfall::Parts;
    use crate::result::summary::{LatencySummary, TransactionSummary};

    /// Eight clients, a thousand transactions a second of 8 ms each, for a minute, on two CPUs.
    fn summary(parts: &[(Part, f64)], ours: f64, strangers: Option<f64>) -> Summary {
        let per_second = |figure: f64| Grown { total: 60.0 * figure, seconds: 60.0, per_second: figure };
        let mut all = Parts { response_us: 8_000.0, samples: 1e4, ..Parts::default() };
        parts.iter().for_each(|(part, us)| {
            all.parts.insert(part.name().to_owned(), *us);
        });
        let transaction = TransactionSummary {
            completed: 60_000,
            response_ms: LatencySummary { mean: 8.0, ..LatencySummary::default() },
            ..TransactionSummary::default()
        };
        Summary {
            pace: "none".to_owned(),
            clients: 8,
            stages: Vec::new(),
            interval_s: 60.0,
            transactions_per_second: 1_000.0,
            transactions: [("payment".to_owned(), transaction)].into(),
            counters: Some(CountersSummary {
                machine_cpus: Some(2.0),
                // Of the CPU time two fifths are the kernel's.
                grown: [("ours_cpu_s", ours), ("client_user_s", 0.6 * ours), ("log_flushes", 200.0)]
                    .map(|(name, figure)| (name.to_owned(), per_second(figure)))
                    .into(),
                device: Some(DeviceSummary { flush_ms: Some(1.0), write_ms: Some(0.5), ..DeviceSummary::default() }),
                ..CountersSummary::default()
            }),
            strangers: Some(Strangers { cpu: strangers, ..Strangers::default() }),
            waterfall: Some(Waterfall { all, ..Waterfall::default() }),
            ..crate::study::tests::kept()
        }
    }

    fn near(found: f64, due: f64) {
        assert!((found - due).abs() < 1e-6 * due.abs().max(1.0), "{found} {due}");
    }

    #[test]
    fn demands_and_bounds_follow_the_laws() {
        let parts = [(Part::ServerCpu, 400.0), (Part::Log, 6_000.0), (Part::Network, 1_600.0)];
        let found = of(&summary(&parts, 0.5, Some(0.0))).unwrap();
        let of_name = |name: &str| found.resources.iter().find(|resource| resource.name == name).unwrap();
        // Half a CPU second a second for 1,000 transactions: 500 us each, a quarter of two CPUs, 4,000 a second at
        // most.
        let cpu = of_name("CPU");
        near(cpu.demand_us, 500.0);
        near(cpu.utilisation_percent, 25.0);
        near(cpu.limit_per_second, 4_000.0);
        // 200 flushes of 1.5 ms: 30 % of the log's time.
        near(of_name("log flush").utilisation_percent, 30.0);
        assert_eq!(found.resources[0].name, "log flush");
        // Without three quarters of the time and without the kernel's work for it: of 400 us at the CPU all may go but
        // the 300 of user mode, or 165 of them with warm caches.
        assert_eq!(found.bottleneck, "log write and flush");
        near(found.gains[0].at_most_times.unwrap(), 8.0 / 1.765);
        // 8 ms without waiting for others, 300 us of them at the log.
        near(found.saturates_at_clients.unwrap(), 8_000.0 / 300.0);
        let little = found.little.unwrap();
        near(little.found, 8.0);
        assert!(little.held);
    }

    #[test]
    fn a_few_samples_name_no_cause() {
        let mut summary = summary(&[(Part::Log, 7_000.0), (Part::ServerCpu, 1_000.0)], 0.4, None);
        assert_eq!(of(&summary).unwrap().bottleneck, "log write and flush");
        summary.waterfall.as_mut().unwrap().all.samples = 3.0;
        let found = of(&summary).unwrap();
        assert!(found.bottleneck.is_empty() && found.gains.is_empty() && !found.resources.is_empty(), "{found:?}");
    }

    #[test]
    fn planted_causes_come_first() {
        let locked = [(Part::RowLocks, 6_500.0), (Part::ServerCpu, 500.0), (Part::Log, 1_000.0)];
        assert_eq!(of(&summary(&locked, 0.5, Some(1.0))).unwrap().bottleneck, "row locks");
        let crowded = [(Part::ServerCpuWait, 5_000.0), (Part::ServerCpu, 2_000.0), (Part::Log, 1_000.0)];
        assert_eq!(of(&summary(&crowded, 0.9, Some(50.0))).unwrap().bottleneck, "CPU used by other processes");
        let busy = of(&summary(&crowded, 1.9, Some(1.0))).unwrap();
        assert_eq!(busy.bottleneck, "CPU of client and server");
        // No more than what the log takes of each: 1 of 8 ms.
        near(busy.gains[0].at_most_times.unwrap(), 8.0);
        // Busy CPUs at which hardly anybody waits are not the limit if all wait for a row: runs of 2026-11-26, see
        // docs/why.md.
        let row =
            [(Part::RowLocks, 5_930.0), (Part::ServerCpu, 660.0), (Part::ServerCpuWait, 180.0), (Part::Log, 360.0)];
        assert_eq!(of(&summary(&row, 1.72, Some(1.0))).unwrap().bottleneck, "row locks");
        let queue =
            [(Part::RowLocks, 5_060.0), (Part::ServerCpu, 740.0), (Part::ServerCpuWait, 620.0), (Part::Log, 1_010.0)];
        assert_eq!(of(&summary(&queue, 1.76, Some(1.0))).unwrap().bottleneck, "CPU of client and server");
        let starved = [(Part::ClientCpuWait, 6_000.0), (Part::ServerCpu, 400.0), (Part::Log, 1_000.0)];
        assert_eq!(of(&summary(&starved, 0.5, Some(5.0))).unwrap().bottleneck, "the client's wait for a CPU");
        let behind_others = of(&summary(&starved, 0.5, Some(50.0))).unwrap();
        assert_eq!(behind_others.bottleneck, "the client's wait for a CPU");
        // Without it the log takes less time, too: sessions no longer commit at the same moment.
        near(behind_others.gains[0].at_most_times.unwrap(), 8.0);
    }

    #[test]
    fn a_cause_without_a_next_limit_has_no_bound() {
        // All of the time on the CPU, as in SQLite's process, and a run too short for other resources to be counted.
        let mut short = summary(&[(Part::ServerCpu, 8_000.0)], 1.0, None);
        short.counters = None;
        let found = of(&short).unwrap();
        assert_eq!(found.gains[0].at_most_times, None, "{found:?}");
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Bounds>(&text).unwrap(), found, "{text}");
    }

    #[test]
    fn other_processes_hide_no_other_cause() {
        // Strangers leave the run a tenth of a CPU, which it uses up, and others keep the device busy.
        let parts = [(Part::RowLocks, 7_000.0), (Part::ServerCpuWait, 600.0), (Part::ServerCpu, 400.0)];
        let mut crowded = summary(&parts, 0.1, Some(95.0));
        if let Some(device) = crowded.counters.as_mut().and_then(|counters| counters.device.as_mut()) {
            device.busy_percent = Some(100.0);
        }
        let found = of(&crowded).unwrap();
        let locks = found.gains.iter().find(|gain| gain.what == "row locks").expect("row locks are named");
        // An eighth of the time is left, of which the CPU's 100 us may shrink to what user mode needs with warm caches,
        // and without evaluating statements again: waits for locks are seven eighths of the time.
        near(locks.at_most_times.unwrap(), 8.0 * 100.0 / (25.8 * (1.0 - 7.0 / 16.0)));
        assert!(found.gains.iter().any(|gain| gain.what == "CPU used by other processes"), "{found:?}");
    }

    #[test]
    fn experiments_have_bounds() {
        let parts = [(Part::RowLocks, 2_000.0), (Part::Log, 2_000.0), (Part::Network, 4_000.0)];
        let base = summary(&parts, 0.5, Some(0.0));
        near(at_most(&base, "row locks").unwrap(), 8.0 / 6.0);
        near(at_most(&base, "page reads").unwrap(), 1.0);
        // Rows are locked while the log is flushed: half of the time may go.
        near(at_most(&base, "log write and flush").unwrap(), 2.0);
        near(without_locks(&base).unwrap(), 8.0 / 6.0);
        // Half the clients: at the least half, and 4 of 7 parts of the 2 ms in which they waited for each other go; at
        // the most as many would do without these waits.
        let half = with_clients(&base, 4);
        near(half.least.unwrap(), 0.5 * 8.0 / (8.0 - 2.0 * 4.0 / 7.0));
        near(half.most.unwrap(), 8.0 / 6.0);
        assert_eq!(with_clients(&base, 16), Limits { least: None, most: Some(2.0) });
        // With 2 CPUs and 165 us in user mode, 200 us in the kernel.
        near(with_clients(&base, 800).most.unwrap(), 1.8 / 0.165);
        assert_eq!(with_cpus(&base, 0.5), Limits { least: Some(0.5), most: Some(1.0) });
        let blind = Summary { waterfall: None, ..base.clone() };
        assert_eq!((at_most(&blind, "row locks"), without_locks(&blind)), (None, None));
        assert_eq!(with_clients(&blind, 16), Limits::default());
        // A server elsewhere: nothing is known of its CPUs.
        let apart = Summary { counters: None, ..base };
        near(at_most(&apart, "row locks").unwrap(), 8.0 / 6.0);
        assert_eq!(with_clients(&apart, 800).most, Some(100.0));
    }

    #[test]
    fn reads_delay_flushes_on_their_device() {
        // 400 us of reads in each of 1,000 transactions: two fifths of the time the device may have been at them.
        let parts = [(Part::PageReads, 400.0), (Part::Log, 2_000.0), (Part::Network, 5_600.0)];
        near(at_most(&summary(&parts, 0.5, Some(0.0)), "page reads").unwrap(), 8.0 / (8.0 - 0.4 - 0.8));
    }

    #[test]
    fn a_violation_of_littles_law_is_found() {
        let mut wrong = summary(&[(Part::Log, 8_000.0)], 0.5, None);
        wrong.transactions_per_second = 500.0;
        wrong.transactions.get_mut("payment").unwrap().completed = 30_000;
        let little = of(&wrong).unwrap().little.unwrap();
        near(little.off_percent, -50.0);
        assert!(!little.held);
        // It is not a violation if other processes used the CPU.
        wrong.strangers = Some(Strangers { cpu: Some(50.0), ..Strangers::default() });
        assert_eq!(of(&wrong).unwrap().little, None);
        // A run that lost connections cannot be checked.
        wrong.connections.lost = 1;
        assert_eq!(of(&wrong).unwrap().little, None);
        wrong.transactions_per_second = 0.0;
        assert_eq!(of(&wrong), None);
    }
}
