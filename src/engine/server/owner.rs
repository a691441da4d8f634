//! Who owns the data directory and runs the server, when Graymark itself is root.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::unistd::{Gid, Uid, User};

use crate::engine::Error;

/// User ids that are free for programs without a user of their own (systemd's range for the same purpose; its
/// UIDS-GIDS.md).
#[cfg(feature = "odbc")]
const UNLISTED: std::ops::RangeInclusive<u32> = 61_184..=65_519;

/// The user who runs a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    uid: Uid,
    gid: Gid,
}

impl Owner {
    /// The user of these ids.
    pub(super) fn of(uid: Uid, gid: Gid) -> Owner {
        Owner { uid, gid }
    }

    pub(super) fn uid(self) -> u32 {
        self.uid.as_raw()
    }

    pub(super) fn gid(self) -> u32 {
        self.gid.as_raw()
    }

    /// Whether a user id is this one.
    pub(super) fn is(self, uid: u32) -> bool {
        self.uid() == uid
    }

    /// A user id that is in no one's use, so that no other program of this machine shares it.
    #[cfg(feature = "odbc")]
    fn unlisted() -> Option<Owner> {
        let range = UNLISTED.end() - UNLISTED.start() + 1;
        let first = std::process::id() % range;
        let mut ids = (0..range).map(|step| UNLISTED.start() + (first + step) % range);
        let free = ids.find(|id| matches!(User::from_uid(Uid::from_raw(*id)), Ok(None)))?;
        Some(Owner { uid: Uid::from_raw(free), gid: Gid::from_raw(free) })
    }
}

/// Who runs a server if there is no user of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Otherwise {
    /// The user `nobody`: its programs want a user with a name.
    Nobody,
    /// A user id that no one else has.
    #[cfg(feature = "odbc")]
    Unlisted,
}

/// The user for a database that does not run as root: the owner of a data directory that is there already, else the
/// first of some users that there is. None if Graymark is not root.
pub(super) fn find(
    database: &str,
    data: Option<&Path>,
    users: &[&str],
    otherwise: Otherwise,
) -> Result<Option<Owner>, Error> {
    if !Uid::effective().is_root() {
        return Ok(None);
    }
    if let Some(metadata) =
        data.and_then(|data| fs::symlink_metadata(data).ok()).filter(|there| there.is_dir() && there.uid() != 0)
    {
        return Ok(Some(Owner { uid: metadata.uid().into(), gid: metadata.gid().into() }));
    }
    let named = |name: &&str| User::from_name(name).ok().flatten().map(|user| Owner { uid: user.uid, gid: user.gid });
    let missing = || {
        let user = users.first().unwrap_or(&"nobody");
        Error::Database(format!(
            "{database} does not run as root, and there is no user `{user}` to run it: `useradd --system {user}`"
        ))
    };
    let other = || match otherwise {
        Otherwise::Nobody => named(&"nobody"),
        #[cfg(feature = "odbc")]
        Otherwise::Unlisted => Owner::unlisted(),
    };
    users.iter().find_map(named).or_else(other).map(Some).ok_or_else(missing)
}

/// Lets a program run as the server's user, without any group of Graymark's.
pub(super) fn drop_root(command: &mut Command, owner: Option<Owner>) {
    if let Some(owner) = owner {
        command.uid(owner.uid()).gid(owner.gid()).current_dir("/");
    }
}
