//! `graymark predict`: what a database that is not there would do.

mod simulate;
mod skew;

use clap::{Args, Subcommand};

use super::Ended;
use crate::engine::Error;

#[derive(Debug, Args)]
pub(super) struct PredictArgs {
    #[command(subcommand)]
    command: PredictCommand,
}

#[derive(Debug, Subcommand)]
enum PredictCommand {
    /// Simulate which pages a buffer of any size would hold, at any number of warehouses
    Simulate(simulate::SimulateArgs),
    /// Show how unevenly TPC-C asks for rows, and for the pages that hold them
    Skew(skew::SkewArgs),
}

/// The command.
pub(super) fn predict(args: PredictArgs) -> Result<Ended, Error> {
    match args.command {
        PredictCommand::Simulate(args) => simulate::simulate(args),
        PredictCommand::Skew(args) => skew::skew(&args),
    }
}
