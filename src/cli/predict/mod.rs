//! `graymark predict`: predictions for other hardware and scales.

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
    /// Predict the data hit rate of a buffer size, or the buffer size for a data hit rate (Equation 1)
    Hit(hit::HitArgs),
    /// Predict the gain from doubling the buffer, from a model or from two measurements
    Double(double::DoubleArgs),
    /// Predict throughput ratios between numbers of CPUs, by each scaling law
    Ratios(ratios::RatiosArgs),
    /// Find the cheapest number of CPUs and amount of memory that reach a throughput
    Cheapest(cheapest::CheapestArgs),
    /// Write figures and tables of a sweep over buffers, scales and CPUs, as one page and as SVG files
    Report(report::ReportArgs),
    /// Simulate which pages a buffer of any size would hold, at any number of warehouses
    Simulate(simulate::SimulateArgs),
    /// Show the skew of TPC-C's accesses to rows and to the pages that contain them
    Skew(skew::SkewArgs),
}

/// Runs the command.
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

/// A scaling law over CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Law {
    /// Each CPU adds a fraction of what the previous one added (Equation 3)
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

/// Parses a number of at least `least`.
fn parse_number(text: &str, least: f64) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (least..1e12).contains(number));
    number.ok_or_else(|| format!("give a number of at least {least}"))
}

fn parse_positive(text: &str) -> Result<f64, String> {
    parse_number(text, 0.001)
}

/// Parses a number of warehouses, which may have a fraction.
fn parse_scale(text: &str) -> Result<f64, String> {
    parse_number(text, 1.0)
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok().filter(|number| (0.0..=100.0).contains(number));
    number.ok_or_else(|| "give a percentage from 0 to 100".to_owned())
}

/// Prints one JSON object on standard output.
fn answer_json(answer: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string(answer).map_err(|error| Error::Usage(format!("cannot write JSON: {error}")))?;
    answer!("{text}");
    Ok(())
}
