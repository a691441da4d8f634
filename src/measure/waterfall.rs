//! The parts of the mean response time of a transaction, from samples of the sessions and from exact clocks.
//!
//! Samples give the share of each wait state in a type's time; the type's mean response time, which is exact, converts
//! shares to times. CPU time and the time of waiting for a CPU come from the scheduler's own clocks instead. The parts
//! add up to the mean response time by construction; what no source explains is a part of its own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::waits::{Wait, WaitsSeen};

/// A part of the response time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// From the user's intent until a session took the transaction.
    DriverQueue,
    /// The driver ran for it.
    ClientCpu,
    /// The driver was runnable, and waited for a CPU.
    ClientCpuWait,
    /// On the network, and until the other side woke up.
    Network,
    /// The server ran for it.
    ServerCpu,
    /// The server was runnable, and waited for a CPU.
    ServerCpuWait,
    /// The log was written and flushed.
    Log,
    /// It waited for a row locked by another transaction.
    RowLocks,
    /// It waited for any other lock.
    OtherLocks,
    /// Pages were read.
    PageReads,
    /// Any other wait of the server.
    OtherWaits,
    /// What no source explains.
    NotAttributed,
}

impl Part {
    /// All of them, from the user to the disk.
    pub const ALL: [Part; 12] = [
        Part::DriverQueue,
        Part::ClientCpu,
        Part::ClientCpuWait,
        Part::Network,
        Part::ServerCpu,
        Part::ServerCpuWait,
        Part::Log,
        Part::RowLocks,
        Part::OtherLocks,
        Part::PageReads,
        Part::OtherWaits,
        Part::NotAttributed,
    ];

    /// Its key in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Part::DriverQueue => "driver_queue",
            Part::ClientCpu => "client_cpu",
            Part::ClientCpuWait => "client_cpu_wait",
            Part::Network => "network",
            Part::ServerCpu => "server_cpu",
            Part::ServerCpuWait => "server_cpu_wait",
            Part::Log => "log",
            Part::RowLocks => "row_locks",
            Part::OtherLocks => "other_locks",
            Part::PageReads => "page_reads",
            Part::OtherWaits => "other_waits",
            Part::NotAttributed => "not_attributed",
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Part::DriverQueue => "driver's queue",
            Part::ClientCpu => "client on CPU",
            Part::ClientCpuWait => "client waits for a CPU",
            Part::Network => "network and wake-up",
            Part::ServerCpu => "server on CPU",
            Part::ServerCpuWait => "server waits for a CPU",
            Part::Log => "log write and flush",
            Part::RowLocks => "row locks",
            Part::OtherLocks => "other locks",
            Part::PageReads => "page reads",
            Part::OtherWaits => "other waits",
            Part::NotAttributed => "not attributed",
        }
    }

    /// The wait state of the part, if it is known from samples.
    fn seen(self) -> Option<Wait> {
        match self {
            Part::Log => Some(Wait::Log),
            Part::RowLocks => Some(Wait::RowLock),
            Part::OtherLocks => Some(Wait::OtherLock),
            Part::PageReads => Some(Wait::PageRead),
            Part::OtherWaits => Some(Wait::Other),
            _ => None,
        }
    }
}

/// The parts of the mean response time of a transaction type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Parts {
    /// The mean response time in microseconds: the sum of the parts. For a deferred type, for which no user waits, it
    /// is the time that a session took.
    pub response_us: f64,
    /// Microseconds of each part, by the names of [`Part`].
    pub parts: BTreeMap<String, f64>,
    /// One standard error of the parts that are known from samples, in microseconds.
    pub error_us: BTreeMap<String, f64>,
    /// Number of samples of a session with a transaction of the type.
    pub samples: f64,
}

impl Parts {
    /// A part in microseconds.
    pub fn part(&self, part: Part) -> f64 {
        self.parts.get(part.name()).copied().unwrap_or_default()
    }

    fn set(&mut self, part: Part, us: f64) {
        self.parts.insert(part.name().to_owned(), us);
    }
}

/// Parts of the response time, by transaction type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Waterfall {
    /// By transaction type.
    pub types: BTreeMap<String, Parts>,
    /// For the mean transaction of all types.
    pub all: Parts,
    /// Samples of all sessions in the measurement interval.
    pub looks: u64,
    /// Samples per second.
    pub looks_per_second: f64,
    /// The sources of the parts, a line each, and parts that could not be separated.
    pub sources: Vec<String>,
}

