//! Maintenance at given times of a run: checkpoints and vacuums (the checkpoint and vacuum controllers of TPCC-UVa).

use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::shared::Run;
use super::{Controllers, Report};
use crate::engine::guard::guarded;
use crate::engine::{Engine, MaintenanceOutcome};
use crate::result::Event;
use crate::result::maintenance::{Maintenance, MaintenanceKind};
use crate::workload::Workload;

/// Time of the first checkpoint in a ramp-up of unknown length, in seconds: before the load can be found steady.
const FIRST: u32 = 10;

impl Controllers {
    /// Whether any maintenance is planned.
    pub(super) fn have_work(&self) -> bool {
        [self.checkpoint, self.vacuum].iter().any(|every| every.is_some_and(|every| every > 0))
    }

    /// The maintenance in a ramp-up of known length, with times in seconds since the run's start, in order.
    fn before(&self, begin: u32) -> Vec<(u32, MaintenanceKind)> {
        let Some(every) = self.checkpoint.filter(|every| *every > 0) else { return Vec::new() };
        // Clause 5.5.2.2 requires one in steady state before the interval; the next one begins the interval.
        let times: Vec<u32> = if begin > every {
            (begin % every..begin).step_by(every as usize).filter(|at| *at > 0).collect()
        } else if begin > 1 {
            vec![begin / 2]
        } else {
            Vec::new()
        };
        times.into_iter().map(|at| (at, MaintenanceKind::Checkpoint)).collect()
    }

    /// The same in a ramp-up that ends when the load is steady, after `most` seconds at the latest.
    fn while_it_settles(&self, most: u32) -> Vec<(u32, MaintenanceKind)> {
        let every = self.checkpoint.filter(|every| *every > 0);
        let times = every.into_iter().flat_map(|every| (FIRST..most).step_by(every as usize));
        times.map(|at| (at, MaintenanceKind::Checkpoint)).collect()
    }

    /// The same in the measurement interval.
    fn within(&self, begin: u32, end: u32) -> Vec<(u32, MaintenanceKind)> {
        let mut agenda = Vec::new();
        if let Some(every) = self.checkpoint.filter(|every| *every > 0) {
            agenda.extend((begin..end).step_by(every as usize).map(|at| (at, MaintenanceKind::Checkpoint)));
        }
        if let Some(every) = self.vacuum.filter(|every| *every > 0) {
            let most = self.vacuums.map_or(usize::MAX, |most| most as usize);
            agenda.extend(
                (begin + every..end).step_by(every as usize).take(most).map(|at| (at, MaintenanceKind::Vacuum)),
            );
        }
        agenda.sort_by_key(|(at, _)| *at);
        agenda
    }
}

/// Runs the planned maintenance until the run ends. What comes due while the previous task is running starts right
/// after it.
pub(super) fn thread<W: Workload>(
    engine: &dyn Engine<W>,
    run: &Run<W>,
    controllers: Controllers,
    reports: &mpsc::Sender<Report>,
    started: &mpsc::Receiver<Instant>,
) {
    // The receiver is gone if the run was abandoned.
    let _ = reports.send(Report::Ready(Ok(())));
    let Ok(begin) = started.recv() else { return };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        let Run { schedule, phases, stop, .. } = run;
        let maintenance = MaintenanceRun { engine, begin, reports };
        let works = async {
            let clock = phases.from(begin);
            if schedule.settles {
                // A task that is running when the end of the ramp-up is decided is completed.
                let agenda = controllers.while_it_settles(schedule.ramp_up);
                let mut decided = std::pin::pin!(clock.decided());
                for (at, kind) in agenda {
                    tokio::select! {
                        biased;
                        _ = &mut decided => break,
                        () = maintenance.due(at) => maintenance.work(kind).await,
                    }
                }
                clock.decided().await;
            } else {
                for (at, kind) in controllers.before(phases.ramp_up()) {
                    maintenance.due(at).await;
                    maintenance.work(kind).await;
                }
            }
            for (at, kind) in controllers.within(phases.ramp_up(), phases.seconds()) {
                maintenance.due(at).await;
                maintenance.work(kind).await;
            }
        };
        tokio::select! {
            biased;
            () = stop.wait() => {}
            () = works => {}
        }
    });
}

