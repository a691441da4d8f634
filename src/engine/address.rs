//! Where a server is, and what of the environment says so.

use std::net::IpAddr;
use std::path::PathBuf;

use super::Error;

/// The environment that clients of the server look at, by name.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The process's environment; what is not Unicode is taken as not set.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name or an address.
    Tcp(String),
    /// A Unix socket, or the directory of one.
    Socket(PathBuf),
}

impl Host {
    /// Whether it is this machine, as far as the address tells.
    pub fn is_local(&self) -> bool {
        match self {
            Host::Tcp(host) => host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
            Host::Socket(_) => true,
        }
    }
}

/// The name of the user who runs Graymark.
pub fn own_name() -> Option<String> {
    nix::unistd::User::from_uid(nix::unistd::Uid::effective()).ok().flatten().map(|user| user.name)
}

/// A port by its number.
///
/// # Errors
/// If it is none.
pub fn port(text: &str) -> Result<u16, Error> {
    text.parse().map_err(|_| Error::Usage("the port is not a number from 1 to 65535".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_of_its_own_is_known_by_its_address() {
        let local = |host: &str| Host::Tcp(host.to_owned()).is_local();
        assert!(local("localhost") && local("127.0.0.2") && local("::1") && Host::Socket("/run".into()).is_local());
        assert!(!local("10.0.0.1") && !local("db.example"));
    }
}
