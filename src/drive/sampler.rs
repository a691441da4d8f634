//! Reads the counters of database, operating system and client once a second. The driver's threads do nothing for it.

use std::pin::pin;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::{Report, Schedule, Stop};
use crate::engine::guard::guarded;
use crate::engine::{Engine, Observer};
use crate::measure::counters::{Counter, Counters, Sample};
use crate::measure::machine::{self, Device};
use crate::measure::process;
use crate::result::Event;
use crate::workload::Workload;

/// How long the run's start waits for the first look at the database, which opens the connection for all others.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// How long the answer to a question for page reads may take.
const PAGES_PATIENCE: Duration = Duration::from_secs(5);

/// Takes samples from the run's start to its end. A database that does not answer leaves a gap in what it alone can
/// tell.
pub(super) fn thread<W: Workload, E: Engine<W>>(
    engine: &E,
    schedule: Schedule,
    stop: &Stop,
    reports: &mpsc::Sender<Report>,
    started: &mpsc::Receiver<Instant>,
) {
    let tell = |report| {
        // Nobody listens any more if the run was given up.
        let _ = reports.send(report);
    };
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(samples::<W, E>(engine, schedule, stop, &tell, started)),
        // A thread that cannot have a runtime measures nothing; the driver's own say so more loudly.
        Err(error) => {
            tell(Report::Ready(Ok(())));
            tell(Report::Happened(Event::NotCounted { why: format!("counters: {error}") }));
        }
    }
}

async fn samples<W: Workload, E: Engine<W>>(
    engine: &E,
    schedule: Schedule,
    stop: &Stop,
    tell: &impl Fn(Report),
    started: &mpsc::Receiver<Instant>,
) {
    let not_counted = |why: String| tell(Report::Happened(Event::NotCounted { why }));
    let mut observer = engine.observer();
    let first = tokio::time::timeout(FIRST_LOOK, guarded(observer.look())).await;
    tell(Report::Ready(Ok(())));
    let Ok(begin) = started.recv() else { return };
    if let Ok(Err(error)) = first {
        not_counted(format!(
            "the database's counters before the first answer, which is asked for each second: {error}"
        ));
    }
    observer.left_out().into_iter().for_each(not_counted);
    let system = System::of::<W, E>(engine);
    system.left_out().into_iter().for_each(not_counted);

    let mut told = observer.left_out();
    let mut second = 0;
    // The seconds at which page reads are asked for: the ends of the interval.
    let mut ends = [schedule.ramp_up, schedule.seconds()].into_iter().peekable();
    while second <= schedule.seconds() {
        tokio::select! {
            biased;
            () = stop.wait() => return,
            () = tokio::time::sleep_until((begin + Duration::from_secs(second.into())).into()) => {}
        }
        let (at, counters) = (begin.elapsed().as_secs_f64(), system.counters::<W, E>(engine));
        // After a pause of this thread the next sample is that of the next full second.
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
                None => tracing::debug!(second, "the database's counters did not come within their second"),
            }
            tell(Report::Happened(Event::Sampled(sample)));
            if answer.is_none() {
                // The look goes on, so that a slow connection comes about; its late answer is of no second.
                while second <= schedule.seconds() {
                    tokio::select! {
                        biased;
                        () = stop.wait() => return,
                        _ = &mut look => break,
                        () = tokio::time::sleep_until((begin + Duration::from_secs(second.into())).into()) => {}
                    }
                    let sample =
                        Sample { at: begin.elapsed().as_secs_f64(), counters: system.counters::<W, E>(engine) };
                    second = sample.at as u32 + 1;
                    tell(Report::Happened(Event::Sampled(Box::new(sample))));
                }
            }
        }
        let now = begin.elapsed().as_secs_f64();
        if ends.next_if(|end| f64::from(*end) <= now).is_some() {
            let answer = tokio::select! {
                biased;
                answer = guarded(observer.pages()) => Some(answer),
                () = tokio::time::sleep(PAGES_PATIENCE) => None,
            };
            match answer {
                Some(Ok(Some(pages))) => {
                    let at = begin.elapsed().as_secs_f64();
                    tell(Report::Happened(Event::PagesRead { at, pages: Box::new(pages) }));
                }
                Some(Ok(None)) => {}
                Some(Err(error)) => not_counted(format!("page reads: {error}")),
                None => not_counted(format!("page reads: no answer in {} s", PAGES_PATIENCE.as_secs())),
            }
        }
        for why in observer.left_out() {
            if !told.contains(&why) {
                told.push(why.clone());
                not_counted(why);
            }
        }
    }
}

/// What can be known without asking the database.
struct System {
    device: Result<Device, String>,
}

impl System {
    fn of<W: Workload, E: Engine<W>>(engine: &E) -> System {
        let device =
            engine.data_directory().ok_or_else(|| "the database's files are not to be seen on this machine".to_owned());
        System { device: device.and_then(|place| Device::below(&place)) }
    }

    fn counters<W: Workload, E: Engine<W>>(&self, engine: &E) -> Counters {
        let mut counters = Counters::default();
        let usage = process::usage();
        counters.set(Counter::ClientCpu, usage.user_s + usage.system_s);
        counters.set(Counter::ServerCpu, engine.server_cpu_seconds());
        machine::cpu(&mut counters);
        if let Ok(device) = &self.device {
            device.counters(&mut counters);
        }
        counters
    }

    fn left_out(&self) -> Vec<String> {
        let mut machine = Counters::default();
        machine::cpu(&mut machine);
        let cpu = machine
            .get(Counter::MachineCpu)
            .is_none()
            .then(|| "CPU of the machine: this system does not tell".to_owned());
        let device = self.device.as_ref().err().map(|why| format!("the block device below the database: {why}"));
        cpu.into_iter().chain(device).collect()
    }
}
