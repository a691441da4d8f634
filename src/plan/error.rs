//! Why a plan is refused.

use std::io;
use std::path::PathBuf;

/// Why a plan cannot be read, written or executed. The text is one line that says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Its file cannot be read.
    #[error("cannot read {}: {source}; --plan takes the plan.toml of a record", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its file is no plan.
    #[error("{} is not a plan, line {line}: {why}", .path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// In the words of the parser.
        why: String,
    },
    /// A value in its file is out of range.
    #[error("{}: {key}: {why}", .path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The key of the value.
        key: &'static str,
        /// What is allowed.
        why: String,
    },
    /// It asks for stages and for something that does not go with them, or for too many.
    #[error("{0}")]
    Stages(String),
    /// It asks for a rate and for something that does not go with it.
    #[error("{0}")]
    Rate(String),
    /// Its faults cannot be carried out as they are planned.
    #[error("{0}")]
    Fault(String),
    /// It cannot be written.
    #[error("the plan cannot be written as TOML: {0}")]
    Write(#[from] toml::ser::Error),
}
