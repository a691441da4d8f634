//! The text of a query and its parameters. The statements of a dialect declare their parameters; those that are sent
//! together become one query, in which the parameters and named expressions of each have names of their own.

use std::collections::HashMap;

use ydb_grpc::ydb_proto::r#type::{PrimitiveTypeId, Type as Kind};
use ydb_grpc::ydb_proto::value::Value as Datum;
use ydb_grpc::ydb_proto::{ListType, StructMember, StructType, Type, TypedValue, Value as Wire};

use crate::engine::sql::Arg;
use crate::workload::value::{Money, Rate, Timestamp, Value};

/// The parameters of a query by their names.
pub type Parameters = HashMap<String, TypedValue>;

/// A statement of a dialect, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    parameters: Vec<Parameter>,
    body: &'static str,
    /// Whether it changes rows.
    pub writes: bool,
}

/// A parameter that a statement declares.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Parameter {
    /// With its `$`.
    name: &'static str,
    kind: ParameterKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ParameterKind {
    /// One value.
    One(PrimitiveTypeId),
    /// A row for each place: the members by name, each with the place of its argument behind those before the list.
    Rows(Vec<(&'static str, PrimitiveTypeId, usize)>),
}

impl Statement {
    /// Takes a statement apart. Declarations come first.
    ///
    /// # Errors
    /// What of it cannot be understood.
    pub fn parse(sql: &'static str, writes: bool) -> Result<Statement, String> {
        let mut parameters = Vec::new();
        let mut rest = sql.trim();
        loop {
            if rest.starts_with("--") {
                rest = rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
            } else if let Some(declared) = rest.strip_prefix("DECLARE ") {
                let (declaration, after) = declared.split_once(';').ok_or("a declaration has no end")?;
                parameters.push(Parameter::parse(declaration)?);
                rest = after.trim_start();
            } else {
                return Ok(Statement { parameters, body: rest.trim_end_matches(';'), writes });
            }
        }
    }
}

impl Parameter {
    fn parse(declaration: &'static str) -> Result<Parameter, String> {
        let (name, kind) = declaration.split_once(" AS ").ok_or_else(|| format!("`{declaration}` declares no type"))?;
        let kind = kind.trim();
        let Some(members) = kind.strip_prefix("List<Struct<").and_then(|rest| rest.strip_suffix(">>")) else {
            return Ok(Parameter { name: name.trim(), kind: ParameterKind::One(primitive(kind)?) });
        };
        let member = |(place, member): (usize, &'static str)| {
            let (name, kind) = member.split_once(':').ok_or_else(|| format!("`{member}` is no member"))?;
            Ok::<_, String>((name.trim(), primitive(kind.trim())?, place))
        };
        let mut members: Vec<_> = members.split(',').enumerate().map(member).collect::<Result<_, _>>()?;
        // YQL has the members of a struct in the order of their names.
        members.sort_unstable_by_key(|(name, _, _)| *name);
        Ok(Parameter { name: name.trim(), kind: ParameterKind::Rows(members) })
    }
}

fn primitive(name: &str) -> Result<PrimitiveTypeId, String> {
    match name {
        "Int32" => Ok(PrimitiveTypeId::Int32),
        "Int64" => Ok(PrimitiveTypeId::Int64),
        "Utf8" => Ok(PrimitiveTypeId::Utf8),
        _ => Err(format!("a parameter cannot be of the type {name}")),
    }
}

/// What stands before every query: the directory of its tables, and that columns come in the order in which they are
/// named (<https://ydb.tech/docs/en/yql/reference/syntax/pragma>).
pub fn prefix(directory: &str) -> String {
    format!("PRAGMA TablePathPrefix = \"{directory}\";\nPRAGMA OrderedColumns;\n")
}

/// The query of several statements: first all declarations, then all statements. Names of all but the first have their
/// place behind them.
pub fn compose(prefix: &str, statements: &[&Statement]) -> String {
    let mut query = prefix.to_owned();
    for (place, statement) in statements.iter().enumerate() {
        for Parameter { name, kind } in &statement.parameters {
            let name = named(name, place);
            query.push_str(&match kind {
                ParameterKind::One(kind) => format!("DECLARE {name} AS {};\n", type_name(*kind)),
                ParameterKind::Rows(members) => {
                    let member =
                        |(name, kind, _): &(&str, PrimitiveTypeId, usize)| format!("{name}: {}", type_name(*kind));
                    let members: Vec<String> = members.iter().map(member).collect();
                    format!("DECLARE {name} AS List<Struct<{}>>;\n", members.join(", "))
                }
            });
        }
    }
    for (place, statement) in statements.iter().enumerate() {
        push_renamed(statement.body, place, &mut query);
        query.push_str(";\n");
    }
    query
}

fn type_name(kind: PrimitiveTypeId) -> &'static str {
    match kind {
        PrimitiveTypeId::Int32 => "Int32",
        PrimitiveTypeId::Int64 => "Int64",
        _ => "Utf8",
    }
}

/// A name in the statement at a place.
fn named(name: &str, place: usize) -> String {
    if place == 0 { name.to_owned() } else { format!("{name}__{place}") }
}

/// Appends a statement's text, with its names in the statement at a place.
fn push_renamed(text: &str, place: usize, query: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at + 1);
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
        let (name, behind) = after.split_at(end);
        query.push_str(before);
        // A dollar that names nothing is one of a text.
        query.push_str(&if name.is_empty() { String::new() } else { named(name, place) });
        rest = behind;
    }
    query.push_str(rest);
}

