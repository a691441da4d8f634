//! Records of runs: every file of one, and whatever is made from a record.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use graymark::judge;
use graymark::judge::price::PriceList;
use graymark::record::Record;
use graymark::report::model::ReportModel;
use graymark::report::systems::Systems;
use graymark::report::{self, text};
use graymark::result::format::file;
use graymark::result::summary::Summary;
use graymark::study::compare::compare;
use tempfile::TempDir;

use crate::edit::edited;
use crate::plans::PRICES;
use crate::watch::{Target, is_one_of_sixteen, put};

/// Short runs: TPC-C without think time and with it, and DebitCredit in stages.
const RUNS: [&str; 3] = [
    "tpcc --clients 2 --duration 1s",
    "tpcc --pace standard*0.01 --duration 2s",
    "debitcredit --stages 1,2 --stage-duration 1s",
];

/// Their records.
static RECORDS: LazyLock<(TempDir, Vec<PathBuf>)> = LazyLock::new(|| {
    let place = tempfile::tempdir().unwrap();
    let price = place.path().join("price.toml");
    fs::write(&price, PRICES[0]).unwrap();
    let begin = |(number, run): (usize, &&str)| {
        let record = place.path().join(format!("record{number}"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_graymark"));
        command.arg("run").args(run.split(' ')).args([
            "--db",
            "simulated:service=1ms",
            "--ramp-up",
            "0s",
            "--check",
            "none",
        ]);
        command.arg("--price").arg(&price).arg("--out").arg(&record).env_remove("GRAYMARK_DB").stdout(Stdio::null());
        (command.stderr(Stdio::piped()).spawn().unwrap(), record)
    };
    let running: Vec<_> = RUNS.iter().enumerate().map(begin).collect();
    let ended = running.into_iter().map(|(child, record)| {
        let output = child.wait_with_output().unwrap();
        let reported = String::from_utf8_lossy(&output.stderr);
        assert!(record.join(file::SUMMARY).is_file(), "{reported}");
        record
    });
    let records = ended.collect();
    (place, records)
});

/// The summary of a run with another headline figure.
pub fn summary(figure: f64) -> Summary {
    let record = Record::open(&RECORDS.1[0]).unwrap();
    Summary { new_orders_per_minute: Some(figure), ..record.summary.unwrap() }
}

/// Files that are read.
const READ: [&str; 9] = [
    file::HEADER,
    file::PLAN,
    file::ENVIRONMENT,
    file::LOAD,
    file::SERIES,
    file::COUNTERS,
    file::HISTOGRAMS,
    file::EVENTS,
    file::SUMMARY,
];

/// A load's report, which a run that did not load does not have.
const LOADED: &str = r#"{"seconds":12.5,"phases":[["schema",0.5],["rows",11.0],["keys",1.0]],
"tables":[["warehouse",1],["item",100000]],"rows":100001,"resumed_rows":0,"bytes":12345678,"database_bytes":23456789}"#;

/// An input: the number of the record, the name of the file and, after a line's end, what stands in it.
fn seeds() -> Vec<Vec<u8>> {
    let of_record = |(number, record): (usize, &PathBuf)| {
        let files = READ.iter().filter_map(move |name| Some((name, fs::read(record.join(name)).ok()?)));
        files.map(move |(name, bytes)| [format!("{number} {name}\n").as_bytes(), &bytes].concat()).collect::<Vec<_>>()
    };
    let loaded = format!("0 {}\n{LOADED}", file::LOAD).into_bytes();
    RECORDS.1.iter().enumerate().flat_map(of_record).chain([loaded]).collect()
}

#[test]
fn records() {
    let place = tempfile::tempdir().unwrap();
    // Copies that are changed and mended again.
    let copies: Vec<PathBuf> = (0..RUNS.len()).map(|number| place.path().join(number.to_string())).collect();
    let mut originals = Vec::new();
    for (number, (from, to)) in RECORDS.1.iter().zip(&copies).enumerate() {
        fs::create_dir(to).unwrap();
        for name in READ {
            if let Ok(bytes) = fs::read(from.join(name)) {
                put(&to.join(name), &bytes);
                originals.push((number, name, bytes));
            }
        }
    }
    let whole: Vec<Record> = RECORDS.1.iter().map(|record| Record::open(record).unwrap()).collect();
    let prices = PriceList::parse(PRICES[0]).unwrap();
    let words = [
        "\"format\":",
        "\"status\":\"running\"",
        "\"status\":\"partial\"",
        "\"transactions\":",
        "new_order",
        "payment",
        "delivery",
        "ramp_up",
        "measurement",
        "wind_down",
        "\"event\":\"session_lost\"",
        "\"event\":\"stage_began\"",
        "\"event\":\"maintained\"",
        "\"completed\":",
        "\"errors\":",
        "\"response_ms\":",
        "\"pacing\":",
        "\"stages\":",
        "\"counters\":",
        "\"dips\":",
        "\"peaks\":",
        "\"price\":",
        "\"per_metric\":",
        "\"verdict\":",
        "\"interval_s\":",
        "\"consistency\":",
        "Tag=",
        "#[StartTime:",
        "HISTFAAAA",
    ];
    let seeds: Vec<Vec<u8>> = seeds();
    let inputs = edited(&seeds, &words);
    Target { name: "records", inputs: 400, seeds }.run(&inputs, |input| {
        let Some((number, name, content)) = parts(input) else { return false };
        let copy = &copies[number];
        let original = originals.iter().find(|(of, file, _)| (*of, *file) == (number, name));
        let _mended = Mended { file: copy.join(name), original: original.map(|(_, _, bytes)| bytes) };
        put(&copy.join(name), content);
        // Pages with charts take most of the time.
        let page = is_one_of_sixteen(input);
        Record::open(copy).is_ok_and(|record| {
            use_record(record, &whole, &prices);
            !page || report::write(copy).is_ok()
        })
    });
}

/// A file of a copy, which is as it was when this is dropped, after a panic, too: else every input after it would seem
/// to be wrong.
struct Mended<'a> {
    file: PathBuf,
    original: Option<&'a Vec<u8>>,
}

