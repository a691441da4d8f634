//! Several hosts of one database, and the order in which a connection tries them.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Error;
use super::address::{self, Host};
use crate::url::{Parts, encoded_host};

/// The host with which the next session starts, for load balancing.
static TURN: AtomicUsize = AtomicUsize::new(0);

/// A host with its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// The required role of a host (libpq's `target_session_attrs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Anything.
    #[default]
    Any,
    /// Not a standby or replica.
    Primary,
    /// A standby or replica.
    Standby,
    /// One that takes writes.
    ReadWrite,
}

impl Role {
    const ALL: [(&'static str, Role); 4] =
        [("any", Role::Any), ("primary", Role::Primary), ("standby", Role::Standby), ("read-write", Role::ReadWrite)];

    /// Its name in a URL.
    pub fn name(self) -> &'static str {
        Role::ALL.iter().find(|(_, wanted)| *wanted == self).map_or("", |(name, _)| name)
    }

    /// Why a host does not have the required role; `None` if it does.
    pub fn mismatch(self, standby: bool, read_only: bool) -> Option<&'static str> {
        match self {
            Role::Primary if standby => Some("is a standby"),
            Role::Standby if !standby => Some("is the primary"),
            Role::ReadWrite if standby || read_only => Some("takes no writes"),
            _ => None,
        }
    }
}

/// The hosts of a URL, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    first: Place,
    others: Vec<Place>,
    /// The required role.
    pub wanted: Role,
    /// Whether sessions are distributed over the hosts; otherwise each connects to the first suitable one.
    pub spread: bool,
}

impl Hosts {
    /// Parses hosts, with a default for missing names, and their ports: one for all, or one for each.
    ///
    /// # Errors
    /// If the numbers of hosts and ports do not match, or a parameter has an unknown value.
    pub fn of(hosts: Vec<Host>, ports: Option<&str>, usual: u16, parts: &Parts) -> Result<Hosts, Error> {
        if hosts.iter().any(|host| matches!(host, Host::Tcp(name) if name.is_empty())) {
            return Err(Error::Usage("a host of the URL has no name: give hosts as h1:5432,h2:5432".to_owned()));
        }
        let ports: Vec<&str> = ports.map(|ports| ports.split(',').collect()).unwrap_or_default();
        if ports.len() > 1 && ports.len() != hosts.len() {
            let (hosts, ports) = (hosts.len(), ports.len());
            return Err(Error::Usage(format!("the URL names {hosts} hosts and {ports} ports: give one port for each")));
        }
        let place = |(number, host)| {
            let port = ports.get(number).or(ports.first().filter(|_| ports.len() == 1)).copied().unwrap_or_default();
            let port = if port.is_empty() { Ok(usual) } else { address::port(port) };
            port.map(|port| Place { host, port })
        };
        let mut places = hosts.into_iter().enumerate().map(place).collect::<Result<Vec<_>, _>>()?.into_iter();
        let first = places.next().ok_or_else(|| Error::Usage("the URL names no host".to_owned()))?;
        let wanted = match parts.last("target_session_attrs") {
            None => Role::Any,
            Some(name) => {
                Role::ALL.iter().find(|(known, _)| *known == name).map(|(_, wanted)| *wanted).ok_or_else(|| {
                    Error::Usage(format!("target_session_attrs={name} must be any, primary, standby or read-write"))
                })?
            }
        };
        let spread = match parts.last("load_balance_hosts") {
            None | Some("disable") => false,
            Some("random") => true,
            Some(other) => {
                return Err(Error::Usage(format!("load_balance_hosts={other} must be disable or random")));
            }
        };
        Ok(Hosts { first, others: places.collect(), wanted, spread })
    }

    /// A single host with any role.
    pub fn one(place: Place) -> Hosts {
        Hosts { first: place, others: Vec::new(), wanted: Role::Any, spread: false }
    }

    /// Splits a comma-separated list of hosts.
    pub fn split(list: &str) -> Vec<Host> {
        let host = |name: &str| match name.starts_with('/') {
            true => Host::Socket(name.into()),
            false => Host::Tcp(name.to_owned()),
        };
        list.split(',').map(host).collect()
    }

