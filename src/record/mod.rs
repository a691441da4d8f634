//! What a run leaves behind: one directory, self-describing, versioned, written atomically file by file.
//!
//! | file | what |
//! |---|---|
//! | `record.json` | format version, Graymark's version, command, status, times |
//! | `plan.toml` | the plan as it was executed; `graymark run --plan` runs it again |
//! | `environment.json` | host, kernel, CPU, memory, file system, engine and its settings |
//! | `load.json` | the load report, if this command loaded |
//! | `series.csv` | one row a second and transaction type |
//! | `histograms.hlog` | response and service times in the HdrHistogram log format, one tag a type |
//! | `events.jsonl` | phases, lost and restored sessions, failures |
//! | `summary.json` | see [`summary::Summary`] |
//! | `report.txt`, `report.html` | made from the above |

pub mod summary;
