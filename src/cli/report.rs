//! `graymark report`: shows a record and writes its report again, or sets records side by side.

use std::path::{Path, PathBuf};

use super::run::told;
use super::{Ended, ReportArgs, TableFormat, records, say};
use crate::engine::Error;
use crate::judge;
use crate::record::acid::proof;
use crate::record::{self, Record};
use crate::report;
use crate::report::systems::{self, Row};
use crate::run::PriceFile;

/// The command.
pub(super) fn report(args: &ReportArgs) -> Result<Ended, Error> {
    match (args.table, args.records.as_slice()) {
        (Some(_), []) => Err(Error::Usage("name the records of the table: graymark report --table RECORD…".to_owned())),
        (Some(format), _) => table(args, format),
        (None, []) => one(args, &records::newest()?),
        (None, [record]) => one(args, &records::find(record)?),
        (None, _) => Err(Error::Usage("a report is of one record: add --table to set several side by side".to_owned())),
    }
}

fn one(args: &ReportArgs, directory: &Path) -> Result<Ended, Error> {
    if let Some(file) = &args.price {
        PriceFile::read(file)?.add_to(directory)?;
    }
    if !args.acid.is_empty() {
        add_tests(&args.acid, directory)?;
    }
    let paths = report::write(directory)?;
    let record = Record::open(directory)?;
    if let (None, Some(acid)) = (&record.summary, &record.acid) {
        if args.json {
            answer!("{}", serde_json::json!(acid));
        } else {
            say::report(report::acid::text(acid).trim_end());
        }
        return Ok(Ended::Held);
    }
    if args.json {
        let Some(summary) = &record.summary else {
            return Err(Error::Usage(format!(
                "{} has no summary: its run did not come to an end",
                directory.display()
            )));
        };
        answer!("{}", serde_json::json!(summary));
    } else {
        say::report(&told(&record, Some(&paths.html.display().to_string()), args.full));
    }
    Ok(Ended::Held)
}

/// Puts what tests of the database's ACID properties say into a record of a run.
fn add_tests(tests: &[PathBuf], directory: &Path) -> Result<(), Error> {
    let proofs = tests.iter().map(|tests| proof(tests)).collect::<Result<Vec<_>, _>>()?;
    let Some(mut summary) = Record::open(directory)?.summary else {
        let shown = directory.display();
        return Err(Error::Usage(format!("{shown} has no summary: its run did not come to an end")));
    };
    judge::add_tests(&proofs, &mut summary);
    Ok(record::acid::put(directory, &summary)?)
}

fn table(args: &ReportArgs, format: TableFormat) -> Result<Ended, Error> {
    let rows = records::all(&args.records)?.into_iter().map(|directory| Ok(Row::of(&Record::open(&directory)?)));
    let rows = rows.collect::<Result<Vec<Row>, Error>>()?;
    if args.json {
        answer!("{}", serde_json::json!({ "records": rows }));
    } else {
        let text = match format {
            TableFormat::Text => systems::text(&rows),
            TableFormat::Markdown => systems::markdown(&rows),
        };
        answer!("{}", text.trim_end());
    }
    Ok(Ended::Held)
}
