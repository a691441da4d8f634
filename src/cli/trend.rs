//! `graymark trend`: change points in a history of runs.

use std::path::{Path, PathBuf};

use clap::Args;

use super::args::parse_label;
use super::report::put_page;
use super::{Ended, say};
use crate::engine::Error;
use crate::record::directory::{self, RECORDS};
use crate::record::{Brief, Record};
use crate::report::format::plural;
use crate::report::trend as trend_report;
use crate::study::compare::comparable;
use crate::study::trend::{self, Run, TrendMetric};

#[derive(Debug, Args)]
#[command(after_help = "\
Runs of the same workload, database, scale and load form a series, ordered by time. A step is a point where the \
figures before and after differ more than by chance (E-divisive means with a permutation test, at 1 %). For each step \
the output shows its size and interval, the name and tags of the first run after it (such as a commit or a release), \
and what else changed there: versions, settings, machine.

Examples:
  graymark run --name $(git rev-parse --short HEAD) --tag nightly ...
  graymark trend graymark-runs --tag nightly
  graymark trend graymark-runs --of p99 --html=trend.html")]
pub(super) struct TrendArgs {
    /// The directory that contains the records
    #[arg(value_name = "DIR", default_value = RECORDS)]
    directory: PathBuf,
    /// Only records with this tag; if it is given several times, with all of them
    #[arg(long = "tag", value_name = "TAG", value_parser = parse_label)]
    tag: Vec<String>,
    /// Figure to analyse
    #[arg(long, value_name = "FIGURE", default_value = "figure")]
    of: TrendMetric,
    /// Use only the last N runs of each series
    #[arg(long, value_name = "N", default_value = "300", value_parser = clap::value_parser!(u32).range(10..=2_000))]
    last: u32,
    /// Write a page with a chart of each series
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "trend.html")]
    html: Option<PathBuf>,
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn trend(args: &TrendArgs) -> Result<Ended, Error> {
    let shown = args.directory.display();
    if !args.directory.is_dir() {
        return Err(Error::Usage(format!("{shown} is not a directory: give one that contains records")));
    }
    let mut records = Vec::new();
    for record in directory::records(&args.directory)? {
        match Brief::open(&record) {
            Ok(brief) if args.tag.iter().all(|tag| brief.header.tags.contains(tag)) => records.push(brief),
            Ok(_) => {}
            // An unreadable record does not hide the others.
            Err(error) => tell!("graymark: warning: {error}"),
        }
    }
    let found = trend::of(&records, args.of, args.last as usize, differing);
    if found.series.is_empty() && found.failed > 0 {
        let runs = plural(found.failed as u64, "run", "runs");
        return Err(Error::Usage(format!("{shown} has only failed runs ({runs}): see graymark list {shown}")));
    }
    if found.series.is_empty() {
        return Err(Error::Usage(format!("{shown} has no record of a complete run, or none with this tag")));
    }
    if let Some(to) = &args.html {
        put_page(to, &trend_report::page(&found, to)?)?;
        tell!("trend: the page is {}", to.display());
    }
    if args.json {
        answer!("{}", serde_json::json!(found));
    } else {
        say::report(trend_report::text(&found).trim_end());
    }
    Ok(Ended::Held)
}

/// Other differences between two runs; empty if they cannot be read.
fn differing(before: &Run, after: &Run) -> Vec<[String; 3]> {
    let open = |run: &Run| Record::open(Path::new(&run.record)).ok();
    let (Some(before), Some(after)) = (open(before), open(after)) else { return Vec::new() };
    let both = comparable::differing(&[comparable::facts(&before), comparable::facts(&after)]).into_iter();
    both.filter_map(|(name, values)| {
        let [before, after] = <[String; 2]>::try_from(values).ok()?;
        Some([name, before, after])
    })
    .collect()
}
