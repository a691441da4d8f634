//! Where a database is, as ODBC has it: a connection string of `Keyword=value` pairs, and which driver that means.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::engine::Error;

/// The scheme of a URL of this engine.
pub const SCHEME: &str = "odbc";
/// The environment variable whose value stands in for a `PWD` that is not given, so that no password need be in a process list.
pub const PASSWORD_VARIABLE: &str = "GRAYMARK_ODBC_PWD";
/// The keyword that chooses the dialect; it is this program's and is not handed on.
const DIALECT: &str = "GraymarkDialect";
/// Keywords whose values are secret.
const SECRETS: [&str; 3] = ["pwd", "password", "accesstoken"];
/// Where distributions keep drivers that their registrations name without a directory.
const PLACES: [&str; 7] = [
    "/usr/lib/x86_64-linux-gnu/odbc",
    "/usr/lib/aarch64-linux-gnu/odbc",
    "/usr/lib/odbc",
    "/usr/lib64",
    "/usr/lib64/psqlodbc",
    "/usr/local/lib",
    "/usr/lib",
];

/// What a driver needs to be told, unless the connection string says otherwise: part of its file's name, keyword and value. psqlODBC: an error
/// ends the transaction, instead of a savepoint before each statement. MariaDB's: rows that were found count as affected, also if they stay
/// as they are.
const DEFAULTS: [(&str, &str, &str); 2] = [("psqlodbc", "Protocol", "7.4-1"), ("libmaodbc", "Option", "2")];

/// A database that is reached by ODBC.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    pairs: Vec<(String, String)>,
    dialect: Option<String>,
}

impl Target {
    /// Reads `odbc:` and a connection string. `environment` looks up variables.
    ///
    /// # Errors
    /// Of use, if it is no connection string or names no data source.
    pub fn parse(url: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<Target, Error> {
        let text = url.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix(':')).unwrap_or(url);
        let mut pairs = pairs(text).map_err(|why| Error::Usage(format!("{why}; {EXAMPLE}")))?;
        let mut dialect = None;
        pairs.retain(|(keyword, value)| {
            let ours = keyword.eq_ignore_ascii_case(DIALECT);
            if ours {
                dialect = Some(value.clone());
            }
            !ours
        });
        let mut target = Target { pairs, dialect };
        if target.value("DSN").is_none() && target.value("Driver").is_none() && target.value("FileDSN").is_none() {
            return Err(Error::Usage(format!("the connection string names neither a DSN nor a Driver; {EXAMPLE}")));
        }
        if let Some(password) = environment(PASSWORD_VARIABLE).filter(|_| target.secrets().next().is_none()) {
            target.pairs.push(("PWD".to_owned(), password));
        }
        Ok(target)
    }

    /// A target from pairs at hand, such as those of a private server.
    pub fn of(pairs: &[(&str, &str)]) -> Target {
        let pairs = pairs.iter().map(|(keyword, value)| ((*keyword).to_owned(), (*value).to_owned())).collect();
        Target { pairs, dialect: None }
    }

