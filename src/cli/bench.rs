//! `graymark bench`: the main job whole, on the embedded default when no database is named.

use super::run::{RunCommand, execute};
use super::{Ended, RunArgs};
use crate::engine::Error;

/// The command.
pub(super) fn bench(args: RunArgs) -> Result<Ended, Error> {
    execute(args, RunCommand::Bench)
}
