//! Queries of Graymark's in YQL, carried out by SQLite for the stand-in of YDB.

use std::collections::{BTreeMap, HashMap};

use graymark::engine::dialect::{Dialect, Wire};
use graymark::engine::sql::script;
use rusqlite::types::{ToSqlOutput, Value as Sqlite};
use ydb_grpc::ydb_proto::status_ids::StatusCode;
use ydb_grpc::ydb_proto::r#type::{PrimitiveTypeId as Id, Type as Kind};
use ydb_grpc::ydb_proto::value::Value as Datum;
use ydb_grpc::ydb_proto::{Column, ResultSet, Type, TypedValue, Value};

/// What a query could not do.
type Refusal = (StatusCode, String);

/// A statement of a transaction: its name, its declarations, and what SQLite does instead.
struct Known {
    name: &'static str,
    /// Names and types, as they are declared.
    declared: Vec<(String, String)>,
    body: String,
    sqlite: String,
}

/// The statements of transactions, by workload.
pub struct Statements(BTreeMap<&'static str, Vec<Known>>);

impl Statements {
    pub fn new() -> Statements {
        let of = |wire, workload| Dialect::choose(wire, None).unwrap().text(workload, "statements.sql").unwrap();
        let known = |workload: &'static str| {
            let sqlite: HashMap<&str, &str> =
                script::statements(of(Wire::Sqlite, workload)).into_iter().map(|one| (one.name, one.sql)).collect();
            let statements = script::statements(of(Wire::Ydb, workload)).into_iter();
            let known = statements.map(|one| {
                let (declared, body) = declarations(&words(one.sql));
                Known { name: one.name, declared, body, sqlite: sqlite[one.name].to_owned() }
            });
            (workload, known.collect())
        };
        Statements(["tpcc", "debitcredit"].into_iter().map(known).collect())
    }
}

/// A query that was read.
pub struct Read {
    pub directory: String,
    pub what: Asked,
}

/// What a query asks for.
pub enum Asked {
    /// Statements of transactions: the workload and their numbers.
    Statements(Vec<(&'static str, usize)>),
    /// Anything else.
    Plain(String),
}

/// A text with one blank between its words, and without comments.
fn words(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("--"));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// The declarations at the beginning of a text, and the rest.
fn declarations(text: &str) -> (Vec<(String, String)>, String) {
    let (mut declared, mut rest) = (Vec::new(), text.trim());
    while let Some((declaration, after)) = rest.strip_prefix("DECLARE ").and_then(|rest| rest.split_once(';')) {
        let (name, kind) = declaration.split_once(" AS ").unwrap();
        declared.push((name.to_owned(), kind.to_owned()));
        rest = after.trim_start();
    }
    (declared, rest.trim_end_matches(';').trim_end().to_owned())
}

/// A text without the places behind its names.
fn without_places(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at + 1);
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
        let (name, behind) = after.split_at(end);
        plain.push_str(before);
        plain.push_str(name.split_once("__").map_or(name, |(name, _)| name));
        rest = behind;
    }
    plain + rest
}

/// Reads a query.
pub fn read(text: &str, statements: &Statements) -> Read {
    let prefix = "PRAGMA TablePathPrefix = \"";
    let (directory, rest) = text.strip_prefix(prefix).and_then(|rest| rest.split_once("\";\n")).expect(text);
    let rest = rest.strip_prefix("PRAGMA OrderedColumns;\n").expect(text);
    let workload = directory.rsplit_once('/').unwrap().1;
    let (workload, known) = statements.0.iter().find(|(name, _)| **name == workload).expect(text);
    let (_, body) = declarations(&words(rest));
    let body = without_places(&body);
    let (mut found, mut left) = (Vec::new(), body.as_str());
    while let Some(number) = known.iter().position(|one| left.starts_with(&one.body)) {
        found.push((*workload, number));
        left = left[known[number].body.len()..].trim_start_matches([';', ' ']);
    }
    let what = if left.is_empty() && !found.is_empty() {
        Asked::Statements(found)
    } else {
        Asked::Plain(rest.trim().trim_end_matches(';').to_owned())
    };
    Read { directory: directory.to_owned(), what }
}

