//! Parses the URLs of existing servers: `SCHEME://USER:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE`.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::error::{Error, ServerFault};

/// Characters that need no percent-encoding.
const UNENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// The form of an engine's URLs.
pub struct Form {
    /// Schemes; errors name the first one.
    pub schemes: &'static [&'static str],
    /// The parameter that the path sets.
    pub database: &'static str,
    /// All parameters, comma-separated.
    pub parameters: &'static str,
}

/// URLs of PostgreSQL.
pub const POSTGRES: Form = Form {
    schemes: &["postgres", "postgresql"],
    database: "dbname",
    parameters: "host, port, user, password, dbname, sslmode, sslrootcert, connect_timeout, application_name, options, \
        pooler, schema, dialect, target_session_attrs, load_balance_hosts",
};

/// URLs of MySQL and MariaDB.
pub const MYSQL: Form = Form {
    schemes: &["mysql", "mariadb"],
    database: "database",
    parameters: "user, password, host, port, database, socket, ssl-mode, ssl-ca, connect_timeout, dialect, \
        target_session_attrs, load_balance_hosts",
};

/// URLs of Virtuoso, which have neither a database nor parameters.
pub const VIRTUOSO: Form = Form { schemes: &["virtuoso"], database: "database", parameters: "" };

/// URLs of YDB: `grpcs` stands for TLS.
pub const YDB: Form = Form {
    schemes: &["ydb", "grpc", "grpcs"],
    database: "database",
    parameters: "user, password, host, port, database, sslrootcert, connect_timeout, partitions, discovery",
};

/// The parts of a URL, not decoded.
struct RawParts<'a> {
    scheme: &'a str,
    user: &'a str,
    password: &'a str,
    /// Hosts and ports.
    address: &'a str,
    /// Hosts, comma-separated.
    host: String,
    /// Their ports, comma-separated; empty if none has one.
    port: String,
    /// With its leading slash; empty if there is none.
    path: &'a str,
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> RawParts<'a> {
    fn of(url: &'a str, form: &Form) -> Result<RawParts<'a>, Error> {
        let name = form.schemes.first().copied().unwrap_or_default();
        let wrong = |fault| Error::Server { scheme: name, fault };
        let found =
            form.schemes.iter().find_map(|&scheme| Some((scheme, url.strip_prefix(scheme)?.strip_prefix("://")?)));
        let (scheme, rest) = found.ok_or_else(|| wrong(ServerFault::Scheme(name)))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        // After the host, an `@` would be part of a password that contains a slash or a question mark, and its meaning
        // would be
        // unknown.
        if path.contains('@') || query.contains('@') {
            return Err(wrong(ServerFault::AtBehindHost));
        }
        let (login, address) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let places: Vec<(&str, &str)> =
            address.split(',').map(|one| place(one).map_err(wrong)).collect::<Result<_, _>>()?;
        let with_commas =
            |part: fn(&(&'a str, &'a str)) -> &'a str| places.iter().map(part).collect::<Vec<_>>().join(",");
        let (host, port) = (with_commas(|place| place.0), with_commas(|place| place.1));
        let port = if port.chars().all(|letter| letter == ',') { String::new() } else { port };
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').ok_or_else(|| wrong(ServerFault::Parameter)));
        Ok(RawParts { scheme, user, password, address, host, port, path, pairs: pairs.collect::<Result<_, _>>()? })
    }
}

/// A host and its port, which may be empty.
fn place(address: &str) -> Result<(&str, &str), ServerFault> {
    let (host, port) = match address.strip_prefix('[') {
        Some(address) => {
            let (host, after) = address.split_once(']').ok_or(ServerFault::NoBracket)?;
            match after.strip_prefix(':') {
                Some(port) => (host, port),
                None if after.is_empty() => (host, ""),
                None => return Err(ServerFault::BehindBracket),
            }
        }
        None => address.split_once(':').unwrap_or((address, "")),
    };
    if !port.is_empty() && port.parse::<u16>().is_err() {
        return Err(ServerFault::Port);
    }
    Ok((host, port))
}

/// The decoded parts of a URL, as parameters in their order. The `url` crate is not used because it refuses `user@`
/// without a host.
pub struct Parts(Vec<(String, String)>);

