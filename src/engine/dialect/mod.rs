//! The differences between databases on the same wire: a folder of `.sql` files and one file of data each.
//!
//! `common` contains the files for all dialects, by workload. A dialect that differs little from another one lists its
//! folder after its own, and contains only the files, and of `statements.sql` and `calls.sql` only the statements, that
//! differ.

mod odbc;

pub use odbc::{OdbcWords, PLAIN_ODBC, TableLocks, Texts};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::{Error, RetryReason};
use crate::result::Isolation;

/// Every `.sql` file below this folder, by path.
static TEXTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/texts.rs"));

/// The folder with the files for all dialects.
const COMMON: &str = "common";

/// Lists the dialects, each with its file of data.
macro_rules! dialects {
    ($($name:ident = $file:literal),* $(,)?) => {
        $(#[path = $file] mod $name;)*

        /// All dialects. The first of a wire is its default.
        pub static DIALECTS: &[&Dialect] = &[$(&$name::DIALECT),*];
    };
}

dialects! {
    sqlite = "sqlite/dialect.rs",
    postgres = "postgres/dialect.rs",
    postgres_plain = "postgres-plain/dialect.rs",
    cockroachdb = "cockroachdb/dialect.rs",
    yugabytedb = "yugabytedb/dialect.rs",
    citus = "citus/dialect.rs",
    aurora_dsql = "aurora-dsql/dialect.rs",
    mariadb = "mariadb/dialect.rs",
    mysql_plain = "mysql-plain/dialect.rs",
    tidb = "tidb/dialect.rs",
    oceanbase = "oceanbase/dialect.rs",
    virtuoso = "virtuoso/dialect.rs",
    odbc_postgresql = "odbc-postgresql/dialect.rs",
    odbc_mariadb = "odbc-mariadb/dialect.rs",
    odbc_sqlite = "odbc-sqlite/dialect.rs",
    odbc_sqlserver = "odbc-sqlserver/dialect.rs",
    odbc_oracle = "odbc-oracle/dialect.rs",
    odbc_db2 = "odbc-db2/dialect.rs",
    odbc_plain = "odbc-plain/dialect.rs",
    ydb = "ydb/dialect.rs",
}

/// The protocol between Graymark and a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// SQLite, embedded.
    Sqlite,
    /// PostgreSQL's protocol.
    Postgres,
    /// The protocol of MySQL and MariaDB.
    Mysql,
    /// Virtuoso's ODBC driver.
    Virtuoso,
    /// Any ODBC driver.
    Odbc,
    /// YDB's gRPC services.
    Ydb,
}

/// How two commands that load, restore or drop exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The server's advisory locks, by name or number.
    AdvisoryLock,
    /// A row that the command inserts and does not commit: another command fails to insert it.
    Row,
    /// Not at all, if the database never blocks: of two loads, one fails where both load the same part.
    None,
}

