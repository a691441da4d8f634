//! `graymark report`: writes the report of a record again and prints its summary.

use super::{Ended, ReportArgs, price};
use crate::engine::Error;
use crate::record::Record;
use crate::report::{self, facts::Facts};

/// The command.
pub(super) fn report(args: &ReportArgs) -> Result<Ended, Error> {
    if let Some(file) = &args.price {
        price::File::read(file)?.add_to(&args.record)?;
    }
    let paths = report::write(&args.record)?;
    let record = Record::open(&args.record)?;
    if args.json {
        let Some(summary) = &record.summary else {
            return Err(Error::Usage(format!("{} has no summary: its run did not come to an end", args.record.display())));
        };
        answer!("{}", serde_json::json!(summary));
    } else {
        let text = report::text::render(&Facts::of(&record), Some(&paths.html.display().to_string()));
        answer!("{}", text.trim_end());
    }
    Ok(Ended::Held)
}
