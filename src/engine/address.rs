//! Addresses of servers, and the environment variables that name them.

use std::net::IpAddr;
use std::path::PathBuf;

use super::Error;

/// Looks up an environment variable that the server's clients use.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Looks up a variable of the process's environment; a value that is not Unicode counts as not set.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name or an address.
    Tcp(String),
    /// A Unix socket, or the directory of one.
    Socket(PathBuf),
}

impl Host {
    /// Whether the address is one of this machine.
    pub fn is_local(&self) -> bool {
        match self {
            Host::Tcp(host) => host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
            Host::Socket(_) => true,
        }
    }
}

/// The name of the user that runs Graymark.
pub fn own_name() -> Option<String> {
    nix::unistd::User::from_uid(nix::unistd::Uid::effective()).ok().flatten().map(|user| user.name)
}

/// Parses a port number.
///
/// # Errors
/// If it is not a port number.
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
