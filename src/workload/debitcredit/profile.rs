//! The profiles of DebitCredit: one transaction with three sets of rules.

use crate::workload::Users;
use crate::workload::value::Money;

/// Tellers of a branch, in all profiles.
pub const TELLERS: i32 = 10;

/// The branch of the account of a transaction that is not at home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remote {
    /// At any branch, the home branch included (Gray and Levine).
    AnyBranch,
    /// At any branch but the home branch (TPC-B clause 5.3.5).
    OtherBranch,
}

/// The order in which a transaction accesses the tables. The branch, with the most contention, comes last in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Teller, account, history, branch (Gray and Levine).
    TellerFirst,
    /// Account, history, teller, branch (TPC-B clause 1.2; TPC-A likewise).
    AccountFirst,
}

/// The rules of a profile.
#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name on the command line.
    pub name: &'static str,
    /// Accounts of a branch.
    pub accounts: i32,
    /// The first teller of branch b has the id b times this.
    pub teller_radix: i32,
    /// The first account of branch b has the id b times this.
    pub account_radix: i32,
    /// Whether rows are padded to 100 bytes, history rows to 50.
    pub padded: bool,
    /// The branches of the 15 % of transactions that are not for an account of the home branch.
    pub remote: Remote,
    /// The smallest and the largest amount.
    pub amounts: (Money, Money),
    /// The order of the statements.
    pub order: Order,
    /// Whether terminal and session exchange requests of 100 bytes and replies of 200.
    pub messages: bool,
    /// Whether it has terminals with think time.
    pub users: Users,
    /// The name of its rate.
    pub metric: &'static str,
}

impl Profile {
    /// The maximum number of branches whose ids are integers of 32 bits.
    pub const fn max_branches(&self) -> u32 {
        let most = (i32::MAX - self.accounts) / self.account_radix;
        most as u32 + 1
    }
}

/// The key of the profile in the parameters of a population.
pub(super) const PARAMETER: &str = "profile";

/// The profiles in the order of their numbers, which are stored in databases.
pub static PROFILES: [Profile; 3] = [
    // Gray and Levine 2005: ten accounts for each hundred of TPC-A and TPC-B, and minimal rows. Their money is floating
    // point; here it is exact, because sums could not be compared otherwise.
    Profile {
        name: "gray",
        accounts: 10_000,
        teller_radix: 1_000_000,
        account_radix: 1_000_000,
        padded: false,
        remote: Remote::AnyBranch,
        amounts: (Money(-50_000), Money(49_999)),
        order: Order::TellerFirst,
        messages: false,
        users: Users::None,
        metric: "tps",
    },
    Profile {
        name: "tpc-b",
        accounts: 100_000,
        teller_radix: TELLERS,
        account_radix: 100_000,
        padded: true,
        remote: Remote::OtherBranch,
        amounts: (Money(-999_999), Money(999_999)),
        order: Order::AccountFirst,
        messages: false,
        users: Users::None,
        metric: "tpsB-gm",
    },
    Profile {
        name: "tpc-a",
        accounts: 100_000,
        teller_radix: TELLERS,
        account_radix: 100_000,
        padded: true,
        remote: Remote::OtherBranch,
        amounts: (Money(-999_999), Money(999_999)),
        order: Order::AccountFirst,
        messages: true,
        users: Users::Usual,
        metric: "tpsA-gm",
    },
];

/// Their names.
pub(super) const NAMES: [&str; 3] = ["gray", "tpc-b", "tpc-a"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_the_order_of_the_profiles() {
        assert_eq!(PROFILES.each_ref().map(|profile| profile.name), NAMES);
    }

    #[test]
    fn the_largest_ids_fit() {
        for profile in &PROFILES {
            let last = i64::from(profile.max_branches()) - 1;
            let largest = last * i64::from(profile.account_radix) + i64::from(profile.accounts) - 1;
            assert!(largest <= i64::from(i32::MAX), "{}: {largest}", profile.name);
            assert!(largest + i64::from(profile.account_radix) > i64::from(i32::MAX), "{}: {largest}", profile.name);
        }
        assert_eq!(PROFILES.each_ref().map(Profile::max_branches), [2_148, 21_474, 21_474]);
    }
}
