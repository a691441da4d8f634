//! One emulated user: chooses transaction types from a deck (clause 5.2.4.2) and their inputs (clauses 2.4.1 to 2.8.1).

use arrayvec::ArrayVec;

use super::deck::Deck;
use super::input::{Customer, Delivery, Input, Line, NewOrder, OrderStatus, Payment, StockLevel};
use super::random::{Constants, Source, Stream, Topic, last_name};
use super::{DISTRICTS, Terminals, UNUSED_ITEM, timing};
use crate::workload;
use crate::workload::value::Money;

/// An endless stream of inputs for one terminal.
#[derive(Clone, Debug)]
pub struct Terminal {
    stream: Stream,
    constants: Constants,
    warehouses: u32,
    w_id: i32,
    d_id: u8,
    deck: Deck,
}

impl Terminal {
    /// A terminal of warehouse `w_id` of `warehouses` active ones; Stock-Level uses its district `d_id` (clause
    /// 2.8.1.1). `number` selects its random stream among those of the same seed.
    pub fn new(common: &Terminals, number: u64, w_id: i32, d_id: i32) -> Self {
        let Terminals { warehouses, constants, seed, cards } = *common;
        let stream = Source::new(seed, Topic::Terminal).stream(number);
        Terminal { stream, constants, warehouses, w_id, d_id: d_id as u8, deck: Deck::new(cards) }
    }

    /// Clause 2.4.1
    fn new_order(&mut self) -> NewOrder {
        let d_id = self.district();
        let c_id = self.customer_id();
        let count = self.stream.within(5, 15);
        let rolls_back = self.stream.percent(1);
        let lines: ArrayVec<_, _> = (1..=count)
            .map(|number| {
                let i_id = self.stream.item_id(self.constants.ol_i_id);
                let i_id = if rolls_back && number == count { UNUSED_ITEM } else { i_id };
                let supply_w_id = if self.stream.percent(1) { self.other_warehouse() } else { self.w_id };
                Line { i_id, supply_w_id, quantity: self.stream.within(1, 10) }
            })
            .collect();
        NewOrder { w_id: self.w_id, d_id, c_id, lines }
    }

    /// Clause 2.5.1
    fn payment(&mut self) -> Payment {
        let d_id = self.district();
        let remote = self.stream.percent(15);
        let customer = self.customer();
        let (c_w_id, c_d_id) =
            if remote && self.warehouses > 1 { (self.other_warehouse(), self.district()) } else { (self.w_id, d_id) };
        let h_amount = Money(self.stream.within(100, 500_000).into());
        Payment { w_id: self.w_id, d_id, c_w_id, c_d_id, customer, h_amount }
    }

    /// Clause 2.6.1
    fn order_status(&mut self) -> OrderStatus {
        OrderStatus { w_id: self.w_id, d_id: self.district(), customer: self.customer() }
    }

    fn district(&mut self) -> i32 {
        self.stream.within(1, DISTRICTS)
    }

    fn customer_id(&mut self) -> i32 {
        self.stream.customer_id(self.constants.c_id)
    }

    /// Six in ten by last name (clauses 2.5.1.2, 2.6.1.2).
    fn customer(&mut self) -> Customer {
        if self.stream.percent(60) {
            Customer::LastName(last_name(self.stream.last_name_number(self.constants.c_last)))
        } else {
            Customer::Id(self.customer_id())
        }
    }

    /// Any warehouse but the home one, all equally likely; the home one if there is no other.
    fn other_warehouse(&mut self) -> i32 {
        if self.warehouses < 2 {
            return self.w_id;
        }
        let other = self.stream.within(1, self.warehouses as i32 - 1);
        if other < self.w_id { other } else { other + 1 }
    }
}

impl workload::Terminal for Terminal {
    type Input = Input;

    fn choose(&mut self) -> usize {
        self.deck.draw(&mut self.stream)
    }

    fn think_time(&mut self, transaction: usize, _: u64) -> u64 {
        timing::think_time(&mut self.stream, transaction)
    }

