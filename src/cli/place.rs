//! Place of a database that a command creates, and how it is created and removed.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use super::with_engine;
use crate::drive::LoadTarget;
use crate::engine::files;
use crate::engine::guard::guarded;
use crate::engine::{DatabaseState, Error};
use crate::identity::Identity;
use crate::link_safe;
use crate::mounts;
use crate::plan::Plan;
use crate::run::open::{Visitor, options};
use crate::run::population::{foreign, other};
use crate::url::DatabaseUrl;
use crate::workload::Workload;

/// Characters that need no percent-encoding in a value of a URL.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b',');

/// Time limit for a server to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// Directory of the databases of a series of points, and CPUs of their servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Location {
    /// Directory of the databases; by default as in the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) data_directory: Option<PathBuf>,
    /// Bound to these CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cpus: Option<String>,
}

/// A database, or the place of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A file.
    File { url: DatabaseUrl, file: PathBuf },
    /// The data directory of a private server.
    Private { url: DatabaseUrl, directory: PathBuf },
    /// An existing server.
    Server { url: DatabaseUrl },
    /// The simulated database, which has no files.
    Nowhere { url: DatabaseUrl },
}

impl Place {
    /// The place for a number of warehouses, or for all points if that is not varied. `directory` is that of the
    /// command's results.
    pub(super) fn of(
        url: &DatabaseUrl,
        location: &Location,
        warehouses: Option<u32>,
        directory: &Path,
    ) -> Result<Place, Error> {
        let (place, query) = url.reveal().split_once('?').unwrap_or((url.reveal(), ""));
        let scheme = url.scheme();
        let private = place.ends_with(":local");
        if location.cpus.is_some() && !private {
            return Err(Error::Usage(
                "--cpus needs a private server: use --db postgres:local, or remove it".to_owned(),
            ));
        }
        if location.data_directory.is_some() && !private && scheme != "sqlite" {
            return Err(Error::Usage(
                "--data-directory is only for SQLite and private servers: use --db sqlite:FILE or postgres:local"
                    .to_owned(),
            ));
        }
        if scheme == "simulated" {
            return Ok(Place::Nowhere { url: url.clone() });
        }
        if private {
            let value = |text: &str| utf8_percent_encode(text, VALUE).to_string();
            let (mut data, mut pairs) = (None, Vec::new());
            for pair in query.split('&').filter(|pair| !pair.is_empty()) {
                match pair.split_once('=') {
                    Some(("data", path)) => {
                        data = Some(PathBuf::from(percent_decode_str(path).decode_utf8_lossy().into_owned()))
                    }
                    Some(("cpus", _)) if location.cpus.is_some() => {}
                    Some(("stripes", directories)) if directories.parse::<u32>().is_err() => {
                        return Err(Error::Usage(
                            "stripes= with directories supports only one database, and this command copies or creates \
                             databases: give a number, such as stripes=4"
                                .to_owned(),
                        ));
                    }
                    _ => pairs.push(pair.to_owned()),
                }
            }
            let base = location.data_directory.clone().or(data.clone());
            let data = match warehouses {
                None => base.unwrap_or_else(|| directory.join("database")),
                Some(w) => {
                    let bound = location.cpus.as_ref().map_or(String::new(), |cpus| format!("-cpus{cpus}"));
                    base.unwrap_or_else(|| directory.join("databases")).join(format!("graymark-w{w}{bound}"))
                }
            };
            pairs.push(format!("data={}", value(&data.to_string_lossy())));
            pairs.extend(location.cpus.iter().map(|cpus| format!("cpus={}", value(cpus))));
            return Ok(Place::Private { url: format!("{place}?{}", pairs.join("&")).into(), directory: data });
        }
        if scheme == "sqlite" {
            let file = place.strip_prefix("sqlite:").unwrap_or_default();
            let mut file = PathBuf::from(file.strip_prefix("//").unwrap_or(file));
            if let (Some(directory), Some(name)) = (&location.data_directory, file.file_name()) {
                file = directory.join(name);
            }
            if let Some(w) = warehouses {
                let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let end = file.extension().map_or(String::new(), |end| format!(".{}", end.to_string_lossy()));
                file.set_file_name(format!("{stem}-w{w}{end}"));
            }
            let query = if query.is_empty() { String::new() } else { format!("?{query}") };
            return Ok(Place::File { url: format!("sqlite:{}{query}", file.display()).into(), file });
        }
        Ok(Place::Server { url: url.clone() })
    }

