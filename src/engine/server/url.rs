//! The URL of a private server: `ENGINE:local[?NAME=VALUE&NAME=VALUE…]`.

use std::path::Path;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::engine::Error;
use crate::size;

/// Characters to escape in a value.
const VALUE: &AsciiSet = &CONTROLS.add(b' ').add(b'&').add(b'%').add(b'#').add(b'+');

/// The values of a URL by name, in order; `None` if it names an existing server. The first of `schemes` is used in
/// errors.
///
/// # Errors
/// If it is invalid.
pub fn values(url: &str, schemes: &[&str]) -> Result<Option<Vec<(String, String)>>, Error> {
    let rest = schemes.iter().find_map(|scheme| url.strip_prefix(scheme)?.strip_prefix(":local"));
    let Some(rest) = rest else { return Ok(None) };
    let query = match rest.split_at_checked(1) {
        None => "",
        Some(("?", query)) => query,
        Some(_) => {
            let scheme = schemes.first().copied().unwrap_or_default();
            return Err(Error::Usage(format!("a private server is asked for by {scheme}:local?NAME=VALUE&NAME=VALUE")));
        }
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = percent_decode_str(value).decode_utf8();
        let value = value.map_err(|_| Error::Usage(format!("the value of {name} is not UTF-8")))?;
        // It could end a line of a configuration file, and begin another.
        if value.chars().any(char::is_control) {
            return Err(Error::Usage(format!("the value of {name} has control characters")));
        }
        Ok((name.to_owned(), value.into_owned()))
    });
    pairs.collect::<Result<Vec<_>, Error>>().map(Some)
}

/// The URL with these values, in this order.
pub fn of(scheme: &str, values: impl IntoIterator<Item = (String, String)>) -> String {
    let pairs: Vec<String> =
        values.into_iter().map(|(name, value)| format!("{name}={}", utf8_percent_encode(&value, VALUE))).collect();
    if pairs.is_empty() { format!("{scheme}:local") } else { format!("{scheme}:local?{}", pairs.join("&")) }
}

/// The values that all private servers have, in the form of a URL.
pub fn common(
    data: Option<&Path>,
    cpus: Option<&str>,
    memory: Option<u64>,
    settings: &[(String, String)],
) -> impl Iterator<Item = (String, String)> {
    let named = |name: &str, value: Option<String>| value.map(|value| (name.to_owned(), value));
    let data = named("data", data.map(|data| data.to_string_lossy().into_owned()));
    let cpus = named("cpus", cpus.map(str::to_owned));
    let memory = named("memory", memory.map(size::text));
    [data, cpus, memory].into_iter().flatten().chain(settings.iter().cloned())
}

/// Parses the value `on` or `off` of `name`.
///
/// # Errors
/// If it is neither on nor off.
pub fn switch(name: &str, value: &str) -> Result<bool, Error> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(Error::Usage(format!("{name}={value} must be on or off"))),
    }
}

/// Parses a size in bytes, the value of `name`.
///
/// # Errors
/// If it is not a size.
pub fn bytes(name: &str, value: &str) -> Result<u64, Error> {
    size::parse(value).map_err(|why| Error::Usage(format!("{name}: {why}")))
}

/// Whether a URL is that of a private server.
pub fn is_private(url: &str) -> bool {
    matches!(values(url, &["postgres", "postgresql", "mysql", "mariadb", "virtuoso"]), Ok(Some(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_as_it_is_written() {
        let read = |url: &str| values(url, &["mysql", "mariadb"]);
        assert_eq!(read("mysql://localhost/local"), Ok(None));
        assert_eq!(read("mariadb:local"), Ok(Some(vec![])));
        let settings = [("a".to_owned(), "x&y".to_owned())];
        let pairs = common(Some("/var/bench data".as_ref()), Some("0,2-3"), Some(1 << 30), &settings);
        let url = of("mysql", pairs);
        assert_eq!(url, "mysql:local?data=/var/bench%20data&cpus=0,2-3&memory=1GB&a=x%26y");
        let all = read(&url).unwrap().unwrap();
        assert_eq!(all.len(), 4);
        assert_eq!(of("mysql", all), url);
        for wrong in ["mysql:local:3306", "mysql:localhost", "mysql:local?a=%ff", "mysql:local?a=1%0Ab"] {
            assert!(matches!(read(wrong), Err(Error::Usage(_))), "{wrong}");
        }
    }
}
