//! What databases on the same wire are told differently: a folder of `.sql` files and one file of data each.
//!
//! `common` holds what all of them have, by workload. A dialect that differs little from another one names its folder
//! behind its own, and brings only the files, and of `statements.sql` and `calls.sql` only the statements, that differ.

mod odbc;

pub use odbc::{OdbcWords, PLAIN_ODBC, Texts};

use super::{Error, RetryReason};
use crate::result::Isolation;

/// Every `.sql` file below this folder, by its path.
static TEXTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/texts.rs"));

/// The folder of what all dialects have.
const COMMON: &str = "common";

/// Lists the dialects, each with its file of data.
macro_rules! dialects {
    ($($name:ident = $file:literal),* $(,)?) => {
        $(#[path = $file] mod $name;)*

        /// All dialects. The first of a wire is its usual one.
        pub static DIALECTS: &[&Dialect] = &[$(&$name::DIALECT),*];
    };
}

dialects! {
    sqlite = "sqlite/dialect.rs",
    postgres = "postgres/dialect.rs",
    postgres_plain = "postgres-plain/dialect.rs",
    cockroachdb = "cockroachdb/dialect.rs",
    yugabytedb = "yugabytedb/dialect.rs",
    mariadb = "mariadb/dialect.rs",
    mysql_plain = "mysql-plain/dialect.rs",
    tidb = "tidb/dialect.rs",
    oceanbase = "oceanbase/dialect.rs",
    virtuoso = "virtuoso/dialect.rs",
    odbc_postgresql = "odbc-postgresql/dialect.rs",
    odbc_mariadb = "odbc-mariadb/dialect.rs",
    odbc_sqlite = "odbc-sqlite/dialect.rs",
    odbc_plain = "odbc-plain/dialect.rs",
}

/// How Graymark and a database exchange bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// SQLite, in process.
    Sqlite,
    /// PostgreSQL's protocol.
    Postgres,
    /// The protocol of MySQL and MariaDB.
    Mysql,
    /// Virtuoso's ODBC driver.
    Virtuoso,
    /// Any ODBC driver.
    Odbc,
}

/// What keeps two commands that load, restore or drop apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Locks that the server keeps by a name or number, apart from its tables.
    AdvisoryLock,
    /// A row that the command inserts and does not commit: another one waits for it in vain.
    Row,
}

/// A dialect.
#[derive(Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Its name in a URL (`dialect=NAME`).
    pub name: &'static str,
    /// What it is the dialect of, in messages.
    pub of: &'static str,
    /// Over what it is spoken.
    pub wire: Wire,
    /// The folders of its `.sql` files. The first that has a file counts.
    pub folders: &'static [&'static str],
    /// Files of other dialects, which come before those of its folders: the file and the folder.
    pub files_from: &'static [(&'static str, &'static str)],
    /// Whether transactions can be stored procedures.
    pub procedures: bool,
    /// Whether transactions can be statements of the client.
    pub statements: bool,
    /// The only isolation level at which transactions run; any that is asked for if there is none.
    pub isolation: Option<Isolation>,
    /// What keeps two commands that load, restore or drop apart.
    pub guard: Guard,
    /// Errors by which the database asks for a transaction again, beyond those that its wire knows: an SQLSTATE, or the
    /// server's number, alone or with its SQLSTATE (`1644/25000`).
    pub retryable: &'static [(&'static str, RetryReason)],
    /// Errors of a commit after which nobody knows whether the database has carried it out, beyond those that its wire
    /// knows; said as in `retryable`. Of anything but a commit they are failures.
    pub undetermined: &'static [&'static str],
    /// Sent before an index is made, in its transaction.
    pub before_index: &'static str,
    /// Has the database look at `{table}` for its plans.
    pub statistics: &'static str,
    /// Removes dead rows of `{table}`, where the database has to be asked to.
    pub vacuum: Option<&'static str>,
    /// Asks for a checkpoint.
    pub checkpoint: Option<&'static str>,
    /// Whether the database keeps the counters that its wire reads.
    pub counters: bool,
    /// What it says over ODBC.
    pub odbc: Option<OdbcWords>,
    /// Settings of each session, by name and value; one that the server does not know is left out.
    pub session: &'static [(&'static str, &'static str)],
    /// Words in what a server says of its version that show it to be of this dialect.
    pub known_by: &'static [&'static str],
    /// How far it was run: begins with one of [`GRADES`].
    pub run: &'static str,
    /// The pages of the vendor's documentation that it was written from, where it was not run on the database itself.
    pub sources: &'static [&'static str],
}

