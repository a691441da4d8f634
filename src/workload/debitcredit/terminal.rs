//! A teller's terminal.

use super::message::{Input, Transfer};
use super::profile::{Profile, Remote};
use crate::workload;
use crate::workload::stream::Stream;
use crate::workload::value::Money;

/// Mean time between two transactions of a teller, the response time included, in microseconds (TPC-A: 10 s).
pub const CYCLE: u64 = 10_000_000;

/// A teller's terminal.
#[derive(Clone, Debug)]
pub struct Terminal {
    pub(super) stream: Stream,
    pub(super) profile: &'static Profile,
    pub(super) branches: i32,
    pub(super) branch: i32,
    pub(super) teller: i32,
}

impl Terminal {
    fn account_branch(&mut self) -> i32 {
        if self.stream.percent(85) {
            return self.branch;
        }
        match self.profile.remote {
            Remote::AnyBranch => self.stream.within(0, self.branches - 1),
            Remote::OtherBranch if self.branches < 2 => self.branch,
            Remote::OtherBranch => {
                let other = self.stream.within(0, self.branches - 2);
                if other < self.branch { other } else { other + 1 }
            }
        }
    }
}

impl workload::Terminal for Terminal {
    type Input = Input;

    fn choose(&mut self) -> usize {
        0
    }

    fn input(&mut self, _: usize) -> Input {
        let (least, most) = self.profile.amounts;
        let account =
            self.account_branch() * self.profile.account_radix + self.stream.within(0, self.profile.accounts - 1);
        let amount = Money(self.stream.within(least.0 as i32, most.0 as i32).into());
        Input::of(Transfer { profile: self.profile, branch: self.branch, teller: self.teller, account, amount })
    }

    /// The rest of the cycle time.
    fn think_time(&mut self, _: usize, response: u64) -> u64 {
        (self.stream.exponential(CYCLE as f64) as u64).saturating_sub(response)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::DebitCredit;
    use super::super::profile::PARAMETER;
    use super::super::profile::PROFILES;
    use super::*;
    use crate::workload::{Terminal as _, Workload};

    const BRANCHES: u32 = 20;
    const DRAWS: usize = 200_000;

    fn transfers(profile: usize) -> Vec<Transfer> {
        let parameters = BTreeMap::from([(PARAMETER.to_owned(), profile as i64)]);
        let terminals = DebitCredit::terminals(BRANCHES, &parameters, 7).unwrap();
        let of_terminal = |number: u64| {
            let mut terminal = DebitCredit::terminal(&terminals, number);
            (0..DRAWS / 200).map(move |_| terminal.next_input().transfer().unwrap()).collect::<Vec<_>>()
        };
        (0..200).flat_map(of_terminal).collect()
    }

    #[test]
    fn the_share_of_remote_accounts_is_that_of_the_profile() {
        // Gray and Levine choose the other branch among all, so that one in B of their 15 % stays at home. Three
        // standard errors are 0.24 %.
        for (profile, expected) in [(0, 15.0 * (1.0 - 1.0 / f64::from(BRANCHES))), (1, 15.0), (2, 15.0)] {
            let remote = transfers(profile).iter().filter(|transfer| transfer.is_remote()).count();
            let share = 100.0 * remote as f64 / DRAWS as f64;
            assert!((share - expected).abs() < 0.24, "profile {profile}: {share} %");
        }
    }

    #[test]
    fn ids_and_amounts_keep_to_their_ranges_and_use_them() {
        for (number, profile) in PROFILES.iter().enumerate() {
            let transfers = transfers(number);
            let mut tellers = BTreeMap::new();
            for transfer in &transfers {
                assert_eq!(transfer.teller / profile.teller_radix, transfer.branch);
                assert!(transfer.teller % profile.teller_radix < 10);
                assert!((0..BRANCHES as i32).contains(&(transfer.account / profile.account_radix)));
                assert!(transfer.account % profile.account_radix < profile.accounts);
                assert!((profile.amounts.0..=profile.amounts.1).contains(&transfer.amount));
                *tellers.entry(transfer.teller).or_insert(0) += 1;
            }
            assert_eq!(tellers.len(), 200);
            let mean = transfers.iter().map(|transfer| transfer.amount.0 as f64).sum::<f64>() / DRAWS as f64;
            // Four standard errors of a uniform distribution.
            let error = 4.0 * (profile.amounts.1.0 - profile.amounts.0.0) as f64 / (12.0 * DRAWS as f64).sqrt();
            assert!(
                (mean - (profile.amounts.0.0 + profile.amounts.1.0) as f64 / 2.0).abs() < error,
                "{}: {mean}",
                profile.name
            );
        }
    }

    #[test]
    fn a_teller_enters_every_ten_seconds_however_long_the_answer_takes() {
        let parameters = BTreeMap::from([(PARAMETER.to_owned(), 2)]);
        let terminals = DebitCredit::terminals(1, &parameters, 7).unwrap();
        let mut terminal = DebitCredit::terminal(&terminals, 3);
        let response = 20_000;
        let mean = (0..DRAWS).map(|_| (response + terminal.think_time(0, response)) as f64).sum::<f64>() / DRAWS as f64;
        assert!((mean / CYCLE as f64 - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn a_bank_of_one_branch_has_no_other() {
        let parameters = BTreeMap::from([(PARAMETER.to_owned(), 1)]);
        let terminals = DebitCredit::terminals(1, &parameters, 7).unwrap();
        let mut terminal = DebitCredit::terminal(&terminals, 0);
        assert!((0..1_000).all(|_| !terminal.next_input().transfer().unwrap().is_remote()));
    }
}
