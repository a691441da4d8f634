//! Safe file access in directories that other users can write to, such as `/tmp`: writes do not follow their symbolic
//! links, and reads do not block on their named pipes.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Component, Path, PathBuf};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::unistd::Uid;

/// Maximum number of symbolic links in a path, as in the kernel.
const MOST_LINKS: usize = 40;
/// Prefix of files that are being written.
const TEMPORARY: &str = ".writing-";
/// The mode of a new file, before the umask.
const NEW: u32 = 0o666;

/// What a user's path refers to.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    /// A file to be replaced or created, with its mode.
    File(PathBuf, u32),
    /// A device, a pipe or an open file of this process, which is written to directly.
    Stream(PathBuf),
}

/// Writes a file named by the user. An existing file is replaced atomically; symbolic links are followed if they belong
/// to the user or to root, such as `/dev/stdout`.
///
/// # Errors
/// If it cannot be written, or if a link or pipe in its path belongs to another user.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    match way(path)? {
        Way::File(path, mode) => replace(&path, content, mode),
        Way::Stream(path) => File::options().write(true).truncate(true).open(path)?.write_all(content),
    }
}

/// Creates a directory named by the user, with its parents, and returns its resolved path.
///
/// # Errors
/// If it cannot be created, or if a link in its path belongs to another user.
pub(crate) fn make_directory(path: &Path) -> io::Result<PathBuf> {
    let path = resolved(path)?;
    fs::create_dir_all(&path).map(|()| path)
}

/// Replaces a file atomically. Whatever had its name before, even a symbolic link, is replaced and not followed.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    replace_with(path, content, mode, |_| Ok(()))
}

/// As [`replace`], for another user: the file has exactly this mode, and belongs to this user and group.
///
/// # Errors
/// As [`replace`], and if the file cannot be given away.
pub(crate) fn replace_for(path: &Path, content: &[u8], mode: u32, (user, group): (u32, u32)) -> io::Result<()> {
    replace_with(path, content, 0o600, |file| {
        fchown(file, Some(user), Some(group))?;
        file.set_permissions(Permissions::from_mode(mode))
    })
}

/// Replaces a file atomically, after `finish`.
fn replace_with(
    path: &Path,
    content: &[u8],
    mode: u32,
    finish: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let directory = path.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."));
    let mode = Permissions::from_mode(mode);
    let mut temporary = tempfile::Builder::new().prefix(TEMPORARY).permissions(mode).tempfile_in(directory)?;
    temporary.write_all(content)?;
    finish(temporary.as_file())?;
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|error| error.error)?;
    File::open(directory)?.sync_all()
}

/// Whether a file was being written when its process was killed.
pub(crate) fn is_unfinished(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with(TEMPORARY)
}

/// Whether a directory has more than this file for locking and what a killed process was writing.
pub(crate) fn is_used(directory: &Path, lock: &str) -> bool {
    let more = |name: &OsStr| name != lock && !is_unfinished(name);
    let used = |entry: io::Result<fs::DirEntry>| entry.map_or(true, |entry| more(&entry.file_name()));
    fs::read_dir(directory).is_ok_and(|mut there| there.any(used))
}

/// Opens a file for locking, and creates it if needed. It can also be read.
///
/// # Errors
/// If it is a link, or cannot be opened.
pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    let how = O_NOFOLLOW | O_NONBLOCK;
    File::options().create(true).truncate(false).read(true).write(true).custom_flags(how).open(path)
}

/// Opens a regular file to read it.
///
/// # Errors
/// If it is not a regular file, such as a named pipe that nobody writes to, or cannot be opened.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(O_NONBLOCK).open(path)?;
    match file.metadata()?.file_type() {
        kind if kind.is_file() => Ok(file),
        kind if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::other("it is not a regular file")),
    }
}

/// Reads a regular file.
///
/// # Errors
/// As [`open`], and if it cannot be read.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map(|_| bytes)
}

/// Reads a regular file, which Graymark wrote and will write again, as UTF-8 text.
///
/// # Errors
/// As [`read`], if a link in its path belongs to another user, and if it is not UTF-8.
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(&resolved(path)?)?.read_to_string(&mut text).map(|_| text)
}

fn way(path: &Path) -> io::Result<Way> {
    let path = resolved(path)?;
    if is_open_file(&path) {
        return Ok(Way::Stream(path));
    }
    let there = match fs::symlink_metadata(&path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Way::File(path, NEW)),
        Err(error) => return Err(error),
    };
    let kind = there.file_type();
    if kind.is_file() {
        let mode = if there.uid() == Uid::effective().as_raw() { there.mode() & 0o777 } else { NEW };
        return Ok(Way::File(path, mode));
    }
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // Only root can create devices.
    if kind.is_char_device() || kind.is_block_device() || is_trusted(&there) {
        return Ok(Way::Stream(path));
    }
    Err(io::Error::other(format!("it belongs to another user ({}) and is not a file", there.uid())))
}

