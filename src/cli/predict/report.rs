//! `graymark predict report`

use std::path::PathBuf;

use clap::Args;

use super::{answer_json, file};
use crate::cli::Ended;
use crate::engine::Error;
use crate::report::sizing;
use crate::report::text::ALARM;
use crate::study::sizing::fit;
use crate::study::sizing::observation::Sound;

#[derive(Debug, Args)]
#[command(after_help = "\
Writes sizing.html with all figures and tables, each figure as an SVG file, and the model file model.toml.

Example: graymark predict report graymark-runs/20260131T120000Z-sweep-grid-postgres --out sizing")]
pub(super) struct ReportArgs {
    /// Measured points: a table (CSV), or the directory of a sweep
    points: PathBuf,
    /// Directory for the files, created if it does not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Fit points on plateaus as well
    #[arg(long)]
    keep_plateau: bool,
    /// Print names of files, the numbers of the tables, and what is missing, as one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn report(args: &ReportArgs) -> Result<Ended, Error> {
    let points = file::points(&args.points)?;
    let Sound { points: sound, warnings } = points.sound;
    let options = fit::Options { source: points.source, warnings, keep_plateau: args.keep_plateau };
    let model = fit::fit(&sound, &options);
    let written = sizing::write(&args.out, &options.source, &options.warnings, &sound, model.as_ref())?;
    if args.json {
        answer_json(&written)?;
    } else {
        for warning in &options.warnings {
            answer!("{ALARM}{warning}");
        }
        for missing in &written.missing {
            answer!("Missing: {missing}");
        }
        answer!("Figures: {} SVG files in {}", written.figures.len(), args.out.display());
        answer!("Page: {}", written.page.display());
    }
    Ok(Ended::Held)
}
