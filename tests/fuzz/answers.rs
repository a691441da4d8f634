//! What a friendly server answers, as far as its client has to be led on: columns by their names, and a few rows.

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number of 32 bits.
    Int,
    /// A number of 64 bits.
    Big,
    /// Money or a rate.
    Number,
    /// Text.
    Text,
    /// Date and time.
    Date,
    /// True or false.
    Truth,
    /// Several numbers of 32 bits.
    Ints,
    /// Several amounts.
    Numbers,
    /// Several texts.
    Texts,
}

/// Columns and rows; a value is told as text, of several with blanks between them.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Names and kinds.
    pub columns: Vec<(String, Kind)>,
    /// Values; none is null.
    pub rows: Vec<Vec<Option<String>>>,
}

/// The manifest of a loaded population.
pub fn manifest() -> String {
    r#"{"format":1,"scale":1,"seed":7,"date":1000000000000000,"foreign_keys":false,"parameters":{"c_load":100}}"#
        .to_owned()
}

impl Answer {
    fn one(columns: &[(&str, Kind, &str)]) -> Answer {
        Answer {
            columns: columns.iter().map(|(name, kind, _)| (name.to_string(), *kind)).collect(),
            rows: vec![columns.iter().map(|(_, _, value)| Some(value.to_string())).collect()],
        }
    }

    /// Rows of one text each.
    pub fn texts(values: &[&str]) -> Answer {
        let rows = values.iter().map(|value| vec![Some(value.to_string())]).collect();
        Answer { columns: vec![("name".to_owned(), Kind::Text)], rows }
    }
}

/// The answer to a statement that returns rows; none to one that does not. `places` are those of its columns of
/// arguments, if it has some.
pub fn answer(sql: &str, places: usize) -> Option<Answer> {
    use Kind::{Big, Int, Ints, Number, Numbers, Text, Texts, Truth};
    let lower = sql.to_ascii_lowercase();
    let has = |part: &str| lower.contains(part);
    let found = if has("pg_backend_pid") {
        Answer::one(&[("version", Text, "15.13"), ("pid", Int, "1"), ("said", Text, "PostgreSQL 15.13 on x86_64")])
    } else if has("version()") {
        Answer::one(&[
            ("version", Text, "10.11.6-MariaDB"),
            ("datadir", Text, "/none/"),
            ("pid_file", Text, "/none/pid"),
        ])
    } else if has("@@max_allowed_packet") {
        Answer::one(&[("packet", Text, "16777216"), ("wait", Text, "28800"), ("socket", Text, "/none")])
    } else if has("show session variables") || has("show global status") {
        Answer::one(&[("variable_name", Text, "innodb_page_size"), ("value", Text, "16384")])
    } else if has("relname::text") || has("select table_name from information_schema.tables") {
        let tables =
            ["warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock"];
        let bank = ["branch", "teller", "account", "graymark_manifest", "graymark_parts"];
        Answer::texts(&[&tables[..], &bank[..]].concat())
    } else if has("graymark_manifest") && has("select") {
        let mut found = Answer::one(&[("manifest", Text, &manifest()), ("state", Text, "complete")]);
        if !has("state") {
            found.columns.truncate(1);
            found.rows[0].truncate(1);
        }
        if has("workload") {
            found.columns.insert(0, ("workload".to_owned(), Text));
            found.rows[0].insert(0, Some("tpcc".to_owned()));
        }
        found
    } else if has("select exists") {
        Answer::one(&[("exists", Truth, "1")])
    } else if has("call tpcc.new_order") || has("tpcc.new_order(") {
        let names = ["o_id", "c_last", "c_credit", "o_entry_d", "c_discount", "w_tax", "d_tax"];
        let places: Vec<String> = (1..=places).map(|place| place.to_string()).collect();
        let each = |value: &str| vec![value; places.len()].join(" ");
        let mut found = of_names(&names, 1);
        for (name, kind, value) in [
            ("numbers", Ints, places.join(" ")),
            ("names", Texts, each("AB")),
            ("prices", Numbers, each("12.34")),
            ("quantities", Ints, each("50")),
            ("brands", Texts, each("G")),
        ] {
            found.columns.push((name.to_owned(), kind));
            found.rows[0].push(Some(value));
        }
        found
    } else if has("tpcc.payment(") {
        let address = ["street_1", "street_2", "city", "state", "zip"];
        let customer = ["c_id", "c_first", "c_middle", "c_last"];
        let rest = ["c_phone", "c_since", "c_credit", "c_credit_lim", "c_discount", "c_balance", "c_data"];
        of_names(&[&["h_date"][..], &address, &address, &customer, &address, &rest].concat(), 1)
    } else if has("tpcc.delivery(") {
        Answer::one(&[("d_ids", Ints, "1 2"), ("o_ids", Ints, "3001 3001")])
    } else if has("order_status") {
        of_names(
            &[
                "c_id",
                "c_balance",
                "c_first",
                "c_middle",
                "c_last",
                "o_id",
                "o_entry_d",
                "o_carrier_id",
                "ol_supply_w_id",
                "ol_i_id",
                "ol_quantity",
                "ol_amount",
                "ol_delivery_d",
            ],
            5,
        )
    } else if has("stock_level(") {
        Answer::one(&[("low_stock", Int, "3")])
    } else if has("debit_credit(") || has("debitcredit.tpc(") {
        Answer::one(&[("account_balance", Number, "10.00")])
    } else if has("call new_order") {
        let lines = (1..=places).map(|place| format!("\n{place}\tAB\t12.34\t50\tG")).collect::<String>();
        Answer::texts(&[&format!("3001\tAB\tGC\t2026-01-31 12:00:00.000000\t0.1000\t0.1000\t0.1000{lines}")])
    } else if has("call payment") {
        let address = "AB\tAB\tAB\tAB\t123456789";
        let date = "2026-01-31 12:00:00.000000";
        let customer = format!("1\tAB\tOE\tAB\t{address}\t123\t{date}\tGC\t50000.00\t0.1000\t-10.00\tdata");
        Answer::texts(&[&format!("{date}\t{address}\t{address}\t{customer}")])
    } else if has("call delivery") {
        Answer::texts(&["1 3001 2 3001"])
    } else if has("information_schema.parameters") {
        // As many parameters as the procedure has: the argument is its name, told as a number of places.
        Answer::one(&[("count", Big, &places.to_string())])
    } else {
        let changes =
            ["insert", "update", "delete", "create", "alter", "drop", "call", "begin", "load", "vacuum", "set"];
        let words: &[&str] = match changes.iter().any(|word| lower.trim_start().starts_with(word)) {
            true => &["RETURNING"],
            false => &["RETURNING", "SELECT", "SHOW"],
        };
        let list = words.iter().find_map(|word| Some(&sql[outside(sql, word)? + word.len()..]))?;
        of_list(&list[..outside(list, "FROM").unwrap_or(list.len())], places)
    };
    Some(found)
}

