//! The lists of workloads and engines: a workload is found by its name, an engine by the scheme of a URL.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::runtime::Runtime;

use super::dialect::{DIALECTS, Wire};
use super::guard::guarded;
use super::probe::ProbedServer;
use super::simulated::Simulated;
use super::sql::SqlWorkload;
use super::wire::mysql::{self, Mysql};
#[cfg(feature = "odbc")]
use super::wire::odbc::Odbc;
use super::wire::postgres::{self, Postgres};
use super::wire::sqlite::{Sqlite, SqliteOptions};
#[cfg(feature = "odbc")]
use super::wire::virtuoso::Virtuoso;
#[cfg(feature = "ydb")]
use super::wire::ydb::Ydb;
use super::{ConnectOptions, Error, Sessions};
use crate::near::near;
use crate::url::{DatabaseUrl, YDB};
use crate::workload::Workload;
use crate::workload::about::About;
use crate::workload::known::{self, workloads};

/// A function over workloads of any type.
pub trait WorkloadVisitor {
    /// Its result.
    type Output;
    /// Calls it.
    fn visit<W: SqlWorkload>(self) -> Self::Output;
}

/// Generates the names of the workloads from their list.
macro_rules! names {
    ($($(#[$of:meta])* $name:ident = $workload:ty,)*) => {
        /// The name of a workload.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum WorkloadName {
            #[default]
            $(
                $(#[$of])*
                #[allow(missing_docs, reason = "a name in a list")]
                $name,
            )*
        }

        impl WorkloadName {
            /// All of them.
            const ALL: &'static [WorkloadName] = &[$($(#[$of])* WorkloadName::$name),*];

            /// Calls `visitor` with the workload of this name.
            pub fn visit<V: WorkloadVisitor>(self, visitor: V) -> V::Output {
                match self {
                    $($(#[$of])* WorkloadName::$name => visitor.visit::<$workload>(),)*
                }
            }
        }
    };
}
workloads!(names);

impl WorkloadName {
    /// Its description.
    pub fn about(self) -> &'static About {
        struct Describe;
        impl WorkloadVisitor for Describe {
            type Output = &'static About;

            fn visit<W: SqlWorkload>(self) -> &'static About {
                W::ABOUT
            }
        }
        self.visit(Describe)
    }
}

impl ValueEnum for WorkloadName {
    fn value_variants<'a>() -> &'a [WorkloadName] {
        WorkloadName::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.about().name).help(self.about().help))
    }
}

impl Serialize for WorkloadName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.about().name)
    }
}

impl<'de> Deserialize<'de> for WorkloadName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<WorkloadName, D::Error> {
        let text = String::deserialize(from)?;
        let found = WorkloadName::ALL.iter().find(|name| name.about().name == text);
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = known::all().iter().map(|about| about.name).collect();
            D::Error::custom(format!("there is no workload `{text}`: give {}", names.join(" or ")))
        })
    }
}

/// A container for an engine of any type.
pub trait AnyEngine<W: Workload>: Sized {
    /// Wraps an engine.
    fn of<E: Sessions<W>>(engine: E) -> Self;
}

/// Opens an engine.
type Open<A> = fn(&Runtime, ConnectOptions) -> Result<A, Error>;

/// An engine.
struct Entry<A> {
    /// The schemes of its URLs.
    schemes: &'static [&'static str],
    /// Examples for the error about a URL without a known scheme.
    examples: &'static [&'static str],
    /// Its wire. Its dialects are those of the wire; it runs the workloads for which one of them has files. `None` if
    /// it runs all.
    wire: Option<Wire>,
    open: Open<A>,
}

/// All engines.
fn engines<W: SqlWorkload, A: AnyEngine<W>>() -> [Entry<A>; 7] {
    [
        Entry {
            schemes: &["sqlite"],
            examples: &["sqlite:FILE"],
            wire: Some(Wire::Sqlite),
            open: |_, options| Sqlite::on(options.disk.as_ref(), sqlite(&options)?).map(A::of),
        },
        Entry {
            schemes: &["postgres", "postgresql"],
            examples: &["postgres://USER@HOST/DATABASE", "postgres:local"],
            wire: Some(Wire::Postgres),
            open: |runtime, options| runtime.block_on(guarded(Postgres::open(options))).map(A::of),
        },
        Entry {
            schemes: &["mysql", "mariadb"],
            examples: &["mysql://USER@HOST/DATABASE", "mysql:local"],
            wire: Some(Wire::Mysql),
            open: |runtime, options| runtime.block_on(guarded(Mysql::open(options))).map(A::of),
        },
        Entry { schemes: &["odbc"], examples: &[], wire: Some(Wire::Odbc), open: odbc::<W, A>() },
        Entry {
            schemes: &["virtuoso"],
            examples: &["virtuoso:local"],
            wire: Some(Wire::Virtuoso),
            open: virtuoso::<W, A>(),
        },
        Entry { schemes: YDB.schemes, examples: &[], wire: Some(Wire::Ydb), open: ydb::<W, A>() },
        Entry {
            schemes: &["simulated"],
            examples: &["simulated:service=5ms"],
            wire: None,
            open: |_, options| simulated(options).map(A::of),
        },
    ]
}

/// The options of a SQLite URL.
fn sqlite(options: &ConnectOptions) -> Result<SqliteOptions, Error> {
    no_settings(options, "SQLite", "sqlite:FILE?cache=64")?;
    SqliteOptions::parse(options.url.reveal())
}

