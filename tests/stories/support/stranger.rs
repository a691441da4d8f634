//! Another user of this machine, who tries to get at what is not his.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A program run by the user `nobody`; none, and a word about it, where the test is not root's and so cannot be anybody
/// else.
pub fn try_it(program: &str, arguments: &[&str]) -> Option<Command> {
    if !nix::unistd::Uid::effective().is_root() {
        println!("not run: only root can be another user");
        return None;
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", program]).args(arguments).current_dir("/");
    Some(command)
}

/// Another user's command fails, and says one of the words.
pub fn fails(mut command: Command, words: &[&str]) {
    let output = command.output().expect("setpriv starts");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!output.status.success() && words.iter().any(|word| said.contains(word)), "{command:?} was let in: {said}");
}

/// Another user neither looks into directories nor reads files.
pub fn sees_nothing(directories: &[&Path], files: &[&Path]) {
    for (program, paths) in [("ls", directories), ("cat", files)] {
        for path in paths {
            assert!(path.exists(), "{}", path.display());
            let Some(command) = try_it(program, &[path.to_str().unwrap()]) else { return };
            fails(command, &["Permission denied"]);
        }
    }
}

/// What only one user may read, and a data directory in which someone else can plant links to it.
pub struct Plant {
    place: TempDir,
    secret: PathBuf,
}

impl Plant {
    pub fn new() -> Plant {
        let place = tempfile::tempdir().unwrap();
        // The server's user has to get through.
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
        let secret = place.path().join("secret");
        fs::write(&secret, "of root alone").unwrap();
        fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
        Plant { secret, place }
    }

    pub fn data(&self) -> PathBuf {
        self.place.path().join("data")
    }

    /// Starts a server with a link of either kind in the place of each file, and with a data directory that is a link:
    /// each is refused by its name, and the file that it leads to is what it was.
    pub fn is_never_followed<T>(&self, names: &[&str], start: impl Fn(&Path) -> Result<T, graymark::engine::Error>) {
        let before = fs::metadata(&self.secret).unwrap();
        for name in names {
            let there = self.data().join(name);
            for hard in [false, true] {
                let _ = fs::remove_file(&there);
                if hard {
                    fs::hard_link(&self.secret, &there).unwrap();
                } else {
                    symlink(&self.secret, &there).unwrap();
                }
                let Err(refused) = start(&self.data()) else { panic!("{name} was followed") };
                let refused = refused.to_string();
                assert!(refused.contains(name) && refused.contains("link") && !refused.contains('\n'), "{refused}");
                fs::remove_file(&there).unwrap();
                let now = fs::metadata(&self.secret).unwrap();
                assert_eq!((now.uid(), now.gid(), now.mode()), (before.uid(), before.gid(), before.mode()), "{name}");
                assert_eq!(fs::read_to_string(&self.secret).unwrap(), "of root alone", "{name}");
            }
        }
        let elsewhere = self.place.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let link = self.place.path().join("link");
        symlink(&elsewhere, &link).unwrap();
        let before = fs::metadata(&elsewhere).unwrap();
        let Err(refused) = start(&link) else { panic!("the data directory was followed") };
        assert!(refused.to_string().contains("is a link: name the directory"), "{refused}");
        let now = fs::metadata(&elsewhere).unwrap();
        assert_eq!((now.uid(), now.mode()), (before.uid(), before.mode()));
    }
}