/// A dialect.
#[derive(Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Its name in a URL (`dialect=NAME`).
    pub name: &'static str,
    /// The database's name in messages.
    pub of: &'static str,
    /// Its protocol.
    pub wire: Wire,
    /// The folders of its `.sql` files. A file is taken from the first folder that has it.
    pub folders: &'static [&'static str],
    /// Files of other dialects, which take precedence over those of its folders: the file and the folder.
    pub files_from: &'static [(&'static str, &'static str)],
    /// Whether transactions can be stored procedures.
    pub procedures: bool,
    /// Whether transactions can be statements of the client.
    pub statements: bool,
    /// The only supported isolation level for transactions; `None` if all are supported.
    pub isolation: Option<Isolation>,
    /// Whether READ UNCOMMITTED is a level of its own; otherwise it is another name of READ COMMITTED.
    pub read_uncommitted: bool,
    /// How two commands that load, restore or drop exclude each other.
    pub guard: Guard,
    /// Errors after which a transaction is retried, besides those of its wire: an SQLSTATE, or the server's number,
    /// alone or with its SQLSTATE (`1644/25000`).
    pub retryable: &'static [(&'static str, RetryReason)],
    /// Errors of a commit after which its outcome is unknown, besides those of its wire; in the format of `retryable`.
    /// For other statements they are failures.
    pub undetermined: &'static [&'static str],
    /// The maximum number of rows that a transaction may change, if there is one.
    pub transaction_rows: Option<u64>,
    /// Whether each schema change has to be its own transaction, and indexes are built asynchronously.
    pub schema_alone: bool,
    /// Whether LOCK TABLE protects tables from every change until the end of a transaction (PostgreSQL's wire).
    pub table_locks: bool,
    /// Sent before an index is created, in its transaction.
    pub before_index: &'static str,
    /// Updates the optimizer's statistics of `{table}`.
    pub statistics: &'static str,
    /// Removes dead rows of `{table}`, if the database supports it.
    pub vacuum: Option<&'static str>,
    /// Asks for a checkpoint.
    pub checkpoint: Option<&'static str>,
    /// Whether it has temporary tables; otherwise its `restore.sql` makes tables whose names begin with `graymark_`.
    pub temporary_tables: bool,
    /// Whether the database has the counters that its wire reads.
    pub counters: bool,
    /// Its differences over ODBC.
    pub odbc: Option<OdbcWords>,
    /// Whether the statements of an exchange are sent as one text, if the wire answers each statement before it accepts
    /// the next one.
    pub together: bool,
    /// Settings of each session, by name and value; settings unknown to the server are left out.
    pub session: &'static [(&'static str, &'static str)],
    /// Words in the server's version text that identify this dialect.
    pub known_by: &'static [&'static str],
    /// How far it was tested: begins with one of [`GRADES`].
    pub run: &'static str,
    /// The pages of the vendor's documentation on which it is based, if it was not tested on the database itself.
    pub sources: &'static [&'static str],
}

/// How far a dialect was tested: in CI, by hand, or not at all on the database itself.
pub const GRADES: [&str; 3] = ["run in CI", "run by hand on ", "by documentation only"];

/// The defaults of most dialects.
pub const USUAL: Dialect = Dialect {
    name: "",
    of: "",
    wire: Wire::Sqlite,
    folders: &[],
    files_from: &[],
    procedures: false,
    statements: true,
    isolation: None,
    read_uncommitted: true,
    guard: Guard::AdvisoryLock,
    retryable: &[],
    undetermined: &[],
    transaction_rows: None,
    schema_alone: false,
    table_locks: true,
    before_index: "",
    statistics: "ANALYZE {table}",
    vacuum: None,
    checkpoint: None,
    temporary_tables: true,
    counters: true,
    odbc: None,
    together: false,
    session: &[],
    known_by: &[],
    run: "run in CI",
    sources: &[],
};

/// Files that are merged from parts, and how a part begins: routines and conditions.
const IN_PARTS: [(&str, &str); 2] = [("procedures.sql", "CREATE OR REPLACE "), ("consistency.sql", "-- name: ")];

/// A file by its folders, its workload and its name.
type FileOfDialect = (&'static [&'static str], &'static str, &'static str);

/// Merged files of dialects that have some parts themselves and the rest from later folders, by folders, workload and
/// name: the rest comes first, so that statements about all parts can be at the end of the dialect's own file.
static MERGED: LazyLock<BTreeMap<FileOfDialect, String>> = LazyLock::new(|| {
    let workloads: BTreeSet<&str> = TEXTS.iter().filter_map(|(path, _)| path.split('/').nth(1)).collect();
    let mut merged = BTreeMap::new();
    for (dialect, (file, begin)) in DIALECTS.iter().flat_map(|dialect| IN_PARTS.map(|file| (dialect, file))) {
        for workload in &workloads {
            let texts = dialect.texts(workload, file);
            let Some((own, rest)) = texts.split_first().filter(|(_, rest)| !rest.is_empty()) else { continue };
            let name = |part: &str| part.split(['(', '\n']).next().map(str::to_owned);
            let mut known: Vec<_> = own.split(begin).skip(1).map(name).collect();
            let mut all = String::new();
            for part in rest.iter().flat_map(|text| text.split(begin).skip(1)) {
                if !known.contains(&name(part)) {
                    known.push(name(part));
                    all.extend([begin, part]);
                }
            }
            // The text before its first part belongs to no part.
            let from = own.find(begin).unwrap_or_default();
            merged.insert((dialect.folders, *workload, file), all + own.get(from..).unwrap_or_default());
        }
    }
    merged
});

