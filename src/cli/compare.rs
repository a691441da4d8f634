//! `graymark compare`: two records, or two sets of them.

use std::path::PathBuf;

use clap::Args;

use super::{Ended, records, say};
use crate::engine::Error;
use crate::link_safe;
use crate::record::{Record, directory};
use crate::report;
use crate::report::alarms;
use crate::report::comparison::{self, Form};
use crate::report::format::significant;
use crate::report::text::ALARM;
use crate::result::format::file;
use crate::study::compare::figures::Figure;
use crate::study::compare::gate::{self, Decision, ExtendableSides, Gate};
use crate::study::compare::waterfall::Waterfalls;
use crate::study::compare::{self, Comparison, Side, comparable};
use crate::visible::visible;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  graymark compare before after --max-slowdown 5%\n  graymark compare before-1 before-2 \
        before-3 --with after-1 after-2 after-3"
)]
pub(super) struct CompareArgs {
    /// The records A and B; with --with, all records of A. A directory of records means all records in it
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// The records of B
    #[arg(long = "with", value_name = "RECORD", num_args = 1..)]
    with: Vec<PathBuf>,
    /// Pass (exit code 0) only if a slowdown of this size is excluded, fail (1) if one is shown, otherwise exit with 5
    /// and print how much more measurement is needed
    #[arg(long, value_name = "PERCENT", value_parser = parse_slowdown, conflicts_with = "fail_if_slower")]
    max_slowdown: Option<f64>,
    #[command(flatten)]
    outputs: GateOutputs,
    /// Exit with 1 if B is slower than A by at least this, and the difference exceeds the measurement error; also if
    /// they are not ranked, or a run failed or is incomplete
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    fail_if_slower: Option<f64>,
    /// Rank the sides although they differ in durability: a commit that does not wait for the disk is faster, but may
    /// be lost
    #[arg(long)]
    across_durability: bool,
    /// Output format on standard output: json is the same as --json
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Print one JSON object on standard output
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// Output format of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Sentences and aligned columns
    Text,
    /// One table: the differences, then the measured values
    Markdown,
    /// The same rows, separated by commas
    Csv,
    /// The same as a LaTeX tabular
    Latex,
    /// All figures as one object
    Json,
}

/// Output files of a gate, and checks to skip.
#[derive(Debug, Args)]
pub(super) struct GateOutputs {
    /// Write the decision as JUnit XML, for CI systems
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the decision and the figures as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Decide even if workload, profile, mix, scale, pace or durability differ, or the baseline failed or is incomplete
    #[arg(long)]
    pub(super) anyway: bool,
}

impl GateOutputs {
    /// Refuses a baseline that failed: not being slower than a failed run means nothing.
    pub(super) fn sound(&self, baseline: &[Record]) -> Result<(), Error> {
        let failures = gate::failures(baseline);
        if failures.is_empty() || self.anyway {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "the baseline cannot be used: {}; give another, or decide with --anyway",
            failures.join("; ")
        )))
    }

    /// Refuses sets that are not comparable.
    pub(super) fn comparable(&self, a: &[Record], b: &[Record]) -> Result<(), Error> {
        let unlike = comparable::unlike(a, b);
        if unlike.is_empty() || self.anyway {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "the runs are not comparable, they differ in {}: use the same settings, or decide with --anyway",
            unlike.join("; ")
        )))
    }

    /// Writes the requested files.
    pub(super) fn write(&self, gate: &Gate, comparison: &Comparison) -> Result<(), Error> {
        let files =
            [(&self.junit, report::gate::junit(gate)), (&self.markdown, report::gate::markdown(gate, comparison))];
        for (path, text) in files {
            let Some(path) = path else { continue };
            let cannot = |error| Error::Output(format!("cannot write {}: {error}; name another file", path.display()));
            link_safe::write(path, visible(&text).as_bytes()).map_err(cannot)?;
        }
        Ok(())
    }
}

/// The outcome of the command for a decision.
pub(super) fn decided(gate: &Gate) -> Ended {
    match gate.decision {
        Decision::Passed => Ended::Held,
        Decision::Failed => Ended::Failed,
        Decision::Inconclusive => Ended::Undecided,
    }
}

/// Parses a slowdown: more than 0 %, less than 100 %.
pub(super) fn parse_slowdown(text: &str) -> Result<f64, String> {
    parse_percent(text).ok().filter(|percent| *percent > 0.0).ok_or_else(|| {
        "give a percentage above 0 and below 100, such as 5%: no measurement excludes that a program is slower by \
         nothing at all"
            .to_owned()
    })
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    number
        .filter(|percent| (0.0..100.0).contains(percent))
        .ok_or_else(|| "give a percentage from 0 to 100, such as 5%".to_owned())
}

