//! Counters of database, operating system and client during a run, and what is computed from their growth.

/// A cumulative counter of the process, the server or the machine. Only its growth has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// CPU seconds of this process.
    ClientCpu,
    /// CPU seconds of the server's processes.
    ServerCpu,
    /// CPU seconds available on the machine, idle ones included: its CPUs times the time.
    MachineCpu,
    /// Of these, busy seconds.
    MachineBusy,
    /// Of these, idle seconds in which a process waited for a disk.
    MachineIowait,
    /// Of these, seconds that the hypervisor gave to other machines.
    MachineSteal,
    /// Transactions committed, as counted by the database. Whether read-only transactions are included depends on the
    /// database.
    Commits,
    /// Blocks that the database read from outside its own cache; they may come from the system's page cache.
    BlockReads,
    /// Bytes of these blocks.
    BlockReadBytes,
    /// Blocks of tables and indexes that the database wrote.
    BlockWrites,
    /// Bytes of these blocks.
    BlockWriteBytes,
    /// Log writes of the database.
    LogWrites,
    /// Log flushes that the database waited for.
    LogFlushes,
    /// Bytes of log.
    LogBytes,
    /// Checkpoints, counted at their start or their end, depending on the database.
    Checkpoints,
    /// Blocks that checkpoints wrote.
    CheckpointBlocks,
    /// Read system calls of the server's processes, on files and pipes alike.
    ServerReadCalls,
    /// Write system calls of the server's processes, on files and pipes alike.
    ServerWriteCalls,
    /// Bytes that the server's processes read from storage.
    ServerReadBytes,
    /// Bytes that the server's processes passed to write calls, pipes included. The kernel's count of bytes written to
    /// storage is unusable: it counts a whole large folio when a few bytes of it change.
    ServerWrittenBytes,
    /// Reads that the block device below the database completed.
    DeviceReads,
    /// Bytes of these.
    DeviceReadBytes,
    /// Writes that the block device below the database completed.
    DeviceWrites,
    /// Bytes of these.
    DeviceWrittenBytes,
    /// CPU seconds of this process in user mode; the rest of [`Counter::ClientCpu`] is kernel time.
    ClientUser,
    /// CPU seconds of the server's processes in user mode, likewise.
    ServerUser,
    /// Seconds in which a CPU ran in user mode; the rest of [`Counter::MachineBusy`] is kernel time.
    MachineUser,
    /// Seconds in which a CPU handled interrupts, of any origin.
    MachineInterrupts,
    /// CPU seconds of kernel threads, such as those that write back pages, of any origin.
    KernelThreads,
    /// CPU seconds of client and server together; known only where all of the server's processes are.
    OursCpu,
    /// Bytes that client and server read from storage, likewise.
    OursReadBytes,
    /// The sum of the durations of completed reads of the device, in seconds.
    DeviceReadTime,
    /// The sum of the durations of completed writes, in seconds.
    DeviceWriteTime,
    /// Flushes of the cache of the disks behind the device.
    DeviceFlushes,
    /// The sum of their durations, in seconds.
    DeviceFlushTime,
    /// Seconds in which the device had at least one request.
    DeviceBusy,
    /// The sum of the times that requests spent at the device, in seconds: divided by time, the mean queue length.
    DeviceQueued,
    /// CPU seconds of the server's processes or threads that serve the run's sessions.
    SessionsCpu,
    /// Seconds in which these were runnable and waited for a CPU.
    SessionsCpuWait,
    /// CPU seconds of the driver's threads, which include an embedded database.
    DriverCpu,
    /// Seconds in which these were runnable and waited for a CPU.
    DriverCpuWait,
    /// Session seconds, from samples, in which the server ran for a session or waited for a CPU.
    SeenRunning,
    /// Likewise, writing or flushing the log.
    SeenLog,
    /// Likewise, waiting for a row lock.
    SeenRowLock,
    /// Likewise, waiting for any other lock.
    SeenOtherLock,
    /// Likewise, reading pages.
    SeenPageRead,
    /// Likewise, waiting for something else.
    SeenOther,
    /// Likewise, waiting for the client.
    SeenClient,
    /// Likewise, in an unknown state.
    SeenUnknown,
    /// Terminal seconds of keying; in paced runs only, as the next two.
    TerminalsKeying,
    /// Likewise, of thinking.
    TerminalsThinking,
    /// Likewise, of waiting for a response.
    TerminalsWaiting,
    /// Seconds that requests waited for a session, summed; with a pace or a rate only.
    RequestsQueued,
    /// Session seconds with a transaction in progress.
    SessionsInTransaction,
    /// Likewise, without a connection.
    SessionsReconnecting,
    /// Likewise, connected and idle.
    SessionsIdle,
}

