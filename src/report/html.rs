//! The report as one self-contained page: no script, nothing fetched.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context};

use super::chart::{self, Chart, Timeline};
use super::first;
use super::model::ReportModel;
use super::verdict::VerdictModel;
use crate::record::{Error, Record};
use crate::result::format::file;

const TEMPLATE: &str = include_str!("template.html");
const STYLE: &str = include_str!("style.css");

/// Renders a template in the style of all pages.
pub(super) fn page(template: &str, model: Value) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_global("style", Value::from_safe_string(STYLE.trim_end().to_owned()));
    environment.add_template("page", template)?;
    environment.get_template("page")?.render(model)
}

/// The report as an HTML page.
///
/// # Errors
/// If the template cannot be rendered.
pub(crate) fn render(record: &Record, model: &ReportModel) -> Result<String, Error> {
    let timeline = Timeline::of(record);
    let over_time = timeline
        .as_ref()
        .map(|timeline| [chart::throughput(timeline), chart::panels(timeline), chart::response_over_time(timeline)]);
    let charts = over_time.into_iter().flatten().chain([chart::percentiles(record)]).flatten();
    let charts: Vec<Chart> = charts.map(named).collect();
    let model = context! {
        model => Serde(model),
        first => Serde(first::facts(record, model)),
        rules => Serde(model.verdict.as_ref().map(VerdictModel::parts).unwrap_or_default()),
        sparkline => Serde(chart::sparkline(record)),
        charts => Serde(&charts),
        stage_charts => Serde(chart::against_clients(record).into_iter().map(named).collect::<Vec<_>>()),
        frequencies => Serde(chart::frequencies(record).into_iter().map(named).collect::<Vec<_>>()),
        waiting => Serde(chart::waiting(record).into_iter().map(named).collect::<Vec<_>>()),
    };
    page(TEMPLATE, model)
        .map(|page| with_contents(&page))
        .map_err(|error| Error::encode(record.directory.join(file::REPORT_HTML), error))
}

/// Adds the chart's title to its drawings, for screen readers and tooltips.
pub(super) fn named(chart: Chart) -> Chart {
    let with_title = |svg: &str| match svg.strip_prefix("<svg ").and_then(|rest| rest.split_once('>')) {
        Some((attributes, drawing)) => {
            format!("<svg {attributes}><title>{}</title>{drawing}", escaped(&chart.title))
        }
        None => svg.to_owned(),
    };
    Chart { narrow: with_title(&chart.narrow), wide: with_title(&chart.wide), ..chart }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Adds a table of contents, made from the headings, where the template has a placeholder.
pub(super) fn with_contents(page: &str) -> String {
    let (mut parts, mut links, mut rest) = (String::new(), String::new(), page);
    let mut number = 0;
    while let Some((before, title, after)) = rest
        .split_once("<h2>")
        .and_then(|(before, rest)| rest.split_once("</h2>").map(|(title, after)| (before, title, after)))
    {
        number += 1;
        parts.push_str(&format!("{before}<h2 id=\"part-{number}\">{title}</h2>"));
        links.push_str(&format!("<li><a href=\"#part-{number}\">{title}</a></li>"));
        rest = after;
    }
    parts.push_str(rest);
    parts.replacen("<!-- contents -->", &format!("<nav aria-label=\"Contents\"><ul>{links}</ul></nav>"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_in_the_contents() {
        let page = with_contents("<!-- contents --><h2>Run</h2>a<h2>Checks</h2>b");
        assert_eq!(
            page,
            "<nav aria-label=\"Contents\"><ul><li><a href=\"#part-1\">Run</a></li><li><a \
             href=\"#part-2\">Checks</a></li></ul></nav>\
             <h2 id=\"part-1\">Run</h2>a<h2 id=\"part-2\">Checks</h2>b"
        );
    }

    #[test]
    fn a_drawing_has_the_name_of_its_chart() {
        let chart = Chart {
            title: "p90 < 5 s".to_owned(),
            caption: String::new(),
            legend: Vec::new(),
            narrow: "<svg role=\"img\" width=\"1\">x</svg>".to_owned(),
            wide: String::new(),
        };
        let chart = named(chart);
        assert_eq!(chart.narrow, "<svg role=\"img\" width=\"1\"><title>p90 &lt; 5 s</title>x</svg>");
        assert_eq!(chart.wide, "");
    }
}
