//! `graymark list`: all records in a directory, one line each.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Ended;
use super::args::parse_label;
use crate::engine::Error;
use crate::record::Brief;
use crate::record::directory::{self, RECORDS};
use crate::report::format::plural;
use crate::report::list::{self, Row};

/// Directories that are named at most.
const MOST_NAMED: usize = 4;

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// The directory that contains the records
    #[arg(value_name = "DIR", default_value = RECORDS)]
    directory: PathBuf,
    /// Only records with this tag; if it is given several times, with all of them
    #[arg(long = "tag", value_name = "TAG", value_parser = parse_label)]
    tag: Vec<String>,
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn list(args: &ListArgs) -> Result<Ended, Error> {
    if !args.directory.is_dir() && args.directory.as_os_str() != RECORDS {
        return Err(Error::Usage(format!(
            "{} is not a directory: give one that contains records",
            args.directory.display()
        )));
    }
    let mut rows: Vec<Row> = Vec::new();
    for record in directory::records(&args.directory)? {
        match Brief::open(&record) {
            Ok(brief) if args.tag.iter().all(|tag| brief.header.tags.contains(tag)) => rows.push(Row::of(&brief)),
            Ok(_) => {}
            // An unreadable record does not hide the others.
            Err(error) => tell!("graymark: warning: {error}"),
        }
    }
    rows.sort_by(|one, other| (&one.started, &one.record).cmp(&(&other.started, &other.record)));
    let below = below(&args.directory);
    if args.json {
        answer!("{}", serde_json::json!({ "records": rows }));
    } else if rows.is_empty() {
        let place = args.directory.display();
        match &args.tag[..] {
            [] if below.is_empty() => tell!("list: no records in {place}: create one with graymark bench"),
            [] => tell!("list: no records in {place}, but in {}", named(&below)),
            tags => tell!("list: no record in {place} has the tag {}", tags.join(" and ")),
        }
    } else {
        answer!("{}", list::text(&rows).trim_end());
        if !below.is_empty() {
            tell!("list: more records in {}: graymark list DIR shows those in one", named(&below));
        }
    }
    Ok(Ended::Held)
}

/// Directories of records below, as `ab`, `gate` and sweeps leave, sorted by name: those in `directory`, and in its
/// directories that are no records.
fn below(directory: &Path) -> Vec<String> {
    let is_own = |path: &PathBuf| path.is_dir() && !path.is_symlink();
    let directories = |of: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(of).into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_own).collect()
    };
    // A directory that cannot be read does not hide the others.
    let records = |of: &Path| directory::records(of).unwrap_or_default();
    let own = records(directory);
    let mut with_records = Vec::new();
    for path in directories(directory).into_iter().filter(|path| !own.contains(path)) {
        for place in std::iter::once(path.clone()).chain(directories(&path)) {
            if !records(&place).is_empty() {
                with_records.push(place.display().to_string());
            }
        }
    }
    with_records.sort_unstable();
    with_records
}

/// The names of directories, at most a few of them.
fn named(directories: &[String]) -> String {
    let shown = &directories[..directories.len().min(MOST_NAMED)];
    match directories.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{}, and {}", shown.join(", "), plural(more as u64, "more directory", "more directories")),
    }
}
