//! A run tells how many of the pages that it asked for were in the database's own buffers.

mod support;

use graymark::record::Record;
use serde_json::Value;
use support::command::succeed;
use support::require_postgres;
use tempfile::TempDir;

fn pages(place: &TempDir, buffers: &str, record: &str) -> Value {
    let data = place.path().join("data");
    let db = format!("postgres:local?data={}&shared_buffers={buffers}&fsync=off", data.display());
    let arguments = ["bench", "--db", &db, "-w", "1", "--seed", "5", "--clients", "2", "--ramp-up", "3s", "--duration", "4s"];
    let done = succeed(place.path(), &[&arguments[..], &["--warm", "scan", "--check", "none", "--out", record, "--json"]].concat());
    let summary = done.json();
    let text = succeed(place.path(), &["report", record]).out;
    assert!(text.contains("hit rates: data"), "{text}");
    let counters = summary["counters"].clone();
    assert!(!counters["notes"].to_string().contains("page reads"), "{counters}");
    counters
}

fn percent(hits: &Value) -> f64 {
    let number = |name: &str| hits[name].as_f64().unwrap_or_else(|| panic!("{name} in {hits}"));
    let computed = 100.0 * (1.0 - number("physical") / number("logical"));
    assert!((number("hit_percent") - computed).abs() < 1e-9, "{hits}");
    computed
}

#[test]
fn hit_rates_are_high_with_the_database_in_the_buffers_and_low_with_hardly_any() {
    let Some(()) = require_postgres() else { return };
    // The server's user has to reach the data directory.
    let place = support::command::open_directory();
    let all = pages(&place, "512MB", "all");
    let few = pages(&place, "2MB", "few");
    let (much, little) = (&all["pages"], &few["pages"]);
    assert_eq!((much["buffer_bytes"].as_u64(), little["buffer_bytes"].as_u64()), (Some(512 << 20), Some(2 << 20)));
    let database = much["database_bytes"].as_u64().unwrap();
    assert!((60 << 20..300 << 20).contains(&database), "one warehouse has about 100 MB, not {database}");

    // All that is in the buffers misses nothing but the pages that tables and indexes grow by.
    for kind in ["data", "index", "overall"] {
        let (much, little) = (percent(&much[kind]), percent(&little[kind]));
        assert!(much > 98.0 && little < much - 0.5, "{kind}: {much} and {little}");
    }
    let misses = much["overall"]["physical"].as_u64().unwrap();
    let grown = much["grown_pages"].as_u64().unwrap();
    assert!(misses <= 2 * grown + 100, "{misses} misses, {grown} new pages: {much}");
    // Rows of stock are drawn from everywhere, those of warehouse are always the same few pages.
    let of = |table: &str| percent(&little["tables"][table]["data"]);
    assert!(of("stock") < 80.0 && of("warehouse") > of("stock"), "{little}");
    let sum = |part: &str| little["data"][part].as_u64().unwrap() + little["index"][part].as_u64().unwrap();
    assert_eq!(
        (sum("logical"), sum("physical")),
        ["logical", "physical"].map(|part| little["overall"][part].as_u64().unwrap()).into()
    );

    // What two MB do not hold lies in the page cache, unless the machine is short of memory.
    let cached = few["page_cache_percent"].as_f64();
    assert!(cfg!(not(target_os = "linux")) || cached.is_some_and(|percent| (0.0..=100.0).contains(&percent)), "{few}");
    let record = Record::open(&place.path().join("few")).unwrap();
    assert_eq!(record.events.iter().filter(|event| format!("{event:?}").starts_with("PagesRead")).count(), 2);
}
