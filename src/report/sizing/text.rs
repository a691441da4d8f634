//! Models and predictions in words.

use super::table::Table;
use crate::cpus::CpuCount;
use crate::report::format::{bytes, count, plain, plural, rate, significant};
use crate::report::text::ALARM;
use crate::study::sizing::model::{Equation, Hit, Model};
use crate::study::sizing::observation::HitRate;
use crate::study::sizing::predict::{Candidate, Doubling, Method, Point, Predictor, Run};
use crate::study::sizing::regress::{Estimate, LEAST_SIGNIFICANCE, Statistics};
use crate::study::sizing::series::{Knee, Reading};
use crate::study::sizing::thousand_pages;
use crate::workload::tpcc::NEW_ORDERS_PER_WAREHOUSE;

/// Number of candidates that are shown near the cheapest.
const SHOWN: usize = 12;

/// A size of a buffer.
pub(super) fn size(of: f64) -> String {
    bytes(of.round() as u64)
}

/// A coefficient with its significant digits.
fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if (0.001..1e7).contains(&size) => {
            let decimals = (4 - size.log10().floor() as i32).clamp(0, 9) as usize;
            format!("{value:.decimals$}")
        }
        _ => format!("{value:.4e}"),
    }
}

fn significance(of: f64) -> String {
    if of < LEAST_SIGNIFICANCE { format!("below {LEAST_SIGNIFICANCE:e}") } else { format!("{of:.1e}") }
}

