//! What a database holds of a workload: tables in a directory of its own, beside Graymark's own tables.

use std::collections::BTreeMap;

use ydb_grpc::ydb_proto::scheme::entry::Type as EntryType;
use ydb_grpc::ydb_proto::scheme::v1::scheme_service_client::SchemeServiceClient;
use ydb_grpc::ydb_proto::scheme::{ListDirectoryRequest, ListDirectoryResult, RemoveDirectoryRequest};

use super::connect::{Channel, Target, done, result};
use super::failure::YdbError;
use super::query::{self, Parameters, Statement};
use super::reply::{Gathered, Rows, number, text};
use super::session::{Session, Within, persistently};
use crate::engine::dialect::Dialect;
use crate::engine::sql::{Arg, WorkloadSql, script};
use crate::engine::{DatabaseState, Error, ownership};
use crate::result::Manifest;
use crate::workload::Table;
use crate::workload::value::{Money, Value};

/// Graymark's own tables in a workload's directory.
pub const METADATA: [&str; 2] = ["graymark_manifest", "graymark_parts"];
const FORMAT: u32 = 1;

/// A connection of a command to the directory of a workload.
pub struct Link {
    /// The connection.
    pub channel: Channel,
    session: Session,
    directory: String,
    database: String,
    workload: &'static str,
    dialect: &'static Dialect,
}

impl Link {
    /// Connects.
    ///
    /// # Errors
    /// If there is no session to be had.
    pub async fn open(target: &Target, sql: &WorkloadSql) -> Result<Link, Error> {
        let channel = target.connect().await?;
        let session = target.in_time(persistently(async || Session::open(channel.clone()).await)).await;
        Ok(Link {
            session: session.map_err(|error| target.without_session(&error))?,
            channel,
            directory: target.directory(sql.name),
            database: target.database().to_owned(),
            workload: sql.name,
            dialect: sql.dialect,
        })
    }

    /// The path of a table.
    pub fn path(&self, table: &str) -> String {
        format!("{}/{table}", self.directory)
    }

    /// Executes a query that may be executed twice.
    async fn run(&mut self, text: &str, parameters: &Parameters, within: Within) -> Result<Gathered, YdbError> {
        let text = format!("{}{text};\n", query::prefix(&self.directory));
        persistently(async || {
            let executed = self.session.execute(text.clone(), parameters.clone(), within.clone()).await;
            if let Some(error) = executed.as_ref().err().filter(|error| error.loses_session()) {
                tracing::debug!("a session is lost: {error}");
                self.session = Session::open(self.channel.clone()).await?;
            }
            executed.map(|(gathered, _)| gathered)
        })
        .await
    }

    /// The rows that a query reads from a snapshot.
    ///
    /// # Errors
    /// Those of the query, and an answer without a set of rows.
    pub async fn rows(&mut self, text: &str) -> Result<Rows, YdbError> {
        self.run(text, &Parameters::new(), Within::Snapshot).await?.only()
    }

    /// Reads rows from a snapshot as they come.
    ///
    /// # Errors
    /// Those of the query, and an answer without a set of rows.
    pub async fn stream(&mut self, text: &str, mut on_rows: impl FnMut(Rows)) -> Result<(), YdbError> {
        let text = format!("{}{text};\n", query::prefix(&self.directory));
        let mut parts = self.session.begin(text, Parameters::new(), Within::Snapshot).await?;
        let mut answered = false;
        while let Some(part) = parts.message().await? {
            super::failure::succeeded(part.status, &part.issues)?;
            if part.result_set.is_some() {
                let mut gathered = Gathered::default();
                gathered.take(part)?;
                on_rows(gathered.only()?);
                answered = true;
            }
        }
        if answered { Ok(()) } else { Gathered::default().only().map(|_| ()) }
    }

    /// Changes the schema.
    ///
    /// # Errors
    /// Those of the statement.
    pub async fn define(&mut self, text: &str) -> Result<(), YdbError> {
        self.run(text, &Parameters::new(), Within::Nothing).await.map(|_| ())
    }