/// Where a word stands outside of all parentheses.
fn outside(sql: &str, word: &str) -> Option<usize> {
    let mut depth = 0;
    sql.char_indices().find_map(|(at, letter)| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        let here = sql.get(at..at + word.len()).is_some_and(|there| there.eq_ignore_ascii_case(word));
        (depth == 0 && here).then_some(at)
    })
}

/// Columns from a list of expressions.
fn of_list(list: &str, places: usize) -> Answer {
    let mut names = vec![String::new()];
    let mut depth = 0;
    for letter in list.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                names.push(String::new());
                continue;
            }
            _ => {}
        }
        names.last_mut().expect("there is one").push(letter);
    }
    let names: Vec<String> = names.iter().map(|name| name.trim().to_ascii_lowercase()).collect();
    of_names(&names.iter().map(String::as_str).collect::<Vec<_>>(), places.max(1))
}

/// Rows of columns with these names, or expressions.
fn of_names(names: &[&str], rows: usize) -> Answer {
    let word = |name: &str| name.rsplit([' ', '.']).next().unwrap_or_default().to_owned();
    let columns: Vec<(String, Kind)> = names.iter().map(|name| (word(name), kind(name, &word(name)))).collect();
    let row = |place: usize| columns.iter().map(|(name, kind)| Some(value(name, *kind, place))).collect();
    Answer { rows: (0..rows).map(row).collect(), columns }
}

fn kind(expression: &str, name: &str) -> Kind {
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.trim_end_matches([')', ';']).ends_with(ending));
    let computed = expression.rsplit_once(" as ").map_or(expression, |(computed, _)| computed);
    if computed.ends_with("::integer") {
        Kind::Int
    } else if computed.contains("timestamp(") || computed.contains("now(") {
        Kind::Date
    } else if ["bigint", "count(", "size("].iter().any(|part| expression.contains(part)) {
        Kind::Big
    } else if ends(&["o_entry_d", "h_date", "c_since", "ol_delivery_d", "time_stamp"]) {
        Kind::Date
    } else if ends(&["tax", "discount", "balance", "credit_lim", "price", "amount"]) {
        Kind::Number
    } else if ends(&[
        "name", "first", "middle", "last", "street_1", "street_2", "city", "state", "zip", "phone", "credit", "data",
        "dist_xx", "value",
    ]) {
        Kind::Text
    } else if expression.contains("sum(") {
        Kind::Big
    } else {
        Kind::Int
    }
}

fn value(name: &str, kind: Kind, place: usize) -> String {
    match (name, kind) {
        ("place", _) => place.to_string(),
        ("d" | "d_id" | "no_d_id" | "o_d_id" | "ol_d_id", _) => (place + 1).to_string(),
        ("c_credit", _) => "GC".to_owned(),
        (_, Kind::Number) => "0.10".to_owned(),
        (_, Kind::Text) => "AB".to_owned(),
        (_, Kind::Date) => "2026-01-31 12:00:00.000000".to_owned(),
        _ => "1".to_owned(),
    }
}
