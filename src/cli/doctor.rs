//! `graymark doctor`: tests whether a server supports everything that Graymark needs.

use clap::Args;

use super::args::{Group, Timeout};
use super::interrupt::Interrupt;
use super::{Ended, say};
use crate::doctor::Doctor;
use crate::engine::Error;
use crate::plan::Plan;
use crate::report::doctor::text;
use crate::result::doctor::ProbeState;
use crate::url::DatabaseUrl;

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// The server: postgres://USER@HOST/DB, mysql://USER@HOST/DB, or a private one: postgres:local, mysql:local
    #[arg(long, env = "GRAYMARK_DB", hide_env_values = true, value_name = "URL")]
    db: Option<DatabaseUrl>,
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    timeout: Timeout,
}

/// Runs the command.
pub(super) fn doctor(args: DoctorArgs) -> Result<Ended, Error> {
    let mut plan = Plan { db: args.db, ..Plan::default() };
    args.timeout.add_to(&mut plan);
    let interrupt = Interrupt::listen()?;
    // On a stop, it removes its schemas before it ends.
    interrupt.running(true);
    interrupt.ending();
    let on_answer = |id: &str, state: ProbeState| {
        let state = if state == ProbeState::Works { "works" } else { "missing" };
        tell!("doctor: {id}: {state}");
    };
    let examined = Doctor::new(plan).stop(interrupt.stop.clone()).on_answer(on_answer).examine()?;
    let Some(diagnosis) = examined else { return Ok(Ended::Interrupted) };
    if args.json {
        answer!("{}", serde_json::json!(diagnosis));
    } else {
        say::report(text(&diagnosis).trim_end());
    }
    Ok(if diagnosis.interrupted {
        Ended::Interrupted
    } else if diagnosis.failed() {
        Ended::Failed
    } else {
        Ended::Held
    })
}
