//! The report of a serial read.

use super::format::{count, plain, significant};
use super::html;
use crate::result::scan::{Pass, Scan, Scanned};
use crate::workload::tpcc::working_set;

/// Bytes of a megabyte.
const MB: f64 = 1e6;

/// As text: a row for each table, and the state of the caches.
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
            row.push(known(found.as_ref().and_then(Scanned::mb_per_s)));
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
            Some(bytes) => {
                format!("{} MB, by the system's counters of the database's processes", significant(bytes / MB))
            }
            None => "unknown".to_owned(),
        };
        text.push_str(&format!("Read from storage, {}: {read}.\n", pass.name));
    }
    if let Some(bytes) = scan.working_set_bytes {
        let values = working_set::of(working_set::values());
        text.push_str(&format!(
            "Estimated working set: {} MB per warehouse; its values alone {} MB.\n",
            significant(bytes as f64 / MB),
            significant(values as f64 / MB)
        ));
    }
    if !scan.sizes_unknown.is_empty() {
        text.push_str(&format!("Sizes of the tables are unknown: {}.\n", plain(&scan.sizes_unknown)));
    }
    if scan.interrupted {
        text.push_str("Partial: the scan was interrupted.\n");
    }
    text
}

/// As an HTML page.
pub(super) fn page(scan: &Scan) -> Result<String, minijinja::Error> {
    let title = format!(
        "Serial read of {} on {} {}",
        plain(&scan.workload),
        plain(&scan.engine.name),
        plain(&scan.engine.version)
    );
    html::page(include_str!("scan.html"), minijinja::context! { title, report => text(scan) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Identity;
    use crate::result::scan::CacheState;

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
            sizes_unknown: String::new(),
            interrupted: false,
        }
    }

    #[test]
    fn the_working_set_is_that_of_a_warehouse() {
        let found = Scan { working_set_bytes: Some(66_000_000), ..scan() };
        assert!(text(&found).contains("Estimated working set: 66.0 MB per warehouse"), "{}", text(&found));
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
    fn unknown_figures_are_left_out() {
        let mut scan = scan();
        scan.passes[0].tables[1].1.bytes = None;
        scan.passes[1].tables.clear();
        scan.caches.cold = false;
        scan.interrupted = true;
        let text = text(&scan);
        let stock = text.lines().find(|line| line.starts_with("stock")).unwrap();
        assert_eq!(stock.split_whitespace().skip(2).collect::<Vec<_>>(), ["-", "2.00", "-", "-", "-"]);
        assert!(text.contains("Not cold") && text.contains("Partial") && text.contains("warm: unknown"), "{text}");
    }
}
