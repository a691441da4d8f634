//! `graymark bench`: the main job whole, on the embedded default when no database is named.

use super::args::Group;
use super::run::execute;
use super::{BenchArgs, Ended};
use crate::engine::Error;
use crate::plan::{Defaults, Plan};
use crate::run::Run;

/// The command.
pub(super) fn bench(args: BenchArgs) -> Result<Ended, Error> {
    let mut plan = Plan::default();
    args.loading.add_to(&mut plan);
    execute(args.run, plan, Run::bench, ("bench", Defaults::BENCH))
}