    /// The same for a private server whose database is striped over this number of files.
    pub(super) fn striped(&self, stripes: u32) -> Place {
        let options = [("stripes", stripes.to_string())];
        self.working(&format!("stripes{stripes}"), &options)
    }

    /// The working copy of this database, with these server options. `ending` is added to its name.
    pub(super) fn working(&self, ending: &str, options: &[(&str, String)]) -> Place {
        match self {
            Place::Private { url, directory } => {
                let mut name = directory.file_name().unwrap_or_default().to_owned();
                name.push(format!("-{ending}"));
                let directory = directory.with_file_name(name);
                let (place, query) = url.reveal().split_once('?').unwrap_or((url.reveal(), ""));
                let given = |pair: &&str| {
                    let name = pair.split('=').next().unwrap_or_default();
                    !pair.is_empty() && name != "data" && options.iter().all(|(other, _)| *other != name)
                };
                let mut pairs = query.split('&').filter(given).map(str::to_owned).collect::<Vec<_>>();
                pairs.push(format!("data={}", utf8_percent_encode(&directory.to_string_lossy(), VALUE)));
                pairs.extend(
                    options.iter().map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, VALUE))),
                );
                Place::Private { url: format!("{place}?{}", pairs.join("&")).into(), directory }
            }
            Place::File { url, file } => {
                let end = file.extension().map_or(String::new(), |end| format!(".{}", end.to_string_lossy()));
                let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let file = file.with_file_name(format!("{stem}-{ending}{end}"));
                let query = url.reveal().split_once('?').map_or(String::new(), |(_, query)| format!("?{query}"));
                Place::File { url: format!("sqlite:{}{query}", file.display()).into(), file }
            }
            Place::Server { .. } | Place::Nowhere { .. } => self.clone(),
        }
    }

    /// Creates an empty file or directory for a database, which engines fill like a new one. Returns what identifies
    /// it; `None` for a place without files.
    ///
    /// # Errors
    /// If something is there, or it cannot be created.
    pub(super) fn create(&self) -> Result<Option<Identity>, Error> {
        let Some(path) = self.path() else { return Ok(None) };
        let cannot = |error: std::io::Error| match error.kind() {
            ErrorKind::AlreadyExists => self.exists(),
            _ => Error::Usage(format!("cannot make {}: {error}", path.display())),
        };
        if !self.is_free() {
            return Err(self.exists());
        }
        if let Some(above) = path.parent().filter(|above| *above != Path::new("")) {
            link_safe::make_directory(above).map_err(cannot)?;
        }
        match self {
            Place::Private { .. } => fs::DirBuilder::new().mode(0o700).create(path).map_err(cannot)?,
            _ => drop(fs::File::create_new(path).map_err(cannot)?),
        }
        Identity::of(path).map(Some).map_err(cannot)
    }

    /// The error for a place that is not free.
    pub(super) fn exists(&self) -> Error {
        Error::Usage(format!("{} already exists: give a new place for the database", self.url()))
    }

    /// Whether this is what was created there.
    pub(super) fn is(&self, identity: Option<&Identity>) -> bool {
        self.path().is_some_and(|path| Identity::of(path).ok().as_ref() == identity && identity.is_some())
    }

    /// Whether there is only an empty file or directory.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Place::File { file, .. } => {
                let [others @ .., database] = files_of(file);
                others.iter().all(|path| is_free(path))
                    && fs::symlink_metadata(database).is_ok_and(|there| there.is_file() && there.len() == 0)
            }
            Place::Private { directory, .. } => fs::read_dir(directory).is_ok_and(|mut there| there.next().is_none()),
            Place::Server { .. } | Place::Nowhere { .. } => false,
        }
    }

    /// Removes what was created there. Anything else stays, and the user is told.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub(super) fn remove_own(&self, identity: &Identity) -> Result<(), Error> {
        if self.is(Some(identity)) {
            return self.remove();
        }
        if self.path().is_some_and(|path| !is_free(path)) {
            tell!("graymark: warning: {} is not the database that Graymark created there: it is kept", self.url());
        }
        Ok(())
    }

    /// Copies the database into another place, where only an empty file or directory is.
    pub(super) fn copy_to(&self, working: &Place) -> Result<(), Error> {
        match (self, working) {
            (Place::Private { directory: from, .. }, Place::Private { directory: to, .. })
            | (Place::File { file: from, .. }, Place::File { file: to, .. }) => {
                let cannot =
                    |error| Error::Usage(format!("cannot copy {} to {}: {error}", from.display(), to.display()));
                files::copy_into(from, to).map(|_| ()).map_err(cannot)
            }
            _ => Ok(()),
        }
    }

    /// Its URL.
    pub(super) fn url(&self) -> &DatabaseUrl {
        match self {
            Place::File { url, .. } | Place::Private { url, .. } | Place::Server { url } | Place::Nowhere { url } => {
                url
            }
        }
    }

    /// The file, or the data directory of a private server.
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Place::File { file: path, .. } | Place::Private { directory: path, .. } => Some(path),
            Place::Server { .. } | Place::Nowhere { .. } => None,
        }
    }

    /// The data directory of a private server.
    pub(super) fn directory(&self) -> Option<&Path> {
        match self {
            Place::Private { directory, .. } => Some(directory),
            Place::File { .. } | Place::Server { .. } | Place::Nowhere { .. } => None,
        }
    }

    /// Whether it is the same file or directory.
    pub(super) fn same(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::File { file: one, .. }, Place::File { file: other, .. })
            | (Place::Private { directory: one, .. }, Place::Private { directory: other, .. }) => one == other,
            _ => false,
        }
    }

    /// Whether nothing is there yet, so that Graymark may create a database and remove it later.
    pub(super) fn is_free(&self) -> bool {
        match self {
            Place::File { file, .. } => files_of(file).iter().all(|path| is_free(path)),
            Place::Private { directory, .. } => is_free(directory),
            Place::Server { .. } | Place::Nowhere { .. } => false,
        }
    }

    /// Prepares it for a load. Tables of a server are dropped, except those of the same scale if the point is
    /// continued.
    pub(super) fn prepare(&self, plan: &Plan, again: bool) -> Result<(), Error> {
        match self {
            Place::File { file, .. } => match file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                Some(parent) => {
                    let cannot = |error| Error::Usage(format!("cannot make {}: {error}", parent.display()));
                    link_safe::make_directory(parent).map(drop).map_err(cannot)
                }
                None => Ok(()),
            },
            Place::Server { .. } if plan.scale.is_some() => {
                let workload = plan.workload.unwrap_or_default();
                with_engine(workload, options(workload, plan), DropOtherScale { keep: plan.scale.filter(|_| again) })
            }
            Place::Server { .. } | Place::Private { .. } | Place::Nowhere { .. } => Ok(()),
        }
    }

    /// Removes files that Graymark created.
    pub(super) fn remove(&self) -> Result<(), Error> {
        let gone = |result: std::io::Result<()>, path: &Path| match result {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Error::Usage(format!("cannot remove {}: {error}", path.display())))
            }
            _ => Ok(()),
        };
        match self {
            Place::File { file, .. } => files_of(file).iter().try_for_each(|path| gone(fs::remove_file(path), path)),
            Place::Private { directory, .. } => {
                // The server of a killed command stops by itself, and may write while its files are removed.
                let end = Instant::now() + STOP_TIMEOUT;
                let busy = |result: &std::io::Result<()>| {
                    result.as_ref().is_err_and(|error| error.kind() == ErrorKind::DirectoryNotEmpty)
                };
                let mut removed = mounts::remove_directory(directory);
                while busy(&removed) && Instant::now() < end {
                    std::thread::sleep(Duration::from_millis(50));
                    removed = mounts::remove_directory(directory);
                }
                gone(removed, directory)
            }
            Place::Server { .. } | Place::Nowhere { .. } => Ok(()),
        }
    }
}

