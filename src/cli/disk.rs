//! The process that serves a disk whose power can be cut, which `graymark acid --crash power` starts: no command for
//! people, and in no help.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::engine::Error;
use crate::powercut::{COMMAND, DiskOptions, serve};

/// The disk that is served by this very program.
pub(super) fn wanted(lies: bool) -> Result<DiskOptions, Error> {
    let program = std::env::current_exe();
    let program = program.map_err(|error| Error::Usage(format!("cannot find the program graymark: {error}")))?;
    Ok(DiskOptions { program, lies })
}

/// Serves a disk if these arguments ask for it: `serve-disk FILE DIRECTORY [--lies]`. What went wrong it has told the
/// one who started it.
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
