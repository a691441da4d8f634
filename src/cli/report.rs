//! `graymark report`: shows a record and rewrites its report, or compares records.

use std::path::{Path, PathBuf};

use super::run::report_text;
use super::{Ended, ReportArgs, TableFormat, records, say};
use crate::engine::Error;
use crate::judge;
use crate::link_safe;
use crate::record::acid::proof;
use crate::record::{self, Record};
use crate::report::model::ReportModel;
use crate::report::systems::{MOST, Systems};
use crate::report::{self, Written, first};
use crate::run::PriceFile;
use crate::study::price_trend;

/// Marks a page as written by Graymark.
const GENERATOR_MARK: &str = "<meta name=\"generator\" content=\"Graymark\">";

/// Runs the command.
pub(super) fn report(args: &ReportArgs) -> Result<Ended, Error> {
    if let Some(to) = &args.html {
        return several(args, to);
    }
    match (args.table, args.records.as_slice()) {
        (Some(_), []) => Err(Error::Usage("name the records of the table: graymark report --table RECORD…".to_owned())),
        (Some(format), _) => side_by_side(args, format),
        (None, []) => one(args, &records::newest()?),
        (None, [record]) => one(args, &records::find(record)?),
        (None, _) => {
            Err(Error::Usage("a report is of one record: add --table or --html to compare several".to_owned()))
        }
    }
}

/// Writes a page of several records.
fn several(args: &ReportArgs, to: &Path) -> Result<Ended, Error> {
    let directories = records::all(&args.records)?;
    if !(2..=MOST).contains(&directories.len()) {
        return Err(Error::Usage(format!(
            "name two to {} records for the page: graymark report RECORD RECORD --html=FILE",
            MOST
        )));
    }
    replaceable(to)?;
    let records = directories.iter().map(|directory| Record::open(directory)).collect::<Result<Vec<_>, _>>()?;
    let page = report::several::page(&records, to)?;
    put_page(to, &page)?;
    answer!("{}", to.display());
    Ok(Ended::Held)
}

/// Refuses to replace a file that Graymark did not write.
fn replaceable(to: &Path) -> Result<(), Error> {
    link_safe::resolved(to).map_err(|error| unwritable(to, &error))?;
    let ours = || link_safe::read_to_string(to).is_ok_and(|there| there.contains(GENERATOR_MARK));
    // A non-regular file, such as standard output, is written to, not replaced.
    if to.is_file() && !ours() {
        return Err(Error::Usage(format!(
            "{} already exists and was not written by Graymark: give --html=FILE another name",
            to.display()
        )));
    }
    Ok(())
}

/// Writes a page; only pages written by Graymark are replaced.
pub(super) fn put_page(to: &Path, page: &str) -> Result<(), Error> {
    replaceable(to)?;
    link_safe::write(to, page.as_bytes()).map_err(|error| unwritable(to, &error))
}

fn unwritable(to: &Path, error: &std::io::Error) -> Error {
    Error::Output(format!("cannot write {}: {error}; give --html=FILE another", to.display()))
}

fn one(args: &ReportArgs, directory: &Path) -> Result<Ended, Error> {
    if let Some(file) = &args.price {
        PriceFile::read(file)?.add_to(directory)?;
    }
    if !args.acid.is_empty() {
        add_tests(&args.acid, directory)?;
    }
    let Written { record, model, paths } = report::written(directory)?;
    if let Some((json, text)) = other(&record) {
        if args.json {
            answer!("{json}");
        } else {
            say::report(text.trim_end());
        }
        return Ok(Ended::Held);
    }
    if let Some(file) = &args.trend {
        return trend(args, file, &record, directory);
    }
    if args.json {
        let Some(summary) = &record.summary else {
            return Err(Error::Usage(format!("{} has no summary: its run is incomplete", directory.display())));
        };
        answer!("{}", serde_json::json!(summary));
    } else {
        let page = paths.html.display().to_string();
        let model = model.unwrap_or_else(|| ReportModel::of(&record));
        say::report(&report_text(&record, &model, Some(&page), args.full, first::render));
    }
    Ok(Ended::Held)
}

/// The result of a record of another command than a run, as JSON and as text.
fn other(record: &Record) -> Option<(serde_json::Value, String)> {
    if record.summary.is_some() {
        return None;
    }
    let scan = record.scan.as_ref().map(|scan| (serde_json::json!(scan), report::scan::text(scan)));
    let tuned = || record.tuned.as_ref().map(|tuned| (serde_json::json!(tuned), report::tune::text(tuned)));
    let duet = || record.duet.as_ref().map(|duet| (serde_json::json!(duet), report::duet::text(duet)));
    let acid = || record.acid.as_ref().map(|acid| (serde_json::json!(acid), report::acid::text(acid)));
    scan.or_else(tuned).or_else(duet).or_else(acid)
}

/// Compares the price of a result with those of other years.
fn trend(args: &ReportArgs, file: &Path, record: &Record, directory: &Path) -> Result<Ended, Error> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| {
        Error::Usage(format!("cannot read {shown}: {error}; --trend takes a file such as examples/trend.csv"))
    })?;
    let wrong = |why: String| Error::Usage(format!("{shown} is not a file of prices: {why}"));
    let points = price_trend::read(&text).map_err(wrong)?;
    let price = record.summary.as_ref().and_then(|summary| Some((summary, summary.price.as_ref()?)));
    let Some((summary, price)) = price.filter(|(_, price)| price.per_metric.is_some()) else {
        let directory = directory.display();
        return Err(Error::Usage(format!("{directory} has no price: add --price FILE, such as examples/price.toml")));
    };
    let year = summary.started.get(..4).and_then(|year| year.parse().ok()).unwrap_or_default();
    let trend = price_trend::of(points, &price.metric, year, price.per_metric.unwrap_or_default()).map_err(wrong)?;
    let picture = report::price_trend::draw(directory, &trend)?;
    if args.json {
        answer!("{}", serde_json::json!(trend));
    } else {
        say::report(&report::price_trend::text(&trend));
        if let Some(picture) = picture {
            say::report(&format!("Picture: {}", picture.display()));
        }
    }
    Ok(Ended::Held)
}

/// Adds the results of ACID tests to the record of a run.
fn add_tests(tests: &[PathBuf], directory: &Path) -> Result<(), Error> {
    let proofs = tests.iter().map(|tests| proof(tests)).collect::<Result<Vec<_>, _>>()?;
    let Some(mut summary) = Record::open(directory)?.summary else {
        let shown = directory.display();
        return Err(Error::Usage(format!("{shown} has no summary: its run is incomplete")));
    };
    for foreign in judge::add_tests(&proofs, &mut summary) {
        say::alarm("report", &format!("not applicable to this run: {foreign}"));
    }
    Ok(record::acid::put(directory, &summary)?)
}

fn side_by_side(args: &ReportArgs, format: TableFormat) -> Result<Ended, Error> {
    let records = records::all(&args.records)?.into_iter();
    let systems = Systems::of(records.map(|directory| Ok::<_, Error>(Record::open(&directory)?)))?;
    let json = || serde_json::json!(systems).to_string();
    let text = match format {
        _ if args.json => json(),
        TableFormat::Json => json(),
        TableFormat::Text => systems.text(),
        TableFormat::Markdown => systems.markdown(),
        TableFormat::Csv => systems.csv(),
        TableFormat::Latex => systems.latex(),
    };
    answer!("{}", text.trim_end());
    Ok(Ended::Held)
}