impl Counter {
    /// All of them, in the order of records.
    pub const ALL: [Counter; 56] = [
        Counter::ClientCpu,
        Counter::ServerCpu,
        Counter::MachineCpu,
        Counter::MachineBusy,
        Counter::MachineIowait,
        Counter::MachineSteal,
        Counter::Commits,
        Counter::BlockReads,
        Counter::BlockReadBytes,
        Counter::BlockWrites,
        Counter::BlockWriteBytes,
        Counter::LogWrites,
        Counter::LogFlushes,
        Counter::LogBytes,
        Counter::Checkpoints,
        Counter::CheckpointBlocks,
        Counter::ServerReadCalls,
        Counter::ServerWriteCalls,
        Counter::ServerReadBytes,
        Counter::ServerWrittenBytes,
        Counter::DeviceReads,
        Counter::DeviceReadBytes,
        Counter::DeviceWrites,
        Counter::DeviceWrittenBytes,
        Counter::ClientUser,
        Counter::ServerUser,
        Counter::MachineUser,
        Counter::MachineInterrupts,
        Counter::KernelThreads,
        Counter::OursCpu,
        Counter::OursReadBytes,
        Counter::DeviceReadTime,
        Counter::DeviceWriteTime,
        Counter::DeviceFlushes,
        Counter::DeviceFlushTime,
        Counter::DeviceBusy,
        Counter::DeviceQueued,
        Counter::SessionsCpu,
        Counter::SessionsCpuWait,
        Counter::DriverCpu,
        Counter::DriverCpuWait,
        Counter::SeenRunning,
        Counter::SeenLog,
        Counter::SeenRowLock,
        Counter::SeenOtherLock,
        Counter::SeenPageRead,
        Counter::SeenOther,
        Counter::SeenClient,
        Counter::SeenUnknown,
        Counter::TerminalsKeying,
        Counter::TerminalsThinking,
        Counter::TerminalsWaiting,
        Counter::RequestsQueued,
        Counter::SessionsInTransaction,
        Counter::SessionsReconnecting,
        Counter::SessionsIdle,
    ];

