//! DebitCredit's tests: those of TPC-B, on the workload's own transaction. Its text could not be read, so that they
//! have names instead of its clauses' numbers.

use crate::acid::client::Client;
use crate::acid::pausable::PausableConnection;
use crate::acid::suite::{ActionFuture, ClauseTests, LoadClient, Suite, WorkloadActions};
use crate::acid::values::Values;
use crate::engine::dialect::Dialect;
use crate::engine::sql::{Command, SqlWorkload, WorkloadSql};
use crate::engine::{Error, Failure, Session};
use crate::judge::acid::Names;
use crate::result::{Manifest, Via};
use crate::workload::Workload;
use crate::workload::debitcredit::message::{Input, Transfer};
use crate::workload::debitcredit::profile::{PROFILES, TELLERS};
use crate::workload::debitcredit::{DebitCredit, HISTORY};
use crate::workload::stream::Source;
use crate::workload::trace::Mark;
use crate::workload::value::Money;

/// Topic of the random numbers that choose the parameters.
const TOPIC: u64 = 0xac1d;
/// The one transaction.
const TRANSACTION: &str = "debit_credit";

/// DebitCredit's tests.
pub(in crate::acid) struct DebitCreditSuite;

const PARTS: [ClauseTests; 2] = [
    ClauseTests { clause: "atomicity", name: "atomicity", script: include_str!("atomicity.toml") },
    ClauseTests { clause: "isolation", name: "isolation", script: include_str!("isolation.toml") },
];

impl WorkloadActions for DebitCreditSuite {
    fn statement(&self, name: &str) -> Option<usize> {
        DebitCredit::STATEMENTS.iter().position(|statement| *statement == name)
    }

    fn has_action(&self, what: &str) -> bool {
        what == TRANSACTION
    }

    fn run<'a>(
        &'a self,
        connection: PausableConnection,
        via: Via,
        what: &'a str,
        values: &'a Values,
    ) -> ActionFuture<'a> {
        Box::pin(async move {
            if !self.has_action(what) {
                return Err(Failure::Invalid(format!("there is no {what}")));
            }
            let input = Input::of(transfer(values)?);
            let output = DebitCredit::session(connection, via).execute(&input).await?;
            let balance = output.balance().map_err(Failure::Invalid)?;
            Ok(Values::from([("balance".to_owned(), balance.0)]))
        })
    }
}

impl Suite for DebitCreditSuite {
    fn workload(&self) -> &'static str {
        DebitCredit::NAME
    }

    fn parts(&self) -> &'static [ClauseTests] {
        &PARTS
    }

    fn names(&self) -> Names {
        Names {
            consistency: "consistency",
            durability: "durability",
            scripts: "durability: program",
            kill: "durability: kill",
            power: "durability: power",
            media: "durability: media",
        }
    }

    fn commands(&self, dialect: &'static Dialect, via: Via) -> Result<Vec<Option<Command>>, Error> {
        WorkloadSql::of::<DebitCredit>(dialect).commands(via)
    }

    fn parameters(&self, manifest: &Manifest, seed: u64, form: &str) -> Result<Values, String> {
        let number = DebitCredit::profile(&manifest.parameters);
        let number = number.ok_or("the database's manifest lacks the profile: load it again")?;
        let profile = PROFILES.get(number).ok_or("the database has an unknown profile")?;
        let branches = i32::try_from(manifest.scale).unwrap_or(i32::MAX);
        if branches < 2 && ["remote", "account"].contains(&form) {
            return Err("there is one branch only: load at least two (-b 2)".to_owned());
        }
        let mut draw = Source::new(seed, TOPIC).stream(0);
        let b = draw.within(0, branches - 1);
        let other = if branches > 1 { (b + draw.within(1, branches - 1)) % branches } else { b };
        let teller = draw.within(0, TELLERS - 1);
        let account = draw.within(0, profile.accounts - 1);
        let of_teller = |branch: i32, place: i32| branch * profile.teller_radix + place;
        let of_account = |branch: i32, place: i32| branch * profile.account_radix + place;
        let t = of_teller(b, teller);
        let a = of_account(if form == "remote" { other } else { b }, account);
        let (next_teller, next_account) = ((teller + 1) % TELLERS, (account + 1) % profile.accounts);
        let (b2, t2, a2) = match form {
            // The account alone: a teller of another branch.
            "account" => (other, of_teller(other, teller), a),
            "teller" => (b, t, of_account(b, next_account)),
            _ => (b, of_teller(b, next_teller), of_account(b, next_account)),
        };
        let (amount, amount2) = (draw.within(100, 20_000), draw.within(20_001, 40_000));
        let if_same = |same: bool, amount: i32| if same { amount } else { 0 };
        let parameters = [
            ("profile", i32::try_from(number).unwrap_or_default()),
            ("b", b),
            ("t", t),
            ("a", a),
            ("amount", amount),
            ("b2", b2),
            ("t2", t2),
            ("a2", a2),
            ("amount2", amount2),
            ("amount2_on_a", if_same(a == a2, amount2)),
            ("amount2_on_t", if_same(t == t2, amount2)),
            ("amount2_on_b", if_same(b == b2, amount2)),
            ("amount_on_a2", if_same(a == a2, amount)),
            ("amount_on_t2", if_same(t == t2, amount)),
            ("amount_on_b2", if_same(b == b2, amount)),
        ];
        Ok(parameters.into_iter().map(|(name, value)| (name.to_owned(), i64::from(value))).collect())
    }

    fn marks(&self) -> Vec<&'static Mark> {
        vec![&HISTORY]
    }

    fn client(&self, manifest: &Manifest, seed: u64, number: u64) -> Result<Box<dyn LoadClient>, Error> {
        Ok(Box::new(Client::<DebitCredit>::new(manifest, seed, number, self.marks())?))
    }
}

/// What a transaction is asked for.
fn transfer(values: &Values) -> Result<Transfer, Failure> {
    let given = |name: &str| {
        let value = values.get(name).and_then(|value| i32::try_from(*value).ok());
        value.ok_or_else(|| Failure::Invalid(format!("{name} has no value")))
    };
    let profile = usize::try_from(given("profile")?).ok().and_then(|number| PROFILES.get(number));
    let profile = profile.ok_or_else(|| Failure::Invalid("there is no such profile".to_owned()))?;
    let (branch, teller, account) = (given("b")?, given("t")?, given("a")?);
    Ok(Transfer { profile, branch, teller, account, amount: Money(given("amount")?.into()) })
}