    /// All hosts, in order.
    pub fn places(&self) -> impl Iterator<Item = &Place> + Clone {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The first.
    pub fn first(&self) -> &Place {
        &self.first
    }

    /// All addressed hosts in the form of a URL.
    pub fn addresses(&self) -> String {
        let address = |place: &Place| match &place.host {
            Host::Tcp(host) => Some(format!("{}:{}", encoded_host(host), place.port)),
            Host::Socket(_) => None,
        };
        self.places().filter_map(address).collect::<Vec<_>>().join(",")
    }

    /// Whether there are several.
    pub fn several(&self) -> bool {
        !self.others.is_empty()
    }

    /// Whether all addresses are of this machine.
    pub fn are_local(&self) -> bool {
        self.places().all(|place| place.host.is_local())
    }

    /// The hosts with their numbers, in the order in which a connection tries them. With load balancing each session
    /// starts with the next host, so that every host gets the same number.
    pub fn order(&self, session: bool) -> impl Iterator<Item = (usize, &Place)> {
        self.beginning_with(if session && self.spread { TURN.fetch_add(1, Ordering::Relaxed) } else { 0 })
    }

    fn beginning_with(&self, turn: usize) -> impl Iterator<Item = (usize, &Place)> {
        let count = self.others.len() + 1;
        self.places().enumerate().cycle().skip(turn % count).take(count)
    }

    /// The parameters of a URL for role and load balancing.
    pub fn parameters(&self) -> impl Iterator<Item = String> {
        let wanted = (self.wanted != Role::Any).then(|| format!("target_session_attrs={}", self.wanted.name()));
        wanted.into_iter().chain(self.spread.then(|| "load_balance_hosts=random".to_owned()))
    }
}

/// The error if no host accepted a connection.
pub fn no_host_accepted(reasons: &[String]) -> Error {
    Error::Database(format!("no host of the URL accepted the connection: {}", reasons.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::POSTGRES;

    fn hosts(url: &str) -> Result<Hosts, Error> {
        let parts = Parts::of(url, &POSTGRES)?;
        Hosts::of(Hosts::split(parts.last("host").unwrap()), parts.last("port"), 5432, &parts)
    }

    #[test]
    fn hosts_have_their_ports_and_take_turns() {
        let three = hosts("postgres://u@a:1,[::1],c:3/db?load_balance_hosts=random").unwrap();
        let places: Vec<(String, u16)> =
            three.places().map(|place| (format!("{:?}", place.host), place.port)).collect();
        let tcp = |name: &str| format!("{:?}", Host::Tcp(name.to_owned()));
        assert_eq!(places, [(tcp("a"), 1), (tcp("::1"), 5432), (tcp("c"), 3)]);
        assert!(three.spread && three.beginning_with(4).map(|(number, _)| number).eq([1, 2, 0]));
        assert!(three.order(false).map(|(number, _)| number).eq([0, 1, 2]));
        let query = hosts("postgres://u@/db?host=a,b&port=7,8").unwrap();
        assert!(query.places().map(|place| place.port).eq([7, 8]));
        assert!(hosts("postgres://u@/db?host=a,b&port=7").unwrap().places().all(|place| place.port == 7));
        for wrong in [
            "postgres://u@a,,b/db",
            "postgres://u@a,b/db?port=1,2,3",
            "postgres://u@a,b/db?target_session_attrs=leader",
            "postgres://u@a,b/db?load_balance_hosts=yes",
        ] {
            assert!(matches!(hosts(wrong), Err(Error::Usage(_))), "{wrong}");
        }
    }

    #[test]
    fn a_host_does_or_is_told_why_not() {
        assert_eq!(Role::Any.mismatch(true, true), None);
        assert_eq!(Role::Primary.mismatch(true, false), Some("is a standby"));
        assert_eq!(Role::Standby.mismatch(false, false), Some("is the primary"));
        assert_eq!(Role::ReadWrite.mismatch(false, true), Some("takes no writes"));
        assert_eq!(Role::ReadWrite.mismatch(false, false), None);
    }
}
