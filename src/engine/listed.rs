//! The list of engines: `graymark engines`.

use super::dialect::{DIALECTS, Dialect, Wire};
use super::server::{mariadb, postgres};
use super::wire::sqlite;
use crate::result::Via;
use crate::result::engines::{Found, Listed};
use crate::workload::known;

/// All engines in all of their dialects, with the servers found on this machine.
pub fn engines() -> Vec<Listed> {
    DIALECTS.iter().map(|dialect| listed(dialect)).collect()
}

fn listed(dialect: &Dialect) -> Listed {
    let procedures = dialect.procedures.then_some(Via::Procedures);
    let via = procedures.into_iter().chain(dialect.statements.then_some(Via::Statements)).map(Into::into).collect();
    let workloads = known::all().iter().map(|about| about.name).filter(|name| dialect.runs(name));
    // Over ODBC the database name reported by the driver chooses the dialect.
    let chosen = dialect.in_url().filter(|_| dialect.wire != Wire::Odbc);
    let asked = chosen.map(|name| format!("?dialect={name}")).unwrap_or_default();
    let (url, private) = urls(dialect.wire);
    let found = found(dialect.wire);
    let of_wire = match dialect.wire {
        Wire::Odbc | Wire::Virtuoso if !cfg!(feature = "odbc") => "this build has no ODBC".to_owned(),
        Wire::Ydb if !cfg!(feature = "ydb") => "this build has no YDB".to_owned(),
        _ => found.as_ref().err().cloned().unwrap_or_default(),
    };
    Listed {
        engine: dialect.of.to_owned(),
        dialect: dialect.name.to_owned(),
        url: format!("{url}{asked}"),
        // For databases compatible with PostgreSQL or MariaDB, Graymark cannot start a private server.
        private: private.filter(|_| dialect.known_by.is_empty()).map(|url| format!("{url}{asked}")),
        via,
        load: load(dialect.wire).to_owned(),
        workloads: workloads.map(str::to_owned).collect(),
        missing: if dialect.known_by.is_empty() { of_wire } else { String::new() },
        found: if dialect.known_by.is_empty() { found.unwrap_or_default() } else { Vec::new() },
        run: dialect.run.to_owned(),
        sources: dialect.sources.iter().map(|page| (*page).to_owned()).collect(),
    }
}

/// URLs of an existing server, and of a private one.
fn urls(wire: Wire) -> (&'static str, Option<&'static str>) {
    match wire {
        Wire::Sqlite => ("sqlite:FILE", None),
        Wire::Postgres => ("postgres://USER@HOST/DATABASE", Some("postgres:local")),
        Wire::Mysql => ("mysql://USER@HOST/DATABASE", Some("mysql:local")),
        Wire::Virtuoso => ("virtuoso://USER@HOST", Some("virtuoso:local")),
        Wire::Odbc => ("odbc:DSN=NAME", None),
        Wire::Ydb => ("ydb://USER@HOST/DATABASE", None),
    }
}

fn load(wire: Wire) -> &'static str {
    match wire {
        Wire::Sqlite => "one writer",
        Wire::Postgres => "binary COPY",
        Wire::Mysql => "LOAD DATA LOCAL",
        Wire::Virtuoso | Wire::Odbc => "arrays of rows",
        Wire::Ydb => "bulk upsert",
    }
}

/// The servers of a wire on this machine, or why there is none.
fn found(wire: Wire) -> Result<Vec<Found>, String> {
    match wire {
        Wire::Sqlite => {
            let version = sqlite::version().to_owned();
            Ok(vec![Found { version, place: "this program".to_owned(), ..Found::default() }])
        }
        Wire::Postgres => postgres::found().map_err(|why| why.to_string()),
        Wire::Mysql => mariadb::found().map_err(|why| why.to_string()),
        #[cfg(feature = "odbc")]
        Wire::Virtuoso => super::server::virtuoso::found().map_err(|why| why.to_string()),
        _ => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dialect_is_listed_with_the_url_that_chooses_it() {
        let all = engines();
        assert_eq!(all.len(), DIALECTS.len());
        let of = |name: &str| all.iter().find(|one| one.dialect == name).unwrap();
        let cockroach = of("cockroachdb");
        assert_eq!(cockroach.url, "postgres://USER@HOST/DATABASE?dialect=cockroachdb");
        assert!(cockroach.private.is_none() && cockroach.found.is_empty() && cockroach.run.contains("stand-in"));
        let plain = of("postgres-plain");
        assert_eq!(plain.private.as_deref(), Some("postgres:local?dialect=postgres-plain"));
        assert_eq!(plain.via, [Via::Statements]);
        assert!(of("postgres").via.len() == 2 && of("postgres").url.ends_with("DATABASE"));
        assert!(all.iter().all(|one| !one.workloads.is_empty() && !one.via.is_empty()));
    }
}
