//! `graymark compare`: two records, or two sets of them.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{Ended, say};
use crate::engine::Error;
use crate::record::Record;
use crate::report::alarms;
use crate::report::format::significant;
use crate::report::text::ALARM;
use crate::result::format::file;
use crate::study::compare::{self, Comparison, Side};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  graymark compare before after --fail-if-slower 5%\n  graymark compare before-1 before-2 before-3 --with after-1 after-2 after-3"
)]
pub(super) struct CompareArgs {
    /// The records A and B; with --with, all of A. A directory of records stands for all of them
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// The records of B
    #[arg(long = "with", value_name = "RECORD", num_args = 1..)]
    with: Vec<PathBuf>,
    /// Exit with 1 if B is slower than A by so much, and the difference is beyond the errors of measurement; also if
    /// they are not ranked
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    fail_if_slower: Option<f64>,
    /// Call one faster although they differ in durability: a commit that does not wait for the disk is faster, and may
    /// be lost
    #[arg(long)]
    across_durability: bool,
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    number
        .filter(|percent| (0.0..100.0).contains(percent))
        .ok_or_else(|| "give a percentage from 0 to 100, such as 5%".to_owned())
}

/// The command.
pub(super) fn compare(args: &CompareArgs) -> Result<Ended, Error> {
    let (a, b) = match (&args.records[..], &args.with[..]) {
        ([a, b], []) => (open(std::slice::from_ref(a))?, open(std::slice::from_ref(b))?),
        (_, []) => {
            return Err(Error::Usage(
                "name two records, or several of A and those of B after --with: graymark compare A1 A2 --with B1 B2"
                    .to_owned(),
            ));
        }
        (a, b) => (open(a)?, open(b)?),
    };
    let comparison = compare::compare(&a, &b, args.across_durability).map_err(Error::Usage)?;
    if args.json {
        answer!("{}", serde_json::json!(comparison));
    } else {
        show(&comparison);
    }
    // What could not be ranked has not passed.
    let failed =
        args.fail_if_slower.is_some_and(|percent| comparison.not_ranked.is_some() || comparison.slower_by(percent));
    Ok(if failed { Ended::Failed } else { Ended::Held })
}

/// Records, and all records in directories that hold some.
fn open(paths: &[PathBuf]) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    for path in paths {
        let below = below(path);
        if path.join(file::HEADER).exists() || below.is_empty() {
            records.push(Record::open(path)?);
        } else {
            for record in below {
                records.push(Record::open(&record)?);
            }
        }
    }
    Ok(records)
}

/// Records in a directory, by name.
fn below(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let mut records: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.join(file::HEADER).exists()).collect();
    records.sort_unstable();
    records
}

fn show(comparison: &Comparison) {
    for (name, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        answer!("{name}: {}", told(side));
        for alarm in alarms::sentences(&side.incidents) {
            say::report(&format!("{ALARM}{name}: {alarm}"));
        }
    }
    answer!("");
    answer!("{}", comparison.sentence());
    let size = comparison.throughput.effect_size;
    answer!("Effect size: {size:+.2} standard deviations of a second's throughput.");
    answer!("");
    answer!("{:24} {:>10} {:>10} {:>9}", "response times, ms", "A", "B", "change");
    for (transaction, responses) in &comparison.responses {
        let [Some(a), Some(b)] = responses else { continue };
        for (name, a, b) in [("p50", a.p50, b.p50), ("p90", a.p90, b.p90), ("p99", a.p99, b.p99)] {
            let change = if a > 0.0 { format!("{:+.1} %", 100.0 * (b / a - 1.0)) } else { "-".to_owned() };
            answer!("{:24} {:>10} {:>10} {change:>9}", format!("{transaction} {name}"), significant(a), significant(b));
        }
    }
    for warning in &comparison.warnings {
        tell!("graymark: warning: {warning}");
    }
}

fn told(side: &Side) -> String {
    let runs = match side.records.len() {
        1 => side.records[0].clone(),
        runs => format!("{runs} runs"),
    };
    let blocks = side.block_seconds.map(|block| format!(", in blocks of {block} s")).unwrap_or_default();
    let error = 100.0 * side.standard_error / side.transactions_per_second;
    format!(
        "{} transactions/s ± {error:.2} % ({runs}, {} s{blocks})",
        significant(side.transactions_per_second),
        side.seconds
    )
}
