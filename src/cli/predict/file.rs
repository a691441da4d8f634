//! Input files of predictions.

use std::fs;
use std::path::Path;

use crate::engine::Error;
use crate::study::sizing::model::Model;
use crate::study::sizing::observation::{self, Observation};

/// The points of a table, or of the table in a sweep's directory.
pub(super) fn points(path: &Path) -> Result<Vec<Observation>, Error> {
    let table = if path.is_dir() { path.join(observation::FILE) } else { path.to_owned() };
    let shown = table.display();
    let file = fs::File::open(&table).map_err(|error| {
        let wanted =
            "give a table of points such as the points.csv of `graymark sweep grid`, or the directory of such a sweep";
        Error::Usage(format!("cannot read {shown}: {error}; {wanted}"))
    })?;
    observation::read(std::io::BufReader::new(file)).map_err(|why| Error::Usage(format!("{shown}: {why}")))
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
    Model::parse(&text).map_err(|why| Error::Usage(format!("{shown} is not a model file: {why}")))
}
