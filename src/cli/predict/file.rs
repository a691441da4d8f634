//! Input files of predictions.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::engine::Error;
use crate::report::format::plural;
use crate::report::sweep;
use crate::study::sizing::model::Model;
use crate::study::sizing::observation::{self, Sound};

/// Sound points, and how to name their source.
pub(super) struct Points {
    pub(super) source: String,
    pub(super) sound: Sound,
}

/// The points of a table, or of the table in a sweep's directory.
pub(super) fn points(path: &Path) -> Result<Points, Error> {
    let table = if path.is_dir() { path.join(observation::FILE) } else { path.to_owned() };
    let shown = table.display();
    let file = fs::File::open(&table).map_err(|error| {
        let wanted =
            "give a table of points such as the points.csv of `graymark sweep grid`, or the directory of such a sweep";
        Error::Usage(format!("cannot read {shown}: {error}; {wanted}"))
    })?;
    let all = observation::read(std::io::BufReader::new(file));
    let all = all.map_err(|why| Error::Usage(format!("{shown}: {why}")))?;
    let source = format!("{}, {}", path.display(), plural(all.len() as u64, "point", "points"));
    let measured = !all.is_empty();
    let mut sound = Sound::of(all);
    if path.is_dir() {
        sound.warnings.extend(of_sweep(path));
    }
    if measured && sound.points.is_empty() {
        return Err(Error::Usage(format!(
            "{shown}: no point is of a database that worked: {}",
            sound.warnings.join(" ")
        )));
    }
    Ok(Points { source, sound })
}

/// What a sweep in a directory says about points that are not in its table.
fn of_sweep(directory: &Path) -> Vec<String> {
    let path = directory.join(sweep::file::JSON);
    if !path.exists() {
        return Vec::new();
    }
    let read = fs::read(&path).map_err(|error| error.to_string());
    let study = match read.and_then(|text| serde_json::from_slice::<Value>(&text).map_err(|error| error.to_string())) {
        Ok(study) => study,
        Err(why) => return vec![format!("Whether points are missing is unknown: {}: {why}.", path.display())],
    };
    let missing = study["missing"].as_array().map_or(0, Vec::len) as u64;
    let missing = (missing > 0).then(|| {
        let one = study["missing"][0].as_str().unwrap_or_default();
        format!("{} of the sweep without a result: {one}.", plural(missing, "point", "points"))
    });
    let unfinished = (study["finished"] != true).then(|| "The sweep is not finished.".to_owned());
    unfinished.into_iter().chain(missing).collect()
}

/// A model file.
pub(super) fn model(path: &Path) -> Result<Model, Error> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| {
        Error::Usage(format!(
            "cannot read {shown}: {error}; `graymark predict fit` writes model files, and examples/tsuei-1997.toml is \
             one"
        ))
    })?;
    let model = Model::parse(&text).map_err(|why| Error::Usage(format!("{shown} is not a model file: {why}")))?;
    for warning in &model.warnings {
        tell!("graymark: warning: {shown}: {warning}");
    }
    Ok(model)
}
