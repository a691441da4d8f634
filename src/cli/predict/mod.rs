//! `graymark predict`: what a database that is not there would do.

mod cheapest;
mod double;
mod file;
mod fit;
mod hit;
mod ratios;
mod report;
mod run;
mod simulate;
mod skew;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use super::Ended;
use crate::engine::Error;
use crate::study::sizing::scaling;

#[derive(Debug, Args)]
pub(super) struct PredictArgs {
    #[command(subcommand)]
    command: PredictCommand,
}

#[derive(Debug, Subcommand)]
enum PredictCommand {
    /// Fit the models of hit rate, throughput and CPUs to measured points, and write them into a model file
    Fit(fit::FitArgs),
    /// Predict throughput for another buffer size, scale or number of CPUs (Algorithms I and II)
    Run(run::RunArgs),
    /// The data hit rate of a buffer, or the buffer that a data hit rate needs (Equation 1)
    Hit(hit::HitArgs),
    /// What doubling the buffer gains, by a model or by two measurements
    Double(double::DoubleArgs),
    /// Ratios of throughput between numbers of CPUs, by each law
    Ratios(ratios::RatiosArgs),
    /// The cheapest number of CPUs and amount of memory that reach a throughput
    Cheapest(cheapest::CheapestArgs),
    /// Figures and tables of a sweep over buffers, scales and CPUs, as one page and as SVG files
    Report(report::ReportArgs),
    /// Simulate which pages a buffer of any size would hold, at any number of warehouses
    Simulate(simulate::SimulateArgs),
    /// Show how unevenly TPC-C asks for rows, and for the pages that hold them
    Skew(skew::SkewArgs),
}

/// The command.
pub(super) fn predict(args: PredictArgs) -> Result<Ended, Error> {
    match args.command {
        PredictCommand::Fit(args) => fit::fit(&args),
        PredictCommand::Run(args) => run::run(&args),
        PredictCommand::Hit(args) => hit::hit(&args),
        PredictCommand::Double(args) => double::double(&args),
        PredictCommand::Ratios(args) => ratios::ratios(&args),
        PredictCommand::Cheapest(args) => cheapest::cheapest(&args),
        PredictCommand::Report(args) => report::report(&args),
        PredictCommand::Simulate(args) => simulate::simulate(args),
        PredictCommand::Skew(args) => skew::skew(&args),
    }
}

/// A law over CPUs, as it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Law {
    /// Each CPU adds a fraction of what the one before it added (Equation 3)
    Geometric,
    /// A fraction of the work is serial
    Amdahl,
    /// Each pair of CPUs loses a fraction (Gunther)
    Quadratic,
}

impl From<Law> for scaling::Law {
    fn from(law: Law) -> scaling::Law {
        match law {
            Law::Geometric => scaling::Law::Geometric,
            Law::Amdahl => scaling::Law::Amdahl,
            Law::Quadratic => scaling::Law::Quadratic,
        }
    }
}

/// A number of at least `least`.
fn parse_number(text: &str, least: f64) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (least..1e12).contains(number));
    number.ok_or_else(|| format!("give a number of at least {least}"))
}

fn parse_positive(text: &str) -> Result<f64, String> {
    parse_number(text, 0.001)
}

/// A number of warehouses, which a prediction may have in fractions.
fn parse_scale(text: &str) -> Result<f64, String> {
    parse_number(text, 1.0)
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok().filter(|number| (0.0..=100.0).contains(number));
    number.ok_or_else(|| "give a percentage from 0 to 100".to_owned())
}

/// One JSON object on standard output.
fn answer_json(answer: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string(answer).map_err(|error| Error::Usage(format!("cannot write JSON: {error}")))?;
    answer!("{text}");
    Ok(())
}
