//! Where a server is, by a URL `SCHEME://USER:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE`, and how its parts are shown.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::Error;

/// What a part of a URL may hold as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

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

/// A password. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The name of the user who runs Graymark.
pub fn own_name() -> Option<String> {
    nix::unistd::User::from_uid(nix::unistd::Uid::effective()).ok().flatten().map(|user| user.name)
}

/// The URLs that are read.
pub struct Form {
    /// Schemes; the first is the one that errors name.
    pub schemes: &'static [&'static str],
    /// The parameter that the path stands for.
    pub database: &'static str,
    /// All parameters, with commas.
    pub parameters: &'static str,
}

/// What a URL says, decoded, as parameters in their order. The `url` crate does not serve here: it refuses `user@` without a host.
pub struct Parts(Vec<(String, String)>);

impl Parts {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// What is wrong with it; a password is not shown.
    pub fn of(url: &str, form: &Form) -> Result<Parts, Error> {
        let scheme = form.schemes.first().copied().unwrap_or_default();
        let wrong = |why: &str| Error::Usage(format!("the database URL is not {scheme}://USER@HOST:PORT/DATABASE: {why}"));
        let rest = form.schemes.iter().find_map(|scheme| url.strip_prefix(scheme)?.strip_prefix("://"));
        let rest = rest.ok_or_else(|| wrong(&format!("it does not begin with {scheme}://")))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, address) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (host, port) = match address.strip_prefix('[') {
            Some(address) => {
                let (host, after) = address.split_once(']').ok_or_else(|| wrong("a `]` is missing"))?;
                (host, after.strip_prefix(':').unwrap_or(after))
            }
            None => address.split_once(':').unwrap_or((address, "")),
        };
        let decode = |text: &str| percent_decode_str(text).decode_utf8().map(String::from).map_err(|_| wrong("it is not UTF-8"));
        let mut parts = Vec::new();
        for (name, value) in [("user", user), ("password", password), ("host", host), ("port", port), (form.database, database)] {
            parts.push((name.to_owned(), decode(value)?));
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| wrong("a parameter has no `=`"))?;
            let name = decode(name)?;
            if !form.parameters.split(", ").any(|known| known == name) {
                let known = form.parameters;
                return Err(Error::Usage(format!("the database URL has an unknown parameter `{name}`; known are {known}")));
            }
            parts.push((name, decode(value)?));
        }
        Ok(Parts(parts))
    }

    /// The last value of a name that is not empty.
    pub fn last(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(other, value)| other == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// The same, else what an environment variable holds.
    pub fn given(&self, name: &str, variable: &str, environment: Environment<'_>) -> Option<String> {
        self.last(name).map(str::to_owned).or_else(|| environment(variable)).filter(|value| !value.is_empty())
    }

    /// The host of a name, which must be one.
    ///
    /// # Errors
    /// If it names several.
    pub fn one_host(host: &str) -> Result<&str, Error> {
        match host.contains(',') {
            true => Err(Error::Usage(format!("`{host}` names several hosts: give the one that is to be measured"))),
            false => Ok(host),
        }
    }
}

/// A port by its number.
///
/// # Errors
/// If it is none.
pub fn port(text: &str) -> Result<u16, Error> {
    text.parse().map_err(|_| Error::Usage(format!("the port `{text}` is not a number from 1 to 65535")))
}

/// A path as it stands in a URL.
pub fn encoded_path(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// A name as it stands in a URL.
pub fn encoded(text: &str) -> String {
    encoded_path(text).replace('/', "%2F")
}

/// A text with its line breaks made blanks.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: Form = Form { schemes: &["db", "database"], database: "name", parameters: "user, host, port, name" };

    #[test]
    fn the_last_value_that_is_not_empty_counts() {
        let parts = Parts::of("database://ann@db.example:6000/bench?host=&port=7000", &FORM).unwrap();
        assert_eq!((parts.last("host"), parts.last("port"), parts.last("name")), (Some("db.example"), Some("7000"), Some("bench")));
        assert_eq!(parts.last("password"), None);
        let environment = |name: &str| (name == "DB_PASSWORD").then(|| "secret".to_owned());
        assert_eq!(parts.given("password", "DB_PASSWORD", &environment).as_deref(), Some("secret"));
        assert!(Parts::of("db://ann@h/b?colour=red", &FORM).is_err() && Parts::of("dbx://ann@h/b", &FORM).is_err());
    }

    #[test]
    fn a_machine_of_its_own_is_known_by_its_address() {
        let local = |host: &str| Host::Tcp(host.to_owned()).is_local();
        assert!(local("localhost") && local("127.0.0.2") && local("::1") && Host::Socket("/run".into()).is_local());
        assert!(!local("10.0.0.1") && !local("db.example"));
    }
}
