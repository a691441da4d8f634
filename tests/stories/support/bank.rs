//! The reference model: a bank in memory, by the letter of the paper (Gray and Levine, MSR-TR-2005-39, appendix 1) and
//! of TPC-A and TPC-B. It knows no SQL, and nothing of how the program numbers, draws or writes.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;

use graymark::workload::debitcredit::message::{Input, Transfer};
use graymark::workload::debitcredit::profile::PROFILES;
use graymark::workload::value::Money;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Branches of the suite's bank.
pub const BRANCHES: i32 = 3;
const TELLERS: i32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Gray,
    TpcB,
    TpcA,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Gray => "gray",
            Kind::TpcB => "tpc-b",
            Kind::TpcA => "tpc-a",
        }
    }

    pub fn has_messages(self) -> bool {
        self == Kind::TpcA
    }

    fn accounts(self) -> i32 {
        if self == Kind::Gray { 10_000 } else { 100_000 }
    }

    /// Gray and Levine number by the branch times a million; the others without gaps.
    pub fn teller(self, branch: i32, place: i32) -> i32 {
        branch * if self == Kind::Gray { 1_000_000 } else { TELLERS } + place
    }

    pub fn account(self, branch: i32, place: i32) -> i32 {
        branch * if self == Kind::Gray { 1_000_000 } else { self.accounts() } + place
    }
}

/// What a teller asks for, in cents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    pub branch: i32,
    pub teller: i32,
    pub account: i32,
    pub amount: i64,
}

/// The four tables, money in cents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bank {
    pub kind: Kind,
    pub branch: BTreeMap<i32, i64>,
    /// Branch and balance.
    pub teller: BTreeMap<i32, (i32, i64)>,
    /// Branch and balance.
    pub account: BTreeMap<i32, (i32, i64)>,
    /// Branch, teller, account, amount.
    pub history: Vec<(i32, i32, i32, i64)>,
}

/// What a database holds.
pub struct Held {
    pub branch: BTreeMap<i32, i64>,
    pub teller: BTreeMap<i32, (i32, i64)>,
    pub account: BTreeMap<i32, (i32, i64)>,
    pub history: Vec<(i32, i32, i32, i64)>,
}

impl Held {
    /// As it was before.
    pub fn agrees(&self, found: &Held) -> Result<(), String> {
        same("branch", &self.branch, &found.branch)?;
        same("teller", &self.teller, &found.teller)?;
        same("account", &self.account, &found.account)?;
        same("history", &counted(&self.history), &counted(&found.history))
    }
}

impl Bank {
    /// Before its first customer: all balances are zero, and there is no history.
    pub fn new(kind: Kind) -> Bank {
        let each = |count, id: &dyn Fn(i32, i32) -> i32| {
            (0..BRANCHES)
                .flat_map(|branch| (0..count).map(move |place| (branch, place)))
                .map(|(b, p)| (id(b, p), (b, 0)))
                .collect()
        };
        Bank {
            kind,
            branch: (0..BRANCHES).map(|branch| (branch, 0)).collect(),
            teller: each(TELLERS, &|branch, place| kind.teller(branch, place)),
            account: each(kind.accounts(), &|branch, place| kind.account(branch, place)),
            history: Vec::new(),
        }
    }

    /// A transfer; the account's new balance.
    pub fn transfer(&mut self, asked: Asked) -> i64 {
        let Asked { branch, teller, account, amount } = asked;
        assert_eq!(self.teller[&teller].0, branch, "a teller works at his branch");
        self.teller.get_mut(&teller).unwrap().1 += amount;
        *self.branch.get_mut(&branch).unwrap() += amount;
        self.history.push((branch, teller, account, amount));
        let (_, balance) = self.account.get_mut(&account).expect("an account of the bank");
        *balance += amount;
        *balance
    }

    /// Row by row. The error begins with the table that differs.
    pub fn agrees(&self, found: &Held) -> Result<(), String> {
        let Bank { branch, teller, account, history, .. } = self.clone();
        Held { branch, teller, account, history }.agrees(found)
    }
}

/// History has no key: rows by how often they are there.
fn counted(history: &[(i32, i32, i32, i64)]) -> BTreeMap<(i32, i32, i32, i64), usize> {
    let mut counted = BTreeMap::new();
    history.iter().for_each(|row| *counted.entry(*row).or_insert(0) += 1);
    counted
}