    /// A named statement of Graymark's own tables, in a transaction of its own.
    async fn own(&mut self, name: &str, arguments: &[Arg<'_>]) -> Result<Rows, YdbError> {
        let file = self.dialect.own_text("catalog.sql").unwrap_or_default();
        let found = script::statements(file).into_iter().find(|statement| statement.name == name);
        let found = found.ok_or_else(|| YdbError::Unreadable(format!("catalog.sql has no statement `{name}`")))?;
        let reads = found.notes.get("access") == Some(&"read");
        let statement = Statement::parse(found.sql, !reads).map_err(YdbError::Unreadable)?;
        let mut parameters = Parameters::new();
        query::bind(&statement, 0, arguments, &mut parameters).map_err(YdbError::Unreadable)?;
        let text = query::compose("", &[&statement]);
        let within = if reads { Within::Snapshot } else { Within::New { commit: true } };
        let mut gathered = self.run(text.trim_end().trim_end_matches(';'), &parameters, within).await?;
        if reads { gathered.only() } else { Ok(gathered.set(0).unwrap_or_default()) }
    }

    /// What a directory has: names, and whether each is a table.
    async fn list(&self, path: &str) -> Result<BTreeMap<String, EntryType>, YdbError> {
        let list = async || {
            let request = ListDirectoryRequest { operation_params: None, path: path.to_owned() };
            let answer = SchemeServiceClient::new(self.channel.clone()).list_directory(request).await?.into_inner();
            result::<ListDirectoryResult>(answer.operation)
        };
        let found = persistently(list).await?;
        Ok(found.children.into_iter().map(|entry| (entry.name.clone(), entry.r#type())).collect())
    }

    /// Removes the workload's directory if nothing is in it.
    ///
    /// # Errors
    /// If it cannot be looked at, or removed.
    pub async fn remove_directory(&self) -> Result<(), YdbError> {
        let there = match self.list(&self.directory).await {
            Err(error) if error.is_absent() => return Ok(()),
            there => there?,
        };
        if !there.is_empty() {
            return Ok(());
        }
        let request = RemoveDirectoryRequest { operation_params: None, path: self.directory.clone() };
        let answer = SchemeServiceClient::new(self.channel.clone()).remove_directory(request).await?.into_inner();
        done(answer.operation).map(|_| ())
    }

    /// The columns of the workload's tables that are there, as table and column.
    ///
    /// # Errors
    /// If the tables cannot be looked at.
    pub async fn columns(&mut self, sql: &WorkloadSql) -> Result<Vec<(&'static str, String)>, Error> {
        let failed = |error: YdbError| error.of_command("cannot look at the tables");
        let there = self.list(&self.directory).await.map_err(failed)?;
        let mut found = Vec::new();
        for table in sql.tables.iter().map(|table| table.name).filter(|name| there.contains_key(*name)) {
            let rows = self.rows(&format!("SELECT * FROM {table} LIMIT 1")).await.map_err(failed)?;
            found.extend(rows.columns.into_iter().map(|column| (table, column)));
        }
        Ok(found)
    }

    /// What the database holds of the workload.
    ///
    /// # Errors
    /// If it cannot be looked at.
    pub async fn database_state(&mut self, sql: &WorkloadSql) -> Result<DatabaseState, Error> {
        let failed = |error: YdbError| error.of_command("cannot look at the database");
        let look = format!("ydb scheme ls {}", self.directory);
        let foreign = |what: String| Ok(ownership::foreign(&what, &look, "a database of its own: ydb://HOST/DATABASE"));
        match self.list(&self.database).await.map_err(failed)?.get(self.workload) {
            None => return Ok(DatabaseState::Nothing),
            Some(EntryType::Directory) => {}
            Some(_) => return foreign(format!("{} is there, and no directory", self.directory)),
        }
        let there = self.list(&self.directory).await.map_err(failed)?;
        let is_table = |name: &str| there.get(name) == Some(&EntryType::Table);
        let names: Vec<&str> = sql
            .tables
            .iter()
            .map(|table| table.name)
            .chain(METADATA)
            .filter(|name| there.contains_key(*name))
            .collect();
        if !is_table(METADATA[0]) {
            return match names.is_empty() {
                true => Ok(DatabaseState::Nothing),
                false => foreign(format!("the directory {}: {}", self.directory, ownership::unproven(&names))),
            };
        }
        let rows = match self.own("manifests", &[]).await {
            Err(error @ YdbError::Refused { .. }) if !error.may_repeat() => {
                return foreign(format!("its {} is none of Graymark's ({error})", METADATA[0]));
            }
            rows => rows.map_err(failed)?,
        };
        let has_tables = sql.tables.iter().any(|table| there.contains_key(table.name));
        // A load that was killed before its first word.
        if rows.rows.is_empty() && !has_tables {
            return Ok(DatabaseState::Nothing);
        }
        let word = |name| rows.rows.first().and_then(|row| rows.get(row, name)).and_then(text);
        let (Some(workload), Some(manifest), Some(state), 1) =
            (word("workload"), word("manifest"), word("state"), rows.rows.len())
        else {
            return foreign(format!("its {} has {} rows instead of one", METADATA[0], rows.rows.len()));
        };
        if workload != sql.name {
            return Ok(DatabaseState::Other { workload: workload.to_owned() });
        }
        let manifest = match serde_json::from_str::<Manifest>(manifest) {
            Ok(manifest) if manifest.format == FORMAT => manifest,
            Ok(manifest) => {
                return foreign(format!("it was loaded by another Graymark (format {})", manifest.format));
            }
            Err(error) => return foreign(format!("its {} cannot be read: {error}", METADATA[0])),
        };
        let complete = state == "complete";
        if let Some(other) = names.iter().find(|name| !is_table(name)) {
            return foreign(format!("{} is there, and no table", self.path(other)));
        }
        let tables = sql.tables.iter().filter(|table| is_table(table.name));
        let query: Vec<String> = tables
            .map(|table| {
                let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
                format!("SELECT {} FROM {} LIMIT 1", columns.join(", "), table.name)
            })
            .collect();
        if !query.is_empty() {
            match self.run(&query.join(";\n"), &Parameters::new(), Within::Snapshot).await {
                Err(error @ YdbError::Refused { .. }) if !error.may_repeat() => {
                    return foreign(format!("the tables of {} are none that were loaded ({error})", self.directory));
                }
                looked => looked.map(|_| ()).map_err(failed)?,
            }
        }
        let missing = sql.tables.iter().map(|table| table.name).chain(METADATA).find(|name| !is_table(name));
        Ok(match missing {
            Some(missing) if complete => DatabaseState::Damaged {
                why: format!("{} has tables of the workload, but no {missing}", self.directory),
            },
            None if complete => DatabaseState::Complete(manifest),
            _ => DatabaseState::Unfinished(manifest),
        })
    }

    /// Creates Graymark's own tables and those of the workload, so far as they are not there. Each is a change of its
    /// own, and the manifest comes first: what was interrupted here is an unfinished load.
    ///
    /// # Errors
    /// If one of them cannot be created.
    pub async fn create(&mut self, manifest: &Manifest, tables: &[String]) -> Result<(), Error> {
        let failed = |error: YdbError| error.of_command("cannot create the tables");
        let json = serde_json::to_string(manifest)
            .map_err(|error| Error::Usage(format!("the manifest cannot be written: {error}")))?;
        for table in script::statements(self.dialect.own_text("metadata.sql").unwrap_or_default()) {
            self.define(table.sql).await.map_err(failed)?;
        }
        let arguments = [Arg::One(Value::Text(self.workload)), Arg::One(Value::Text(&json))];
        self.own("note_manifest", &arguments).await.map_err(failed)?;
        for table in tables {
            self.define(table).await.map_err(failed)?;
        }
        Ok(())
    }

    /// Marks the load as ended.
    ///
    /// # Errors
    /// If the database does not take it.
    pub async fn complete(&mut self) -> Result<(), Error> {
        let done = self.own("note_complete", &[Arg::One(Value::Text(self.workload))]).await;
        done.map(|_| ()).map_err(|error| error.of_command("cannot end the load"))
    }

    /// Parts of the population that are loaded: table, number, rows.
    ///
    /// # Errors
    /// If they cannot be read.
    pub async fn parts(&mut self) -> Result<Vec<(String, u32, u64)>, Error> {
        let rows = self.own("parts", &[]).await;
        let rows = rows.map_err(|error| error.of_command("cannot read what is loaded already"))?;
        let part = |row| {
            let of = |name| rows.get(row, name);
            let (table, part) = (of("table_name").and_then(text)?, of("number").and_then(number)?);
            let count = of("row_count").and_then(number)?;
            Some((table.to_owned(), u32::try_from(part).ok()?, u64::try_from(count).ok()?))
        };
        let wrong = || Error::Database(format!("{} cannot be read", self.path(METADATA[1])));
        rows.rows.iter().map(|row| part(row).ok_or_else(wrong)).collect()
    }

    /// Notes that a part is loaded.
    ///
    /// # Errors
    /// If the database does not take it.
    pub async fn note_part(&mut self, table: &str, part: u32, rows: u64) -> Result<(), YdbError> {
        let part = i32::try_from(part).unwrap_or(i32::MAX);
        // Counts are of the type of amounts, which is as wide.
        let rows = Money(i64::try_from(rows).unwrap_or(i64::MAX));
        let arguments = [Arg::One(Value::Text(table)), Arg::One(Value::Int(part)), Arg::One(Value::Money(rows))];
        self.own("note_part", &arguments).await.map(|_| ())
    }

    /// Reads the last column of a table, for which YDB has to read all of it. How many rows it has.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn read_all(&mut self, table: &Table) -> Result<u64, Error> {
        let last = table.columns.last().map_or("*", |column| column.name);
        self.counted(table.name, &format!("SELECT COUNT(*) AS found, MAX({last}) AS last FROM {}", table.name)).await
    }

    /// Rows of a table, counted.
    ///
    /// # Errors
    /// If they cannot be counted.
    pub async fn count(&mut self, table: &str) -> Result<u64, Error> {
        self.counted(table, &format!("SELECT COUNT(*) AS found FROM {table}")).await
    }

    async fn counted(&mut self, table: &str, query: &str) -> Result<u64, Error> {
        let what = format!("cannot count {table}");
        let rows = self.rows(query).await;
        let rows = rows.map_err(|error| error.of_command(&what))?;
        let found = rows.rows.first().and_then(|row| number(row.items.first()?)).map(i64::unsigned_abs);
        found.ok_or_else(|| Error::Database(format!("{what}: YDB gave no number")))
    }
}
