//! Where a database is, as ODBC has it: a connection string of `Keyword=value` pairs, and which driver that means.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::engine::Error;
use crate::url::{DatabaseUrl, is_shown, join, pairs};

/// The scheme of a URL of this engine.
pub const SCHEME: &str = "odbc";
/// The environment variable whose value stands in for a `PWD` that is not given, so that no password need be in a
/// process list.
pub const PASSWORD_VARIABLE: &str = "GRAYMARK_ODBC_PWD";
/// The keyword that chooses the dialect; it is this program's and is not handed on.
const DIALECT: &str = "GraymarkDialect";
/// Keywords that say who is asking, so that no password is added to them.
const PASSWORDS: [&str; 3] = ["pwd", "password", "accesstoken"];
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

/// Settings that a driver needs, unless the connection string says otherwise: part of its file's name, keyword and
/// value. psqlODBC: an error ends the transaction, instead of a savepoint before each statement. MariaDB's: rows that
/// were found count as affected, also if they stay as they are.
const DEFAULTS: [(&str, &str, &str); 2] = [("psqlodbc", "Protocol", "7.4-1"), ("libmaodbc", "Option", "2")];

/// A database that is reached by ODBC.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    pairs: Vec<(String, String)>,
    dialect: Option<String>,
    /// The URL without secrets.
    shown: String,
}

impl Target {
    /// Reads `odbc:` and a connection string. `environment` looks up variables.
    ///
    /// # Errors
    /// Of use, if it is no connection string or names no data source.
    pub fn parse(url: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<Target, Error> {
        let text = url.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix(':')).unwrap_or(url);
        let found = pairs(text).map_err(|why| Error::Usage(format!("{why}; {EXAMPLE}")))?;
        let mut pairs: Vec<(String, String)> = found.into_iter().map(|pair| (pair.keyword, pair.value)).collect();
        let mut dialect = None;
        pairs.retain(|(keyword, value)| {
            let ours = keyword.eq_ignore_ascii_case(DIALECT);
            if ours {
                dialect = Some(value.clone());
            }
            !ours
        });
        let shown = DatabaseUrl::from(format!("{SCHEME}:{text}")).to_string();
        let mut target = Target { pairs, dialect, shown };
        if target.value("DSN").is_none() && target.value("Driver").is_none() && target.value("FileDSN").is_none() {
            return Err(Error::Usage(format!("the connection string names neither a DSN nor a Driver; {EXAMPLE}")));
        }
        let given = PASSWORDS.iter().any(|keyword| target.value(keyword).is_some());
        if let Some(password) = environment(PASSWORD_VARIABLE).filter(|_| !given) {
            target.pairs.push(("PWD".to_owned(), password));
        }
        Ok(target)
    }

    /// A target from pairs at hand, such as those of a private server.
    pub fn of(pairs: &[(&str, &str)]) -> Target {
        let pairs = pairs.iter().map(|(keyword, value)| ((*keyword).to_owned(), (*value).to_owned())).collect();
        let mut target = Target { pairs, dialect: None, shown: String::new() };
        let open = target.pairs.iter().filter(|(keyword, value)| is_shown(keyword, value));
        target.shown = format!("{SCHEME}:{}", join(open.map(|(keyword, value)| (keyword.as_str(), value.as_str()))));
        target
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
        self.pairs.iter().filter(|(keyword, value)| !is_shown(keyword, value)).map(|(_, value)| value.as_str())
    }

    /// The URL without secrets.
    pub fn shown(&self) -> String {
        self.shown.clone()
    }

    /// What the driver manager is given. A driver's name is replaced by its file, for this program's driver manager
    /// does not know where a distribution keeps drivers. Each pair ends with a semicolon: MariaDB's driver misreads a
    /// last one without.
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
        let file =
            pairs.iter().find(|(keyword, _)| keyword.eq_ignore_ascii_case("Driver")).map(|(_, file)| file.clone());
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
        f.write_str(&self.shown)
    }
}

const EXAMPLE: &str = "give odbc:DSN=name or odbc:Driver=PostgreSQL Unicode;Server=host;Database=name;UID=user";

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
    let driver =
        [of_user, registration("odbc.ini")].into_iter().flatten().find_map(|text| entry(&text, name, "Driver"))?;
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
        let target =
            Target::parse("odbc:DSN=x", &|name| (name == PASSWORD_VARIABLE).then(|| "secret".to_owned())).unwrap();
        assert_eq!(target.secrets().collect::<Vec<_>>(), ["secret"]);
        let target = Target::parse("odbc:DSN=x;PWD=own", &|_| Some("secret".to_owned())).unwrap();
        assert_eq!(target.secrets().collect::<Vec<_>>(), ["own"]);
    }

    #[test]
    fn what_is_no_connection_string_is_reported_with_an_example_and_without_secrets() {
        for text in
            ["odbc:", "odbc:DSN", "odbc:Server=h;UID=me", "odbc:DSN=x;PWD={a", "odbc:DSN=x;rest", "odbc:a;DSN=x"]
        {
            let Err(Error::Usage(why)) = parse(text) else { panic!("{text}") };
            assert!(why.contains("odbc:DSN=") && !why.contains("{a"), "{why}");
        }
    }

    #[test]
    fn values_of_unknown_keywords_are_secret() {
        let target = parse("odbc:DSN=x;JWT=a;Pin={b};INITSTMT={SET @a = 'c d'};Charset=utf8;A6=e;Authorization=f");
        let target = target.unwrap();
        assert_eq!(target.secrets().collect::<Vec<_>>(), ["a", "b", "SET @a = 'c d'", "e", "f"]);
        assert_eq!(target.shown(), "odbc:DSN=x;");
    }

    #[test]
    fn a_dialect_is_ours() {
        let target = parse("odbc:DSN=x;graymarkdialect=plain").unwrap();
        assert_eq!((target.dialect(), target.value("graymarkdialect")), (Some("plain"), None));
        assert_eq!(target.shown(), "odbc:DSN=x;graymarkdialect=plain;");
    }

    #[test]
    fn an_entry_is_found_in_its_section() {
        let text = "[one]\nDriver = a.so\n\n[Two Words]\nDescription=x\nDriver=/b.so\n";
        assert_eq!(entry(text, "two words", "driver").as_deref(), Some("/b.so"));
        assert_eq!(entry(text, "one", "Driver").as_deref(), Some("a.so"));
        assert_eq!(entry(text, "three", "Driver"), None);
    }
}