    /// The value of a keyword.
    pub fn value(&self, keyword: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| known.eq_ignore_ascii_case(keyword)).map(|(_, value)| value.as_str())
    }

    /// The dialect that is asked for, if any.
    pub fn dialect(&self) -> Option<&str> {
        self.dialect.as_deref()
    }

    /// The values that must not be shown.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().filter(|(keyword, _)| is_secret(keyword)).map(|(_, value)| value.as_str())
    }

    /// The URL without secrets.
    pub fn shown(&self) -> String {
        let ours = self.dialect.iter().map(|dialect| (DIALECT, dialect.as_str()));
        let known = self.pairs.iter().map(|(keyword, value)| (keyword.as_str(), value.as_str()));
        let open = ours.chain(known).filter(|(keyword, _)| !is_secret(keyword));
        format!("{SCHEME}:{}", join(open))
    }

    /// What the driver manager is given. A driver's name is replaced by its file, for this program's driver manager does not know where
    /// a distribution keeps drivers. Each pair ends with a semicolon: MariaDB's driver misreads a last one without.
    pub(super) fn text(&self) -> String {
        let resolved = self.value("Driver").and_then(driver_file);
        let pair = |(keyword, value): &(String, String)| match &resolved {
            Some(file) if keyword.eq_ignore_ascii_case("Driver") => (keyword.clone(), file.display().to_string()),
            _ => (keyword.clone(), value.clone()),
        };
        let mut pairs: Vec<(String, String)> = self.pairs.iter().map(pair).collect();
        let of_source = self.value("DSN").filter(|_| self.value("Driver").is_none()).and_then(driver_of_source);
        if let Some(file) = &of_source {
            // The file stands before the name of the data source, of which the driver still reads all else.
            pairs.insert(0, ("Driver".to_owned(), file.display().to_string()));
        }
        let file = pairs.iter().find(|(keyword, _)| keyword.eq_ignore_ascii_case("Driver")).map(|(_, file)| file.clone());
        for (driver, keyword, value) in DEFAULTS {
            if file.as_ref().is_some_and(|file| file.contains(driver)) && self.value(keyword).is_none() {
                pairs.push((keyword.to_owned(), value.to_owned()));
            }
        }
        join(pairs.iter().map(|(keyword, value)| (keyword.as_str(), value.as_str())))
    }
}

/// Shows no secret.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

const EXAMPLE: &str = "give odbc:DSN=name or odbc:Driver=PostgreSQL Unicode;Server=host;Database=name;UID=user";

/// A URL of this engine without its secrets; one that cannot be read is shown up to the first secret.
pub fn shown(url: &str) -> String {
    match Target::parse(url, &|_| None) {
        Ok(target) => target.shown(),
        Err(_) => {
            let lower = url.to_ascii_lowercase();
            let first = SECRETS.iter().filter_map(|secret| lower.find(secret)).min();
            first.and_then(|at| url.get(..at)).unwrap_or(url).to_owned()
        }
    }
}

fn is_secret(keyword: &str) -> bool {
    SECRETS.iter().any(|secret| keyword.eq_ignore_ascii_case(secret))
}

/// Takes a connection string apart. A value in braces may hold semicolons, and braces that are doubled.
fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs = Vec::new();
    let mut rest = text;
    while let Some((keyword, after)) = rest.split_once('=') {
        let keyword = keyword.trim_start_matches([';', ' ']).trim().to_owned();
        if keyword.is_empty() || keyword.contains(';') {
            return Err("the connection string has a part without Keyword=".to_owned());
        }
        let (value, after) = match after.strip_prefix('{') {
            Some(inner) => braced(inner).ok_or_else(|| format!("the value of {keyword} has no closing brace"))?,
            None => {
                let (value, after) = after.split_once(';').unwrap_or((after, ""));
                (value.trim().to_owned(), after)
            }
        };
        pairs.push((keyword, value));
        rest = after;
    }
    match rest.trim_matches([';', ' ']) {
        "" if pairs.is_empty() => Err("the connection string is empty".to_owned()),
        "" => Ok(pairs),
        _ => Err("the connection string has a part without Keyword=".to_owned()),
    }
}

/// The value up to its closing brace, and what follows.
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

fn join<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (keyword, value) in pairs {
        let plain = !value.contains([';', '{', '}']) && value == value.trim();
        let value = if plain { value.to_owned() } else { format!("{{{}}}", value.replace('}', "}}")) };
        text.push_str(&format!("{keyword}={value};"));
    }
    text
}

/// The file of a driver that is given by its registered name or by a file's name; none leaves it to the driver manager.
fn driver_file(driver: &str) -> Option<PathBuf> {
    if driver.contains('/') {
        return None;
    }
    let registered = registration("odbcinst.ini").and_then(|text| entry(&text, driver, "Driver"));
    let file = registered.unwrap_or_else(|| driver.to_owned());
    find(&file)
}