    /// The name in records, summaries and SQL.
    pub fn name(self) -> &'static str {
        match self {
            Counter::ClientCpu => "client_cpu_s",
            Counter::ServerCpu => "server_cpu_s",
            Counter::MachineCpu => "machine_cpu_s",
            Counter::MachineBusy => "machine_busy_s",
            Counter::MachineIowait => "machine_iowait_s",
            Counter::MachineSteal => "machine_steal_s",
            Counter::Commits => "commits",
            Counter::BlockReads => "block_reads",
            Counter::BlockReadBytes => "block_read_bytes",
            Counter::BlockWrites => "block_writes",
            Counter::BlockWriteBytes => "block_write_bytes",
            Counter::LogWrites => "log_writes",
            Counter::LogFlushes => "log_flushes",
            Counter::LogBytes => "log_bytes",
            Counter::Checkpoints => "checkpoints",
            Counter::CheckpointBlocks => "checkpoint_blocks",
            Counter::ServerReadCalls => "server_read_calls",
            Counter::ServerWriteCalls => "server_write_calls",
            Counter::ServerReadBytes => "server_read_bytes",
            Counter::ServerWrittenBytes => "server_written_bytes",
            Counter::DeviceReads => "device_reads",
            Counter::DeviceReadBytes => "device_read_bytes",
            Counter::DeviceWrites => "device_writes",
            Counter::DeviceWrittenBytes => "device_written_bytes",
            Counter::ClientUser => "client_user_s",
            Counter::ServerUser => "server_user_s",
            Counter::MachineUser => "machine_user_s",
            Counter::MachineInterrupts => "machine_interrupts_s",
            Counter::KernelThreads => "kernel_threads_s",
            Counter::OursCpu => "ours_cpu_s",
            Counter::OursReadBytes => "ours_read_bytes",
            Counter::DeviceReadTime => "device_read_s",
            Counter::DeviceWriteTime => "device_write_s",
            Counter::DeviceFlushes => "device_flushes",
            Counter::DeviceFlushTime => "device_flush_s",
            Counter::DeviceBusy => "device_busy_s",
            Counter::DeviceQueued => "device_queued_s",
            Counter::SessionsCpu => "sessions_cpu_s",
            Counter::SessionsCpuWait => "sessions_cpu_wait_s",
            Counter::DriverCpu => "driver_cpu_s",
            Counter::DriverCpuWait => "driver_cpu_wait_s",
            Counter::SeenRunning => "seen_running_s",
            Counter::SeenLog => "seen_log_s",
            Counter::SeenRowLock => "seen_row_lock_s",
            Counter::SeenOtherLock => "seen_other_lock_s",
            Counter::SeenPageRead => "seen_page_read_s",
            Counter::SeenOther => "seen_other_s",
            Counter::SeenClient => "seen_client_s",
            Counter::SeenUnknown => "seen_unknown_s",
            Counter::TerminalsKeying => "terminals_keying_s",
            Counter::TerminalsThinking => "terminals_thinking_s",
            Counter::TerminalsWaiting => "terminals_waiting_s",
            Counter::RequestsQueued => "requests_queued_s",
            Counter::SessionsInTransaction => "sessions_in_transaction_s",
            Counter::SessionsReconnecting => "sessions_reconnecting_s",
            Counter::SessionsIdle => "sessions_idle_s",
        }
    }

    /// The counter of a name.
    pub fn named(name: &str) -> Option<Counter> {
        Counter::ALL.into_iter().find(|counter| counter.name() == name)
    }
}

/// Values of counters; unknown counters have none.
#[derive(Clone, Debug, PartialEq)]
pub struct Counters([Option<f64>; Counter::ALL.len()]);

impl Default for Counters {
    fn default() -> Self {
        Counters([None; Counter::ALL.len()])
    }
}

impl Counters {
    /// The value of a counter, if it is known.
    pub fn get(&self, counter: Counter) -> Option<f64> {
        self.0[counter as usize]
    }

    /// Sets the value of a counter. A value that is not finite counts as unknown.
    pub fn set(&mut self, counter: Counter, value: impl Into<Option<f64>>) {
        self.0[counter as usize] = value.into().filter(|value| value.is_finite());
    }

    /// Takes over all values known to `other`.
    pub fn merge(&mut self, other: &Counters) {
        for counter in Counter::ALL {
            if let Some(value) = other.get(counter) {
                self.set(counter, value);
            }
        }
    }
}

/// Counters at one moment of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// When, in seconds since the run's start.
    pub at: f64,
    /// The counters.
    pub counters: Counters,
}

/// The growth of counters from one sample to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// When it began, in seconds since the run's start.
    pub from: f64,
    /// When it ended.
    pub to: f64,
    /// The growth of each counter that is known at both times and was not reset between them.
    pub grown: Counters,
}

