//! The report as one self-contained page: no script, nothing fetched.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};

use super::chart::{self, Timeline};
use super::model::ReportModel;
use crate::record::{Error, Record};
use crate::result::format::file;

const TEMPLATE: &str = include_str!("template.html");
const STYLE: &str = include_str!("style.css");

/// A page of a template, in the style of all pages.
pub(super) fn page(template: &str, model: Value) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_global("style", Value::from_safe_string(STYLE.trim_end().to_owned()));
    environment.add_template("page", template)?;
    environment.get_template("page")?.render(model)
}

/// The report as a page.
///
/// # Errors
/// If the page cannot be made from the record.
pub(crate) fn render(record: &Record, model: &ReportModel) -> Result<String, Error> {
    let timeline = Timeline::of(record);
    let over_time = timeline
        .as_ref()
        .map(|timeline| [chart::throughput(timeline), chart::panels(timeline), chart::response_over_time(timeline)]);
    let charts: Vec<_> = over_time.into_iter().flatten().chain([chart::percentiles(record)]).flatten().collect();
    let model = context! {
        model => Serde(model),
        charts => Serde(&charts),
        stage_charts => Serde(chart::against_clients(record)),
        frequencies => Serde(chart::frequencies(record)),
        waiting => Serde(chart::waiting(record)),
    };
    page(TEMPLATE, model).map_err(|error| Error::encode(record.directory.join(file::REPORT_HTML), error))
}