/// Resolves the links of a path, each of which has to belong to the user or to root. A missing tail is kept as it is.
///
/// # Errors
/// If a link belongs to another user or leads in a circle, or cannot be read.
pub(crate) fn resolved(path: &Path) -> io::Result<PathBuf> {
    let parts = |path: &Path| path.components().map(|part| part.as_os_str().to_owned()).collect::<VecDeque<OsString>>();
    let (mut at, mut left, mut links) = (PathBuf::new(), parts(&std::path::absolute(path)?), 0);
    while let Some(part) = left.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => {
                at.pop();
                continue;
            }
            Some(Component::CurDir) | None => continue,
            Some(_) => at.push(&part),
        }
        if is_open_file(&at) {
            at.extend(left);
            return Ok(at);
        }
        let Ok(there) = fs::symlink_metadata(&at) else { continue };
        if !there.is_symlink() {
            continue;
        }
        if !is_trusted(&there) {
            return Err(io::Error::other(format!(
                "{} is a symbolic link of another user ({}), which Graymark does not follow",
                at.display(),
                there.uid()
            )));
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(nix::errno::Errno::ELOOP.into());
        }
        let mut to = parts(&fs::read_link(&at)?);
        at.pop();
        to.append(&mut left);
        left = to;
    }
    Ok(at)
}

/// Whether a path refers to a file that a process has open, as `/dev/stdout` does. Such a link has no usable target.
fn is_open_file(path: &Path) -> bool {
    path.starts_with("/proc") && path.parent().is_some_and(|above| above.ends_with("fd"))
}

/// Whether a file belongs to the current user or to root.
fn is_trusted(there: &fs::Metadata) -> bool {
    there.uid() == 0 || there.uid() == Uid::effective().as_raw()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    /// A user that owns no files.
    const ANOTHER: u32 = 65_534;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    /// The planted fault: a command that is killed while it writes its first file.
    #[test]
    fn a_directory_that_a_killed_command_began_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let is_used = |directory: &Path| super::is_used(directory, "x.lock");
        assert!(!is_used(&place.path().join("missing")) && !is_used(place.path()));
        fs::write(place.path().join("x.lock"), "").unwrap();
        fs::write(place.path().join(format!("{TEMPORARY}Ab12")), "form").unwrap();
        assert!(!is_used(place.path()));
        fs::write(place.path().join("letter"), "dear").unwrap();
        assert!(is_used(place.path()));
    }

    #[test]
    fn a_file_is_made_or_replaced_as_a_whole() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("page");
        write(&file, b"one").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        fs::hard_link(&file, place.path().join("other name")).unwrap();
        write(&file, b"two").unwrap();
        assert_eq!((text(&file), text(&place.path().join("other name"))), ("two".to_owned(), "one".to_owned()));
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
        assert_eq!(write(place.path(), b"").unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn links_are_followed_only_if_they_are_the_users_own() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir(path("deep")).unwrap();
        for (link, to) in [("own", "target"), ("chain", "deep/../own"), ("way", "deep"), ("loop", "loop")] {
            symlink(to, path(link)).unwrap();
        }
        write(&path("chain"), b"through").unwrap();
        assert_eq!(text(&path("target")), "through");
        assert!(path("own").is_symlink() && path("chain").is_symlink());
        write(&path("way/page"), b"below").unwrap();
        assert_eq!(text(&path("deep/page")), "below");
        assert_eq!(read_to_string(&path("way/page")).unwrap(), "below");
        assert!(write(&path("loop"), b"").unwrap_err().to_string().contains("symbolic links"));
        assert_eq!(make_directory(&path("way/new")).unwrap(), fs::canonicalize(path("deep/new")).unwrap());
        if !Uid::effective().is_root() {
            println!("not run: only root can make another user's links");
            return;
        }
        for link in ["own", "way"] {
            lchown(path(link), Some(ANOTHER), None).unwrap();
        }
        for name in ["own", "chain", "way/page"] {
            let written = write(&path(name), b"planted").unwrap_err().to_string();
            for refused in [written, read_to_string(&path(name)).unwrap_err().to_string()] {
                assert!(refused.contains("is a symbolic link of another user (65534)"), "{name}: {refused}");
            }
        }
        assert!(make_directory(&path("way/more")).is_err() && !path("deep/more").exists());
        assert_eq!((text(&path("target")), text(&path("deep/page"))), ("through".to_owned(), "below".to_owned()));
    }

    #[test]
    fn devices_and_open_files_are_written_to() {
        let place = tempfile::tempdir().unwrap();
        write(Path::new("/dev/null"), b"gone").unwrap();
        assert!(write(Path::new("/dev/full"), b"no").unwrap_err().to_string().contains("space"));
        if cfg!(target_os = "linux") {
            use std::os::fd::AsRawFd;
            let file = File::create(place.path().join("open")).unwrap();
            write(Path::new(&format!("/dev/fd/{}", file.as_raw_fd())), b"text").unwrap();
            assert_eq!(text(&place.path().join("open")), "text");
        }
    }

    #[test]
    fn nothing_waits_at_a_pipe() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(read(&pipe).unwrap_err().to_string().contains("not a regular file"));
        assert!(read_to_string(place.path()).is_err());
        symlink("pipe", place.path().join("lock")).unwrap();
        assert!(open_lock(&place.path().join("lock")).is_err());
        if Uid::effective().is_root() {
            std::os::unix::fs::chown(&pipe, Some(ANOTHER), None).unwrap();
            assert!(write(&pipe, b"").unwrap_err().to_string().contains("another user"));
        }
    }
}