impl Growth {
    /// The growth from one sample to the next; `None` if they are of the same moment.
    pub fn between(earlier: &Sample, later: &Sample) -> Option<Growth> {
        let mut grown = Counters::default();
        for counter in Counter::ALL {
            let growth =
                later.counters.get(counter).zip(earlier.counters.get(counter)).map(|(later, earlier)| later - earlier);
            // A counter that shrank was reset, for example by a restart of the server: its growth is unknown.
            grown.set(counter, growth.filter(|growth| *growth >= 0.0));
        }
        (later.at > earlier.at).then_some(Growth { from: earlier.at, to: later.at, grown })
    }
}

/// The growth of counters between samples, in order. A sample without a counter leaves a gap on both sides.
pub fn growths(samples: &[Sample]) -> Vec<Growth> {
    samples.windows(2).filter_map(|pair| Growth::between(&pair[0], &pair[1])).collect()
}

/// Seconds without checkpoint activity that still belong to a checkpoint: a spread checkpoint writes in bursts.
const CHECKPOINT_PAUSE_S: f64 = 2.5;

/// Times in which checkpoints began or wrote: start and length in seconds.
pub fn checkpoints(growths: &[Growth]) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    growths.iter().for_each(|growth| note_checkpoint(&mut found, growth));
    found
}

/// Adds a growth to the checkpoints found in those before it.
pub fn note_checkpoint(found: &mut Vec<(f64, f64)>, growth: &Growth) {
    let at_work = [Counter::Checkpoints, Counter::CheckpointBlocks]
        .iter()
        .any(|counter| growth.grown.get(*counter).is_some_and(|grown| grown > 0.0));
    match found.last_mut() {
        _ if !at_work => {}
        Some((start, length)) if growth.from - (*start + *length) <= CHECKPOINT_PAUSE_S => {
            *length = growth.to - *start;
        }
        _ => found.push((growth.from, growth.to - growth.from)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::measure) fn sample(at: f64, values: &[(Counter, f64)]) -> Sample {
        let mut counters = Counters::default();
        values.iter().for_each(|(counter, value)| counters.set(*counter, *value));
        Sample { at, counters }
    }

    #[test]
    fn counters_have_names_of_their_own() {
        for (index, counter) in Counter::ALL.into_iter().enumerate() {
            assert_eq!((counter as usize, Counter::named(counter.name())), (index, Some(counter)));
        }
        assert_eq!(Counter::named("second"), None);
    }

    #[test]
    fn gaps_and_counters_set_back_are_no_growth() {
        let log = |at, bytes| sample(at, &[(Counter::LogBytes, bytes), (Counter::ClientCpu, at)]);
        let samples = [
            log(0.0, 100.0),
            log(1.0, 150.0),
            sample(2.0, &[(Counter::ClientCpu, 2.0)]),
            log(3.0, 900.0),
            log(4.0, 20.0),
        ];
        let grown: Vec<_> = growths(&samples)
            .iter()
            .map(|growth| (growth.grown.get(Counter::LogBytes), growth.grown.get(Counter::ClientCpu)))
            .collect();
        assert_eq!(grown, [(Some(50.0), Some(1.0)), (None, Some(1.0)), (None, Some(1.0)), (None, Some(1.0))]);
    }

    #[test]
    fn a_checkpoint_is_seen_from_its_first_sign_to_its_last() {
        let samples: Vec<Sample> = [(0, 0), (1, 0), (1, 90), (1, 90), (1, 180), (1, 180), (1, 180), (1, 180), (2, 200)]
            .iter()
            .enumerate()
            .map(|(at, (count, blocks))| {
                sample(
                    at as f64,
                    &[(Counter::Checkpoints, f64::from(*count)), (Counter::CheckpointBlocks, f64::from(*blocks))],
                )
            })
            .collect();
        assert_eq!(checkpoints(&growths(&samples)), [(0.0, 4.0), (7.0, 1.0)]);
        assert_eq!(checkpoints(&[]), []);
    }
}