impl Parts {
    /// Parses a URL.
    ///
    /// # Errors
    /// What is wrong with it; the message shows nothing that could be part of a password.
    pub fn of(url: &str, form: &Form) -> Result<Parts, Error> {
        let raw = RawParts::of(url, form)?;
        let decode = |text: &str| match percent_decode_str(text).decode_utf8() {
            Ok(text) => Ok(text.into_owned()),
            Err(_) => Err(Error::NotUtf8),
        };
        let path = raw.path.strip_prefix('/').unwrap_or(raw.path);
        let mut parts = Vec::new();
        for (name, value) in [
            ("user", raw.user),
            ("password", raw.password),
            ("host", raw.host.as_str()),
            ("port", raw.port.as_str()),
            (form.database, path),
        ] {
            parts.push((name.to_owned(), decode(value)?));
        }
        for (name, value) in raw.pairs {
            let name = decode(name)?;
            if name.is_empty() || !form.parameters.split(", ").any(|known| known == name) {
                // After a password, an unknown parameter may be a part of it that follows an `&`.
                let unsure = parts.iter().any(|(name, value)| name == "password" && !value.is_empty());
                let shown = if unsure { String::new() } else { format!(" `{name}`") };
                let known = if form.parameters.is_empty() { "none" } else { form.parameters };
                return Err(Error::UnknownParameter { shown, known });
            }
            parts.push((name, decode(value)?));
        }
        Ok(Parts(parts))
    }

    /// The last non-empty value of a parameter.
    pub fn last(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(other, value)| other == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// The last non-empty value of a parameter, else of an environment variable.
    pub fn given(&self, name: &str, variable: &str, environment: &dyn Fn(&str) -> Option<String>) -> Option<String> {
        self.last(name).map(str::to_owned).or_else(|| environment(variable)).filter(|value| !value.is_empty())
    }

    /// Checks that a host parameter names one host.
    ///
    /// # Errors
    /// If it names several.
    pub fn one_host(host: &str) -> Result<&str, Error> {
        match host.contains(',') {
            true => Err(Error::SeveralHosts { host: host.to_owned() }),
            false => Ok(host),
        }
    }
}

/// The URL without its password; `None` if it does not have this form.
pub(super) fn open(url: &str, form: &Form) -> Option<String> {
    Parts::of(url, form).ok()?;
    let raw = RawParts::of(url, form).ok()?;
    let mut open = format!("{}://", raw.scheme);
    if !raw.user.is_empty() {
        open.push_str(raw.user);
        open.push('@');
    }
    open.push_str(raw.address);
    open.push_str(raw.path);
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let pairs = raw
        .pairs
        .iter()
        .filter(|(name, value)| !super::is_secret(&decoded(name)) && !super::holds_secret(&decoded(value)));
    for (index, (name, value)) in pairs.enumerate() {
        open.push(if index == 0 { '?' } else { '&' });
        open.push_str(&format!("{name}={value}"));
    }
    Some(open)
}

/// Percent-encodes a path.
pub fn encoded_path(text: &str) -> String {
    utf8_percent_encode(text, UNENCODED).to_string()
}

/// Percent-encodes a name.
pub fn encoded(text: &str) -> String {
    encoded_path(text).replace('/', "%2F")
}

/// Percent-encodes a host; an IPv6 address is put in brackets.
pub fn encoded_host(host: &str) -> String {
    if host.contains(':') { format!("[{}]", encoded(host).replace("%3A", ":")) } else { encoded(host) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: Form = Form { schemes: &["db", "database"], database: "name", parameters: "user, host, port, name" };

    #[test]
    fn the_last_non_empty_value_counts() {
        let parts = Parts::of("database://ann@db.example:6000/bench?host=&port=7000", &FORM).unwrap();
        assert_eq!(
            (parts.last("host"), parts.last("port"), parts.last("name")),
            (Some("db.example"), Some("7000"), Some("bench"))
        );
        assert_eq!(parts.last("password"), None);
        let environment = |name: &str| (name == "DB_PASSWORD").then(|| "secret".to_owned());
        assert_eq!(parts.given("password", "DB_PASSWORD", &environment).as_deref(), Some("secret"));
        assert!(Parts::of("db://ann@h/b?colour=red", &FORM).is_err_and(|why| why.to_string().contains("`colour`")));
        assert!(Parts::of("dbx://ann@h/b", &FORM).is_err());
    }
}