/// The file of a data source's driver, if the driver manager would not find it.
fn driver_of_source(name: &str) -> Option<PathBuf> {
    let of_user = std::env::var_os("ODBCINI").map(PathBuf::from);
    let of_user = of_user.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".odbc.ini")));
    let of_user = of_user.and_then(|file| std::fs::read_to_string(file).ok());
    let driver = [of_user, registration("odbc.ini")].into_iter().flatten().find_map(|text| entry(&text, name, "Driver"))?;
    driver_file(&driver)
}

fn registration(name: &str) -> Option<String> {
    let directory = std::env::var_os("ODBCSYSINI").map_or_else(|| PathBuf::from("/etc"), PathBuf::from);
    std::fs::read_to_string(directory.join(name)).ok()
}

/// The value of a key in a section of an `.ini` file.
fn entry(text: &str, section: &str, key: &str) -> Option<String> {
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            inside = name.trim().eq_ignore_ascii_case(section);
        } else if let Some((known, value)) = line.split_once('=').filter(|_| inside)
            && known.trim().eq_ignore_ascii_case(key)
        {
            return Some(value.trim().to_owned());
        }
    }
    None
}

fn find(file: &str) -> Option<PathBuf> {
    if file.contains('/') {
        return Some(PathBuf::from(file));
    }
    PLACES.iter().map(|place| Path::new(place).join(file)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Target, Error> {
        Target::parse(text, &|_| None)
    }

    #[test]
    fn a_connection_string_is_taken_apart_and_put_together_again() {
        let target = parse("odbc:Driver={My Driver};Server=h;PWD={a;b}}c};uid=me").unwrap();
        assert_eq!(target.value("driver"), Some("My Driver"));
        assert_eq!(target.secrets().collect::<Vec<_>>(), ["a;b}c"]);
        assert_eq!(target.text(), "Driver=My Driver;Server=h;PWD={a;b}}c};uid=me;");
        assert_eq!(target.shown(), "odbc:Driver=My Driver;Server=h;uid=me;");
        assert_eq!(format!("{target:?}"), target.shown());
    }

    #[test]
    fn a_password_may_come_from_the_environment() {
        let target = Target::parse("odbc:DSN=x", &|name| (name == PASSWORD_VARIABLE).then(|| "secret".to_owned())).unwrap();
        assert_eq!(target.secrets().collect::<Vec<_>>(), ["secret"]);
        let target = Target::parse("odbc:DSN=x;PWD=own", &|_| Some("secret".to_owned())).unwrap();
        assert_eq!(target.secrets().collect::<Vec<_>>(), ["own"]);
    }

    #[test]
    fn what_is_no_connection_string_is_told_with_an_example_and_without_secrets() {
        for text in ["odbc:", "odbc:DSN", "odbc:Server=h;UID=me", "odbc:DSN=x;PWD={a", "odbc:DSN=x;rest", "odbc:a;DSN=x"] {
            let Err(Error::Usage(why)) = parse(text) else { panic!("{text}") };
            assert!(why.contains("odbc:DSN=") && !why.contains("{a"), "{why}");
        }
        assert_eq!(shown("odbc:DSN=x;Pwd={secret"), "odbc:DSN=x;");
    }

    #[test]
    fn a_dialect_is_ours() {
        let target = parse("odbc:DSN=x;graymarkdialect=plain").unwrap();
        assert_eq!((target.dialect(), target.value("graymarkdialect")), (Some("plain"), None));
        assert_eq!(target.shown(), "odbc:GraymarkDialect=plain;DSN=x;");
    }

    #[test]
    fn an_entry_is_found_in_its_section() {
        let text = "[one]\nDriver = a.so\n\n[Two Words]\nDescription=x\nDriver=/b.so\n";
        assert_eq!(entry(text, "two words", "driver").as_deref(), Some("/b.so"));
        assert_eq!(entry(text, "one", "Driver").as_deref(), Some("a.so"));
        assert_eq!(entry(text, "three", "Driver"), None);
    }
}
