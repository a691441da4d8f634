//! `graymark man`: manual pages, from the definitions of the command line.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use clap_mangen::Man;

use super::{Ended, help};
use crate::engine::Error;
use crate::link_safe;

#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// Where to: it is made if it is not there. Pages of the same names are replaced
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// The command.
pub(super) fn man(args: &ManArgs) -> Result<Ended, Error> {
    let told = |error: io::Error| {
        Error::Output(format!(
            "cannot write manual pages to {}: {error}; name another directory",
            args.directory.display()
        ))
    };
    let directory = link_safe::make_directory(&args.directory).map_err(told)?;
    let mut command = help::command().disable_help_subcommand(true);
    command.build();
    pages(&command, &directory).map_err(told)?;
    tell!("man: the pages are in {}", args.directory.display());
    Ok(Ended::Held)
}

/// Writes the page of a command and those of the commands below it.
fn pages(command: &clap::Command, directory: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        pages(below, directory)?;
    }
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    link_safe::write(&directory.join(man.get_filename()), &page)
}