/// The maintenance of a run in progress.
struct MaintenanceRun<'a, W: Workload> {
    engine: &'a dyn Engine<W>,
    begin: Instant,
    reports: &'a mpsc::Sender<Report>,
}

impl<W: Workload> MaintenanceRun<'_, W> {
    /// Returns `at` seconds after the run's start.
    async fn due(&self, at: u32) {
        tokio::time::sleep_until((self.begin + Duration::from_secs(u64::from(at))).into()).await;
    }

    /// Runs a maintenance task and reports it.
    async fn work(&self, kind: MaintenanceKind) {
        let asked = Instant::now();
        let done = guarded(self.engine.maintain(kind)).await;
        let maintenance = |work, rows| Maintenance {
            rows,
            kind: kind.into(),
            start_s: asked.duration_since(self.begin).as_secs_f64(),
            seconds: asked.elapsed().as_secs_f64(),
            work,
        };
        let event = match done {
            Ok(MaintenanceOutcome::Done(work)) => Event::Maintained(maintenance(work, None)),
            Ok(MaintenanceOutcome::Read { rows, work }) => Event::Maintained(maintenance(work, Some(rows))),
            Ok(MaintenanceOutcome::Absent(why)) => Event::NotMaintained { kind: kind.into(), why },
            Err(error) => Event::NotMaintained { kind: kind.into(), why: error.to_string() },
        };
        let _ = self.reports.send(Report::Happened(event));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(agenda: &[(u32, MaintenanceKind)]) -> Vec<u32> {
        agenda.iter().map(|(at, _)| *at).collect()
    }

    fn all(controllers: &Controllers, ramp_up: u32, duration: u32) -> Vec<u32> {
        let (before, within) = (controllers.before(ramp_up), controllers.within(ramp_up, ramp_up + duration));
        [times(&before), times(&within)].concat()
    }

    #[test]
    fn a_standard_run_has_its_checkpoints_before_and_in_the_interval() {
        let controllers = Controllers { checkpoint: Some(1_740), ..Controllers::default() };
        assert_eq!(all(&controllers, 1_200, 7_200), [600, 1_200, 2_940, 4_680, 6_420, 8_160]);
    }

    #[test]
    fn a_long_ramp_up_has_checkpoints_all_along() {
        let controllers = Controllers { checkpoint: Some(1_000), ..Controllers::default() };
        assert_eq!(all(&controllers, 2_500, 1_500), [500, 1_500, 2_500, 3_500]);
        assert_eq!(all(&controllers, 2_000, 1_500), [1_000, 2_000, 3_000]);
        assert_eq!(all(&controllers, 1_000, 1_500), [500, 1_000, 2_000]);
    }

    #[test]
    fn a_ramp_up_that_ends_by_itself_has_its_first_checkpoint_early() {
        let controllers = Controllers { checkpoint: Some(120), ..Controllers::default() };
        assert_eq!(times(&controllers.while_it_settles(300)), [10, 130, 250]);
        assert_eq!(controllers.while_it_settles(5), []);
        assert_eq!(Controllers::default().while_it_settles(300), []);
    }

    #[test]
    fn vacuums_stop_at_their_count() {
        let controllers = Controllers { vacuum: Some(10), vacuums: Some(2), ..Controllers::default() };
        assert_eq!(controllers.before(5), []);
        assert_eq!(controllers.within(5, 105), [(15, MaintenanceKind::Vacuum), (25, MaintenanceKind::Vacuum)]);
        assert!(controllers.have_work() && !Controllers::default().have_work());
    }
}
