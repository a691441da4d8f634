//! Several hosts of one database, and which of them a connection goes to.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Error;
use super::address::{self, Host};
use crate::url::{Parts, encoded_host};

/// Whose turn it is, where sessions are spread.
static TURN: AtomicUsize = AtomicUsize::new(0);

/// A host with its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// What a host must be to take a connection (libpq's `target_session_attrs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
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

impl Wanted {
    const ALL: [(&'static str, Wanted); 4] = [
        ("any", Wanted::Any),
        ("primary", Wanted::Primary),
        ("standby", Wanted::Standby),
        ("read-write", Wanted::ReadWrite),
    ];

    /// Its name in a URL.
    pub fn name(self) -> &'static str {
        Wanted::ALL.iter().find(|(_, wanted)| *wanted == self).map_or("", |(name, _)| name)
    }

    /// Why a host does not do; none if it does.
    pub fn against(self, standby: bool, read_only: bool) -> Option<&'static str> {
        match self {
            Wanted::Primary if standby => Some("is a standby"),
            Wanted::Standby if !standby => Some("is the primary"),
            Wanted::ReadWrite if standby || read_only => Some("takes no writes"),
            _ => None,
        }
    }
}

/// The hosts of a URL, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    first: Place,
    others: Vec<Place>,
    /// What a host must be.
    pub wanted: Wanted,
    /// Whether sessions go to the hosts in turn; otherwise each goes to the first that does.
    pub spread: bool,
}

impl Hosts {
    /// Reads hosts, or what stands for one that is not named, and their ports: one for all, or one for each.
    ///
    /// # Errors
    /// If there are as many neither, or a parameter says nothing that is known.
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
            None => Wanted::Any,
            Some(name) => {
                Wanted::ALL.iter().find(|(known, _)| *known == name).map(|(_, wanted)| *wanted).ok_or_else(|| {
                    Error::Usage(format!("target_session_attrs={name} is none of any, primary, standby and read-write"))
                })?
            }
        };
        let spread = match parts.last("load_balance_hosts") {
            None | Some("disable") => false,
            Some("random") => true,
            Some(other) => {
                return Err(Error::Usage(format!("load_balance_hosts={other} is neither disable nor random")));
            }
        };
        Ok(Hosts { first, others: places.collect(), wanted, spread })
    }

    /// One host, whatever it is.
    pub fn one(place: Place) -> Hosts {
        Hosts { first: place, others: Vec::new(), wanted: Wanted::Any, spread: false }
    }

    /// The hosts of a list with commas.
    pub fn split(list: &str) -> Vec<Host> {
        let host = |name: &str| match name.starts_with('/') {
            true => Host::Socket(name.into()),
            false => Host::Tcp(name.to_owned()),
        };
        list.split(',').map(host).collect()
    }

    /// All of them, in their order.
    pub fn places(&self) -> impl Iterator<Item = &Place> + Clone {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The first.
    pub fn first(&self) -> &Place {
        &self.first
    }

    /// All of them as they stand in a URL, those with an address.
    pub fn addresses(&self) -> String {
        let address = |place: &Place| match &place.host {
            Host::Tcp(host) => Some(format!("{}:{}", encoded_host(host), place.port)),
            Host::Socket(_) => None,
        };
        self.places().filter_map(address).collect::<Vec<_>>().join(",")
    }

    /// Whether there is a choice to be made.
    pub fn several(&self) -> bool {
        !self.others.is_empty()
    }

    /// Whether all are on this machine, as far as the addresses tell.
    pub fn are_local(&self) -> bool {
        self.places().all(|place| place.host.is_local())
    }

    /// The places with their numbers, in the order in which a connection tries them. Sessions that are spread begin
    /// with another one each, so that every host gets as many.
    pub fn order(&self, session: bool) -> impl Iterator<Item = (usize, &Place)> {
        self.beginning_with(if session && self.spread { TURN.fetch_add(1, Ordering::Relaxed) } else { 0 })
    }

    fn beginning_with(&self, turn: usize) -> impl Iterator<Item = (usize, &Place)> {
        let count = self.others.len() + 1;
        self.places().enumerate().cycle().skip(turn % count).take(count)
    }

    /// The parameters of a URL that say which host is meant.
    pub fn parameters(&self) -> impl Iterator<Item = String> {
        let wanted = (self.wanted != Wanted::Any).then(|| format!("target_session_attrs={}", self.wanted.name()));
        wanted.into_iter().chain(self.spread.then(|| "load_balance_hosts=random".to_owned()))
    }
}

/// Why none of the hosts took a connection.
pub fn none_took_it(reasons: &[String]) -> Error {
    Error::Database(format!("no host of the URL takes the connection: {}", reasons.join("; ")))
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
        assert_eq!(Wanted::Any.against(true, true), None);
        assert_eq!(Wanted::Primary.against(true, false), Some("is a standby"));
        assert_eq!(Wanted::Standby.against(false, false), Some("is the primary"));
        assert_eq!(Wanted::ReadWrite.against(false, true), Some("takes no writes"));
        assert_eq!(Wanted::ReadWrite.against(false, false), None);
    }
}