/// Transactions of a type in the interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TypeTimes {
    /// Number of transactions with measured times.
    pub count: u64,
    /// Their mean response time in microseconds.
    pub response_us: f64,
    /// The mean time that a session took, in microseconds.
    pub service_us: f64,
}

/// Exact clocks of the interval, in seconds; unknown ones are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clocks {
    /// CPU time of the sessions' processes or threads at the server.
    pub server_cpu: Option<f64>,
    /// Their time of waiting for a CPU.
    pub server_cpu_wait: Option<f64>,
    /// CPU time of the driver's threads.
    pub client_cpu: Option<f64>,
    /// Their time of waiting for a CPU.
    pub client_cpu_wait: Option<f64>,
    /// Number of the driver's threads.
    pub threads: u32,
    /// Length of the interval.
    pub seconds: f64,
    /// Whether the driver's threads also run the database.
    pub in_process: bool,
}

/// Session seconds of a type, by wait state.
struct TypeSamples<'a> {
    name: &'a str,
    times: TypeTimes,
    seconds: f64,
    samples: f64,
    /// Its share of all transactions.
    share: f64,
    by_wait: BTreeMap<Wait, f64>,
}

impl TypeSamples<'_> {
    fn of(&self, wait: Wait) -> f64 {
        self.by_wait.get(&wait).copied().unwrap_or_default()
    }
}

/// With fewer samples of working sessions than this, half of a part may be chance.
const FEWEST_SAMPLES: f64 = 20.0;

impl Waterfall {
    /// Whether there are enough samples to name what sessions spend their time on.
    pub fn tells(&self) -> bool {
        self.all.samples >= FEWEST_SAMPLES
    }

    /// From all data of an interval; `None` without samples.
    pub fn of<'a>(seen: &WaitsSeen, types: &'a BTreeMap<String, TypeTimes>, clocks: &Clocks) -> Option<Waterfall> {
        let number: u64 = types.values().map(|times| times.count).sum();
        let of = |(name, times): (&'a String, &TypeTimes)| spent(name, *times, number, seen);
        let spent: Vec<TypeSamples<'_>> = types.iter().filter_map(of).collect();
        if seen.looks == 0 || spent.is_empty() || spent.iter().all(|of| of.samples <= 0.0) {
            return None;
        }
        let sum = |wait: Wait| spent.iter().map(|of| of.of(wait)).sum::<f64>();
        let totals = Totals { running: sum(Wait::Running), client: sum(Wait::Client) };
        let mut all = Parts::default();
        let count: f64 = spent.iter().map(|of| of.times.count as f64).sum();
        let mut found = BTreeMap::new();
        for of in &spent {
            let parts = parts(of, &totals, clocks);
            let weight = of.times.count as f64 / count;
            all.response_us += weight * parts.response_us;
            all.samples += parts.samples;
            for (name, us) in &parts.parts {
                *all.parts.entry(name.clone()).or_default() += weight * us;
            }
            for (name, us) in &parts.error_us {
                // Errors of types are independent of one another.
                let error = all.error_us.entry(name.clone()).or_default();
                *error = error.hypot(weight * us);
            }
            found.insert(of.name.to_owned(), parts);
        }
        let mut sources = seen.sources.clone();
        if clocks.in_process {
            sources.push(
                "client and database work in the same threads: what they do on a CPU is counted as the server's"
                    .to_owned(),
            );
        } else if clocks.server_cpu.is_none() {
            sources.push(
                "the server's processes are not to be seen on this machine: \"server on CPU\" holds its waiting for \
                 one, too"
                    .to_owned(),
            );
        }
        let looks_per_second = if clocks.seconds > 0.0 { seen.looks as f64 / clocks.seconds } else { 0.0 };
        Some(Waterfall { types: found, all, looks: seen.looks, looks_per_second, sources })
    }

    /// Parts of the mean transaction of all types, the longest first.
    pub fn longest(&self) -> Vec<(Part, f64)> {
        let mut parts: Vec<(Part, f64)> = Part::ALL.into_iter().map(|part| (part, self.all.part(part))).collect();
        parts.sort_by(|one, other| other.1.total_cmp(&one.1));
        parts
    }
}