fn same<K: Ord + Debug, V: PartialEq + Debug>(
    table: &str,
    expected: &BTreeMap<K, V>,
    found: &BTreeMap<K, V>,
) -> Result<(), String> {
    for key in expected.keys().chain(found.keys()) {
        let (expected, found) = (expected.get(key), found.get(key));
        if expected != found {
            return Err(format!("{table} {key:?}: expected {expected:?}, found {found:?}"));
        }
    }
    Ok(())
}

/// Where a number stands in a message, at the right of its place: account, teller, branch, amount in cents; in a reply
/// the new balance, too.
const PLACES: [(usize, usize); 5] = [(0, 10), (10, 20), (20, 30), (30, 44), (44, 64)];

fn field(message: &[u8], number: usize) -> i64 {
    let (from, to) = PLACES[number];
    let text = std::str::from_utf8(&message[from..to]).unwrap();
    assert_eq!(text.len(), text.trim_end().len(), "a number stands at the right of its place: `{text}`");
    text.trim().parse().unwrap()
}

fn asked(message: &[u8]) -> Asked {
    let id = |number| i32::try_from(field(message, number)).unwrap();
    Asked { account: id(0), teller: id(1), branch: id(2), amount: field(message, 3) }
}

/// What an input asks for.
pub fn read(input: &Input) -> Asked {
    match input {
        Input::Transfer(it) => Asked { branch: it.branch, teller: it.teller, account: it.account, amount: it.amount.0 },
        Input::Message(message) => {
            assert_eq!(message.len(), 100);
            assert!(message[44..].iter().all(|byte| *byte == b' '));
            asked(message)
        }
    }
}

/// The input that asks for it.
pub fn write(kind: Kind, asked: Asked) -> Input {
    let Asked { branch, teller, account, amount } = asked;
    if kind.has_messages() {
        let text = format!("{:<100}", format!("{account:>10}{teller:>10}{branch:>10}{amount:>14}"));
        return Input::Message(text.as_bytes().try_into().unwrap());
    }
    let profile = PROFILES.iter().find(|profile| profile.name == kind.name()).unwrap();
    Input::Transfer(Transfer { profile, branch, teller, account, amount: Money(amount) })
}

/// Whether a reply says again what was asked for, and the new balance.
pub fn reply_agrees(reply: &[u8], reported: Asked, balance: i64) -> bool {
    assert_eq!(reply.len(), 200);
    asked(reply) == reported && field(reply, 4) == balance && reply[64..].iter().all(|byte| *byte == b' ')
}

/// The first and last ids and amounts, and the same account again and again.
pub fn edges(kind: Kind) -> Vec<Input> {
    let most = if kind == Kind::Gray { 50_000 } else { 999_999 };
    let mut inputs = Vec::new();
    for branch in [0, BRANCHES - 1] {
        for (teller, account) in [(0, 0), (9, kind.accounts() - 1)] {
            for amount in [-most, -1, 0, 1, most - 1] {
                for of in [0, BRANCHES - 1] {
                    let (teller, account) = (kind.teller(branch, teller), kind.account(of, account));
                    inputs.push(write(kind, Asked { branch, teller, account, amount }));
                }
            }
        }
    }
    inputs
}

/// As the digest of the standards draws them: a random teller, in 85 % of all cases an account of his branch.
pub fn drawn(kind: Kind, seed: u64, count: usize) -> Vec<Input> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let draw = |_| {
        let branch = random.random_range(0..BRANCHES);
        let teller = kind.teller(branch, random.random_range(0..TELLERS));
        let home = random.random_range(0..100) < 85;
        let other = if kind == Kind::Gray {
            random.random_range(0..BRANCHES)
        } else {
            (branch + random.random_range(1..BRANCHES)) % BRANCHES
        };
        let account = kind.account(if home { branch } else { other }, random.random_range(0..kind.accounts()));
        let amount = if kind == Kind::Gray {
            random.random_range(-50_000..50_000)
        } else {
            random.random_range(-999_999..=999_999)
        };
        write(kind, Asked { branch, teller, account, amount })
    };
    (0..count).map(draw).collect()
}

