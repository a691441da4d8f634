//! DebitCredit: the transaction of Gray and Levine (MSR-TR-2005-39), which TPC-A and TPC-B made a standard, as pure
//! functions of a seed.

pub(crate) mod lasting;
pub mod message;
pub(crate) mod population;
pub mod profile;
pub(crate) mod schema;
pub(crate) mod terminal;

use std::collections::BTreeMap;

use message::{Input, Output, Transfer};
use profile::{NAMES, PARAMETER, PROFILES, Profile, TELLERS};

use super::access::{Access, Accesses, Versions};
use super::lasting::SeedInvariant;
use super::stream::Source;
use super::trace::{Footprint, Mark, Trace};
use super::value::{Timestamp, Value};
use super::{Headline, Outcome, Places, Table, Users, Workload};
use crate::workload::about::About;

/// The topic of the terminals' random streams; those of the population are the numbers of its tables.
const TERMINAL: u64 = 16;

/// Data shared by the terminals of a run.
#[derive(Clone, Copy, Debug)]
pub struct Terminals {
    branches: u32,
    profile: &'static Profile,
    seed: u64,
}

/// The workload DebitCredit.
#[derive(Clone, Copy, Debug)]
pub struct DebitCredit;

impl Workload for DebitCredit {
    const NAME: &'static str = "debitcredit";
    const ABOUT: &'static About = &About {
        name: DebitCredit::NAME,
        title: "DebitCredit",
        help: "DebitCredit as Gray and Levine ran it, and as TPC-A and TPC-B",
        default_db: "sqlite:graymark-debitcredit.db",
        unit: DebitCredit::SCALE_UNIT,
        most: || "transaction a second and branch that ten terminals with an entry every 10 s make".to_owned(),
        read_only: &[],
        accounts: true,
    };
    const TRANSACTIONS: &'static [&'static str] = &["debit_credit"];
    const PROFILES: &'static [&'static str] = &NAMES;
    const TABLES: &'static [Table] = &schema::TABLES;
    const SEED_INVARIANTS: &'static [SeedInvariant] = &lasting::SEED_INVARIANTS;
    /// One history row for each committed transaction, and none for others.
    const EFFECTS: &'static [&'static str] = &["history_rows"];
    /// Transactions for an account of another branch, and the bytes of the messages.
    const TALLIES: &'static [&'static str] = &["remote_accounts", "request_bytes", "reply_bytes"];

    type Population = population::Population;
    type Input = Input;
    type Output = Output;
    type Terminal = terminal::Terminal;
    type Terminals = Terminals;

    const HEADLINE: usize = 0;
    const COUNTS: Headline = Headline::TransactionsPerSecond;
    const DEFERRED: Option<usize> = None;
    /// Ten tellers with a transaction every ten seconds.
    const CEILING: f64 = 60.0;
    const PASS: u64 = terminal::CYCLE;
    const TERMINALS: u32 = TELLERS as u32;
    const SCALE_UNIT: (&'static str, &'static str) = ("branch", "branches");

    fn max_scale(profile: usize) -> u32 {
        of(profile).max_branches()
    }

    fn users(profile: usize) -> Users {
        of(profile).users
    }

    fn metric(profile: usize, standard: bool) -> &'static str {
        let profile = of(profile);
        // TPC-A's metric requires terminals with think time.
        if profile.users == Users::Usual && !standard { "tps" } else { profile.metric }
    }

    fn population(scale: u32, seed: u64, _: Timestamp, profile: usize) -> population::Population {
        population::Population { branches: scale, profile: of(profile), seed }
    }

    fn is_as_loaded(loaded: Value<'_>, found: Value<'_>) -> bool {
        lasting::is_as_loaded(loaded, found)
    }

    fn profile(parameters: &BTreeMap<String, i64>) -> Option<usize> {
        let number = parameters.get(PARAMETER)?;
        usize::try_from(*number).ok().filter(|number| *number < PROFILES.len())
    }

    fn parameters(population: &population::Population) -> BTreeMap<String, i64> {
        let number = PROFILES.iter().position(|profile| profile == population.profile).unwrap_or_default();
        BTreeMap::from([(PARAMETER.to_owned(), number as i64)])
    }

    fn terminals(scale: u32, parameters: &BTreeMap<String, i64>, seed: u64) -> Result<Terminals, String> {
        let number =
            Self::profile(parameters).ok_or_else(|| format!("`{PARAMETER}`, a number below {}", PROFILES.len()))?;
        Ok(Terminals { branches: scale, profile: of(number), seed })
    }

    fn terminal(terminals: &Terminals, number: u64) -> terminal::Terminal {
        let Terminals { branches, profile, seed } = *terminals;
        let per_branch = u64::from(Self::TERMINALS);
        let branch = (number / per_branch % u64::from(branches)) as i32;
        let place = (number % per_branch) as i32;
        let stream = Source::new(seed, TERMINAL).stream(number);
        terminal::Terminal {
            stream,
            profile,
            branches: branches as i32,
            branch,
            teller: branch * profile.teller_radix + place,
        }
    }

    fn keying_time(_: usize) -> u64 {
        0
    }

    fn transaction(_: &Input) -> usize {
        0
    }

    fn outcome(_: &Output) -> Outcome {
        Outcome::Committed
    }

    fn screen(input: &Input, output: Option<&Output>) -> String {
        let Ok(transfer) = input.transfer() else { return "an entry that cannot be read".to_owned() };
        let balance = match output.map(Output::balance) {
            Some(Ok(balance)) => balance.to_string(),
            Some(Err(why)) => why,
            None => String::new(),
        };
        format!(
            "Branch {:>6}   Teller {:>10}   Account {:>10}   Amount {:>9}   Balance {balance:>15}",
            transfer.branch, transfer.teller, transfer.account, transfer.amount
        )
    }

    fn simulated(input: &Input) -> Result<Output, String> {
        let transfer = input.transfer()?;
        Ok(Output::of(input, &transfer, transfer.amount))
    }

    fn count(_: &Output, effects: &mut [u64]) {
        effects[0] += 1;
    }

    fn tally(input: &Input, output: &Output, tallies: &mut [u64]) {
        tallies[0] += u64::from(input.transfer().is_ok_and(|transfer| transfer.is_remote()));
        if let (Input::Message(request), Output::Message(reply)) = (input, output) {
            tallies[1] += request.len() as u64;
            tallies[2] += reply.len() as u64;
        }
    }

    fn trace(input: &Input, _: &Output) -> Option<Trace> {
        traced(input)
    }

    fn footprint(input: &Input) -> Footprint {
        traced(input).map_or(Footprint::NotKnown, Footprint::Row)
    }

    fn places(input: &Input) -> Places {
        input.transfer().ok().into_iter().flat_map(|transfer| [transfer.branch, transfer.account_branch()]).collect()
    }

    /// The balance of the account is shown, and the balance before follows from the amount.
    fn accesses(input: &Input, output: &Output) -> Accesses {
        let transfer = input.transfer().ok();
        let known = transfer.zip(output.balance().ok()).zip(transfer.and_then(|of| u64::try_from(of.account).ok()));
        let access = known.map(|((transfer, balance), account)| {
            Access::update(account, balance.0.saturating_sub(transfer.amount.0), balance.0)
        });
        access.into_iter().collect()
    }

    fn versions(_: u64) -> Versions {
        Versions::Value { whole: true }
    }

    fn key_name(key: u64) -> String {
        format!("balance of account {key}")
    }

    fn count_at_most(_: usize, effects: &mut [u64]) {
        effects[0] += 1;
    }
}

/// A row of HISTORY with the client's input.
pub(crate) static HISTORY: Mark =
    Mark { table: "history", joined: None, columns: &["branch_id", "teller_id", "account_id"], amount: Some("amount") };

fn traced(input: &Input) -> Option<Trace> {
    let Transfer { branch, teller, account, amount, .. } = input.transfer().ok()?;
    Some(Trace { mark: &HISTORY, values: [branch, teller, account, 0, 0, 0, 0, 0], amount })
}

/// The profile with a number; the default for an unknown number.
fn of(profile: usize) -> &'static Profile {
    PROFILES.get(profile).unwrap_or(&PROFILES[0])
}
