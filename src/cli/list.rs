//! `graymark list`: all records in a directory, a line each.

use std::path::PathBuf;

use clap::Args;

use super::Ended;
use super::args::parse_label;
use crate::engine::Error;
use crate::record::Brief;
use crate::record::directory::{self, RECORDS};
use crate::report::list::{self, Row};

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// The directory that holds the records
    #[arg(value_name = "DIR", default_value = RECORDS)]
    directory: PathBuf,
    /// Only records with this tag; if it is given several times, with all of them
    #[arg(long = "tag", value_name = "TAG", value_parser = parse_label)]
    tag: Vec<String>,
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// The command.
pub(super) fn list(args: &ListArgs) -> Result<Ended, Error> {
    if !args.directory.is_dir() && args.directory.as_os_str() != RECORDS {
        return Err(Error::Usage(format!("{} is no directory: name one that holds records", args.directory.display())));
    }
    let mut rows: Vec<Row> = Vec::new();
    for record in directory::records(&args.directory)? {
        match Brief::open(&record) {
            Ok(brief) if args.tag.iter().all(|tag| brief.header.tags.contains(tag)) => rows.push(Row::of(&brief)),
            Ok(_) => {}
            // One that cannot be read hides none of the others.
            Err(error) => tell!("graymark: warning: {error}"),
        }
    }
    rows.sort_by(|one, other| (&one.started, &one.record).cmp(&(&other.started, &other.record)));
    if args.json {
        answer!("{}", serde_json::json!({ "records": rows }));
    } else if rows.is_empty() {
        tell!("list: no records in {}: graymark bench makes one", args.directory.display());
    } else {
        answer!("{}", list::text(&rows).trim_end());
    }
    Ok(Ended::Held)
}