fn is_free(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// A SQLite database and the files that belong to it. The database comes last: without it, they mean nothing.
fn files_of(file: &Path) -> [PathBuf; 4] {
    ["-wal", "-shm", "-journal", ""].map(|end| {
        let mut path = file.as_os_str().to_owned();
        path.push(end);
        path.into()
    })
}

/// Drops the tables of another point.
struct DropOtherScale {
    /// Tables of this scale may stay.
    keep: Option<u32>,
}

impl Visitor for DropOtherScale {
    type Output = ();

    fn visit<W: Workload>(self, runtime: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<(), Error> {
        let stays = match runtime.block_on(guarded(engine.database_state()))? {
            DatabaseState::Nothing => true,
            DatabaseState::Complete(manifest) | DatabaseState::Unfinished(manifest) => {
                Some(manifest.scale) == self.keep
            }
            DatabaseState::Other { workload } => return Err(other::<W>(&workload, &engine.identity().url)),
            DatabaseState::Foreign { why } => return Err(foreign(&engine.identity().url, &why)),
            DatabaseState::Damaged { .. } => false,
        };
        if stays {
            return Ok(());
        }
        runtime.block_on(guarded(engine.drop_tables()))?;
        tell!("sweep: dropped the {} tables of {}", W::NAME, engine.identity().url);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(url: &str, location: &Location, warehouses: Option<u32>) -> Place {
        Place::of(&url.into(), location, warehouses, Path::new("out")).unwrap()
    }

    #[test]
    fn each_scale_has_its_own_place() {
        let here = Location::default();
        let there = Location { data_directory: Some("/mnt/a b".into()), cpus: None };
        assert_eq!(place("sqlite:x/tpcc.db?cache=64", &here, Some(8)).url().reveal(), "sqlite:x/tpcc-w8.db?cache=64");
        assert_eq!(place("sqlite:tpcc.db", &there, Some(8)).url().reveal(), "sqlite:/mnt/a b/tpcc-w8.db");
        assert_eq!(place("sqlite:tpcc.db", &here, None).url().reveal(), "sqlite:tpcc.db");
        assert_eq!(
            place("postgres:local", &here, Some(8)).url().reveal(),
            "postgres:local?data=out/databases/graymark-w8"
        );
        assert_eq!(place("postgres:local?data=/d", &here, None).url().reveal(), "postgres:local?data=/d");
        let bound = Location { cpus: Some("0,2-3".to_owned()), ..there };
        let url = "postgres:local?data=/d&fsync=off&cpus=7";
        assert_eq!(
            place(url, &bound, Some(2)).url().reveal(),
            "postgres:local?fsync=off&data=/mnt/a%20b/graymark-w2-cpus0,2-3&cpus=0,2-3"
        );
        let point =
            place(url, &bound, Some(2)).working("point-7", &[("cpus", "0".to_owned()), ("buffers", "64MB".to_owned())]);
        assert_eq!(
            point.url().reveal(),
            "postgres:local?fsync=off&data=/mnt/a%20b/graymark-w2-cpus0,2-3-point-7&cpus=0&buffers=64MB"
        );
        assert_eq!(
            place("sqlite:x/tpcc.db?cache=64", &here, Some(8)).working("point-7", &[]).url().reveal(),
            "sqlite:x/tpcc-w8-point-7.db?cache=64"
        );
        for url in ["postgres://host/db", "simulated:service=1ms"] {
            assert_eq!(place(url, &here, Some(2)).url().reveal(), url);
            assert!(Place::of(&url.into(), &bound, Some(2), Path::new("out")).is_err());
        }
    }
}