/// The text of a file below this folder.
fn file(path: &str) -> Option<&'static str> {
    TEXTS.binary_search_by_key(&path, |(name, _)| name).ok().and_then(|at| TEXTS.get(at)).map(|(_, text)| *text)
}

impl Dialect {
    /// The dialect of a wire that a URL requests, or the wire's default.
    ///
    /// # Errors
    /// If the wire has no such dialect.
    pub fn choose(wire: Wire, asked: Option<&str>) -> Result<&'static Dialect, Error> {
        let mut of_wire = DIALECTS.iter().filter(|dialect| dialect.wire == wire);
        let found = match asked {
            None => of_wire.next(),
            Some(name) => of_wire.find(|dialect| dialect.name == name),
        };
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = DIALECTS.iter().filter(|one| one.wire == wire).map(|one| one.name).collect();
            Error::Usage(format!(
                "there is no dialect `{}` here: leave dialect= out, or name {}",
                asked.unwrap_or_default(),
                names.join(", ")
            ))
        })
    }

    /// The folders of a file, in order of precedence.
    fn folders_of(&self, name: &str) -> impl Iterator<Item = &'static str> {
        let others = self.files_from.iter().filter(move |(file, _)| *file == name).map(|(_, folder)| *folder);
        others.chain(self.folders.iter().copied()).collect::<Vec<_>>().into_iter()
    }

    /// All files of a workload with this name, in order of precedence.
    pub fn texts(&self, workload: &str, name: &str) -> Vec<&'static str> {
        let folders = self.folders_of(name).chain([COMMON]);
        folders.filter_map(|folder| file(&format!("{folder}/{workload}/{name}"))).collect()
    }

    /// A workload's file.
    pub fn text(&self, workload: &str, name: &str) -> Option<&'static str> {
        self.texts(workload, name).first().copied()
    }

    /// A workload's merged file of routines or conditions: those of the dialect's own file, and those of the later
    /// folders that have other names.
    pub fn whole(&self, workload: &'static str, name: &'static str) -> Option<&'static str> {
        let merged = MERGED.get(&(self.folders, workload, name)).map(String::as_str);
        merged.or_else(|| self.text(workload, name))
    }

    /// All files with this name that belong to no workload, in order of precedence.
    pub fn own_texts(&self, name: &str) -> Vec<&'static str> {
        self.folders_of(name).filter_map(|folder| file(&format!("{folder}/{name}"))).collect()
    }

    /// The file with this name that belongs to no workload.
    pub fn own_text(&self, name: &str) -> Option<&'static str> {
        self.own_texts(name).first().copied()
    }

    /// Whether a workload runs in this dialect.
    pub fn runs(&self, workload: &str) -> bool {
        ["statements.sql", "calls.sql"].iter().any(|name| self.text(workload, name).is_some())
    }

    /// The name in a URL; `None` for the wire's default dialect.
    pub fn in_url(&self) -> Option<&'static str> {
        let usual = DIALECTS.iter().find(|dialect| dialect.wire == self.wire);
        usual.is_none_or(|usual| usual.name != self.name).then_some(self.name)
    }

    /// The dialect of a wire for a server, from its version text.
    pub fn made_for(wire: Wire, version: &str) -> Option<&'static Dialect> {
        let knows = |dialect: &&Dialect| dialect.known_by.iter().any(|word| version.contains(word));
        DIALECTS.iter().copied().filter(|dialect| dialect.wire == wire).find(knows)
    }

    /// The advice to the user of a server that has another dialect.
    pub fn advice(&self, version: &str) -> Option<String> {
        let made = Dialect::made_for(self.wire, version).filter(|made| made.name != self.name)?;
        Some(format!("this server is {}: add dialect={} to the URL", made.of, made.name))
    }

    /// The isolation levels at which transactions can run, from the weakest.
    pub fn levels(&self) -> Vec<Isolation> {
        self.isolation.map_or_else(|| Isolation::ALL.to_vec(), |only| vec![only])
    }

    /// Whether the database is a library in this process, where Graymark passes on the right to write.
    pub fn in_process(&self) -> bool {
        self.wire == Wire::Sqlite || self.odbc.as_ref().is_some_and(|words| words.begin.is_some())
    }

    /// The reason to retry a transaction after this error; `None` if it is not retried.
    pub fn retries(&self, code: &str) -> Option<RetryReason> {
        self.retryable.iter().find(|(known, _)| *known == code).map(|(_, reason)| *reason)
    }

    /// Whether the outcome of a commit with this error is unknown.
    pub fn leaves_open(&self, code: &str) -> bool {
        self.undetermined.contains(&code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::sql::script;

    #[test]
    fn every_file_is_found_by_its_path() {
        assert!(TEXTS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (path, text) in TEXTS {
            assert_eq!(file(path), Some(*text), "{path}");
        }
        assert_eq!(file("postgres/tpcc/nothing.sql"), None);
    }

    #[test]
    fn a_dialect_has_its_own_routines_and_conditions_and_those_behind_it() {
        let of =
            |name, workload, file| Dialect::choose(Wire::Postgres, Some(name)).unwrap().whole(workload, file).unwrap();
        let (usual, citus) = (of("postgres", "tpcc", "procedures.sql"), of("citus", "tpcc", "procedures.sql"));
        for (begin, times) in [("CREATE OR REPLACE ", 6), ("PROCEDURE tpcc.new_order(", 1)] {
            assert_eq!((usual.matches(begin).count(), citus.matches(begin).count()), (times, times), "{begin}");
        }
        assert!(citus.contains("FUNCTION tpcc.stock_level(") && citus.trim_end().ends_with("'tpcc.warehouse');"));
        assert_eq!(of("yugabytedb", "tpcc", "procedures.sql"), usual);
        let conditions = |name| script::statements(of(name, "debitcredit", "consistency.sql"));
        let names = |name| conditions(name).iter().map(|one| one.name).collect::<BTreeSet<_>>();
        assert_eq!(names("postgres"), names("citus"));
        assert_eq!(conditions("postgres").len(), conditions("citus").len());
    }

    #[test]
    fn a_dialect_is_known_by_its_name() {
        for (number, dialect) in DIALECTS.iter().enumerate() {
            assert_eq!(Dialect::choose(dialect.wire, Some(dialect.name)), Ok(*dialect));
            let usual = Dialect::choose(dialect.wire, None).unwrap();
            assert_eq!(dialect.in_url(), (usual.name != dialect.name).then_some(dialect.name));
            let same = |other: &&&Dialect| other.wire == dialect.wire && other.name == dialect.name;
            assert!(!DIALECTS[..number].iter().any(|other| same(&other)), "{}", dialect.name);
            assert!(dialect.folders.first().is_some_and(|own| TEXTS.iter().any(|(path, _)| path.starts_with(own))));
            assert!(dialect.runs("tpcc") && !dialect.runs("nothing"), "{}", dialect.name);
            assert!(GRADES.iter().any(|grade| dialect.run.starts_with(grade)), "{}: {}", dialect.name, dialect.run);
            let unseen = dialect.run.starts_with(GRADES[2]);
            assert!(!unseen || dialect.sources.iter().all(|page| page.starts_with("https://")), "{}", dialect.name);
            assert!(!unseen || !dialect.sources.is_empty(), "{}", dialect.name);
        }
        let usual = Dialect::choose(Wire::Postgres, None).unwrap();
        let advice = usual.advice("CockroachDB CCL v24.3.1 (x86_64)").unwrap();
        assert!(advice.contains("dialect=cockroachdb"), "{advice}");
        assert_eq!(usual.advice("PostgreSQL 15.18 on x86_64"), None);
        let extensions = "PostgreSQL 15.20 on x86_64; extension plpgsql 1.0; extension citus 13.0-3; extension x 1";
        assert!(usual.advice(extensions).unwrap().contains("this server is Citus: add dialect=citus"));
        let wrong = Dialect::choose(Wire::Postgres, Some("mariadb"));
        assert!(matches!(wrong, Err(Error::Usage(why)) if why.contains("name postgres")));
    }
}
