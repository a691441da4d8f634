//! `graymark man`: manual pages, from the definitions of the command line.

use std::path::PathBuf;

use clap::Args;

use super::{Ended, help};
use crate::engine::Error;

#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// Where to: it is made if it is not there. Pages of the same names are replaced
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// The command.
pub(super) fn man(args: &ManArgs) -> Result<Ended, Error> {
    let told = |error: std::io::Error| {
        Error::Output(format!(
            "cannot write manual pages to {}: {error}; name another directory",
            args.directory.display()
        ))
    };
    std::fs::create_dir_all(&args.directory).map_err(told)?;
    clap_mangen::generate_to(help::command(), &args.directory).map_err(told)?;
    tell!("man: the pages are in {}", args.directory.display());
    Ok(Ended::Held)
}
