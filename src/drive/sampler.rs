//! Reads the counters of database, operating system and client once a second, on its own thread.

use std::pin::pin;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::Report;
use super::shared::Run;
use super::states::Sums;
use crate::engine::guard::guarded;
use crate::engine::server::{cpu, io};
use crate::engine::{Engine, ServerProcess};
use crate::measure::counters::{Counter, Counters, Sample};
use crate::measure::device::Devices;
use crate::measure::processes::Processes;
use crate::measure::strangers::CPU_UNKNOWN;
use crate::measure::{machine, process};
use crate::result::Event;
use crate::workload::Workload;

/// How long the start of the run waits for the first sample of the database, which opens the connection.
const FIRST_SAMPLE_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout of a query for page reads.
const PAGES_TIMEOUT: Duration = Duration::from_secs(5);

/// Takes samples from the run's start to its end. A database that does not answer leaves a gap in its own counters
/// only.
pub(super) fn thread<W: Workload>(
    engine: &dyn Engine<W>,
    run: &Run<W>,
    reports: &mpsc::Sender<Report>,
    started: &mpsc::Receiver<Instant>,
) {
    let tell = |report| {
        // The receiver is gone if the run was abandoned.
        let _ = reports.send(report);
    };
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(samples::<W>(engine, run, &tell, started)),
        // Without a runtime this thread measures nothing; the driver threads report the same failure as an error.
        Err(error) => {
            tell(Report::Ready(Ok(())));
            tell(Report::Happened(Event::NotCounted { why: format!("counters: {error}") }));
        }
    }
}

/// Whether a database within this process is lost: no server will restart it.
pub(super) fn is_gone<W: Workload>(engine: &dyn Engine<W>) -> bool {
    engine.server_process() == ServerProcess::InProcess && engine.server_ended().is_some()
}

async fn samples<W: Workload>(
    engine: &dyn Engine<W>,
    run: &Run<W>,
    tell: &impl Fn(Report),
    started: &mpsc::Receiver<Instant>,
) {
    let Run { phases, stop, clocks, .. } = run;
    let not_counted = |why: String| tell(Report::Happened(Event::NotCounted { why }));
    let mut observer = engine.observer();
    let first = tokio::time::timeout(FIRST_SAMPLE_TIMEOUT, guarded(observer.look())).await;
    tell(Report::Ready(Ok(())));
    let Ok(begin) = started.recv() else { return };
    if let Ok(Err(error)) = first {
        not_counted(format!("the database's counters before its first answer (requested every second): {error}"));
    }
    observer.left_out().into_iter().for_each(not_counted);
    let mut system = System::of::<W>(engine);
    system.left_out::<W>(engine).into_iter().for_each(not_counted);

    let mut states = Sums::default();
    let mut reported = observer.left_out();
    let mut second = 0;
    // Page reads are queried at both ends of the interval: the number of queries so far.
    let mut asked = 0;
    while second <= phases.seconds() {
        tokio::select! {
            biased;
            () = stop.wait() => return,
            () = tokio::time::sleep_until((begin + Duration::from_secs(second.into())).into()) => {}
        }
        if is_gone::<W>(engine) {
            // The results of the rest would be useless.
            stop.request();
            return;
        }
        let at = begin.elapsed().as_secs_f64();
        let (mut counters, strangers) = system.counters::<W>(engine, at);
        counters.merge(states.look(run, at));
        // After a delay of this thread the next sample is that of the next full second.
        second = at as u32 + 1;
        let next = begin + Duration::from_secs(second.into());
        let mut sample = Box::new(Sample { at, counters });
        {
            let mut look = pin!(guarded(observer.look()));
            let answer = tokio::select! {
                biased;
                answer = &mut look => Some(answer),
                () = tokio::time::sleep_until(next.into()) => None,
            };
            match &answer {
                Some(Ok(counters)) => sample.counters.merge(counters),
                Some(Err(error)) => tracing::info!(second, "the database's counters: {error}"),
                None => tracing::debug!(second, "the database's counters were not read within a second"),
            }
            our_reads::<W>(engine, &mut sample.counters);
            clocks.add_to(&mut sample.counters);
            strangers.into_iter().for_each(|event| tell(Report::Happened(event)));
            tell(Report::Happened(Event::Sampled(sample)));
            if answer.is_none() {
                // The query goes on, so that a slow connection can be established; a late answer is dropped.
                while second <= phases.seconds() {
                    tokio::select! {
                        biased;
                        () = stop.wait() => return,
                        _ = &mut look => break,
                        () = tokio::time::sleep_until((begin + Duration::from_secs(second.into())).into()) => {}
                    }
                    let at = begin.elapsed().as_secs_f64();
                    let (mut counters, strangers) = system.counters::<W>(engine, at);
                    counters.merge(states.look(run, at));
                    second = at as u32 + 1;
                    strangers.into_iter().for_each(|event| tell(Report::Happened(event)));
                    tell(Report::Happened(Event::Sampled(Box::new(Sample { at, counters }))));
                }
            }
        }
        let standbys = tokio::select! {
            biased;
            standbys = guarded(observer.standbys()) => standbys,
            () = tokio::time::sleep_until(next.into()) => Ok(Vec::new()),
        };
        match standbys {
            Ok(standbys) if !standbys.is_empty() => tell(Report::Happened(Event::StandbysSeen { at, standbys })),
            Ok(_) => {}
            Err(error) => tracing::info!(second, "standbys: {error}"),
        }
        let now = begin.elapsed().as_secs_f64();
        let end = [phases.ramp_up(), phases.seconds()].into_iter().nth(asked);
        if end.is_some_and(|end| f64::from(end) <= now) {
            asked += 1;
            let answer = tokio::select! {
                biased;
                answer = guarded(observer.pages()) => Some(answer),
                () = tokio::time::sleep(PAGES_TIMEOUT) => None,
            };
            match answer {
                Some(Ok(Some(pages))) => {
                    let at = begin.elapsed().as_secs_f64();
                    tell(Report::Happened(Event::PagesRead { at, pages: Box::new(pages) }));
                }
                Some(Ok(None)) => {}
                Some(Err(error)) => not_counted(format!("page reads: {error}")),
                None => not_counted(format!("page reads: no answer in {} s", PAGES_TIMEOUT.as_secs())),
            }
        }
        for why in observer.left_out() {
            if !reported.contains(&why) {
                reported.push(why.clone());
                not_counted(why);
            }
        }
    }
}

