//! Parses ODBC connection strings: `Keyword=value;` pairs.

use super::error::{ConnectionStringFault, Error};
use super::{holds_secret, is_secret};

/// Keywords that drivers have in common. After a password without braces only these are shown: anything else may be a
/// part of it.
const COMMON_KEYWORDS: [&str; 12] = [
    "driver",
    "dsn",
    "filedsn",
    "server",
    "servername",
    "host",
    "hostname",
    "port",
    "database",
    "uid",
    "user",
    "graymarkdialect",
];

/// A keyword and its value.
#[derive(Clone, PartialEq, Eq)]
pub struct Pair {
    /// As written.
    pub keyword: String,
    /// Without braces.
    pub value: String,
    /// Whether it was in braces, so that its end is certain.
    pub braced: bool,
}

impl Pair {
    /// Whether the value must not be shown.
    pub fn is_secret(&self) -> bool {
        is_secret(&self.keyword) || holds_secret(&self.value)
    }
}

/// Splits a connection string. A value in braces may contain semicolons, and doubled braces.
///
/// # Errors
/// What is wrong with it; the message contains no part of it.
pub fn pairs(text: &str) -> Result<Vec<Pair>, Error> {
    let mut pairs = Vec::new();
    let mut rest = text;
    while let Some((keyword, after)) = rest.split_once('=') {
        let keyword = keyword.trim_start_matches([';', ' ']).trim().to_owned();
        if keyword.is_empty() || keyword.contains([';', '{', '}']) {
            return Err(ConnectionStringFault::NoKeyword.into());
        }
        let (value, after, braced) = match after.strip_prefix('{') {
            Some(inner) => {
                let (value, after) = braced(inner).ok_or(ConnectionStringFault::NoBrace)?;
                if !after.trim_start().is_empty() && !after.trim_start().starts_with(';') {
                    return Err(ConnectionStringFault::BehindBrace.into());
                }
                (value, after, true)
            }
            None => {
                let (value, after) = after.split_once(';').unwrap_or((after, ""));
                (value.trim().to_owned(), after, false)
            }
        };
        pairs.push(Pair { keyword, value, braced });
        rest = after;
    }
    match rest.trim_matches([';', ' ']) {
        "" if pairs.is_empty() => Err(ConnectionStringFault::Empty.into()),
        "" => Ok(pairs),
        _ => Err(ConnectionStringFault::NoKeyword.into()),
    }
}

/// Splits off the value up to its closing brace.
fn braced(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let (inner, after) = rest.split_once('}')?;
        value.push_str(inner);
        match after.strip_prefix('}') {
            Some(after) => {
                value.push('}');
                rest = after;
            }
            None => return Some((value, after)),
        }
    }
}

/// The connection string without its secrets; `None` if it is invalid.
pub(super) fn open(text: &str) -> Option<String> {
    let pairs = pairs(text).ok()?;
    let unsure = pairs.iter().position(|pair| pair.is_secret() && !pair.braced).unwrap_or(pairs.len());
    let usual = |keyword: &str| COMMON_KEYWORDS.iter().any(|usual| keyword.eq_ignore_ascii_case(usual));
    let shown =
        pairs.iter().enumerate().filter(|(at, pair)| !pair.is_secret() && (*at < unsure || usual(&pair.keyword)));
    Some(join(shown.map(|(_, pair)| (pair.keyword.as_str(), pair.value.as_str()))))
}

/// Joins a connection string.
pub fn join<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (keyword, value) in pairs {
        let plain = !value.contains([';', '{', '}']) && value == value.trim();
        let value = if plain { value.to_owned() } else { format!("{{{}}}", value.replace('}', "}}")) };
        text.push_str(&format!("{keyword}={value};"));
    }
    text
}
