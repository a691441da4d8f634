//! `graymark report`: writes the report of a record again and prints its summary.

use super::{Ended, ReportArgs};
use crate::engine::Error;
use crate::record::reader::Record;
use crate::report;

/// The command.
pub(super) fn report(args: &ReportArgs) -> Result<Ended, Error> {
    let record = Record::open(&args.record)?;
    report::write(&args.record)?;
    if args.json {
        println!("{}", serde_json::to_string(&record.summary).unwrap_or_default());
    } else {
        print!("{}", report::text::render(&record));
    }
    Ok(Ended::Held)
}
