//! Who owns the data directory and runs the server, when Graymark itself is root.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::unistd::{Gid, Uid, User, chown};

use crate::engine::Error;

#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    uid: Uid,
    gid: Gid,
}

/// The user for a database that does not run as root: the owner of a data directory that is there already, else the first of some users
/// that there is. None if Graymark is not root.
pub(super) fn find(database: &str, data: Option<&Path>, users: &[&str]) -> Result<Option<Owner>, Error> {
    if !Uid::effective().is_root() {
        return Ok(None);
    }
    if let Some(metadata) = data.and_then(|data| fs::metadata(data).ok()).filter(|metadata| metadata.uid() != 0) {
        return Ok(Some(Owner { uid: metadata.uid().into(), gid: metadata.gid().into() }));
    }
    let user = users.iter().find_map(|name| User::from_name(name).ok().flatten());
    let missing = || {
        let user = users.first().unwrap_or(&"nobody");
        Error::Database(format!(
            "{database} does not run as root, and there is no user `{user}` to run it: `useradd --system {user}`"
        ))
    };
    user.map(|user| Some(Owner { uid: user.uid, gid: user.gid })).ok_or_else(missing)
}

/// Makes a file or directory the server's.
pub(super) fn give(path: &Path, owner: Option<Owner>) -> Result<(), Error> {
    let Some(owner) = owner else { return Ok(()) };
    chown(path, Some(owner.uid), Some(owner.gid))
        .map_err(|error| Error::Database(format!("cannot give {} to the server's user: {error}", path.display())))
}

/// Lets a program run as the server's user.
pub(super) fn drop_root(command: &mut Command, owner: Option<Owner>) {
    if let Some(owner) = owner {
        command.uid(owner.uid.as_raw()).gid(owner.gid.as_raw()).current_dir("/");
    }
}