fn spent<'a>(name: &'a str, times: TypeTimes, all: u64, seen: &WaitsSeen) -> Option<TypeSamples<'a>> {
    if times.count == 0 {
        return None;
    }
    let seconds = times.count as f64 * times.service_us / 1e6;
    let waits = seen.by_type.get(name);
    // The sum of no floats is -0.
    let samples = waits.iter().flat_map(|waits| waits.values()).fold(0.0, |sum, times| sum + times);
    let mut by_wait: BTreeMap<Wait, f64> = BTreeMap::new();
    if samples <= 0.0 {
        by_wait.insert(Wait::Unknown, seconds);
    }
    for (wait, times) in waits.into_iter().flatten().filter(|_| samples > 0.0) {
        // A wait state of a later version.
        let wait = Wait::named(wait).unwrap_or(Wait::Unknown);
        *by_wait.entry(wait).or_default() += seconds * times / samples;
    }
    Some(TypeSamples { name, times, seconds, samples, share: times.count as f64 / all as f64, by_wait })
}

/// Session seconds at the client that are distributed by the number of transactions, so that a type that was rarely
/// sampled there gets its part, too.
const FEW: f64 = 0.01;

/// Session-seconds of all types.
struct Totals {
    running: f64,
    client: f64,
}

fn parts(of: &TypeSamples<'_>, totals: &Totals, clocks: &Clocks) -> Parts {
    let share = |part: f64, all: f64| if all > 0.0 { part / all } else { 0.0 };
    let (running, at_client) = (of.of(Wait::Running), of.of(Wait::Client));
    let (server_cpu, server_wait) = if clocks.in_process {
        (clocks.client_cpu, clocks.client_cpu_wait)
    } else {
        (clocks.server_cpu, clocks.server_cpu_wait)
    };
    // The exact clocks cover all types together: each type gets a share according to its samples.
    let of_server = share(running, totals.running);
    let of_client = share(at_client + FEW * of.share, totals.client + FEW);
    let mut left = running + at_client;
    let mut take = |seconds: f64| {
        let taken = seconds.clamp(0.0, left);
        left -= taken;
        taken
    };
    let cpu = take(server_cpu.map_or(running, |cpu| cpu * of_server));
    let client_cpu = take(clocks.client_cpu.filter(|_| !clocks.in_process).map_or(0.0, |cpu| cpu * of_client));
    // A server process that is woken up appears to wait for its client until it has a CPU.
    let cpu_wait = take(server_wait.map_or(0.0, |wait| wait * of_server));
    // While a driver thread waits for a CPU, so do all of its sessions whose server waits for them.
    let waited = clocks.client_cpu_wait.filter(|_| !clocks.in_process).unwrap_or_default();
    let waiting = share(waited, f64::from(clocks.threads) * clocks.seconds).min(1.0);
    let client_wait = take((waited * of_client).max(waiting * at_client));
    let unexplained = (running - cpu - cpu_wait).clamp(0.0, left);
    let network = left - unexplained;

    let mut found = Parts { samples: of.samples, ..Parts::default() };
    let us = |seconds: f64| 1e6 * seconds / of.times.count as f64;
    // No user waits for a deferred transaction.
    let queue = (of.times.response_us - of.times.service_us).max(0.0);
    found.response_us = queue + of.times.service_us;
    found.set(Part::DriverQueue, queue);
    for (part, seconds) in [
        (Part::ClientCpu, client_cpu),
        (Part::ClientCpuWait, client_wait),
        (Part::Network, network),
        (Part::ServerCpu, cpu),
        (Part::ServerCpuWait, cpu_wait),
        (Part::NotAttributed, unexplained + of.of(Wait::Unknown)),
    ] {
        found.set(part, us(seconds.max(0.0)));
    }
    for part in Part::ALL {
        let Some(wait) = part.seen() else { continue };
        let seconds = of.of(wait);
        found.set(part, us(seconds));
        let chance = share(seconds, of.seconds);
        let error = (chance * (1.0 - chance) / of.samples.max(1.0)).max(0.0).sqrt();
        found.error_us.insert(part.name().to_owned(), of.times.service_us * error);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(all: &[(&str, Wait, f64)]) -> WaitsSeen {
        let mut seen = WaitsSeen { looks: 1_000, ..WaitsSeen::default() };
        all.iter().for_each(|(name, wait, times)| seen.note(name, *wait, *times));
        seen
    }

    fn types(all: &[(&str, u64, f64, f64)]) -> BTreeMap<String, TypeTimes> {
        let times = |(name, count, response_us, service_us): &(&str, u64, f64, f64)| {
            ((*name).to_owned(), TypeTimes { count: *count, response_us: *response_us, service_us: *service_us })
        };
        all.iter().map(times).collect()
    }

    fn adds_up(waterfall: &Waterfall) {
        for parts in waterfall.types.values().chain([&waterfall.all]) {
            let sum: f64 = parts.parts.values().sum();
            assert!((sum - parts.response_us).abs() < 1e-6 * parts.response_us.max(1.0), "{parts:?}");
            assert!(parts.parts.values().all(|us| *us >= 0.0), "{parts:?}");
        }
    }

    #[test]
    fn shares_become_times_and_add_up() {
        let seen = seen(&[
            ("new_order", Wait::Running, 300.0),
            ("new_order", Wait::Log, 400.0),
            ("new_order", Wait::Client, 300.0),
            ("payment", Wait::RowLock, 100.0),
        ]);
        let types =
            types(&[("new_order", 10_000, 2_500.0, 2_000.0), ("payment", 10_000, 200.0, 200.0), ("x", 0, 0.0, 0.0)]);
        // New-Order took 20 s of sessions: 6 s running, 8 s log, 6 s at the client.
        let clocks = Clocks {
            server_cpu: Some(4.0),
            server_cpu_wait: Some(3.0),
            client_cpu: Some(2.0),
            client_cpu_wait: Some(0.5),
            threads: 1,
            seconds: 50.0,
            in_process: false,
        };
        let found = Waterfall::of(&seen, &types, &clocks).unwrap();
        adds_up(&found);
        let near = |part, due: f64| {
            let us = found.types["new_order"].part(part);
            assert!((us - due).abs() < 1e-6, "{part:?}: {us} {due}");
        };
        near(Part::DriverQueue, 500.0);
        near(Part::Log, 800.0);
        near(Part::ServerCpu, 400.0);
        near(Part::ServerCpuWait, 300.0);
        // The second that exceeds the sampled running time was sampled as waiting for the client.
        let (client, wait) =
            (found.types["new_order"].part(Part::ClientCpu), found.types["new_order"].part(Part::ClientCpuWait));
        assert!((client - 200.0).abs() < 1.0 && (49.0..=60.0).contains(&wait), "{client} {wait}");
        near(Part::Network, 500.0 - client - wait);
        near(Part::NotAttributed, 0.0);
        assert!((found.types["new_order"].error_us["log"] - 2_000.0 * (0.24_f64 / 1_000.0).sqrt()).abs() < 1e-9);
        assert_eq!(found.types["payment"].part(Part::RowLocks), 200.0);
        assert_eq!(found.longest()[0].0, Part::Log);
        assert_eq!(found.looks_per_second, 20.0);
    }

    #[test]
    fn what_no_source_explains_is_said() {
        let one = types(&[("t", 1_000, 1_000.0, 1_000.0), ("never_seen", 10, 50.0, 50.0)]);
        let seen = seen(&[("t", Wait::Running, 80.0), ("t", Wait::Unknown, 20.0)]);
        let clocks = Clocks { server_cpu: Some(0.3), server_cpu_wait: Some(0.1), seconds: 1.0, ..Clocks::default() };
        let found = Waterfall::of(&seen, &one, &clocks).unwrap();
        adds_up(&found);
        assert!((found.types["t"].part(Part::NotAttributed) - 600.0).abs() < 1e-6);
        assert_eq!(found.types["never_seen"].part(Part::NotAttributed), 50.0);
        // Clocks with more time than there was: the parts still add up.
        let clocks = Clocks { server_cpu: Some(2.0), server_cpu_wait: Some(9.0), seconds: 1.0, ..Clocks::default() };
        adds_up(&Waterfall::of(&seen, &one, &clocks).unwrap());
        // A server on another machine: only samples are known.
        let found = Waterfall::of(&seen, &one, &Clocks::default()).unwrap();
        adds_up(&found);
        assert!(found.sources.iter().any(|source| source.contains("not to be seen")), "{:?}", found.sources);
        assert_eq!(Waterfall::of(&WaitsSeen::default(), &one, &clocks), None);
    }

    #[test]
    fn a_starved_driver_is_distinguished_from_the_network() {
        let seen = seen(&[("t", Wait::Running, 100.0), ("t", Wait::Client, 900.0)]);
        let clocks = Clocks {
            server_cpu: Some(1.0),
            server_cpu_wait: Some(0.0),
            client_cpu: Some(0.2),
            client_cpu_wait: Some(8.0),
            threads: 1,
            seconds: 10.0,
            in_process: false,
        };
        let found = Waterfall::of(&seen, &types(&[("t", 10_000, 1_000.0, 1_000.0)]), &clocks).unwrap();
        adds_up(&found);
        assert_eq!(found.longest()[0].0, Part::ClientCpuWait);
    }
}
