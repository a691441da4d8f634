//! The report of a study of buffer sizes: text, and a page with the figures and tables of the paper.

mod table;
pub mod text;

use crate::cpus::CpuCount;
use crate::link_safe;
use std::path::{Path, PathBuf};

use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;

use super::chart::Chart;
use super::chart::sizing::{Figure, figures, standalone};
use super::format::{bytes, significant};
use super::html;
use crate::record::{Error, writer};
use crate::study::sizing::model::{KneeRow, Model};
use crate::study::sizing::observation::Observation;
use crate::study::sizing::series::{self, Reading, Series};
use crate::study::sizing::tables::{self, DoublingGain, Ratio, ReadRatios};
use table::Table;

const PAGE: &str = include_str!("page.html");

/// Names of the files other than the figures.
pub mod file {
    /// The page.
    pub const HTML: &str = "sizing.html";
    /// The model, if one could be fitted.
    pub(crate) const MODEL: &str = "model.toml";
}

/// The written files.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Written {
    /// The page.
    pub page: PathBuf,
    /// The figures as separate files.
    pub figures: Vec<PathBuf>,
    /// The model file; `None` if no model could be fitted.
    pub model: Option<PathBuf>,
    /// The numbers of the paper's tables.
    pub(crate) tables: Numbers,
    /// Figures and tables that cannot be made from the points, with the missing data.
    pub missing: Vec<String>,
}

/// The numbers of the paper's Tables 1 to 4; a table that cannot be made is empty.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Numbers {
    /// Table 1.
    pub reads: Vec<ReadRatios>,
    /// Table 2, by both readings of the paper's rule.
    pub knees: Knees,
    /// Table 3.
    pub doublings: Vec<DoublingGain>,
    /// Table 4.
    pub cpu_ratios: Vec<Ratio>,
}

/// Rows of Table 2.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Knees {
    /// By [`Reading::Printed`].
    pub printed: Vec<KneeRow>,
    /// By [`Reading::Tabulated`].
    pub tabulated: Vec<KneeRow>,
}

impl Numbers {
    fn new(all: &[Series], model: Result<&Model, &String>) -> Numbers {
        let knees = model.map(|model| model.knees.iter().cloned().partition(|row| row.reading == Reading::Printed));
        let knees = knees.map_or_else(|_| Knees::default(), |(printed, tabulated)| Knees { printed, tabulated });
        Numbers {
            reads: tables::index_and_data(all),
            knees,
            doublings: tables::doublings(all),
            cpu_ratios: tables::ratios(all),
        }
    }
}

/// A figure on the page.
#[derive(Serialize)]
struct Drawn<'a> {
    number: &'static str,
    chart: &'a Chart,
}

/// Writes the page, the figures and the model into a directory, which is created if needed. `warnings` are what must be
/// known before any figure.
///
/// # Errors
/// If something cannot be written.
pub fn write(
    directory: &Path,
    source: &str,
    warnings: &[String],
    points: &[Observation],
    model: Result<&Model, &String>,
) -> Result<Written, Error> {
    link_safe::make_directory(directory).map_err(|source| Error::Create { directory: directory.to_owned(), source })?;
    let (all, _) = series::series(points);
    let figures = figures(&all, model);
    let mut missing = Vec::new();
    if let Err(why) = model {
        missing.push(format!("the model: {why}"));
    }
    let mut files = Vec::new();
    let mut drawn = Vec::new();
    for Figure { number, file, chart } in &figures {
        match chart {
            Ok(chart) => {
                let name = format!("{file}.svg");
                writer::put(directory, &name, standalone(number, chart).as_bytes())?;
                files.push(directory.join(name));
                drawn.push(Drawn { number, chart });
            }
            Err(why) => missing.push(format!("{} ({file}): {why}", number)),
        }
    }
    let numbers = Numbers::new(&all, model);
    let (shown, lacking) = paper_tables(&numbers, model);
    missing.extend(lacking);
    let equations = model.map(|model| {
        let tables =
            text::titles(model).into_iter().map(|(title, names, equation)| text::equation(&title, names, equation));
        tables.chain((!model.scaling.is_empty()).then(|| text::laws(model))).collect::<Vec<_>>()
    });
    let values = context! {
        title => format!("Throughput, buffer size, database size and CPUs"),
        source => super::format::plain(source),
        warnings => warnings.iter().map(|warning| super::format::plain(warning)).collect::<Vec<_>>(),
        figures => Serde(&drawn),
        equations => Serde(equations.unwrap_or_default()),
        tables => Serde(&shown),
        notes => model.map_or_else(|_| Vec::new(), |model| model.notes.clone()),
        missing => &missing,
    };
    let page = html::page(PAGE, values).map_err(|error| Error::encode(directory.join(file::HTML), error))?;
    writer::put(directory, file::HTML, page.as_bytes())?;
    let written = match model {
        Ok(model) => {
            writer::put(
                directory,
                file::MODEL,
                model.text().map_err(|why| Error::encode(directory.join(file::MODEL), why))?.as_bytes(),
            )?;
            Some(directory.join(file::MODEL))
        }
        Err(_) => None,
    };
    Ok(Written { page: directory.join(file::HTML), figures: files, model: written, tables: numbers, missing })
}

