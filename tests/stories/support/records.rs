//! Records of real runs, kept in `tests/records`.

use std::path::{Path, PathBuf};

use graymark::record::Record;
use graymark::result::Summary;

/// The version whose records stand for those of today.
const NEWEST: &str = "39ccd6a";

/// Where the records of all versions are.
pub fn all() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records")
}

/// Where the newest records are.
pub fn newest() -> PathBuf {
    all().join(NEWEST)
}

/// What a kept run came to: `tpcc`, `debitcredit`, `paced`.
pub fn kept(run: &str) -> Summary {
    let record = Record::open(&newest().join(run)).expect("a kept record");
    record.summary.expect("a kept record of a whole run")
}
