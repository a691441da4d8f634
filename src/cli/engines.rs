//! `graymark engines`: what there is, what of it is on this machine, and how far it was run.

use clap::Args;

use super::Ended;
use crate::engine::Error;
use crate::engine::listed::engines as all;
use crate::report::engines::text;

#[derive(Debug, Args)]
pub(super) struct EnginesArgs {
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// The command.
pub(super) fn engines(args: &EnginesArgs) -> Result<Ended, Error> {
    let all = all();
    if args.json {
        answer!("{}", serde_json::json!({ "engines": all }));
    } else {
        answer!("{}", text(&all).trim_end());
    }
    Ok(Ended::Held)
}
