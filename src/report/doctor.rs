//! The report of a compatibility test, as text for a terminal and for an issue.

use std::fmt::Write as _;

use super::format::seconds;
use super::table;
use crate::result::doctor::{Diagnosis, Probe, ProbeState, Trial};
use crate::visible::one_line;

/// Longer answers are truncated.
const LONGEST: usize = 300;

/// The report.
pub fn text(diagnosis: &Diagnosis) -> String {
    let Diagnosis { graymark, url, server, dialect, started, .. } = diagnosis;
    let mut text = format!("graymark doctor {graymark}, {started}\n{url}\n");
    if !server.is_empty() {
        let _ = writeln!(text, "server: {}", short(server));
    }
    let _ = writeln!(text, "dialect: {dialect}\n");
    for warning in &diagnosis.warnings {
        let _ = writeln!(text, "! {}\n", one_line(warning));
    }
    for earlier in &diagnosis.earlier {
        let _ = writeln!(text, "! Found at the server: {}\n", one_line(earlier));
    }
    if diagnosis.interrupted {
        text.push_str("! The test was stopped early: these are the results so far.\n\n");
    }
    let mut rows = vec![["question", "answer", "needed", "s", "found"].map(str::to_owned).to_vec()];
    rows.extend(diagnosis.probes.iter().map(probe));
    let _ = writeln!(text, "{}", table::words(&rows));
    let mut rows = vec![["dialect", "by", "answer", "needed", "s", "tried", "found"].map(str::to_owned).to_vec()];
    rows.extend(diagnosis.trials.iter().map(trial));
    if rows.len() > 1 {
        let _ = writeln!(text, "{}", table::words(&rows));
    }
    for left in &diagnosis.left {
        let _ = writeln!(text, "! Left at the server: {}", one_line(left));
    }
    text.push_str(&conclusion(diagnosis));
    text
}

fn probe(probe: &Probe) -> Vec<String> {
    let needed = if probe.needed { "yes" } else { "" };
    let found = match probe.state == ProbeState::Works {
        true => short(&probe.found),
        false => format!("{}: {}", probe.title, short(&probe.found)),
    };
    vec![probe.id.clone(), probe.state.name(), needed.to_owned(), format!("{:.2}", probe.seconds), found]
}

fn trial(trial: &Trial) -> Vec<String> {
    let Trial { dialect, via, needed, what, state, found, seconds } = trial;
    let needed = if *needed { "yes" } else { "" }.to_owned();
    vec![dialect.clone(), via.name(), state.name(), needed, format!("{seconds:.2}"), what.clone(), short(found)]
}

fn short(text: &str) -> String {
    let line = one_line(text);
    if line.chars().count() <= LONGEST { line } else { line.chars().take(LONGEST).chain(['…']).collect() }
}

/// The conclusion, with what to do next.
fn conclusion(diagnosis: &Diagnosis) -> String {
    let took: f64 = diagnosis.probes.iter().map(|probe| probe.seconds).sum::<f64>()
        + diagnosis.trials.iter().map(|trial| trial.seconds).sum::<f64>();
    let missing: Vec<&str> =
        diagnosis.probes.iter().filter(|probe| probe.fails()).map(|probe| probe.id.as_str()).collect();
    let missing =
        if missing.is_empty() { "a trial failed".to_owned() } else { format!("missing: {}", missing.join(", ")) };
    let dialect = &diagnosis.dialect;
    let result = match &diagnosis.works_with {
        Some(works) if works == dialect && !diagnosis.failed() => {
            format!("Everything that Graymark needs in the dialect {dialect} works.")
        }
        Some(works) => format!(
            "The dialect {dialect} does not do here ({missing}). Use ?dialect={works}: everything that was tried works \
             in it."
        ),
        None if diagnosis.interrupted => "It was stopped before a working dialect was found.".to_owned(),
        None => format!(
            "No dialect of Graymark works here ({missing}). Attach this report to an issue: it contains no password."
        ),
    };
    format!("{result} It took {}.\n", seconds(took))
}