impl Read {
    /// The names of its statements.
    pub fn names(&self, statements: &Statements) -> Vec<&'static str> {
        match &self.what {
            Asked::Statements(found) => {
                found.iter().map(|(workload, number)| statements.0[workload][*number].name).collect()
            }
            Asked::Plain(_) => Vec::new(),
        }
    }

    /// Carries it out.
    pub fn work(
        &self,
        rows: &rusqlite::Connection,
        parameters: &HashMap<String, TypedValue>,
        statements: &Statements,
    ) -> Result<Vec<ResultSet>, Refusal> {
        match &self.what {
            Asked::Statements(found) => {
                let set = |(place, (workload, number)): (usize, &(&str, usize))| {
                    transaction_statement(rows, &statements.0[workload][*number], place, parameters)
                };
                found.iter().enumerate().map(set).collect()
            }
            Asked::Plain(text) => plain(rows, text, parameters),
        }
    }
}

fn refused(error: rusqlite::Error) -> Refusal {
    match &error {
        rusqlite::Error::SqliteFailure(failure, _) if failure.code == rusqlite::ErrorCode::ConstraintViolation => {
            (StatusCode::PreconditionFailed, format!("Conflict with existing key: {error}"))
        }
        _ => (StatusCode::GenericError, error.to_string()),
    }
}

/// A type by its name in a declaration or a `CREATE TABLE`.
fn kind(name: &str) -> Id {
    match name {
        "Int32" => Id::Int32,
        "Int64" => Id::Int64,
        "Uint64" => Id::Uint64,
        "Timestamp" => Id::Timestamp,
        "Utf8" => Id::Utf8,
        other => panic!("no type {other}"),
    }
}

