//! The report as one self-contained page: no script, nothing fetched.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context};

use super::chart::{self, Timeline};
use super::facts::Facts;
use crate::record::{Error, Record};

const TEMPLATE: &str = include_str!("template.html");

/// The report as a page.
///
/// # Errors
/// If the page cannot be made from the record.
pub fn render(record: &Record, facts: &Facts) -> Result<String, Error> {
    let timeline = Timeline::of(record);
    let over_time = timeline.as_ref().map(|timeline| [chart::throughput(timeline), chart::response_over_time(timeline)]);
    let charts: Vec<_> = over_time.into_iter().flatten().chain([chart::percentiles(record)]).flatten().collect();
    let page = || -> Result<String, minijinja::Error> {
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.add_template("report", TEMPLATE)?;
        environment.get_template("report")?.render(context! {
            facts => Serde(facts),
            charts => Serde(&charts),
            frequencies => Serde(chart::frequencies(record)),
            waiting => Serde(chart::waiting(record)),
        })
    };
    page().map_err(|error| Error::Write(format!("cannot make the page of {}: {error}", record.directory.display())))
}