fn simulated(options: ConnectOptions) -> Result<Simulated, Error> {
    no_settings(&options, "the simulated database", "simulated:service=5ms")?;
    Simulated::open(options)
}

/// Refuses settings of a server for what has only parameters of its URL.
fn no_settings(options: &ConnectOptions, what: &str, example: &str) -> Result<(), Error> {
    match options.settings.keys().next() {
        Some(name) => Err(Error::Usage(format!(
            "--set {name} is for private servers only; {what} has parameters of its URL, such as {example}"
        ))),
        None => Ok(()),
    }
}

/// Whether the parameters of the URL are known, as far as can be known without opening or starting anything.
///
/// # Errors
/// As [`open`].
pub(crate) fn check(options: ConnectOptions) -> Result<(), Error> {
    match options.url.scheme() {
        "sqlite" => sqlite(&options).map(|_| ()),
        "simulated" => simulated(options).map(|_| ()),
        _ => Ok(options.url.check()?),
    }
}

#[cfg(feature = "odbc")]
fn odbc<W: SqlWorkload, A: AnyEngine<W>>() -> Open<A> {
    |_, options| Odbc::open(options).map(A::of)
}

#[cfg(feature = "odbc")]
fn virtuoso<W: SqlWorkload, A: AnyEngine<W>>() -> Open<A> {
    |_, options| Virtuoso::open(options).map(A::of)
}

#[cfg(not(feature = "odbc"))]
fn odbc<W: SqlWorkload, A: AnyEngine<W>>() -> Open<A> {
    |_, _| {
        let why = "this build has no ODBC: build it with cargo build --release --features odbc";
        Err(Error::Usage(why.to_owned()))
    }
}

#[cfg(not(feature = "odbc"))]
fn virtuoso<W: SqlWorkload, A: AnyEngine<W>>() -> Open<A> {
    |_, _| {
        let why =
            "this build has no ODBC, which Virtuoso needs: build Graymark with `cargo build --release --features odbc`";
        Err(Error::Usage(why.to_owned()))
    }
}

#[cfg(feature = "ydb")]
fn ydb<W: SqlWorkload, A: AnyEngine<W>>() -> Open<A> {
    |runtime, options| runtime.block_on(guarded(Ydb::open(options))).map(A::of)
}

#[cfg(not(feature = "ydb"))]
fn ydb<W: SqlWorkload, A: AnyEngine<W>>() -> Open<A> {
    |_, _| {
        let why = "this build has no YDB: build Graymark with `cargo build --release --features ydb`";
        Err(Error::Usage(why.to_owned()))
    }
}

/// Opens the database that the URL names for a workload.
///
/// # Errors
/// If the URL names no engine, or one that does not support the workload, or if the database cannot be opened.
pub fn open<W: SqlWorkload, A: AnyEngine<W>>(runtime: &Runtime, options: ConnectOptions) -> Result<A, Error> {
    tracing::info!(workload = W::NAME, url = %options.url, "opening the database");
    let engines = engines::<W, A>();
    let scheme = options.url.scheme();
    let Some(entry) = engines.iter().find(|entry| entry.schemes.contains(&scheme)) else {
        let what = match scheme {
            "" => "the database URL has no scheme".to_owned(),
            _ => {
                let schemes = engines.iter().flat_map(|entry| entry.schemes).copied();
                let meant = near(scheme, schemes).map(|near| format!(" (did you mean {near}:?)")).unwrap_or_default();
                format!("no engine for `{}`{meant}", options.url)
            }
        };
        let mut examples: Vec<&str> = engines.iter().flat_map(|entry| entry.examples).copied().collect();
        let last = examples.pop().unwrap_or_default();
        return Err(Error::Usage(format!("{what}; give --db {} or {last}", examples.join(", "))));
    };
    match entry.wire {
        Some(wire) if !runs(wire, W::NAME) => Err(does_not_run(wire, W::NAME)),
        _ => (entry.open)(runtime, options),
    }
}

/// Connects to the server of a URL, or starts a private one.
///
/// # Errors
/// If it cannot be reached, or its wire is not supported by `doctor`.
pub async fn open_probed(url: &DatabaseUrl) -> Result<Box<dyn ProbedServer>, Error> {
    url.check()?;
    match url.scheme() {
        "postgres" | "postgresql" => Ok(Box::new(postgres::probe::Server::open(url).await?)),
        "mysql" | "mariadb" => Ok(Box::new(mysql::probe::Server::open(url).await?)),
        _ => Err(Error::Usage(format!(
            "graymark doctor supports only servers with the protocol of PostgreSQL or MySQL, not {url}: try graymark \
             bench \
             debitcredit \
             -b 1 there"
        ))),
    }
}

/// Whether a workload runs in a dialect of a wire.
fn runs(wire: Wire, workload: &str) -> bool {
    DIALECTS.iter().any(|dialect| dialect.wire == wire && dialect.runs(workload))
}

fn does_not_run(wire: Wire, workload: &str) -> Error {
    let of = DIALECTS.iter().find(|dialect| dialect.wire == wire).map_or("it", |dialect| dialect.of);
    let others: Vec<&str> = known::all().iter().map(|about| about.name).filter(|name| runs(wire, name)).collect();
    let others = others.join(" or ");
    Error::Usage(format!("{workload} does not run on {of}: give another --db, or the workload {others}"))
}
