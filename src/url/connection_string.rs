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

/// Further keywords whose values are never a secret, in lower case and without other characters than letters and
/// digits: files, formats, limits and switches. Drivers have many more keywords, also for secrets and for SQL that may
/// contain some, so the value of an unknown one is not shown.
const HARMLESS_KEYWORDS: [&str; 55] = [
    "address",
    "applicationintent",
    "bigint",
    "boolsaschar",
    "bytesaslongvarbinary",
    "charset",
    "connecttimeout",
    "currentschema",
    "db",
    "dbalias",
    "dbname",
    "dbq",
    "debug",
    "encrypt",
    "fetch",
    "fksupport",
    "forcetls",
    "journalmode",
    "locale",
    "logintimeout",
    "longnames",
    "maxlongvarcharsize",
    "maxvarcharsize",
    "multisubnetfailover",
    "nocreat",
    "notxn",
    "nowchar",
    "option",
    "protocol",
    "querytimeout",
    "readonly",
    "readtimeout",
    "schema",
    "security",
    "shortnames",
    "showsystemtables",
    "socket",
    "sslca",
    "sslcapath",
    "sslcert",
    "sslcipher",
    "sslcrl",
    "sslkey",
    "sslmode",
    "sslverify",
    "stepapi",
    "syncpragma",
    "timeout",
    "tlsversion",
    "trace",
    "trustedconnection",
    "trustservercertificate",
    "usedeclarefetch",
    "username",
    "writetimeout",
];

/// Whether a value may be shown: its keyword is known to hold no secret, and it does not look like one.
pub fn is_shown(keyword: &str, value: &str) -> bool {
    let known: String = keyword.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let harmless = [&COMMON_KEYWORDS[..], &HARMLESS_KEYWORDS].iter().any(|list| list.contains(&known.as_str()));
    harmless && !is_secret(keyword) && !holds_secret(value)
}

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
        !is_shown(&self.keyword, &self.value)
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
