//! The process that serves the disk with simulated power cuts, started by `graymark acid --crash power`: an internal
//! command, not in the help.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::engine::Error;
use crate::powercut::{COMMAND, DiskOptions, serve};

/// Options of the disk, served by this program.
pub(super) fn wanted(lies: bool) -> Result<DiskOptions, Error> {
    let program = std::env::current_exe();
    let program = program.map_err(|error| Error::Usage(format!("cannot find the program graymark: {error}")))?;
    Ok(DiskOptions { program, lies })
}

/// Serves a disk if the arguments are `serve-disk FILE DIRECTORY [--lies]`. Errors are reported to the
/// parent process.
pub(super) fn served(arguments: &[OsString]) -> Option<ExitCode> {
    let [_, command, backing, at, rest @ ..] = arguments else { return None };
    if command != COMMAND {
        return None;
    }
    let lies = rest.iter().any(|word| word == "--lies");
    Some(match serve(Path::new(backing), Path::new(at), lies) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(3),
    })
}