/// Adds the parameters of the statement at a place.
///
/// # Errors
/// If the arguments are not those that it declares.
pub fn bind(
    statement: &Statement,
    place: usize,
    arguments: &[Arg<'_>],
    parameters: &mut Parameters,
) -> Result<(), String> {
    for (at, Parameter { name, kind }) in statement.parameters.iter().enumerate() {
        let value = match kind {
            ParameterKind::One(kind) => {
                let argument = arguments.get(at).and_then(|argument| argument.at(0));
                let value = argument.and_then(|value| datum(value, *kind));
                let value = value.ok_or_else(|| format!("the argument of {name} is missing or of another type"))?;
                TypedValue { r#type: Some(primitive_type(*kind)), value: Some(value) }
            }
            ParameterKind::Rows(members) => rows(members, arguments.get(at..).unwrap_or_default())
                .ok_or_else(|| format!("the columns of {name} are missing, of other types or of several lengths"))?,
        };
        parameters.insert(named(name, place), value);
    }
    Ok(())
}

/// A list of structs from columns; none if they do not fit.
fn rows(members: &[(&'static str, PrimitiveTypeId, usize)], columns: &[Arg<'_>]) -> Option<TypedValue> {
    let places = columns.iter().find_map(Arg::places)?;
    let row = |place: usize| {
        let member = |(_, kind, at): &(&str, PrimitiveTypeId, usize)| datum(columns.get(*at)?.at(place)?, *kind);
        Some(Wire { items: members.iter().map(member).collect::<Option<Vec<_>>>()?, ..Wire::default() })
    };
    let items = (0..places).map(row).collect::<Option<Vec<_>>>()?;
    let members: Vec<(&str, Type)> = members.iter().map(|(name, kind, _)| (*name, primitive_type(*kind))).collect();
    Some(list(&members, items))
}

/// A list of structs with these members.
pub fn list(members: &[(&str, Type)], rows: Vec<Wire>) -> TypedValue {
    let member = |(name, kind): &(&str, Type)| StructMember { name: (*name).to_owned(), r#type: Some(kind.clone()) };
    let row = Type { r#type: Some(Kind::StructType(StructType { members: members.iter().map(member).collect() })) };
    let list = Kind::ListType(Box::new(ListType { item: Some(Box::new(row)) }));
    TypedValue { r#type: Some(Type { r#type: Some(list) }), value: Some(Wire { items: rows, ..Wire::default() }) }
}

/// A type that has no parts.
pub fn primitive_type(kind: PrimitiveTypeId) -> Type {
    Type { r#type: Some(Kind::TypeId(kind.into())) }
}

/// A value of a type; none if it is of another one.
pub fn datum(value: Value<'_>, kind: PrimitiveTypeId) -> Option<Wire> {
    use PrimitiveTypeId as Id;
    let datum = match (value, kind) {
        (Value::Null, _) => Datum::NullFlagValue(0),
        (Value::Int(value), Id::Int32) => Datum::Int32Value(value),
        (Value::Rate(Rate(value)), Id::Int32) => Datum::Int32Value(value),
        (Value::Int(value), Id::Int64) => Datum::Int64Value(value.into()),
        (Value::Money(Money(value)), Id::Int64) => Datum::Int64Value(value),
        (Value::Text(text), Id::Utf8) => Datum::TextValue(text.to_owned()),
        (Value::Time(Timestamp(value)), Id::Timestamp) => Datum::Uint64Value(u64::try_from(value).ok()?),
        _ => return None,
    };
    Some(Wire { value: Some(datum), ..Wire::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "DECLARE $w_id AS Int32;\nSELECT \" $\" || x FROM t WHERE w = $w_id;";
    const MANY: &str = "-- said\nDECLARE $w_id AS Int32;\nDECLARE $rows AS List<Struct<place: Int32, amount:\n    \
        Int64>>;\n$t = (SELECT 1);\nSELECT * FROM AS_TABLE($rows), $t";

    #[test]
    fn statements_together_have_names_of_their_own() {
        let (one, many) = (Statement::parse(ONE, false).unwrap(), Statement::parse(MANY, true).unwrap());
        assert_eq!(
            compose("P;\n", &[&one, &many]),
            "P;\nDECLARE $w_id AS Int32;\nDECLARE $w_id__1 AS Int32;\n\
             DECLARE $rows__1 AS List<Struct<amount: Int64, place: Int32>>;\n\
             SELECT \" $\" || x FROM t WHERE w = $w_id;\n\
             $t__1 = (SELECT 1);\nSELECT * FROM AS_TABLE($rows__1), $t__1;\n"
        );
        assert_eq!(prefix("/local/tpcc").lines().count(), 2);
    }

    #[test]
    fn a_parameter_has_the_declared_type() {
        let many = Statement::parse(MANY, true).unwrap();
        let (places, moneys) = ([4, 5], [Money(7), Money(-8)]);
        let arguments = [Arg::One(Value::Int(3)), Arg::Ints(&places), Arg::Moneys(&moneys)];
        let mut parameters = Parameters::new();
        bind(&many, 2, &arguments, &mut parameters).unwrap();
        let rows = parameters["$rows__2"].value.as_ref().unwrap();
        assert_eq!(parameters["$w_id__2"].value.as_ref().unwrap().value, Some(Datum::Int32Value(3)));
        // In the order of the members' names.
        let second: Vec<_> = rows.items[1].items.iter().map(|item| item.value.clone().unwrap()).collect();
        assert_eq!(second, [Datum::Int64Value(-8), Datum::Int32Value(5)]);
        let wrong = bind(&many, 0, &[Arg::One(Value::Text("x")), Arg::Ints(&places)], &mut parameters);
        assert!(wrong.unwrap_err().contains("$w_id"));
        let short =
            bind(&many, 0, &[Arg::One(Value::Int(1)), Arg::Ints(&places), Arg::Moneys(&moneys[..1])], &mut parameters);
        assert!(short.unwrap_err().contains("$rows"));
        assert!(Statement::parse("DECLARE $x AS Float; SELECT 1", false).is_err());
    }
}
