//! Controllers: what is asked of the database beside the transactions, at its times (the checkpoint and vacuum
//! controllers of TPCC-UVa).

use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::{Controllers, Report, Schedule, Stop};
use crate::engine::guard::guarded;
use crate::engine::{Engine, MaintenanceOutcome};
use crate::result::Event;
use crate::result::maintenance::{Maintenance, MaintenanceKind};
use crate::workload::Workload;

impl Controllers {
    /// What is to be done when, in seconds since the run's start, in order.
    pub(super) fn agenda(&self, schedule: &Schedule) -> Vec<(u32, MaintenanceKind)> {
        let (begin, end) = (schedule.ramp_up, schedule.seconds());
        let mut agenda = Vec::new();
        if let Some(every) = self.checkpoint.filter(|every| *every > 0) {
            // Clause 5.5.2.2 wants one before the interval, in steady state; the next opens the interval.
            if begin > every {
                agenda.extend(
                    (begin % every..begin)
                        .step_by(every as usize)
                        .filter(|at| *at > 0)
                        .map(|at| (at, MaintenanceKind::Checkpoint)),
                );
            } else if begin > 1 {
                agenda.push((begin / 2, MaintenanceKind::Checkpoint));
            }
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

/// Works the agenda until the run ends. Something that comes due while the one before still goes on is done right after
/// it.
pub(super) fn thread<W: Workload>(
    engine: &dyn Engine<W>,
    agenda: &[(u32, MaintenanceKind)],
    stop: &Stop,
    reports: &mpsc::Sender<Report>,
    started: &mpsc::Receiver<Instant>,
) {
    // Nobody listens any more if the run was given up.
    let _ = reports.send(Report::Ready(Ok(())));
    let Ok(begin) = started.recv() else { return };
    if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
        runtime.block_on(async {
            for (at, kind) in agenda {
                tokio::select! {
                    biased;
                    () = stop.wait() => break,
                    () = tokio::time::sleep_until((begin + Duration::from_secs(u64::from(*at))).into()) => {}
                }
                let asked = Instant::now();
                let upkeep = tokio::select! {
                    biased;
                    upkeep = guarded(engine.maintain(*kind)) => upkeep,
                    () = stop.wait() => break,
                };
                let maintenance = |work, rows| Maintenance {
                    rows,
                    kind: (*kind).into(),
                    start_s: asked.duration_since(begin).as_secs_f64(),
                    seconds: asked.elapsed().as_secs_f64(),
                    work,
                };
                let event = match upkeep {
                    Ok(MaintenanceOutcome::Done(work)) => Event::Maintained(maintenance(work, None)),
                    Ok(MaintenanceOutcome::Read { rows, work }) => Event::Maintained(maintenance(work, Some(rows))),
                    Ok(MaintenanceOutcome::Absent(why)) => Event::NotMaintained { kind: (*kind).into(), why },
                    Err(error) => Event::NotMaintained { kind: (*kind).into(), why: error.to_string() },
                };
                let _ = reports.send(Report::Happened(event));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::Load;
    use super::*;
    use crate::plan::Factor;

    fn schedule(ramp_up: u32, duration: u32) -> Schedule {
        Schedule {
            history: 0,
            load: Load::Paced,
            clients: 1,
            terminals: 10,
            at_home: false,
            shown: None,
            seed: 0,
            pass: 0,
            threads: None,
            keying: Factor::ONE,
            think: Factor::ONE,
            ramp_up,
            duration,
            patience: 60,
        }
    }

    #[test]
    fn a_standard_run_has_its_checkpoints_before_and_in_the_interval() {
        let controllers = Controllers { checkpoint: Some(1_740), ..Controllers::default() };
        let agenda = controllers.agenda(&schedule(1_200, 7_200));
        let times = agenda.iter().map(|(at, _)| *at).collect::<Vec<_>>();
        assert_eq!(times, [600, 1_200, 2_940, 4_680, 6_420, 8_160]);
    }

    #[test]
    fn a_long_ramp_up_has_checkpoints_all_along() {
        let controllers = Controllers { checkpoint: Some(1_000), ..Controllers::default() };
        let times =
            |ramp_up| controllers.agenda(&schedule(ramp_up, 1_500)).iter().map(|(at, _)| *at).collect::<Vec<_>>();
        assert_eq!(times(2_500), [500, 1_500, 2_500, 3_500]);
        assert_eq!(times(2_000), [1_000, 2_000, 3_000]);
        assert_eq!(times(1_000), [500, 1_000, 2_000]);
    }

    #[test]
    fn vacuums_stop_at_their_count() {
        let controllers = Controllers { vacuum: Some(10), vacuums: Some(2), ..Controllers::default() };
        let agenda = controllers.agenda(&schedule(5, 100));
        assert_eq!(agenda, [(15, MaintenanceKind::Vacuum), (25, MaintenanceKind::Vacuum)]);
        assert_eq!(Controllers::default().agenda(&schedule(5, 100)), []);
    }
}