impl Drop for Mended<'_> {
    fn drop(&mut self) {
        match self.original {
            Some(bytes) => put(&self.file, bytes),
            None => fs::remove_file(&self.file).unwrap(),
        }
    }
}

/// An input's parts; none unless it says which file of which record it is.
fn parts(input: &[u8]) -> Option<(usize, &'static str, &[u8])> {
    let end = input.iter().position(|byte| *byte == b'\n')?;
    let (number, name) = std::str::from_utf8(&input[..end]).ok()?.split_once(' ')?;
    let number = number.parse().ok().filter(|number| *number < RUNS.len())?;
    Some((number, READ.into_iter().find(|known| *known == name)?, &input[end + 1..]))
}

/// All that is made from a record besides its page.
fn use_record(mut record: Record, whole: &[Record], prices: &PriceList) {
    let _ = text::render(&ReportModel::of(&record), Some("page.html"));
    if let Some(summary) = &mut record.summary {
        let _ = prices.of(summary);
        summary.verdict = judge::judge(summary);
        let _ = text::render(&ReportModel::of(&record), None);
    }
    if let Ok(beside) = Systems::of([&record].into_iter().chain(whole).map(Ok::<_, ()>)) {
        let _ = (beside.text(), beside.markdown(), beside.csv(), beside.latex());
    }
    for other in whole {
        let one = std::slice::from_ref(&record);
        for (a, b) in [(one, std::slice::from_ref(other)), (std::slice::from_ref(other), one)] {
            if let Ok(comparison) = compare(a, b, true) {
                let _ = (comparison.sentence(), comparison.slower_by(1.0));
            }
        }
    }
}
