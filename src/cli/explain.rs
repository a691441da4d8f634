//! `graymark explain`: how the seconds of a dip or a latency peak differ from the median second.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{Ended, records, say};
use crate::engine::Error;
use crate::record::Record;
use crate::report::explain;
use crate::report::model::ReportModel;
use crate::study::explain::Course;

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// A record: its directory, or its name [default: the newest in graymark-runs]
    #[arg(value_name = "RECORD")]
    record: Option<PathBuf>,
    /// The second to explain, counted from the start of the run, including the ramp-up, such as 212s or 3m32s; without
    /// it, all dips and the highest latency peaks
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    at: Option<Duration>,
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn explain(args: &ExplainArgs) -> Result<Ended, Error> {
    let directory = match &args.record {
        Some(record) => records::find(record)?,
        None => records::newest()?,
    };
    let record = Record::open(&directory)?;
    let Some(course) = Course::of(&record) else {
        let shown = directory.display();
        return Err(Error::Usage(format!("{shown} has no measured second: its run ended too early")));
    };
    let moments = match args.at {
        Some(at) => vec![course.at(at.as_secs_f64()).map_err(Error::Usage)?],
        None => course.moments(),
    };
    let warnings = ReportModel::of(&record).warnings;
    if args.json {
        let record = directory.display().to_string();
        answer!("{}", serde_json::json!({ "record": record, "warnings": warnings, "moments": moments }));
    } else {
        say::report(&explain::text(&warnings, &moments));
    }
    Ok(Ended::Held)
}
