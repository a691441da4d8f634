//! Loads TPC-C into SQLite, runs it and prints the figure: `cargo run --release --example first_run`.

use graymark::engine::Error;
use graymark::plan::{Plan, RampUp};
use graymark::result::Event;
use graymark::run::Run;

fn main() -> Result<(), Error> {
    let plan = Plan {
        db: Some("sqlite:first-run.db".into()),
        clients: Some(1),
        ramp_up: Some(RampUp::Seconds(1)),
        duration: Some(5),
        ..Plan::default()
    };
    let run = Run::bench(plan).on_event(|event| {
        if let Event::Second { second, .. } = event {
            eprintln!("second {second}");
        }
    });
    let Some(outcome) = run.start()? else { return Ok(()) };
    let summary = &outcome.summary;
    println!("{:.0} {}", summary.new_orders_per_minute.unwrap_or_default(), summary.metric);
    println!("consistent: {}; record: {}", !outcome.failed(), outcome.record.display());
    Ok(())
}