fn scale(warehouses: f64) -> String {
    let text = format!("{warehouses:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// Both tables of an equation: how well it fits, and its coefficients.
pub(super) fn equation(title: &str, names: [&str; 3], equation: &Equation) -> Table {
    let mut table = Table::new(title, &["term", "coefficient", "standard error", "ratio", ""]);
    let mut terms = vec![(names[0], equation.constant)];
    terms.extend(equation.per_warehouse.map(|coefficient| (names[1], coefficient)));
    terms.push((names[2], equation.slope));
    for (index, (name, coefficient)) in terms.into_iter().enumerate() {
        let statistics = equation.statistics.as_ref();
        let of = |values: fn(&Statistics) -> &Vec<f64>| {
            statistics
                .and_then(|statistics| values(statistics).get(index))
                .map_or("-".to_owned(), |value| figure(*value))
        };
        table.rows.push(vec![
            name.to_owned(),
            figure(coefficient),
            of(|found| &found.standard_errors),
            of(|found| &found.ratios),
            String::new(),
        ]);
    }
    if let Some(found) = &equation.statistics {
        table.notes.push(format!(
            "R² = {:.2} %; F = {} ({} and {} degrees of freedom; significance {}); residual standard error {}; \
             residuals from {:+.2} % to \
             {:+.2} % of the measured values; {} points.",
            100.0 * found.r_squared,
            significant(found.f_ratio),
            found.centre.len(),
            found.degrees_of_freedom,
            significance(found.f_significance),
            figure(found.residual_standard_error),
            found.residual_percent[0],
            found.residual_percent[1],
            found.points
        ));
    }
    match equation.range {
        Some(range) => {
            let [from, to] = range.warehouses.map(scale);
            let [low, high] = range.predictor;
            table.notes.push(format!("Range: {from} to {to} warehouses; {} from {low:.3} to {high:.3}.", names[2]));
        }
        None => table.notes.push("Range: unknown.".to_owned()),
    }
    table
}

/// Table 2 by one reading of the rule.
pub(super) fn knees(model: &Model, reading: Reading) -> Table {
    let (title, words) = match reading {
        Reading::Printed => {
            ("Table 2. Knees, the rule as printed", "less than 2 % of peak throughput for each thousand pages of 4 KiB")
        }
        Reading::Tabulated => (
            "Table 2. Knees, the rule as the paper's tables have it",
            "less than 2 % of peak throughput for each hundred thousand pages of 4 KiB",
        ),
    };
    let mut table = Table::new(
        title,
        &["warehouses", "CPUs", "buffer", "thousand pages", "% of database", model.hit_rate_of.name(), ""],
    );
    let rows = model.knees.iter().filter(|row| row.reading == reading).collect::<Vec<_>>();
    for row in &rows {
        let at = row.knee.bytes();
        let sign = match row.knee {
            Knee::At(_) => "",
            Knee::Before(_) => "<= ",
            Knee::Beyond(_) => "not up to ",
        };
        let unknown = || "-".to_owned();
        table.rows.push(vec![
            row.warehouses.to_string(),
            row.cpus.map_or_else(unknown, |cpus| cpus.to_string()),
            format!("{sign}{}", size(at)),
            significant(thousand_pages(at)),
            row.percent_of_database.map_or_else(unknown, |percent| format!("{percent:.1} %")),
            row.hit_percent.map_or_else(unknown, |hit| format!("{hit:.1} %")),
            String::new(),
        ]);
    }
    let pages =
        rows.iter().map(|row| row.rule.pages).filter(|pages| *pages < reading.rule().pages).fold(0.0_f64, f64::max);
    let scaled = if pages > 0.0 {
        format!(
            "; in databases smaller than the paper's at scale 100, as many pages less: here at most {}",
            significant(pages)
        )
    } else {
        String::new()
    };
    table.notes.push(format!("Knee: where more buffer gains {words}{scaled}."));
    table
}

/// Titles of the equations, the names of their terms, and what they are.
pub(super) fn titles(model: &Model) -> Vec<(String, [&'static str; 3], &Equation)> {
    let hits = model.hit_rate_of.name();
    let first = (
        format!("Equation 1: {hits} in percent, B in thousands of 4 KiB pages"),
        ["constant", "W", "ln(B / W)"],
        &model.hit_rate,
    );
    let second = model.throughput.iter().map(|equation| {
        let cpus = equation.cpus.map_or(String::new(), |cpus| format!(" at {cpus} CPUs"));
        (format!("Equation 2: New-Orders per minute{cpus}, {hits} in percent"), ["constant", "W", hits], equation)
    });
    [first].into_iter().chain(second).collect()
}

/// The laws over CPUs.
pub(super) fn laws(model: &Model) -> Table {
    let mut table = Table::new("Throughput over CPUs", &["law", "parameter", "error", ""]);
    for scaling in &model.scaling {
        let error = scaling.error_percent.map_or("-".to_owned(), |error| format!("{error:.2} %"));
        table.rows.push(vec![scaling.law.to_string(), format!("{:.4}", scaling.parameter), error, String::new()]);
    }
    if let Some([from, to]) = model.measured_cpus {
        table
            .notes
            .push(format!("Measured from {from} to {to} CPUs. The first law is used unless --law says otherwise."));
    }
    table
}

/// A whole model.
pub fn model(model: &Model) -> String {
    let warnings: String = model.warnings.iter().map(|warning| format!("{ALARM}{}\n", plain(warning))).collect();
    let mut parts = vec![format!("{warnings}Model of {}\n", plain(&model.source))];
    parts.extend(titles(model).into_iter().map(|(title, names, of)| equation(&title, names, of).text()));
    if !model.scaling.is_empty() {
        parts.push(laws(model).text());
    }
    let readings = Reading::ALL.into_iter().filter(|_| !model.knees.is_empty());
    parts.extend(readings.map(|reading| knees(model, reading).text()));
    if !model.notes.is_empty() {
        parts.push(model.notes.iter().map(|note| format!("Note: {}\n", plain(note))).collect());
    }
    parts.join("\n")
}

const OUTSIDE: &str = "OUTSIDE";
/// Bytes of a GiB.
const GIB: f64 = (1_u64 << 30) as f64;
/// Number of reasons that are listed below a table.
const REASONS: usize = 6;

/// The last cell of a predicted row.
fn flag(outside: &[String]) -> String {
    if outside.is_empty() { String::new() } else { OUTSIDE.to_owned() }
}

/// The reasons why predictions are outside of the measured range, each once.
fn reasons<'a>(all: impl IntoIterator<Item = &'a [String]>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for reason in all.into_iter().flatten() {
        let line = format!("{OUTSIDE} of the measured range: {reason}.");
        if !seen.contains(&line) {
            seen.push(line);
        }
    }
    if seen.len() > REASONS {
        let more = seen.split_off(REASONS).len();
        seen.push(format!("{OUTSIDE} for {} more: --json has them all.", plural(more as u64, "reason", "reasons")));
    }
    seen
}

fn interval(of: Option<[f64; 2]>, figure: fn(f64) -> String) -> String {
    of.map_or("-".to_owned(), |[from, to]| format!("{} to {}", figure(from), figure(to)))
}

fn percent(value: f64) -> String {
    format!("{value:.2}")
}

fn intervals(name: &str, estimate: &Estimate, figure: fn(f64) -> String) -> Vec<String> {
    vec![
        name.to_owned(),
        figure(estimate.value),
        interval(estimate.confidence, figure),
        interval(estimate.prediction, figure),
        String::new(),
    ]
}

fn in_percent(hit_rate: HitRate) -> String {
    format!("{}, %", hit_rate.name())
}

/// The predictions for a configuration, with intervals.
fn estimates(hit_rate: HitRate, point: &Point) -> Table {
    let mut table = Table::new("", &["", "predicted", "mean, 95 %", "one more run, 95 %", ""]);
    table.rows.push(intervals(&in_percent(hit_rate), &point.hit_percent, percent));
    match &point.throughput {
        Some(throughput) => table.rows.push(intervals("New-Orders per minute", throughput, rate)),
        None => table.notes.push("Throughput: none, as the model has no Equation 2.".to_owned()),
    }
    if let Some(each) = point.per_warehouse {
        table.rows.push(vec![
            "a warehouse".to_owned(),
            significant(each),
            "-".to_owned(),
            "-".to_owned(),
            String::new(),
        ]);
    }
    table
}

/// The CPUs of a prediction, and how they were reached.
fn cpus(predictor: &Predictor<'_>) -> String {
    let Some(cpus) = predictor.cpus else { return String::new() };
    match predictor.scaling {
        Some(scaling) => format!(", {cpus} CPUs by the law {} with parameter {:.4}", scaling.law, scaling.parameter),
        None => format!(", {cpus} CPUs"),
    }
}

/// A prediction at one scale.
pub fn point(predictor: &Predictor<'_>, point: &Point) -> String {
    let mut table = estimates(predictor.hit_rate(), point);
    for row in &mut table.rows {
        if let Some(last) = row.last_mut() {
            *last = flag(&point.outside);
        }
    }
    table.title =
        format!("{} warehouses, {} of buffer{}", scale(point.warehouses), size(point.buffer_bytes), cpus(predictor));
    table.notes.extend(reasons([point.outside.as_slice()]));
    table.text()
}

/// The steps of an algorithm.
pub fn run(predictor: &Predictor<'_>, run: &Run) -> String {
    let hits = predictor.hit_rate().name();
    let name = if predictor.scaling.is_some() { "Algorithm II" } else { "Algorithm I" };
    let buffer = run.steps.first().map_or(0.0, |step| step.point.buffer_bytes);
    let title = format!(
        "{name}: {} New-Orders per minute and warehouse within {} %, {} of buffer{}",
        run.ratio,
        100.0 * run.tolerance,
        size(buffer),
        cpus(predictor)
    );
    let mut table = Table::new(&title, &["step", "by", "warehouses", hits, "New-Orders per minute", "a warehouse", ""]);
    for step in &run.steps {
        let by = match step.by {
            Method::Start => "start",
            Method::Iteration => "iteration",
            Method::Bisection => "bisection",
        };
        table.rows.push(vec![
            step.step.to_string(),
            by.to_owned(),
            scale(step.point.warehouses),
            format!("{:.2} %", step.point.hit_percent.value),
            step.point.throughput.map_or("-".to_owned(), |throughput| rate(throughput.value)),
            step.point.per_warehouse.map_or("-".to_owned(), significant),
            flag(&step.point.outside),
        ]);
    }
    if run.bisected {
        table.notes.push("The iteration did not converge, so bisection was used instead.".to_owned());
    }
    let allowed = NEW_ORDERS_PER_WAREHOUSE;
    if !allowed.contains(&run.ratio) {
        table.notes.push(format!(
            "With keying and think times the standard allows {} to {} New-Orders per minute and warehouse (clause \
             4.1.3).",
            allowed.start(),
            allowed.end()
        ));
    }
    table.notes.extend(reasons(run.steps.iter().map(|step| step.point.outside.as_slice())));
    let mut text = table.text();
    if let Some(step) = run.steps.last() {
        let whole = step.point.warehouses.floor();
        text.push_str(&format!(
            "\nAnswer: {} whole warehouses\n{}",
            count(whole as i128),
            estimates(predictor.hit_rate(), &step.point).text()
        ));
    }
    text
}

/// A hit rate.
pub fn hit(hit_rate: HitRate, warehouses: f64, buffer: f64, share: Option<f64>, hit: &Hit) -> String {
    let share = share.map_or(String::new(), |share| format!(", {share:.2} % of the database"));
    let title = format!(
        "{} warehouses, {} of buffer ({} thousand pages of 4 KiB{share})",
        scale(warehouses),
        if buffer < GIB { size(buffer) } else { format!("{:.2} GiB", buffer / GIB) },
        significant(thousand_pages(buffer))
    );
    let mut table = Table::new(&title, &["", "predicted", "mean, 95 %", "one more run, 95 %", ""]);
    let mut row = intervals(&in_percent(hit_rate), &hit.estimate, percent);
    if let Some(last) = row.last_mut() {
        *last = flag(&hit.outside);
    }
    table.rows.push(row);
    table.notes = reasons([hit.outside.as_slice()]);
    table.text()
}

/// The quick estimate.
pub fn doublings(hit_rate: HitRate, rows: &[Doubling]) -> String {
    let gained = format!("{} gained", hit_rate.name());
    let columns = ["buffer", &gained, "New-Orders per minute", "gained, % of the first", ""];
    let mut table = Table::new("", &columns);
    for row in rows {
        let unknown = || "-".to_owned();
        table.rows.push(vec![
            format!("{} -> {}", size(row.from_bytes), size(row.to_bytes)),
            row.hit_gain.map_or_else(unknown, |gain| format!("{gain:.2} points")),
            row.throughput.map_or_else(unknown, rate),
            row.throughput_gain_percent.map_or_else(unknown, |gain| format!("{gain:.1} %")),
            flag(&row.outside),
        ]);
    }
    table.notes = reasons(rows.iter().map(|row| row.outside.as_slice()));
    table.text()
}

/// Ratios of neighbouring numbers of CPUs.
pub fn ratios(model: &Model, numbers: &[CpuCount]) -> String {
    let pairs = numbers.windows(2).filter_map(|pair| match pair {
        [from, to] => Some((*from, *to)),
        _ => None,
    });
    let laws = model.scaling.iter().map(|scaling| scaling.law.to_string()).collect::<Vec<_>>();
    let columns = ["CPUs"].into_iter().chain(laws.iter().map(String::as_str)).chain([""]).collect::<Vec<_>>();
    let mut table = Table::new("Throughput over that of fewer CPUs", &columns);
    let mut beyond = false;
    for (from, to) in pairs {
        let outside = model.measured_cpus.is_none_or(|[fewest, most]| from < fewest || to > most);
        beyond |= outside;
        let ratios = model
            .scaling
            .iter()
            .map(|scaling| scaling.ratio(from, to).map_or("none".to_owned(), |ratio| format!("{ratio:.3}")));
        let row = [format!("{to} / {from}")].into_iter().chain(ratios).chain([if outside {
            OUTSIDE.to_owned()
        } else {
            String::new()
        }]);
        table.rows.push(row.collect());
    }
    if beyond {
        let measured = model
            .measured_cpus
            .map_or("the number of CPUs is unknown".to_owned(), |[from, to]| format!("{from} to {to} CPUs"));
        table.notes.push(format!("{OUTSIDE} of the measured range: {measured}."));
    }
    table.text()
}

/// Compares memory with CPUs. Systems outside of the measured range are only answers with `extrapolate`.
pub fn cheapest(hit_rate: HitRate, all: &[Candidate], target: f64, currency: &str, extrapolate: bool) -> String {
    let columns =
        ["price", "CPUs", "memory", "warehouses", hit_rate.name(), "New-Orders per minute", "parts", "target", ""];
    let title =
        format!("{} systems for {} New-Orders per minute, by price in {}", all.len(), rate(target), plain(currency));
    let mut table = Table::new(&title, &columns);
    let row = |candidate: &Candidate| {
        vec![
            count(candidate.offer.price),
            candidate.offer.cpus.to_string(),
            size(candidate.offer.memory_bytes),
            scale(candidate.point.warehouses),
            format!("{:.2} %", candidate.point.hit_percent.value),
            candidate.point.throughput.map_or("-".to_owned(), |throughput| rate(throughput.value)),
            plain(&candidate.offer.parts),
            if candidate.meets { "met" } else { "missed" }.to_owned(),
            flag(&candidate.point.outside),
        ]
    };
    let first = all.iter().position(|candidate| candidate.meets);
    let inside = all.iter().position(|candidate| candidate.meets && candidate.point.outside.is_empty());
    // The neighbours by price show how close the answer is.
    let from = first.unwrap_or(all.len()).saturating_sub(SHOWN / 2);
    let shown = all.iter().enumerate().skip(from).take(SHOWN).map(|(_, candidate)| candidate).collect::<Vec<_>>();
    table.rows = shown.iter().map(|candidate| row(candidate)).collect();
    if all.len() > shown.len() {
        table.notes.push(format!("{} of {} systems are shown; --json has all.", shown.len(), all.len()));
    }
    table.notes.extend(reasons(shown.iter().map(|candidate| candidate.point.outside.as_slice())));
    let describe = |index: usize| {
        all.get(index).map_or(String::new(), |candidate| {
            let offer = &candidate.offer;
            format!(
                "{} {}: {} CPUs, {} of memory ({})",
                count(offer.price),
                plain(currency),
                offer.cpus,
                size(offer.memory_bytes),
                plain(&offer.parts)
            )
        })
    };
    match (first, inside) {
        (Some(first), Some(inside)) if first == inside => table.notes.push(format!("Cheapest: {}.", describe(first))),
        (Some(_), None) if !extrapolate => table.notes.push(
            "No system within the measured range reaches the target; --extrapolate also accepts systems outside."
                .to_owned(),
        ),
        (Some(_), Some(inside)) if !extrapolate => table.notes.push(format!("Cheapest: {}.", describe(inside))),
        (Some(first), inside) => {
            table.notes.push(format!(
                "Cheapest: {}; {OUTSIDE} of the measured range, so it is an extrapolation.",
                describe(first)
            ));
            match inside {
                Some(inside) => table.notes.push(format!("Cheapest within the measured range: {}.", describe(inside))),
                None => table.notes.push("No system within the measured range reaches the target.".to_owned()),
            }
        }
        (None, _) => table.notes.push("No system reaches the target: give parts a larger `most`.".to_owned()),
    }
    table.text()
}