/// Runs the command.
pub(super) fn compare(args: &CompareArgs) -> Result<Ended, Error> {
    let (a, b) = match (&args.records[..], &args.with[..]) {
        ([a, b], []) => (open(std::slice::from_ref(a))?, open(std::slice::from_ref(b))?),
        (_, []) => {
            return Err(Error::Usage(
                "name two records, or several of A and those of B after --with: graymark compare A1 A2 --with B1 B2"
                    .to_owned(),
            ));
        }
        (a, b) => (open(a)?, open(b)?),
    };
    let across = args.across_durability || args.outputs.anyway;
    if args.max_slowdown.is_some() {
        args.outputs.sound(&a)?;
        args.outputs.comparable(&a, &b)?;
    } else if args.outputs.junit.is_some() || args.outputs.markdown.is_some() || args.outputs.anyway {
        return Err(Error::Usage("--junit, --markdown and --anyway need --max-slowdown".to_owned()));
    }
    let comparison = compare::compare(&a, &b, across).map_err(Error::Usage)?;
    let gate = args
        .max_slowdown
        .map(|percent| Gate::of(&comparison, percent, 1, ExtendableSides::Both).and_failures(&gate::failures(&b)));
    let form = match args.format {
        Format::Text | Format::Json => None,
        Format::Markdown => Some(Form::Markdown),
        Format::Csv => Some(Form::Csv),
        Format::Latex => Some(Form::Latex),
    };
    let json = args.json || args.format == Format::Json;
    if let Some(form) = form {
        answer!("{}", comparison::render(&comparison, form).trim_end());
        for (name, side) in [("A", &comparison.a), ("B", &comparison.b)] {
            alarms::of_side(side).iter().for_each(|alarm| say::alarm(name, alarm));
        }
        comparison.warnings.iter().for_each(|warning| tell!("graymark: warning: {warning}"));
    } else if json {
        let mut answer = serde_json::json!(comparison);
        if let Some(gate) = &gate {
            answer["gate"] = serde_json::json!(gate);
        }
        answer!("{answer}");
    } else {
        show(&comparison);
    }
    if let Some(gate) = &gate {
        args.outputs.write(gate, &comparison)?;
        if form.is_some() {
            // The table on standard output is for programs; the decision goes to standard error.
            tell!("graymark: {}", gate.sentence);
        } else if !json {
            show_gate(gate);
        }
        return Ok(decided(gate));
    }
    // Sets that were not ranked have not passed, and the speed of a failed run means nothing.
    let unfit = || comparison.not_ranked.is_some() || [&a, &b].iter().any(|side| !gate::failures(side).is_empty());
    let failed = args.fail_if_slower.is_some_and(|percent| unfit() || comparison.slower_by(percent));
    Ok(if failed { Ended::Failed } else { Ended::Held })
}

/// Opens records, and all records in directories of records.
pub(super) fn open(names: &[PathBuf]) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    for path in records::all(names)? {
        let below = if path.join(file::HEADER).exists() { Vec::new() } else { directory::records(&path)? };
        if below.is_empty() {
            records.push(Record::open(&path)?);
        } else {
            for record in below {
                records.push(Record::open(&record)?);
            }
        }
    }
    Ok(records)
}

/// Prints the decision, in red unless it passed.
pub(super) fn show_gate(gate: &Gate) {
    let alarm = if gate.decision == Decision::Passed { "" } else { ALARM };
    say::report(&format!("\n{alarm}{}", gate.sentence));
}

pub(super) fn show(comparison: &Comparison) {
    let differences = comparison::differences(comparison);
    if !differences.is_empty() {
        answer!("{differences}");
    }
    for (name, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        answer!("{name}: {}", describe(side));
        for alarm in alarms::of_side(side) {
            say::report(&format!("{ALARM}{name}: {alarm}"));
        }
    }
    answer!("");
    answer!("{}", comparison.sentence());
    if comparison.is_ranked() {
        let size = comparison.throughput.effect_size;
        answer!("Effect size: {size:+.2} standard deviations of a second's throughput.");
    }
    answer!("");
    answer!("{:24} {:>10} {:>10} {:>9}", "response times, ms", "A", "B", "change");
    for (transaction, responses) in &comparison.responses {
        let [Some(a), Some(b)] = responses else { continue };
        for (name, a, b) in [("p50", a.p50, b.p50), ("p90", a.p90, b.p90), ("p99", a.p99, b.p99)] {
            let change = comparison::change(comparison, a, b);
            answer!("{:24} {:>10} {:>10} {change:>9}", format!("{transaction} {name}"), significant(a), significant(b));
        }
    }
    if !comparison.figures.is_empty() {
        answer!("");
        answer!("{:24} {:>16} {:>16} {:>9}", "a transaction", "A", "B", "change");
    }
    for Figure { what, a, b } in &comparison.figures {
        let change = a.zip(*b).map_or("-".to_owned(), |(a, b)| comparison::change(comparison, a.mean, b.mean));
        answer!("{what:24} {:>16} {:>16} {change:>9}", comparison::mean(*a), comparison::mean(*b));
    }
    comparison.waterfall.iter().for_each(|found| show_waterfalls(found, comparison.is_ranked()));
    // The first warnings repeat the differences.
    for warning in comparison.warnings.iter().skip(comparison.differs.len()) {
        tell!("graymark: warning: {warning}");
    }
}

/// Prints the breakdown of the mean response time of both sides, and what changed if they are ranked.
fn show_waterfalls(found: &Waterfalls, ranked: bool) {
    let row = |name: &str, a: f64, b: f64, note: &str| {
        let change = if ranked { format!("{:+.0}", b - a) } else { "-".to_owned() };
        let line = format!("{name:24} {:>10} {:>10} {change:>9}  {note}", significant(a), significant(b));
        answer!("{}", line.trim_end());
    };
    answer!("");
    answer!("{:24} {:>10} {:>10} {:>9}", "where the time goes, µs", "A", "B", "change");
    for part in &found.parts {
        let error = if part.error_us >= 1.0 { format!("±{}", significant(part.error_us)) } else { String::new() };
        row(part.words, part.a_us, part.b_us, &error);
    }
    row("response time", found.a_us, found.b_us, "");
    if ranked {
        answer!("");
        answer!("{}", found.sentence);
    }
}

fn describe(side: &Side) -> String {
    let runs = match side.records.len() {
        1 => side.records[0].clone(),
        runs => format!("{runs} runs"),
    };
    let blocks = side.block_seconds.map(|block| format!(", in blocks of {block} s")).unwrap_or_default();
    let error = 100.0 * side.standard_error / side.transactions_per_second;
    format!(
        "{} transactions/s ± {error:.2} % ({runs}, {} s{blocks})",
        significant(side.transactions_per_second),
        side.seconds
    )
}