fn is(found: Option<&Type>, name: &str) -> bool {
    found.and_then(|found| found.r#type.as_ref()) == Some(&Kind::TypeId(kind(name).into()))
}

/// A value of exactly the type that was declared.
fn sqlite(value: &Value) -> Sqlite {
    match value.value.as_ref().expect("a value") {
        Datum::NullFlagValue(_) => Sqlite::Null,
        Datum::Int32Value(value) => Sqlite::Integer((*value).into()),
        Datum::Int64Value(value) => Sqlite::Integer(*value),
        Datum::Uint64Value(value) => Sqlite::Integer(i64::try_from(*value).unwrap()),
        Datum::TextValue(text) => Sqlite::Text(text.clone()),
        other => panic!("{other:?}"),
    }
}

fn wrong(name: &str) -> Refusal {
    (StatusCode::BadRequest, format!("Parameter {name} is missing or of another type"))
}

/// The arguments of a statement, one row for each of its places.
fn arguments(
    known: &Known,
    place: usize,
    parameters: &HashMap<String, TypedValue>,
) -> Result<Vec<Vec<Sqlite>>, Refusal> {
    let mut common = Vec::new();
    for (name, declared) in &known.declared {
        let sent = if place == 0 { name.clone() } else { format!("{name}__{place}") };
        let TypedValue { r#type, value } = parameters.get(&sent).ok_or_else(|| wrong(&sent))?;
        let value = value.as_ref().ok_or_else(|| wrong(&sent))?;
        let Some(members) = declared.strip_prefix("List<Struct<").and_then(|rest| rest.strip_suffix(">>")) else {
            if !is(r#type.as_ref(), declared) {
                return Err(wrong(&sent));
            }
            common.push(sqlite(value));
            continue;
        };
        let Some(Kind::ListType(list)) = r#type.as_ref().and_then(|found| found.r#type.as_ref()) else {
            return Err(wrong(&sent));
        };
        let Some(Kind::StructType(of)) = list.item.as_ref().and_then(|item| item.r#type.as_ref()) else {
            return Err(wrong(&sent));
        };
        // By their names, for the order in a struct is that of names.
        assert!(of.members.is_sorted_by_key(|member| member.name.clone()), "{of:?}");
        let members: Option<Vec<usize>> = members
            .split(',')
            .map(|member| {
                let (name, declared) = member.trim().split_once(": ").unwrap();
                of.members.iter().position(|one| one.name == name && is(one.r#type.as_ref(), declared))
            })
            .collect();
        let members = members.ok_or_else(|| wrong(&sent))?;
        let row = |row: &Value| {
            let own = members.iter().map(|at| sqlite(&row.items[*at]));
            common.iter().cloned().chain(own).collect()
        };
        return Ok(value.items.iter().map(row).collect());
    }
    Ok(vec![common])
}

fn transaction_statement(
    rows: &rusqlite::Connection,
    known: &Known,
    place: usize,
    parameters: &HashMap<String, TypedValue>,
) -> Result<ResultSet, Refusal> {
    let mut statement = rows.prepare_cached(&known.sqlite).map_err(refused)?;
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut found = Vec::new();
    let mut affected = 0;
    for arguments in arguments(known, place, parameters)? {
        let used = statement.parameter_count();
        let mut each =
            statement.query(rusqlite::params_from_iter(arguments.into_iter().take(used))).map_err(refused)?;
        while let Some(row) = each.next().map_err(refused)? {
            found.push(encoded(row, &columns));
        }
        drop(each);
        affected += rows.changes();
    }
    if columns.is_empty() {
        let affected = Value { value: Some(Datum::Uint64Value(affected)), ..Value::default() };
        return Ok(set(&["affected".to_owned()], vec![Value { items: vec![affected], ..Value::default() }]));
    }
    Ok(set(&columns, found))
}

fn set(columns: &[String], rows: Vec<Value>) -> ResultSet {
    let column = |name: &String| Column { name: name.clone(), ..Default::default() };
    ResultSet { columns: columns.iter().map(column).collect(), rows, ..Default::default() }
}

/// Columns of dates, which YDB gives without a sign.
const DATES: [&str; 5] = ["h_date", "c_since", "o_entry_d", "ol_delivery_d", "time_stamp"];

fn encoded(row: &rusqlite::Row<'_>, columns: &[String]) -> Value {
    let item = |(at, name): (usize, &String)| {
        let datum = match row.get::<_, Sqlite>(at).unwrap() {
            Sqlite::Null => Datum::NullFlagValue(0),
            Sqlite::Integer(value) if DATES.contains(&name.as_str()) => Datum::Uint64Value(value as u64),
            Sqlite::Integer(value) => i32::try_from(value).map_or(Datum::Int64Value(value), Datum::Int32Value),
            Sqlite::Text(text) => Datum::TextValue(text),
            other => panic!("{other:?}"),
        };
        Value { value: Some(datum), ..Value::default() }
    };
    Value { items: columns.iter().enumerate().map(item).collect(), ..Value::default() }
}

/// A parameter of a plain query.
struct Bound(Sqlite);

impl rusqlite::ToSql for Bound {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Owned(self.0.clone()))
    }
}

fn plain(
    rows: &rusqlite::Connection,
    text: &str,
    parameters: &HashMap<String, TypedValue>,
) -> Result<Vec<ResultSet>, Refusal> {
    let (declared, _) = declarations(&words(text));
    for (name, declared) in &declared {
        let sent = parameters.get(name).ok_or_else(|| wrong(name))?;
        if !is(sent.r#type.as_ref(), declared) {
            return Err(wrong(name));
        }
    }
    let of_body = |line: &&str| !line.starts_with("DECLARE ") && !line.starts_with("--");
    let body = text.lines().filter(of_body).collect::<Vec<_>>().join("\n");
    if let Some(refusal) = missing_index(rows, &body) {
        return Err(refusal);
    }
    let mut sets = Vec::new();
    for sql in translated(&body) {
        let mut statement = rows.prepare(&sql).map_err(|error| {
            let (_, why) = refused(error);
            (StatusCode::SchemeError, format!("{why} in {sql}"))
        })?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        for (name, _) in &declared {
            if let Some(at) = statement.parameter_index(name).map_err(refused)? {
                let value = sqlite(parameters[name].value.as_ref().unwrap());
                statement.raw_bind_parameter(at, Bound(value)).map_err(refused)?;
            }
        }
        let mut each = statement.raw_query();
        let mut found = Vec::new();
        while let Some(row) = each.next().map_err(refused)? {
            found.push(encoded(row, &columns));
        }
        if !columns.is_empty() {
            sets.push(set(&columns, found));
        }
    }
    Ok(sets)
}

/// The rows that a plain query without parameters returns, as texts.
pub fn texts(rows: &rusqlite::Connection, text: &str) -> Vec<String> {
    let sets = plain(rows, text, &HashMap::new()).unwrap_or_else(|why| panic!("{why:?}"));
    let shown = |row: &Value| row.items.iter().map(|item| format!("{:?}", item.value)).collect::<Vec<_>>().join(" ");
    sets.iter().flat_map(|set| &set.rows).map(shown).collect()
}

/// An index that a query names and that is not there.
fn missing_index(rows: &rusqlite::Connection, body: &str) -> Option<Refusal> {
    let index = body.split_once(" VIEW ")?.1.split_whitespace().next()?;
    let there = "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = ?1";
    let there: i64 = rows.query_row(there, [index], |row| row.get(0)).unwrap();
    (there == 0).then(|| (StatusCode::SchemeError, format!("no index {index}")))
}

/// The words of YQL that Graymark's plain queries have, in SQLite's.
fn translated(text: &str) -> Vec<String> {
    let (mut named, mut rest) = (Vec::new(), text.trim());
    // Named expressions become common table expressions.
    while let Some((name, after)) = rest.strip_prefix('$').and_then(|rest| rest.split_once(" = (")) {
        let end = closing(after);
        named.push((name.to_owned(), after[..end].to_owned()));
        rest = after[end + 1..].trim_start_matches([';', '\n']);
    }
    let expressions: Vec<String> = named.iter().map(|(name, text)| format!("{name} AS ({text})")).collect();
    let with = if named.is_empty() { String::new() } else { format!("WITH {} ", expressions.join(", ")) };
    let words = |text: &str| {
        let mut text = text.replace("UPSERT INTO", "INSERT OR REPLACE INTO");
        for (name, _) in &named {
            text = text.replace(&format!("= ${name}"), &format!("= (SELECT * FROM {name})"));
            text = text.replace(&format!("${name}"), name);
        }
        without_suffixes(&anti_join(&definition(&text)))
    };
    let statements = rest.split(";\n").map(str::trim).filter(|text| !text.is_empty());
    statements.map(|text| words(&format!("{with}{text}"))).collect()
}

/// Where a bracket that is open at the beginning is closed.
fn closing(text: &str) -> usize {
    let mut depth = 1;
    let end = text.char_indices().find(|(_, letter)| {
        depth += match letter {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0
    });
    end.unwrap().0
}

/// `LEFT ONLY JOIN`, whose condition stands on its line.
fn anti_join(text: &str) -> String {
    let line = |line: &str| match line.split_once("LEFT ONLY JOIN ") {
        Some((before, join)) => {
            let (table, condition) = join.split_once(" ON ").unwrap();
            format!("{before}JOIN (SELECT 1) ON NOT EXISTS (SELECT 1 FROM {table} WHERE {condition})")
        }
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Changes of the schema.
fn definition(text: &str) -> String {
    if text.starts_with("CREATE TABLE") {
        let (table, _) = text.rsplit_once(") WITH (").map_or((text, ""), |(table, settings)| (table, settings));
        let table = if table.len() == text.len() { table.to_owned() } else { format!("{table})") };
        let table = table.replace("Utf8", "TEXT").replace("Timestamp", "INTEGER");
        // What YQL's statements give, SQLite's leave to defaults.
        let table =
            table.replace("Uint64    NOT NULL", "INTEGER NOT NULL DEFAULT (abs(random()) | 0x4000000000000000)");
        return table.replace("time_stamp INTEGER NOT NULL", "time_stamp INTEGER NOT NULL DEFAULT 1");
    }
    match text.strip_prefix("ALTER TABLE ").and_then(|rest| rest.split_once(" ADD INDEX ")) {
        Some((table, index)) => {
            let (name, columns) = index.split_once(" GLOBAL ON ").unwrap();
            let columns = columns.split(" COVER").next().unwrap();
            format!("CREATE INDEX {name} ON {table} {columns}")
        }
        None => text.split(" VIEW ").next().unwrap().to_owned(),
    }
}

/// Numbers and texts without the letters behind them that say their types.
fn without_suffixes(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let at = |place: usize| letters.get(place).copied().unwrap_or(' ');
    let kept = |(place, letter): (usize, &char)| {
        let behind_number = place > 0 && at(place - 1).is_ascii_digit() && !at(place + 1).is_ascii_alphanumeric();
        let of_number = *letter == 'l' && behind_number;
        let of_text = *letter == 'u' && place > 0 && at(place - 1) == '"';
        (!of_number && !of_text).then_some(if *letter == '"' { '\'' } else { *letter })
    };
    letters.iter().enumerate().filter_map(kept).collect()
}

/// The tables that there are.
pub fn tables(rows: &rusqlite::Connection) -> Vec<String> {
    let mut names = rows.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    names.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// A bulk upsert: every column has to be there, of its type, and of an optional one exactly where it may be null.
pub fn upsert(rows: &rusqlite::Connection, table: &str, sent: &TypedValue) -> Result<(), String> {
    let Some(Kind::ListType(list)) = sent.r#type.as_ref().and_then(|found| found.r#type.as_ref()) else {
        return Err("no list".to_owned());
    };
    let Some(Kind::StructType(of)) = list.item.as_ref().and_then(|item| item.r#type.as_ref()) else {
        return Err("no structs".to_owned());
    };
    let indexes = "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?1 AND sql IS NOT NULL";
    if rows.query_row(indexes, [table], |row| row.get::<_, i64>(0)).unwrap() > 0 {
        return Err("Only async-indexed tables are supported by BulkUpsert".to_owned());
    }
    let mut columns = rows.prepare("SELECT name, type, \"notnull\" FROM pragma_table_info(?1)").unwrap();
    let columns: BTreeMap<String, (String, bool)> = columns
        .query_map([table], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    if columns.len() != of.members.len() {
        return Err(format!("{} columns of {} were sent", of.members.len(), columns.len()));
    }
    for member in &of.members {
        let (kind, not_null) = columns.get(&member.name).ok_or_else(|| format!("no column {}", member.name))?;
        let sent = member.r#type.as_ref().and_then(|sent| sent.r#type.as_ref());
        let (plain, optional) = match sent {
            Some(Kind::OptionalType(of)) => (of.item.as_ref().and_then(|item| item.r#type.clone()), true),
            plain => (plain.cloned(), false),
        };
        let fits = match (kind.as_str(), plain) {
            ("TEXT", Some(Kind::TypeId(id))) => id == i32::from(Id::Utf8),
            ("Int32", Some(Kind::TypeId(id))) => id == i32::from(Id::Int32),
            ("Int64", Some(Kind::TypeId(id))) => id == i32::from(Id::Int64),
            ("INTEGER", Some(Kind::TypeId(id))) => [i32::from(Id::Timestamp), i32::from(Id::Uint64)].contains(&id),
            _ => false,
        };
        if !fits || optional == *not_null {
            return Err(format!("the column {} is {kind}, not {:?}", member.name, member.r#type));
        }
    }
    let names: Vec<&str> = of.members.iter().map(|member| member.name.as_str()).collect();
    let places = vec!["?"; names.len()].join(", ");
    let insert = format!("INSERT OR REPLACE INTO {table} ({}) VALUES ({places})", names.join(", "));
    rows.execute_batch("SAVEPOINT bulk").unwrap();
    let mut insert = rows.prepare_cached(&insert).unwrap();
    for row in &sent.value.as_ref().unwrap().items {
        insert.execute(rusqlite::params_from_iter(row.items.iter().map(sqlite))).map_err(|error| error.to_string())?;
    }
    rows.execute_batch("RELEASE bulk").unwrap();
    Ok(())
}
