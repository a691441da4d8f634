//! Database URLs, which may contain a password. Plans, engines, sweeps and the command line all use this one type, so
//! it is in the lowest layer.

mod connection_string;
mod error;
mod server;

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize, Serializer};

use crate::near::near;

pub use connection_string::{Pair, is_shown, join, pairs};
pub use error::{ConnectionStringFault, Error, ServerFault};
pub use server::{Form, MYSQL, POSTGRES, Parts, VIRTUOSO, YDB, encoded, encoded_host, encoded_path};

/// Parameters of a SQLite URL.
const SQLITE: [&str; 4] = ["synchronous", "journal", "cache", "busy_timeout"];
/// Parameters of the simulated database.
const SIMULATED: [&str; 4] = ["service", "distribution", "stall", "every"];

/// A password. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Keeps a password.
    pub fn new(password: impl Into<String>) -> Password {
        Password(password.into())
    }

    /// The password in clear text, for a connection.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("…")
    }
}

/// The URL of a database. It may contain a password, so `Debug`, `Display` and `Serialize` leave it out. A URL that has
/// no known form is shown by its scheme only, because the position of its password is unknown. Only
/// [`DatabaseUrl::reveal`] returns the whole URL.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// The whole URL with its password, for a connection.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The scheme: `postgres`, `sqlite`. Empty if it has none.
    pub fn scheme(&self) -> &str {
        let scheme = self.0.split_once(':').map_or("", |(scheme, _)| scheme);
        let grammar = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
        if grammar { scheme } else { "" }
    }

    /// The same URL without its password.
    pub fn redacted(&self) -> DatabaseUrl {
        DatabaseUrl(self.to_string())
    }

    /// Whether it has one of the known forms.
    ///
    /// # Errors
    /// If not, with the reason; the message shows no password.
    pub fn check(&self) -> Result<(), Error> {
        if self.open().is_some() {
            return Ok(());
        }
        let form = [&POSTGRES, &MYSQL, &VIRTUOSO, &YDB].into_iter().find(|form| form.schemes.contains(&self.scheme()));
        form.and_then(|form| Parts::of(&self.0, form).err())
            .map_or_else(|| Err(Error::Form { shown: self.to_string(), meant: self.meant() }), Err)
    }

    /// A scheme that is near an unknown one, for an error message.
    fn meant(&self) -> String {
        let near = near(self.scheme(), known_schemes()).filter(|near| *near != self.scheme());
        near.map(|near| format!(" (did you mean {near}:?)")).unwrap_or_default()
    }

    /// The URL without its password; `None` if it has no known form.
    fn open(&self) -> Option<String> {
        let scheme = self.scheme();
        let rest = self.0.get(scheme.len() + 1..)?;
        let form = [&POSTGRES, &MYSQL, &VIRTUOSO, &YDB].into_iter().find(|form| form.schemes.contains(&scheme));
        match (scheme, form) {
            (_, Some(form)) if rest.starts_with("//") => server::open(&self.0, form),
            (_, Some(_)) => local(rest).then(|| self.0.clone()),
            ("sqlite", _) => sqlite(rest).then(|| self.0.clone()),
            ("simulated", _) => known_parameters(rest.trim_start_matches('?'), &SIMULATED).then(|| self.0.clone()),
            ("odbc", _) => Some(format!("odbc:{}", connection_string::open(rest)?)),
            _ => None,
        }
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.open(), self.scheme()) {
            (Some(open), _) => to.write_str(&open),
            (None, "") => to.write_str("…"),
            (None, scheme) => write!(to, "{scheme}:…"),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:?}", self.to_string())
    }
}

impl Serialize for DatabaseUrl {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl From<&str> for DatabaseUrl {
    fn from(url: &str) -> DatabaseUrl {
        DatabaseUrl(url.to_owned())
    }
}

impl From<String> for DatabaseUrl {
    fn from(url: String) -> DatabaseUrl {
        DatabaseUrl(url)
    }
}

impl FromStr for DatabaseUrl {
    type Err = Infallible;

    fn from_str(url: &str) -> Result<DatabaseUrl, Infallible> {
        Ok(url.into())
    }
}

/// Whether this is the rest of the URL of a private server, which has no secret settings.
fn local(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix("local") else { return false };
    let Some(query) = rest.strip_prefix('?') else { return rest.is_empty() };
    query.split('&').filter(|pair| !pair.is_empty()).all(|pair| {
        let Some((name, value)) = pair.split_once('=') else { return false };
        let grammar = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
        grammar && !is_secret(name) && !holds_secret(&percent_decode_str(value).decode_utf8_lossy())
    })
}

/// Whether this is the rest of a SQLite URL. SQLite has no users: a URL with one is for another engine.
fn sqlite(rest: &str) -> bool {
    let (file, query) = rest.split_once('?').unwrap_or((rest, ""));
    let foreign = file.strip_prefix("//").is_some_and(|rest| !rest.starts_with('/') && rest.contains('@'));
    !file.is_empty() && !foreign && known_parameters(query, &SQLITE)
}

fn known_parameters(query: &str, known: &[&str]) -> bool {
    let known = |pair: &str| {
        pair.split_once('=').is_some_and(|(name, value)| {
            known.contains(&name) && value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | ' ' | 'µ'))
        })
    };
    query.split('&').filter(|pair| !pair.is_empty()).all(known)
}

/// The schemes of all forms.
fn known_schemes() -> impl Iterator<Item = &'static str> {
    let servers = [&POSTGRES, &MYSQL, &VIRTUOSO, &YDB].into_iter().flat_map(|form| form.schemes);
    servers.chain(&["sqlite", "simulated", "odbc"]).copied()
}

/// Whether the value of this name must not be shown.
pub fn is_secret(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let file = ["sslkey", "tlskey"].contains(&name.as_str());
    let words = ["pwd", "pass", "secret", "token", "credential", "conninfo"];
    words.iter().any(|word| name.contains(word)) || (name.ends_with("key") && !file)
}

/// Whether a text, such as an argument, may be a URL or a connection string with a password, valid or not.
pub fn may_hold_secret(text: &str) -> bool {
    let scheme = DatabaseUrl::from(text).scheme().to_owned();
    known_schemes().any(|known| known == scheme) || text.contains("://") || holds_secret(text)
}

/// Whether a value contains a password, as a URL or as a list of values.
fn holds_secret(value: &str) -> bool {
    let lower = value.replace(' ', "").to_ascii_lowercase();
    ["password=", "passwd=", "pwd=", "pass="].iter().any(|word| lower.contains(word))
        || (lower.contains("://") && lower.contains('@'))
}

#[cfg(test)]
mod tests;
