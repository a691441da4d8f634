//! Why a plan is refused.

use std::io;
use std::path::PathBuf;

/// Why a plan cannot be read, written or executed. The message is one line that says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read {}: {source}; --plan takes the plan.toml of a record", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is not a plan.
    #[error("{} is not a plan, line {line}: {why}", .path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The parser's message.
        why: String,
    },
    /// A value is out of range.
    #[error("{}: {key}: {why}", .path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The key of the value.
        key: &'static str,
        /// What is allowed.
        why: String,
    },
    /// Stages are combined with an incompatible option, or there are too many.
    #[error("{0}")]
    Stages(String),
    /// A rate is combined with an incompatible option.
    #[error("{0}")]
    Rate(String),
    /// The faults cannot be executed as planned.
    #[error("{0}")]
    Fault(String),
    /// The plan cannot be written.
    #[error("the plan cannot be written as TOML: {0}")]
    Write(#[from] toml::ser::Error),
}
