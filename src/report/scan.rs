//! What a serial read came to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::format::{count, plain, significant};
use crate::result::Identity;
use crate::result::scan::{CacheState, Scanned};
use crate::workload::Workload;
use crate::workload::tpcc::{Tpcc, working_set};

/// A serial read of all tables, or of some before it was interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scan {
    /// `tpcc`, `debitcredit`.
    pub workload: String,
    /// The database.
    pub engine: Identity,
    /// Warehouses, branches.
    pub scale: u32,
    /// What was done to the caches before the first pass.
    pub caches: CacheState,
    /// The first pass, with the caches so, and the second right after it.
    pub passes: Vec<Pass>,
    /// Of TPC-C: the estimated working set of a warehouse in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_set_bytes: Option<u64>,
    /// Whether it was ended before its time.
    pub interrupted: bool,
}

/// One read of all tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pass {
    /// `cold`, or `first` where not all caches could be emptied; then `warm`.
    pub name: String,
    /// The tables in the workload's order.
    pub tables: Vec<(String, Scanned)>,
    /// Bytes that the database's processes had read from storage meanwhile, as the system counts them; none where that
    /// cannot be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_read_bytes: Option<f64>,
}

impl Scan {
    /// Takes in the bytes of tables by their names.
    pub(crate) fn size(&mut self, bytes: &BTreeMap<String, u64>) {
        for (name, table) in self.passes.iter_mut().flat_map(|pass| &mut pass.tables) {
            table.bytes = bytes.get(name).copied();
        }
        let updated = || working_set::UPDATED.iter().map(|name| bytes.get(*name).copied()).sum::<Option<u64>>();
        let of_tpcc = self.workload == Tpcc::NAME && self.scale > 0;
        self.working_set_bytes =
            of_tpcc.then(updated).flatten().map(|bytes| working_set::of(bytes / u64::from(self.scale)));
    }
}

impl Pass {
    /// All tables as one; its bytes are none if those of one table are.
    pub(crate) fn total(&self) -> Scanned {
        let all = || self.tables.iter().map(|(_, table)| table);
        Scanned {
            rows: all().map(|table| table.rows).sum(),
            bytes: all().map(|table| table.bytes).sum(),
            seconds: all().map(|table| table.seconds).sum(),
        }
    }
}

/// A million bytes.
const MB: f64 = 1e6;

/// MB a second of a table's bytes; none where they are not known or nothing was read.
fn mb_per_s(scanned: &Scanned) -> Option<f64> {
    let bytes = scanned.bytes.filter(|bytes| *bytes > 0)? as f64;
    (scanned.seconds > 0.0).then(|| bytes / MB / scanned.seconds)
}

/// As text: a row a table, and what was done to the caches.
pub fn text(scan: &Scan) -> String {
    let known = |figure: Option<f64>| figure.map_or("-".to_owned(), significant);
    let mut rows = vec![vec!["table".to_owned(), "rows".to_owned(), "MB".to_owned()]];
    for pass in &scan.passes {
        rows[0].extend([format!("{} s", pass.name), format!("{} MB/s", pass.name)]);
    }
    let mut add = |name: &str, of: &dyn Fn(&Pass) -> Option<Scanned>| {
        let Some(first) = scan.passes.first().and_then(of) else { return };
        let mut row = vec![plain(name), count(first.rows), known(first.bytes.map(|bytes| bytes as f64 / MB))];
        for pass in &scan.passes {
            let found = of(pass);
            row.push(known(found.map(|found| found.seconds)));
            row.push(known(found.as_ref().and_then(mb_per_s)));
        }
        rows.push(row);
    };
    let names: Vec<&String> =
        scan.passes.first().iter().flat_map(|pass| pass.tables.iter().map(|(name, _)| name)).collect();
    for name in names {
        add(name, &|pass| pass.tables.iter().find(|(table, _)| table == name).map(|(_, table)| *table));
    }
    add("total", &|pass| Some(pass.total()));
    let mut text = super::table::plain_text(&rows);
    text.push('\n');
    let state = if scan.caches.cold { "Cold" } else { "Not cold" };
    text.push_str(&format!("{state}: {}.\n", plain(&scan.caches.how)));
    for pass in &scan.passes {
        let read = match pass.storage_read_bytes {
            Some(bytes) => format!("{} MB, as the system counts for the database's processes", significant(bytes / MB)),
            None => "not known".to_owned(),
        };
        text.push_str(&format!("Read from storage, {}: {read}.\n", pass.name));
    }
    if let Some(bytes) = scan.working_set_bytes {
        let values = working_set::of(working_set::values());
        text.push_str(&format!(
            "Working set, estimated: {} MB a warehouse; its values alone {} MB.\n",
            significant(bytes as f64 / MB),
            significant(values as f64 / MB)
        ));
    }
    if scan.interrupted {
        text.push_str("Partial: the scan was interrupted.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan() -> Scan {
        let table = |rows, bytes, seconds| Scanned { rows, bytes, seconds };
        let cold = vec![
            ("item".to_owned(), table(100_000, Some(9_000_000), 0.5)),
            ("stock".to_owned(), table(200_000, Some(80_000_000), 2.0)),
        ];
        let mut warm = cold.clone();
        warm.iter_mut().for_each(|(_, table)| table.seconds /= 4.0);
        Scan {
            workload: "tpcc".to_owned(),
            engine: Identity { name: "SQLite".to_owned(), version: "3".to_owned(), url: "sqlite:x".to_owned() },
            scale: 2,
            caches: CacheState { cold: true, how: "all gone".to_owned() },
            passes: vec![
                Pass { name: "cold".to_owned(), tables: cold, storage_read_bytes: Some(89e6) },
                Pass { name: "warm".to_owned(), tables: warm, storage_read_bytes: None },
            ],
            working_set_bytes: None,
            interrupted: false,
        }
    }

    #[test]
    fn the_working_set_is_that_of_a_warehouse() {
        let mut scan = scan();
        let sizes = [("stock", 80_000_000), ("customer", 36_000_000), ("item", 9_000_000)]
            .map(|(name, bytes)| (name.to_owned(), bytes));
        scan.size(&sizes.into());
        assert_eq!(scan.working_set_bytes, Some(66_000_000));
        assert!(text(&scan).contains("Working set, estimated: 66.0 MB a warehouse"), "{}", text(&scan));
        scan.size(&BTreeMap::new());
        assert_eq!(scan.working_set_bytes, None);
    }

    #[test]
    fn rates_are_of_the_bytes_on_disk() {
        let text = text(&scan());
        let cells = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(cells("stock"), ["stock", "200,000", "80.0", "2.00", "40.0", "0.500", "160"], "{text}");
        assert_eq!(cells("total"), ["total", "300,000", "89.0", "2.50", "35.6", "0.625", "142"], "{text}");
        assert!(text.contains("Cold: all gone.") && text.contains("storage, cold: 89.0 MB"), "{text}");
    }

    #[test]
    fn what_is_not_known_is_left_open() {
        let mut scan = scan();
        scan.passes[0].tables[1].1.bytes = None;
        scan.passes[1].tables.clear();
        scan.caches.cold = false;
        scan.interrupted = true;
        let text = text(&scan);
        let stock = text.lines().find(|line| line.starts_with("stock")).unwrap();
        assert_eq!(stock.split_whitespace().skip(2).collect::<Vec<_>>(), ["-", "2.00", "-", "-", "-"]);
        assert!(text.contains("Not cold") && text.contains("Partial") && text.contains("warm: not known"), "{text}");
    }
}
