//! The user who owns the data directory and runs the server, if Graymark itself runs as root.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::unistd::{Gid, Uid, User};

use crate::engine::Error;

/// User ids for programs without a user of their own (systemd's range for the same purpose; its UIDS-GIDS.md).
#[cfg(feature = "odbc")]
const UNLISTED: std::ops::RangeInclusive<u32> = 61_184..=65_519;

/// The user that runs a server.
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

    /// An unused user id, so that no other program of this machine has it.
    #[cfg(feature = "odbc")]
    fn unlisted() -> Option<Owner> {
        let range = UNLISTED.end() - UNLISTED.start() + 1;
        let first = std::process::id() % range;
        let mut ids = (0..range).map(|step| UNLISTED.start() + (first + step) % range);
        let free = ids.find(|id| matches!(User::from_uid(Uid::from_raw(*id)), Ok(None)))?;
        Some(Owner { uid: Uid::from_raw(free), gid: Gid::from_raw(free) })
    }
}

/// The user for a server if the machine has none for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Otherwise {
    /// The user `nobody`: for programs that need a user with a name.
    Nobody,
    /// An unused user id.
    #[cfg(feature = "odbc")]
    Unlisted,
}

impl Otherwise {
    /// The user.
    fn owner(self) -> Option<Owner> {
        match self {
            Otherwise::Nobody => named("nobody"),
            #[cfg(feature = "odbc")]
            Otherwise::Unlisted => Owner::unlisted(),
        }
    }

    /// The user with an id, who may have created a data directory when there was no user for the server.
    fn of(self, uid: u32) -> Option<Owner> {
        match self {
            Otherwise::Nobody => named("nobody").filter(|nobody| nobody.is(uid)),
            #[cfg(feature = "odbc")]
            Otherwise::Unlisted => {
                let free = UNLISTED.contains(&uid) && matches!(User::from_uid(uid.into()), Ok(None));
                free.then(|| Owner { uid: uid.into(), gid: uid.into() })
            }
        }
    }
}

/// The user for a server that must not run as root: the first existing one of some names, or the owner of an existing
/// data directory. `None` if Graymark is not root.
///
/// # Errors
/// If there is none, or if the data directory is another user's: its contents could make the server act as that user,
/// and root must not start it.
pub(super) fn find(
    database: &str,
    data: Option<&Path>,
    users: &[&str],
    otherwise: Otherwise,
) -> Result<Option<Owner>, Error> {
    if !Uid::effective().is_root() {
        return Ok(None);
    }
    let there = data.and_then(|data| Some((data, fs::symlink_metadata(data).ok()?)));
    if let Some((data, there)) = there.filter(|(_, there)| there.is_dir() && there.uid() != 0) {
        let uid = there.uid();
        let theirs = users.iter().find_map(|name| named(name).filter(|user| user.is(uid)));
        return theirs.or_else(|| otherwise.of(uid)).map(Some).ok_or_else(|| {
            let whose = User::from_uid(uid.into()).ok().flatten();
            let whose = whose.map_or_else(String::new, |user| format!(" {}", user.name));
            let who = users.first().unwrap_or(&"nobody");
            Error::Usage(format!(
                "{} belongs to the user{whose} ({uid}): as root, Graymark starts {database} only on directories of \
                 root or of the user {who}; run Graymark as the directory's user, or give another data=DIR",
                data.display()
            ))
        });
    }
    let missing = || {
        let user = users.first().unwrap_or(&"nobody");
        Error::Database(format!(
            "{database} does not run as root, and there is no user `{user}` to run it: `useradd --system {user}`"
        ))
    };
    users.iter().find_map(|name| named(name)).or_else(|| otherwise.owner()).map(Some).ok_or_else(missing)
}

/// A user of this machine.
fn named(name: &str) -> Option<Owner> {
    User::from_name(name).ok().flatten().map(|user| Owner { uid: user.uid, gid: user.gid })
}

/// Runs a program as the server's user, without any group of Graymark's.
pub(super) fn drop_root(command: &mut Command, owner: Option<Owner>) {
    if let Some(owner) = owner {
        command.uid(owner.uid()).gid(owner.gid()).current_dir("/");
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    #[test]
    fn root_starts_servers_on_its_own_directories_and_on_theirs_only() {
        let place = tempfile::tempdir().unwrap();
        let found = |otherwise| find("Oracle", Some(place.path()), &["no-such-user", "daemon"], otherwise);
        if !Uid::effective().is_root() {
            println!("not run: only root can give directories away");
            assert!(found(Otherwise::Nobody).unwrap().is_none());
            return;
        }
        let uid = |otherwise| found(otherwise).map(|owner| owner.unwrap().uid()).map_err(|why| why.to_string());
        let give = |uid: u32| chown(place.path(), Some(uid), Some(uid)).unwrap();
        let daemon = named("daemon").unwrap().uid();
        let nobody = named("nobody").unwrap().uid();
        assert_eq!(uid(Otherwise::Nobody), Ok(daemon), "it is root's");
        for (owner, allowed) in [(daemon, true), (nobody, true), (1000, false), (61_185, false)] {
            give(owner);
            assert_eq!(uid(Otherwise::Nobody).ok(), allowed.then_some(owner));
        }
        let refused = uid(Otherwise::Nobody).unwrap_err();
        let place = place.path().display();
        assert!(refused.starts_with(&format!("{place} belongs to the user (61185): as root")), "{refused}");
        assert!(refused.contains("run Graymark as the directory's user, or give another data=DIR"), "{refused}");
        #[cfg(feature = "odbc")]
        {
            assert_eq!(uid(Otherwise::Unlisted), Ok(61_185));
            give(nobody);
            assert!(uid(Otherwise::Unlisted).is_err());
        }
    }
}