/// How far a dialect was run: in CI, by hand, or not at all on the database itself.
pub const GRADES: [&str; 3] = ["run in CI", "run by hand on ", "by documentation only"];

/// What most dialects have in common, for the others to differ from.
pub const USUAL: Dialect = Dialect {
    name: "",
    of: "",
    wire: Wire::Sqlite,
    folders: &[],
    files_from: &[],
    procedures: false,
    statements: true,
    isolation: None,
    guard: Guard::AdvisoryLock,
    retryable: &[],
    undetermined: &[],
    before_index: "",
    statistics: "ANALYZE {table}",
    vacuum: None,
    checkpoint: None,
    counters: true,
    odbc: None,
    session: &[],
    known_by: &[],
    run: "run in CI",
    sources: &[],
};

/// The text of a file below this folder.
fn file(path: &str) -> Option<&'static str> {
    TEXTS.binary_search_by_key(&path, |(name, _)| name).ok().and_then(|at| TEXTS.get(at)).map(|(_, text)| *text)
}

impl Dialect {
    /// The dialect of a wire that a URL asks for, or the wire's usual one.
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

    /// The folders of a file, the first that has it counts.
    fn folders_of(&self, name: &str) -> impl Iterator<Item = &'static str> {
        let others = self.files_from.iter().filter(move |(file, _)| *file == name).map(|(_, folder)| *folder);
        others.chain(self.folders.iter().copied()).collect::<Vec<_>>().into_iter()
    }

    /// A workload's files of a name, the one that counts first.
    pub fn texts(&self, workload: &str, name: &str) -> Vec<&'static str> {
        let folders = self.folders_of(name).chain([COMMON]);
        folders.filter_map(|folder| file(&format!("{folder}/{workload}/{name}"))).collect()
    }

    /// A workload's file.
    pub fn text(&self, workload: &str, name: &str) -> Option<&'static str> {
        self.texts(workload, name).first().copied()
    }

    /// The files of a name that are of no workload, the one that counts first.
    pub fn own_texts(&self, name: &str) -> Vec<&'static str> {
        self.folders_of(name).filter_map(|folder| file(&format!("{folder}/{name}"))).collect()
    }

    /// The file of a name that is of no workload.
    pub fn own_text(&self, name: &str) -> Option<&'static str> {
        self.own_texts(name).first().copied()
    }

    /// Whether a workload runs in this dialect.
    pub fn runs(&self, workload: &str) -> bool {
        ["statements.sql", "calls.sql"].iter().any(|name| self.text(workload, name).is_some())
    }

    /// The name as it stands in a URL; none for the wire's usual dialect.
    pub fn in_url(&self) -> Option<&'static str> {
        let usual = DIALECTS.iter().find(|dialect| dialect.wire == self.wire);
        usual.is_none_or(|usual| usual.name != self.name).then_some(self.name)
    }

    /// The dialect of a wire that is made for a server, by what the server says of its version.
    pub fn made_for(wire: Wire, version: &str) -> Option<&'static Dialect> {
        let knows = |dialect: &&Dialect| dialect.known_by.iter().any(|word| version.contains(word));
        DIALECTS.iter().copied().filter(|dialect| dialect.wire == wire).find(knows)
    }

    /// What to tell the user of a server for which another dialect is made.
    pub fn advice(&self, version: &str) -> Option<String> {
        let made = Dialect::made_for(self.wire, version).filter(|made| made.name != self.name)?;
        Some(format!("this server is {}: add dialect={} to the URL", made.of, made.name))
    }

    /// Whether an error asks for its transaction again.
    pub fn retries(&self, code: &str) -> Option<RetryReason> {
        self.retryable.iter().find(|(known, _)| *known == code).map(|(_, reason)| *reason)
    }

    /// Whether an error of a commit leaves open what became of it.
    pub fn leaves_open(&self, code: &str) -> bool {
        self.undetermined.contains(&code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_by_its_path() {
        assert!(TEXTS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (path, text) in TEXTS {
            assert_eq!(file(path), Some(*text), "{path}");
        }
        assert_eq!(file("postgres/tpcc/nothing.sql"), None);
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
        let wrong = Dialect::choose(Wire::Postgres, Some("mariadb"));
        assert!(matches!(wrong, Err(Error::Usage(why)) if why.contains("name postgres")));
    }
}