/// Counters that need no database query.
struct System {
    devices: Result<Devices, String>,
    /// Whether the devices are known only as those of this machine, and why.
    apart: Option<String>,
    processes: Processes,
    /// CPU seconds of the machine when its processes were last read.
    machine_cpu: Option<f64>,
}

impl System {
    fn of<W: Workload>(engine: &dyn Engine<W>) -> System {
        let place =
            engine.data_directory().ok_or_else(|| "the database's files are not visible on this machine".to_owned());
        let (devices, apart) = match place.map(|place| Devices::below(&place)) {
            Ok(Ok(devices)) => (Ok(devices), None),
            // The database is on this machine, so it may use any of its devices.
            Ok(Err(why)) => (Devices::of_machine().ok_or_else(|| why.clone()), Some(why)),
            Err(why) => (Err(why), None),
        };
        System { devices, apart, processes: Processes::default(), machine_cpu: None }
    }

    /// The current counters, and an event if foreign processes used CPU.
    fn counters<W: Workload>(&mut self, engine: &dyn Engine<W>, at: f64) -> (Counters, Option<Event>) {
        let mut counters = Counters::default();
        let usage = process::usage();
        let client = usage.user_s + usage.system_s;
        counters.set(Counter::ClientCpu, client);
        counters.set(Counter::ClientUser, usage.user_s);
        let server = engine.server_cpu_seconds();
        counters.set(Counter::ServerCpu, server);
        let process = engine.server_process();
        let first = if let ServerProcess::Here(pid) = process { Some(pid) } else { None };
        counters.set(Counter::ServerUser, first.and_then(cpu::user_seconds));
        counters.set(
            Counter::OursCpu,
            match process {
                ServerProcess::InProcess => Some(client),
                ServerProcess::Here(_) => server.map(|server| client + server),
                ServerProcess::Unknown => None,
            },
        );
        machine::cpu(&mut counters);
        if let Ok(devices) = &self.devices {
            devices.counters(&mut counters);
        }
        let machine_cpu = counters.get(Counter::MachineCpu);
        let passed = machine_cpu.zip(self.machine_cpu).map(|(now, before)| now - before).filter(|passed| *passed > 0.0);
        self.machine_cpu = machine_cpu;
        let looked = self.processes.look(first);
        counters.set(Counter::KernelThreads, looked.as_ref().map(|looked| looked.kernel_s));
        // A server whose processes are unknown would be counted as foreign.
        let known = process != ServerProcess::Unknown;
        let foreign = looked.map(|looked| looked.foreign).filter(|foreign| known && !foreign.is_empty());
        let event = foreign.zip(passed).map(|(processes, passed)| {
            let percent = 100.0 * processes.iter().map(|process| process.cpu_s).sum::<f64>() / passed;
            Event::Strangers { at, percent, processes }
        });
        (counters, event)
    }

    fn left_out<W: Workload>(&self, engine: &dyn Engine<W>) -> Vec<String> {
        let mut machine = Counters::default();
        machine::cpu(&mut machine);
        let cpu = machine
            .get(Counter::MachineCpu)
            .is_none()
            .then(|| "CPU of the machine: not available on this system".to_owned());
        let others = (engine.server_process() == ServerProcess::Unknown).then(|| {
            format!(
                "{CPU_UNKNOWN}: the database's processes are not to be seen on this machine, so that nobody can \
                tell them from others"
            )
        });
        let device = match (&self.devices, &self.apart) {
            (Err(why), _) => Some(format!("the block device below the database: {why}")),
            (Ok(devices), Some(why)) => {
                let names = devices.disks().into_iter().map(|disk| disk.name).collect::<Vec<_>>().join(", ");
                Some(format!(
                    "the block device below the database: {why}; the figures of devices are those of all disks of this \
                     machine ({names})"
                ))
            }
            _ => None,
        };
        cpu.into_iter().chain(others).chain(device).collect()
    }
}

/// Bytes that client and server together read from storage, if the database's are known.
fn our_reads<W: Workload>(engine: &dyn Engine<W>, counters: &mut Counters) {
    let server = counters.get(Counter::ServerReadBytes);
    let ours = match engine.server_process() {
        // The process is counted in both.
        ServerProcess::InProcess => server,
        ServerProcess::Here(_) => server.zip(io::read_by_this_process()).map(|(server, client)| server + client),
        ServerProcess::Unknown => None,
    };
    counters.set(Counter::OursReadBytes, ours);
}