/// What a SQLite file holds.
pub fn of_sqlite(file: &Path) -> Held {
    let connection = rusqlite::Connection::open(file).unwrap();
    fn all<T>(
        connection: &rusqlite::Connection,
        sql: &str,
        row: impl FnMut(&rusqlite::Row) -> rusqlite::Result<T>,
    ) -> Vec<T> {
        connection.prepare(sql).unwrap().query_map([], row).unwrap().map(Result::unwrap).collect()
    }
    let balances = |sql| all(&connection, sql, |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))));
    Held {
        branch: all(&connection, "SELECT branch_id, branch_balance FROM branch", |row| Ok((row.get(0)?, row.get(1)?)))
            .into_iter()
            .collect(),
        teller: balances("SELECT teller_id, branch_id, teller_balance FROM teller").into_iter().collect(),
        account: balances("SELECT account_id, branch_id, account_balance FROM account").into_iter().collect(),
        history: all(&connection, "SELECT branch_id, teller_id, account_id, amount FROM history", |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        }),
    }
}

/// What the schema `debitcredit` in PostgreSQL holds.
pub async fn of_postgres(client: &tokio_postgres::Client) -> Held {
    let all = async |sql: &str| client.query(sql, &[]).await.unwrap();
    let balances =
        |rows: Vec<tokio_postgres::Row>| rows.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect();
    let branch = all("SELECT branch_id, (branch_balance * 100)::bigint FROM debitcredit.branch").await;
    let history = all("SELECT branch_id, teller_id, account_id, (amount * 100)::bigint FROM debitcredit.history").await;
    Held {
        branch: branch.iter().map(|row| (row.get(0), row.get(1))).collect(),
        teller: balances(
            all("SELECT teller_id, branch_id, (teller_balance * 100)::bigint FROM debitcredit.teller").await,
        ),
        account: balances(
            all("SELECT account_id, branch_id, (account_balance * 100)::bigint FROM debitcredit.account").await,
        ),
        history: history.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect(),
    }
}

/// What the database `debitcredit` in MySQL holds.
pub async fn of_mysql(client: &mut mysql_async::Conn) -> Held {
    use mysql_async::prelude::Queryable;
    let cents = |column: &str| format!("CAST({column} * 100 AS SIGNED)");
    let branch: Vec<(i32, i64)> =
        client.query(format!("SELECT branch_id, {} FROM branch", cents("branch_balance"))).await.unwrap();
    let mut balances = async |table: &str| {
        let sql = format!("SELECT {table}_id, branch_id, {} FROM {table}", cents(&format!("{table}_balance")));
        client.query_map(sql, |(id, branch, balance): (i32, i32, i64)| (id, (branch, balance))).await.unwrap()
    };
    let (teller, account) = (balances("teller").await, balances("account").await);
    let history = format!("SELECT branch_id, teller_id, account_id, {} FROM history", cents("amount"));
    Held {
        branch: branch.into_iter().collect(),
        teller: teller.into_iter().collect(),
        account: account.into_iter().collect(),
        history: client.query(history).await.unwrap(),
    }
}

/// First and last time in history, in microseconds since 1970.
pub async fn mysql_times(client: &mut mysql_async::Conn) -> (i64, i64) {
    use mysql_async::prelude::Queryable;
    let micros = |of| format!("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {of}(time_stamp))");
    client.query_first(format!("SELECT {}, {} FROM history", micros("min"), micros("max"))).await.unwrap().unwrap()
}

/// Rows that are filled up have a filler of so many bytes in each: with integers of four bytes and amounts of seven, a
/// hundred and more, fifty in the history.
pub async fn mysql_sizes(client: &mut mysql_async::Conn, kind: Kind) {
    use mysql_async::prelude::Queryable;
    for (table, _) in TABLES {
        let filler = "SELECT count(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = \
            ? AND column_name = 'filler'";
        let fillers: i64 = client.exec_first(filler, (table,)).await.unwrap().unwrap();
        assert_eq!(fillers == 1, kind != Kind::Gray, "{table}");
        if fillers == 1 {
            let sql = format!("SELECT min(octet_length(filler)), max(octet_length(filler)) FROM {table}");
            let due = if table == "history" { 27 } else { 99 };
            assert_eq!(client.query_first::<(i64, i64), _>(sql).await.unwrap(), Some((due, due)), "{table}");
        }
    }
}

