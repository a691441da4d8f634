//! The closed loop: each session requests the next transaction as soon as it has the last reply.

use std::cell::RefCell;
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::phases::Clock;
use super::stats::{PendingTransaction, ThreadStats};
use super::worker::Worker;
use super::{Schedule, Stages, Stop};
use crate::engine::Sessions;
use crate::workload::{Terminal, Workload};

/// The terminals that one session of a closed loop stands for. It chooses a random one for each transaction, so that
/// all warehouses are used and any two sessions can meet in one, even if there are few sessions. With `at_home` it
/// stands for consecutive terminals. In stages each session stands for all terminals, so that a stage with few sessions
/// uses as much of the database as one with many.
pub(super) struct TerminalGroup<W: Workload> {
    terminals: Vec<W::Terminal>,
    choice: Xoshiro256PlusPlus,
}

impl<W: Workload> TerminalGroup<W> {
    pub(super) fn new(terminals: &W::Terminals, schedule: Schedule, stages: &Stages, session: u32) -> Self {
        let session_number = u64::from(session);
        let (first, end, step) = match stages.is_empty() {
            true if schedule.at_home => {
                // Whole warehouses or branches if there are enough for one each.
                let each = u64::from(W::TERMINALS.max(1));
                let clients = u64::from(schedule.clients.max(1));
                let size = if schedule.terminals / each >= clients { each } else { 1 };
                let share = |session: u64| session.saturating_mul(schedule.terminals / size) / clients * size;
                (share(session_number), share(session_number + 1), 1)
            }
            true => (session_number, schedule.terminals, schedule.clients),
            // Higher numbers are the same terminals again, with their own random streams.
            false => (session_number * schedule.terminals, (session_number + 1) * schedule.terminals, 1),
        };
        let passed = schedule.pass * schedule.terminals * u64::from(schedule.clients);
        let numbers = (first..end).step_by(step as usize).map(|number| passed + number);
        let terminals = numbers.map(|number| W::terminal(terminals, number)).collect();
        TerminalGroup {
            terminals,
            choice: Xoshiro256PlusPlus::seed_from_u64(schedule.seed.wrapping_add(u64::from(session))),
        }
    }

    pub(super) fn next_input(&mut self) -> W::Input {
        let chosen = self.choice.random_range(0..self.terminals.len());
        self.terminals[chosen].next_input()
    }
}

/// One session of a closed loop, which works in its stages and sleeps between them.
pub(super) async fn client<W: Workload, E: Sessions<W>>(
    mut worker: Worker<'_, '_, W, E>,
    stats: &RefCell<ThreadStats<'_>>,
    stop: &Stop,
    clock: Clock<'_>,
    (shifts, mut group): (Vec<(Instant, Instant)>, TerminalGroup<W>),
) {
    for (from, end) in shifts {
        if Instant::now() < from {
            tokio::select! {
                biased;
                () = stop.wait() => return,
                () = tokio::time::sleep_until(from.into()) => {}
            }
        }
        while worker.alive() && !stop.requested() {
            let now = Instant::now();
            if now >= end.min(clock.end()) {
                break;
            }
            // A user whose connection is lost wants the next transaction from that moment, and waits for the database
            // to come back.
            let intended = worker.lost().map_or(now, |lost| lost.clamp(from.min(now), now));
            let input = group.next_input();
            let asked =
                PendingTransaction { transaction: W::transaction(&input), intended, taken: intended, deferred: false };
            match worker.work(&input, asked).await {
                Some(output) => {
                    stats.borrow_mut().completed::<W>(&input, &output, intended, intended, Instant::now());
                    worker.settled();
                }
                None if worker.lost().is_none() => worker.recover().await,
                None => {}
            }
        }
        if !worker.alive() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Load;
    use super::*;
    use crate::plan::Factor;
    use crate::workload::tpcc::Tpcc;
    use crate::workload::tpcc::input::Input;

    fn warehouses(at_home: bool, clients: u32, session: u32) -> std::collections::BTreeSet<i32> {
        let schedule = Schedule {
            history: 0,
            tenths: false,
            load: Load::ClosedLoop,
            clients,
            terminals: 30,
            at_home,
            pass: 0,
            shown: None,
            seed: 1,
            threads: None,
            keying: Factor::ONE,
            think: Factor::ONE,
            ramp_up: 0,
            settles: false,
            duration: 1,
            patience: 60,
            connect_rate: None,
        };
        let parameters = [("c_load".to_owned(), 7)].into();
        let terminals = Tpcc::terminals(3, &parameters, 1).unwrap();
        let mut group = TerminalGroup::<Tpcc>::new(&terminals, schedule, &Stages::default(), session);
        let home = |input| match input {
            Input::NewOrder(order) => order.w_id,
            Input::Payment(payment) => payment.w_id,
            Input::OrderStatus(status) => status.w_id,
            Input::Delivery(delivery) => delivery.w_id,
            Input::StockLevel(level) => level.w_id,
        };
        (0..500).map(|_| home(group.next_input())).collect()
    }

    #[test]
    fn two_clients_a_warehouse_are_at_home_in_it() {
        for session in 0..6 {
            assert_eq!(warehouses(true, 6, session), [session as i32 / 2 + 1].into());
            assert_eq!(warehouses(false, 6, session), [1, 2, 3].into());
        }
        // Fewer clients than warehouses: no two share a warehouse.
        assert_eq!((warehouses(true, 2, 0), warehouses(true, 2, 1)), ([1].into(), [2, 3].into()));
    }
}
