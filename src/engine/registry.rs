//! The workloads and the engines there are: a workload by its name, an engine by the scheme of a URL.

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
use super::{ConnectOptions, Error, Sessions};
use crate::url::DatabaseUrl;
use crate::workload::Workload;
use crate::workload::about::About;
use crate::workload::known::{self, workloads};

/// Does something with a workload of any kind.
pub trait WorkloadVisitor {
    /// What comes of it.
    type Output;
    /// Does it.
    fn visit<W: SqlWorkload>(self) -> Self::Output;
}

/// Makes the names of the workloads from their list.
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

            /// Hands the workload of this name to `visitor`.
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
    /// What is told of it.
    pub fn about(self) -> &'static About {
        struct Tell;
        impl WorkloadVisitor for Tell {
            type Output = &'static About;

            fn visit<W: SqlWorkload>(self) -> &'static About {
                W::ABOUT
            }
        }
        self.visit(Tell)
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

/// What holds an engine of any kind.
pub trait AnyEngine<W: Workload>: Sized {
    /// Holds this one.
    fn of<E: Sessions<W>>(engine: E) -> Self;
}

/// How an engine is opened.
type Open<A> = fn(&Runtime, ConnectOptions) -> Result<A, Error>;

/// An engine.
struct Entry<A> {
    /// The schemes of its URLs.
    schemes: &'static [&'static str],
    /// URLs to show to someone whose URL names no engine.
    examples: &'static [&'static str],
    /// Over what it is spoken to. Its dialects are those of the wire; it runs the workloads that one of them has files
    /// of. None if it runs all.
    wire: Option<Wire>,
    open: Open<A>,
}

/// The engines there are.
fn engines<W: SqlWorkload, A: AnyEngine<W>>() -> [Entry<A>; 6] {
    [
        Entry {
            schemes: &["sqlite"],
            examples: &["sqlite:FILE"],
            wire: Some(Wire::Sqlite),
            open: |_, options| {
                Sqlite::on(options.disk.as_ref(), SqliteOptions::parse(options.url.reveal())?).map(A::of)
            },
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
        Entry {
            schemes: &["simulated"],
            examples: &["simulated:service=5ms"],
            wire: None,
            open: |_, options| Simulated::open(options).map(A::of),
        },
    ]
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

/// Opens the database that the URL names for a workload.
///
/// # Errors
/// If the URL names no engine, or one that does not run the workload, or if the database cannot be opened.
pub fn open<W: SqlWorkload, A: AnyEngine<W>>(runtime: &Runtime, options: ConnectOptions) -> Result<A, Error> {
    tracing::info!(workload = W::NAME, url = %options.url, "opening the database");
    let engines = engines::<W, A>();
    let scheme = options.url.scheme();
    let Some(entry) = engines.iter().find(|entry| entry.schemes.contains(&scheme)) else {
        let what = match scheme {
            "" => "the database URL has no scheme".to_owned(),
            _ => format!("no engine for `{}`", options.url),
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

/// Reaches the server of a URL, or starts a private one.
///
/// # Errors
/// If it cannot be reached, or is of none of the wires that can be examined.
pub async fn open_probed(url: &DatabaseUrl) -> Result<Box<dyn ProbedServer>, Error> {
    url.check()?;
    match url.scheme() {
        "postgres" | "postgresql" => Ok(Box::new(postgres::probe::Server::open(url).await?)),
        "mysql" | "mariadb" => Ok(Box::new(mysql::probe::Server::open(url).await?)),
        _ => Err(Error::Usage(format!(
            "graymark doctor examines servers on PostgreSQL's and MySQL's wire, not {url}: try graymark bench \
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
