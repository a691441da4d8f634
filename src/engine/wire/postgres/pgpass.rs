//! libpq's password file: `host:port:database:user:password` lines.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::url::Password;

/// The result of reading a password file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The password of the first matching line.
    pub password: Option<Password>,
    /// Why the file was ignored.
    pub warning: Option<String>,
}

/// The values that a line has to match.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    /// Host name or address, or the directory of the socket; any of several names.
    pub hosts: &'a [&'a str],
    /// Port.
    pub port: u16,
    /// Database.
    pub database: &'a str,
    /// User.
    pub user: &'a str,
}

/// Looks up a key in a file. A missing file is empty; one that others may read is ignored with a warning, as by libpq.
pub fn look_up(file: &Path, key: Key<'_>) -> Found {
    let Ok(metadata) = std::fs::metadata(file) else { return Found::default() };
    let warn = |text: String| Found { password: None, warning: Some(text) };
    let name = file.display();
    if !metadata.is_file() {
        return warn(format!("the password file {name} is not a plain file and was ignored"));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return warn(format!("the password file {name} can be read by others and was ignored: `chmod 600 {name}`"));
    }
    match std::fs::read_to_string(file) {
        Ok(text) => Found { password: text.lines().find_map(|line| fits(line, key)), warning: None },
        Err(error) => warn(format!("the password file {name} cannot be read: {error}")),
    }
}

/// The password of a line, if it matches.
fn fits(line: &str, key: Key<'_>) -> Option<Password> {
    if line.starts_with('#') {
        return None;
    }
    let [host, port, database, user, password] = fields(line)?;
    let same = |field: &Field, value: &str| field.any || field.text == value;
    let known = host.any || key.hosts.iter().any(|name| host.text == *name);
    let fits = known && same(&port, &key.port.to_string()) && same(&database, key.database) && same(&user, key.user);
    fits.then(|| Password::new(password.text))
}

#[derive(Default)]
struct Field {
    text: String,
    /// A single, unescaped `*`.
    any: bool,
}

/// The five fields of a line. `\:` and `\\` are `:` and `\`; the password ends with the line or at another `:`.
fn fields(line: &str) -> Option<[Field; 5]> {
    let mut fields: [Field; 5] = Default::default();
    let mut at = 0;
    let mut raw_length = 0;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' if at == 4 => break,
            ':' => {
                fields[at].any = raw_length == 1 && fields[at].any;
                at += 1;
                raw_length = 0;
                continue;
            }
            '\\' => {
                fields[at].text.push(letters.next().unwrap_or('\\'));
                raw_length += 2;
            }
            letter => {
                fields[at].any = raw_length == 0 && letter == '*';
                fields[at].text.push(letter);
                raw_length += 1;
            }
        }
    }
    (at == 4 && !fields[4].text.is_empty()).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key<'_> = Key { hosts: &["db.example"], port: 5432, database: "bench", user: "ann" };

    fn of(line: &str) -> Option<String> {
        fits(line, KEY).map(|password| password.reveal().to_owned())
    }

    #[test]
    fn a_line_fits_by_value_or_wildcard() {
        assert_eq!(of("db.example:5432:bench:ann:secret").as_deref(), Some("secret"));
        assert_eq!(of("*:*:*:*:secret").as_deref(), Some("secret"));
        assert_eq!(of("db.example:5433:bench:ann:secret"), None);
        assert_eq!(of("db.example:5432:bench:bob:secret"), None);
        assert_eq!(of("#db.example:5432:bench:ann:secret"), None);
        assert_eq!(of("db.example:5432:bench:ann"), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn escapes_are_undone_and_an_escaped_wildcard_is_a_star() {
        assert_eq!(of(r"*:*:*:*:a\:b\\c").as_deref(), Some(r"a:b\c"));
        assert_eq!(of(r"\*:*:*:*:x"), None);
        assert_eq!(of(r"**:*:*:*:x"), None);
        let key = Key { database: "a:b", ..KEY };
        assert_eq!(fits(r"*:*:a\:b:*:x", key).as_ref().map(Password::reveal), Some("x"));
    }

    #[test]
    fn a_file_that_others_can_read_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pgpass");
        assert_eq!(look_up(&file, KEY), Found::default());
        std::fs::write(&file, "# passwords\nother:*:*:*:no\n*:*:bench:ann:yes\n*:*:*:*:later\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let found = look_up(&file, KEY);
        assert_eq!(found.password, None);
        assert!(found.warning.unwrap().contains("chmod 600"));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(look_up(&file, KEY), Found { password: Some(Password::new("yes")), warning: None });
    }
}
