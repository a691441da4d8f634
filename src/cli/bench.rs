//! `graymark bench`: load, check, run and report; by default on an embedded SQLite database.

use super::args::Group;
use super::run::{Kind, execute};
use super::{BenchArgs, Ended};
use crate::engine::Error;
use crate::plan::{Defaults, Plan};
use crate::report::first;
use crate::run::Run;

/// Runs the command.
pub(super) fn bench(args: BenchArgs) -> Result<Ended, Error> {
    let mut plan = Plan::default();
    args.loading.add_to(&mut plan);
    let kind = Kind { name: "bench", defaults: Defaults::BENCH, begin: Run::bench, screen: first::render };
    execute(args.run, plan, kind)
}
