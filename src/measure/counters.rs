//! Counters of database, operating system and client through a run, and what follows from their growth.

/// Something that is counted from a beginning of its own: of the process, the server, the machine. Only its growth has
/// a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// CPU seconds of this process.
    ClientCpu,
    /// CPU seconds of the server's processes.
    ServerCpu,
    /// CPU seconds that the machine had, idle ones included: its CPUs times the time.
    MachineCpu,
    /// Of these, seconds in which a CPU worked.
    MachineBusy,
    /// Of these, idle seconds in which something waited for a disk.
    MachineIowait,
    /// Of these, seconds in which the hypervisor gave the CPU to others.
    MachineSteal,
    /// Transactions committed, by the database's own count. Whether it counts those that only read is the database's
    /// way.
    Commits,
    /// Blocks that the database read from outside of its own cache; they may come from the system's.
    BlockReads,
    /// Bytes of these blocks.
    BlockReadBytes,
    /// Blocks of tables and indexes that the database wrote.
    BlockWrites,
    /// Bytes of these blocks.
    BlockWriteBytes,
    /// Times that the database wrote its log.
    LogWrites,
    /// Times that the database waited until its log was on disk.
    LogFlushes,
    /// Bytes of log.
    LogBytes,
    /// Checkpoints, counted when they begin or when they end, as the database does.
    Checkpoints,
    /// Blocks that checkpoints wrote.
    CheckpointBlocks,
    /// Calls by which the server's processes read, files and pipes alike.
    ServerReadCalls,
    /// Calls by which the server's processes wrote, files and pipes alike.
    ServerWriteCalls,
    /// Bytes that the server's processes caused to be read from storage.
    ServerReadBytes,
    /// Bytes that the server's processes handed to the system for writing, pipes included. What the kernel says they
    /// wrote to storage is of no use: it counts all of a large folio when a few bytes of it change.
    ServerWrittenBytes,
    /// Reads that the block device below the database completed.
    DeviceReads,
    /// Bytes of these.
    DeviceReadBytes,
    /// Writes that the block device below the database completed.
    DeviceWrites,
    /// Bytes of these.
    DeviceWrittenBytes,
    /// CPU seconds of this process in user mode; the others of [`Counter::ClientCpu`] are the kernel's.
    ClientUser,
    /// CPU seconds of the server's processes in user mode, likewise.
    ServerUser,
    /// Seconds in which a CPU worked in user mode; the others of [`Counter::MachineBusy`] are the kernel's.
    MachineUser,
    /// Seconds in which a CPU answered interrupts, for whomever.
    MachineInterrupts,
    /// CPU seconds of the kernel's own threads, such as those that write pages back, for whomever.
    KernelThreads,
    /// CPU seconds of client and server together; known only where all of the server's processes are.
    OursCpu,
    /// Bytes that client and server caused to be read from storage, likewise.
    OursReadBytes,
    /// Seconds that completed reads of the device took, one by one.
    DeviceReadTime,
    /// Seconds that completed writes took, likewise.
    DeviceWriteTime,
    /// Flushes of the cache of the disks behind the device.
    DeviceFlushes,
    /// Seconds that these took, one by one.
    DeviceFlushTime,
    /// Seconds in which the device had any request.
    DeviceBusy,
    /// Seconds that requests spent at the device, one by one: over the time, the mean length of its queue.
    DeviceQueued,
    /// CPU seconds of the processes or threads at the server that work for the run's sessions.
    SessionsCpu,
    /// Seconds that these could have worked, and waited for a CPU.
    SessionsCpuWait,
    /// CPU seconds of the driver's threads, which in process are the database, too.
    DriverCpu,
    /// Seconds that these could have worked, and waited for a CPU.
    DriverCpuWait,
    /// Seconds, of all sessions together, in which the server was seen at work for them, or waiting for a CPU.
    SeenRunning,
    /// Likewise: in which they were seen to write or flush the log.
    SeenLog,
    /// Likewise: in which they were seen to wait for a row.
    SeenRowLock,
    /// Likewise: in which they were seen to wait for any other lock.
    SeenOtherLock,
    /// Likewise: in which they were seen to read pages.
    SeenPageRead,
    /// Likewise: in which they were seen to wait for something else.
    SeenOther,
    /// Likewise: in which the server was seen to wait for the client.
    SeenClient,
    /// Likewise: in which nobody knows what they were at.
    SeenUnknown,
    /// Seconds, of all terminals together, in which their users keyed in; with a pace only, as the next two.
    TerminalsKeying,
    /// Likewise: in which they thought.
    TerminalsThinking,
    /// Likewise: in which they waited for a response.
    TerminalsWaiting,
    /// Seconds, of all requests together, in which no session had taken them; with a pace or a rate only.
    RequestsQueued,
    /// Seconds, of all sessions together, in which a transaction was under way.
    SessionsInTransaction,
    /// Likewise: in which they had no connection.
    SessionsReconnecting,
    /// Likewise: in which they had a connection and nothing to do.
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

    /// As it is written in records, summaries and SQL.
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

/// Values of counters; what is not known has none.
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

    /// Sets the value of a counter. What is no finite number counts as not known.
    pub fn set(&mut self, counter: Counter, value: impl Into<Option<f64>>) {
        self.0[counter as usize] = value.into().filter(|value| value.is_finite());
    }

    /// Takes over what another one knows.
    pub fn merge(&mut self, other: &Counters) {
        for counter in Counter::ALL {
            if let Some(value) = other.get(counter) {
                self.set(counter, value);
            }
        }
    }
}

/// Counters as they stood at one moment of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// When, in seconds since the run's start.
    pub at: f64,
    /// The counters.
    pub counters: Counters,
}

/// What counters grew by from one sample to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// When it began, in seconds since the run's start.
    pub from: f64,
    /// When it ended.
    pub to: f64,
    /// The growth of each counter that was known at both times and did not start anew between them.
    pub grown: Counters,
}

impl Growth {
    /// What counters grew by from one sample to the next; none if they are of the same moment.
    pub fn between(earlier: &Sample, later: &Sample) -> Option<Growth> {
        let mut grown = Counters::default();
        for counter in Counter::ALL {
            let growth =
                later.counters.get(counter).zip(earlier.counters.get(counter)).map(|(later, earlier)| later - earlier);
            // A counter that shrank was set back, as by a server that came up again: nobody knows by how much it grew.
            grown.set(counter, growth.filter(|growth| *growth >= 0.0));
        }
        (later.at > earlier.at).then_some(Growth { from: earlier.at, to: later.at, grown })
    }
}

/// What counters grew by between samples, in order. A sample without a counter leaves a gap on both of its sides.
pub fn growths(samples: &[Sample]) -> Vec<Growth> {
    samples.windows(2).filter_map(|pair| Growth::between(&pair[0], &pair[1])).collect()
}

/// Seconds without a sign of a checkpoint that still belong to it: one that takes its time writes in bursts.
const CHECKPOINT_PAUSE_S: f64 = 2.5;

/// Times in which checkpoints began or wrote: start and length.
pub fn checkpoints(growths: &[Growth]) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    growths.iter().for_each(|growth| note_checkpoint(&mut found, growth));
    found
}

/// Adds a growth to the times that were found in those before it.
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