    fn input(&mut self, transaction: usize) -> Input {
        match transaction {
            0 => Input::NewOrder(self.new_order()),
            1 => Input::Payment(self.payment()),
            2 => Input::OrderStatus(self.order_status()),
            3 => Input::Delivery(Delivery { w_id: self.w_id, o_carrier_id: self.stream.within(1, 10) }),
            _ => {
                let threshold = self.stream.within(10, 20);
                Input::StockLevel(StockLevel { w_id: self.w_id, d_id: self.d_id.into(), threshold })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::workload::tpcc::Tpcc;
    use crate::workload::{Terminal as _, Workload};

    const CONSTANTS: Constants = Constants { c_last: 200, c_id: 300, ol_i_id: 4_000 };

    fn common(seed: u64, warehouses: u32) -> Terminals {
        Terminals { warehouses, constants: CONSTANTS, seed, cards: super::super::deck::CARDS }
    }

    fn inputs(seed: u64, number: u64, warehouses: u32, w_id: i32, count: usize) -> Vec<Input> {
        let mut terminal = Terminal::new(&common(seed, warehouses), number, w_id, 1 + (number % 10) as i32);
        (0..count).map(|_| terminal.next_input()).collect()
    }

    /// Share of true among flags, in percent.
    #[derive(Default)]
    struct Share {
        all: u32,
        of: u32,
    }

    impl Share {
        fn add(&mut self, flag: bool) {
            self.all += 1;
            self.of += u32::from(flag);
        }

        fn percent(&self) -> f64 {
            f64::from(self.of) / f64::from(self.all) * 100.0
        }
    }

    fn spread(counts: &[u32]) -> f64 {
        let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        counts.iter().map(|&count| (f64::from(count) / mean - 1.0).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn inputs_keep_the_shares_and_ranges_of_the_standard() {
        const WAREHOUSES: u32 = 5;
        let (mut rolled_back, mut remote_lines, mut remote_payments) =
            (Share::default(), Share::default(), Share::default());
        let (mut payments_by_name, mut statuses_by_name) = (Share::default(), Share::default());
        let (mut remote_by_name, mut remote_orders) = (Share::default(), Share::default());
        let mut lines = [0u32; 11];
        let mut supplying = [0u32; WAREHOUSES as usize];
        let mut paying = [0u32; WAREHOUSES as usize];
        let mut remote_districts = [0u32; 10];
        let (mut districts, mut quantities, mut carriers, mut thresholds) =
            ([0u32; 10], [0u32; 10], [0u32; 10], [0u32; 11]);
        let (mut least, mut most, mut amounts, mut payments) = (i64::MAX, 0, 0, 0);
        let home = 3;
        let by_name = |customer: &Customer| {
            if let Customer::Id(id) = customer {
                assert!((1..=3_000).contains(id));
            }
            matches!(customer, Customer::LastName(_))
        };

        for number in 0..100 {
            for input in inputs(1, number, WAREHOUSES, home, 10_000) {
                match input {
                    Input::NewOrder(order) => {
                        assert_eq!(order.w_id, home);
                        assert!((1..=3_000).contains(&order.c_id));
                        districts[order.d_id as usize - 1] += 1;
                        lines[order.lines.len() - 5] += 1;
                        let (last, others) = order.lines.split_last().unwrap();
                        rolled_back.add(last.i_id == UNUSED_ITEM);
                        assert!(others.iter().all(|line| (1..=100_000).contains(&line.i_id)));
                        assert!(last.i_id == UNUSED_ITEM || (1..=100_000).contains(&last.i_id));
                        for line in &order.lines {
                            remote_lines.add(line.supply_w_id != home);
                            supplying[line.supply_w_id as usize - 1] += 1;
                            quantities[line.quantity as usize - 1] += 1;
                        }
                        remote_orders.add(!order.all_local());
                    }
                    Input::Payment(payment) => {
                        assert_eq!(payment.w_id, home);
                        assert!((1..=10).contains(&payment.d_id));
                        let remote = payment.c_w_id != home;
                        assert!(remote || payment.c_d_id == payment.d_id);
                        remote_payments.add(remote);
                        paying[payment.c_w_id as usize - 1] += 1;
                        if remote {
                            remote_districts[payment.c_d_id as usize - 1] += 1;
                            remote_by_name.add(by_name(&payment.customer));
                        }
                        payments_by_name.add(by_name(&payment.customer));
                        (least, most) = (least.min(payment.h_amount.0), most.max(payment.h_amount.0));
                        amounts += payment.h_amount.0;
                        payments += 1;
                    }
                    Input::OrderStatus(status) => {
                        assert!(status.w_id == home && (1..=10).contains(&status.d_id));
                        statuses_by_name.add(by_name(&status.customer));
                    }
                    Input::Delivery(delivery) => {
                        assert_eq!(delivery.w_id, home);
                        carriers[delivery.o_carrier_id as usize - 1] += 1;
                    }
                    Input::StockLevel(level) => {
                        assert_eq!((level.w_id, level.d_id), (home, 1 + (number % 10) as i32));
                        thresholds[level.threshold as usize - 10] += 1;
                    }
                }
            }
        }

        let near = |share: &Share, percent: f64, margin: f64| {
            assert!((share.percent() - percent).abs() < margin, "{} instead of {percent}", share.percent());
        };
        near(&rolled_back, 1.0, 0.1);
        near(&remote_lines, 1.0, 0.05);
        near(&remote_orders, 9.5, 0.5);
        near(&remote_payments, 15.0, 0.5);
        near(&payments_by_name, 60.0, 0.5);
        near(&remote_by_name, 60.0, 1.0);
        near(&statuses_by_name, 60.0, 1.5);
        for even in [&lines[..], &districts, &quantities] {
            assert!(spread(even) < 0.03, "{even:?}");
        }
        for even in [&carriers[..], &thresholds, &remote_districts] {
            assert!(spread(even) < 0.06, "{even:?}");
        }
        for mut warehouses in [supplying, paying] {
            warehouses[home as usize - 1] = 0;
            let others: Vec<u32> = warehouses.into_iter().filter(|&count| count > 0).collect();
            assert!(others.len() == 4 && spread(&others) < 0.05, "{warehouses:?}");
        }
        assert!((100..120).contains(&least) && (499_980..=500_000).contains(&most), "{least} {most}");
        assert!((amounts / payments - 250_050).abs() < 1_000);
    }

    #[test]
    fn one_warehouse_is_served_at_home() {
        for input in inputs(2, 0, 1, 1, 20_000) {
            match input {
                Input::NewOrder(order) => assert!(order.all_local() && order.w_id == 1),
                Input::Payment(payment) => assert!(payment.c_w_id == 1 && payment.c_d_id == payment.d_id),
                _ => {}
            }
        }
    }

    #[test]
    fn every_pass_of_a_deck_has_its_23_cards() {
        for pass in inputs(3, 0, 2, 1, 230).chunks(23) {
            let mut seen = [0; 5];
            pass.iter().for_each(|input| seen[Tpcc::transaction(input)] += 1);
            assert_eq!(seen, super::super::deck::CARDS);
        }
    }

    #[test]
    fn names_are_drawn_with_the_constant_of_the_run() {
        let mut seen = std::collections::HashMap::new();
        for input in inputs(4, 0, 2, 1, 100_000) {
            if let Input::Payment(Payment { customer: Customer::LastName(name), .. }) = input {
                *seen.entry(name).or_insert(0) += 1;
            }
        }
        let (hottest, _) = seen.into_iter().max_by_key(|(_, count)| *count).unwrap();
        assert!([255, 511, 767, 1023].map(|number| last_name((number + 200) % 1_000)).contains(&hottest), "{hottest}");
    }

    #[test]
    fn a_terminal_is_small() {
        assert!(size_of::<Terminal>() <= 56, "{}", size_of::<Terminal>());
    }

    proptest! {
        #[test]
        fn a_stream_belongs_to_its_seed_and_number(seed: u64, number in 0..1_000_000u64, warehouses in 1..50u32) {
            let w_id = 1 + (number % u64::from(warehouses)) as i32;
            let stream = inputs(seed, number, warehouses, w_id, 30);
            prop_assert_eq!(&stream, &inputs(seed, number, warehouses, w_id, 30));
            prop_assert_ne!(&stream, &inputs(seed, number + 10, warehouses, w_id, 30));
            prop_assert_ne!(&stream, &inputs(seed ^ 1, number, warehouses, w_id, 30));
        }

        #[test]
        fn a_remote_warehouse_exists_and_is_another_one(seed: u64, warehouses in 2..6u32, home in 1..6i32) {
            let home = home.min(warehouses as i32);
            let mut terminal = Terminal::new(&common(seed, warehouses), 0, home, 1);
            let mut seen = std::collections::BTreeSet::new();
            for _ in 0..200 {
                seen.insert(terminal.other_warehouse());
            }
            prop_assert!(seen.into_iter().eq((1..=warehouses as i32).filter(|&w_id| w_id != home)));
        }
    }
}