/// First and last time in history, in microseconds since 1970.
pub fn sqlite_times(file: &Path) -> (i64, i64) {
    let connection = rusqlite::Connection::open(file).unwrap();
    connection
        .query_row("SELECT min(time_stamp), max(time_stamp) FROM history", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
}

/// As [`sqlite_times`].
pub async fn postgres_times(client: &tokio_postgres::Client) -> (i64, i64) {
    let micros = |of| format!("(extract(epoch FROM {of}(time_stamp)) * 1000000)::bigint");
    let row = client
        .query_one(&format!("SELECT {}, {} FROM debitcredit.history", micros("min"), micros("max")), &[])
        .await
        .unwrap();
    (row.get(0), row.get(1))
}

/// The columns of each table but the filler. The last has no key of its own in SQLite.
const TABLES: [(&str, &[&str]); 4] = [
    ("branch", &["branch_id", "branch_balance"]),
    ("teller", &["teller_id", "branch_id", "teller_balance"]),
    ("account", &["account_id", "branch_id", "account_balance"]),
    ("history", &["branch_id", "teller_id", "account_id", "amount", "time_stamp"]),
];

/// Rows that are filled up have a hundred bytes of content, fifty in the history; others stay small.
fn size_is_right(kind: Kind, table: &str, least: i64, most: i64) {
    let due = if table == "history" { 50 } else { 100 };
    if kind == Kind::Gray {
        assert!(most < due, "{table}: a row of {most} bytes");
    } else {
        assert!((due..due + 25).contains(&least), "{table}: a row of {least} bytes");
    }
}

/// The bytes that the columns of a row take where PostgreSQL keeps them.
pub async fn postgres_sizes(client: &tokio_postgres::Client, kind: Kind) {
    for (table, columns) in TABLES {
        let numbers = columns.iter().map(|column| format!("pg_column_size({column})")).collect::<Vec<_>>().join(" + ");
        let filler = if kind == Kind::Gray { "" } else { " + octet_length(filler)" };
        let sql =
            format!("SELECT min({numbers}{filler})::bigint, max({numbers}{filler})::bigint FROM debitcredit.{table}");
        let row = client.query_one(&sql, &[]).await.unwrap();
        size_is_right(kind, table, row.get(0), row.get(1));
        if kind != Kind::Gray {
            // Not compressed away, and not kept elsewhere: see the type's header of a byte.
            let whole =
                format!("SELECT bool_and(pg_column_size(filler) = octet_length(filler) + 1) FROM debitcredit.{table}");
            assert!(client.query_one(&whole, &[]).await.unwrap().get::<_, bool>(0), "{table}");
        }
    }
}

/// Bytes of an integer in a record of SQLite's file format.
fn integer(column: &str) -> String {
    let within =
        |bits: u32, bytes: u32| format!("WHEN {column} BETWEEN -{0} AND {0} - 1 THEN {bytes} ", 1_i64 << (bits - 1));
    format!(
        "(CASE WHEN {column} IN (0, 1) THEN 0 {}{}{}{}{}ELSE 8 END)",
        within(8, 1),
        within(16, 2),
        within(24, 3),
        within(32, 4),
        within(48, 6)
    )
}

/// Bytes of a row's key in SQLite: seven bits of it to a byte.
fn key(column: &str) -> String {
    format!("(CASE WHEN {column} < 128 THEN 1 WHEN {column} < 16384 THEN 2 WHEN {column} < 2097152 THEN 3 ELSE 4 END)")
}

/// The bytes that the columns of a row take in the file, reckoned by its format and held against what SQLite says of
/// its pages.
pub fn sqlite_sizes(file: &Path, kind: Kind) {
    let connection = rusqlite::Connection::open(file).unwrap();
    for (table, columns) in TABLES {
        let (keys, rest) = if table == "history" { columns.split_at(0) } else { columns.split_at(1) };
        let filler = (kind != Kind::Gray).then(|| "length(CAST(filler AS BLOB))".to_owned());
        let record = rest.iter().map(|column| integer(column)).chain(filler.clone()).collect::<Vec<_>>().join(" + ");
        let keys = keys.iter().map(|column| format!(" + {}", key(column))).collect::<String>();
        let sql = format!(
            "SELECT coalesce(min({record}{keys}), 0), coalesce(max({record}{keys}), 0), coalesce(sum({record}), 0), \
             count(*) FROM {table}"
        );
        let (least, most, sum, rows): (i64, i64, i64, i64) =
            connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).unwrap();
        // A byte for its own length and one for each column's type, two for that of a filler of more than 57 bytes.
        let long = filler.is_some() && table != "history";
        let header = 1 + columns.len() as i64 + i64::from(filler.is_some()) + i64::from(long);
        let payload: i64 =
            connection.query_row("SELECT sum(payload) FROM dbstat WHERE name = ?1", [table], |row| row.get(0)).unwrap();
        assert_eq!(payload, sum + header * rows, "{table}");
        if rows > 0 {
            size_is_right(kind, table, least, most);
        }
    }
}
