//! `graymark bench`: the main job whole, on the embedded default when no database is named.

use super::run::execute;
use super::{Ended, RunArgs};
use crate::engine::Error;
use crate::run::Run;

/// The command.
pub(super) fn bench(args: RunArgs) -> Result<Ended, Error> {
    execute(args, Run::bench)
}