/// Tables 1 to 4 of the paper, and the missing data of those that cannot be made.
fn paper_tables(numbers: &Numbers, model: Result<&Model, &String>) -> (Vec<Table>, Vec<String>) {
    let (mut shown, mut missing) = (Vec::new(), Vec::new());
    let unknown = || "-".to_owned();
    let cpus = |cpus: Option<CpuCount>| cpus.map_or_else(unknown, |cpus| cpus.to_string());
    let ratio = |value: Option<f64>| value.map_or_else(unknown, significant);

    let columns =
        ["warehouses", "CPUs", "buffer", "logical index / data", "physical data / index", "reduced data / index"];
    let mut reads = Table::new("Table 1. Reads of indexes and of tables", &columns);
    reads.rows.extend(numbers.reads.iter().map(|row| {
        let of = [
            row.warehouses.to_string(),
            cpus(row.cpus),
            bytes(row.buffer_bytes),
            significant(row.logical_index_per_data),
        ];
        of.into_iter().chain([ratio(row.physical_data_per_index), ratio(row.reduced_data_per_index)]).collect()
    }));
    reads.notes.push(
        "Reduced: misses that the largest buffer saves compared with the smallest, relative to the reads of each run."
            .to_owned(),
    );
    if reads.rows.is_empty() {
        missing.push("Table 1: no point has all four counts of reads".to_owned())
    } else {
        shown.push(reads)
    }

    match model {
        Ok(model) if !model.knees.is_empty() => shown.extend(Reading::ALL.map(|reading| text::knees(model, reading))),
        Ok(_) => missing.push("Table 2: no curve has three buffer sizes".to_owned()),
        Err(why) => missing.push(format!("Table 2: {why}")),
    }

    let columns = ["warehouses", "CPUs", "from buffer", "to buffer", "gained, % of the first"];
    let mut doubled = Table::new("Table 3. Throughput gained by doubling the buffer", &columns);
    doubled.rows.extend(numbers.doublings.iter().map(|row| {
        let gain = format!("{:+.1} %", row.gain_percent);
        vec![row.warehouses.to_string(), cpus(row.cpus), bytes(row.from_bytes), bytes(row.to_bytes), gain]
    }));
    if doubled.rows.is_empty() {
        missing.push("Table 3: no buffer is twice another one".to_owned())
    } else {
        shown.push(doubled)
    }

    let columns = ["warehouses", "buffer", "CPUs compared", "ratio of throughput"];
    let mut ratios = Table::new("Table 4. Throughput over that of fewer CPUs", &columns);
    ratios.rows.extend(numbers.cpu_ratios.iter().map(|row| {
        let compared = format!("{} / {}", row.to_cpus, row.from_cpus);
        vec![row.warehouses.to_string(), bytes(row.buffer_bytes), compared, format!("{:.2}", row.ratio)]
    }));
    if ratios.rows.is_empty() {
        missing.push("Table 4: no two points differ in CPUs alone".to_owned())
    } else {
        shown.push(ratios)
    }
    (shown, missing)
}
