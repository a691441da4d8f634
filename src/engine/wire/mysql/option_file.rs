//! The client's option file, `~/.my.cnf`: user and password of its group `[client]`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::url::Password;

/// Groups that are read; later lines override earlier ones, as in the client.
const GROUPS: [&str; 3] = ["client", "client-server", "client-mariadb"];

/// The result of reading an option file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The user, if the file has one.
    pub user: Option<String>,
    /// The password, if the file has one.
    pub password: Option<Password>,
    /// Why the file was ignored.
    pub warning: Option<String>,
}

/// Reads a file. A missing file is empty; one that anyone may write is ignored with a warning, as by the client.
pub fn read(file: &Path) -> Found {
    let Ok(metadata) = std::fs::metadata(file) else { return Found::default() };
    let warn = |text: String| Found { warning: Some(text), ..Found::default() };
    let name = file.display();
    if !metadata.is_file() {
        return warn(format!("the option file {name} is not a plain file and was ignored"));
    }
    if metadata.permissions().mode() & 0o002 != 0 {
        return warn(format!("the option file {name} can be written by anyone and was ignored: `chmod 600 {name}`"));
    }
    match std::fs::read_to_string(file) {
        Ok(text) => options(&text),
        Err(error) => warn(format!("the option file {name} cannot be read: {error}")),
    }
}

fn options(text: &str) -> Found {
    let mut found = Found::default();
    let mut ours = false;
    for line in text.lines().map(str::trim) {
        if let Some(group) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            ours = GROUPS.contains(&group.0.trim());
        } else if ours
            && !line.starts_with(['#', ';'])
            && let Some((name, value)) = line.split_once('=')
        {
            match name.trim() {
                "user" => found.user = Some(unquoted(value)),
                "password" => found.password = Some(Password::new(unquoted(value))),
                _ => {}
            }
        }
    }
    found
}

/// A value without quotes. `\\`, `\s`, `\t`, `\n` and `\r` are a backslash, a blank, a tab and line ends. Without
/// quotes, a `#` after a blank begins a comment.
fn unquoted(value: &str) -> String {
    let value = value.trim();
    let quoted = ['\'', '"'].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    let value = quoted.unwrap_or_else(|| value.find(" #").map_or(value, |at| value[..at].trim_end()));
    let mut text = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match (letter, letters.clone().next()) {
            ('\\', Some(next)) if "\\stnr".contains(next) => {
                letters.next();
                text.push(match next {
                    's' => ' ',
                    't' => '\t',
                    'n' => '\n',
                    'r' => '\r',
                    other => other,
                });
            }
            _ => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_group_is_read_and_no_other() {
        let text = "[mysqld]\npassword=no\n[client]\n# user = nobody\nuser = ann\npassword = 'a\\\\b \
            #c'\nport=1\n[mysql]\nuser=bob\n";
        let found = options(text);
        assert_eq!(
            (found.user.as_deref(), found.password.as_ref().map(Password::reveal)),
            (Some("ann"), Some("a\\b #c"))
        );
        assert_eq!(options("[client]\npassword=x\\sy # mine\n").password.as_ref().map(Password::reveal), Some("x y"));
        assert_eq!(options("password=x\n"), Found::default());
    }

    #[test]
    fn a_file_that_anyone_may_write_is_ignored() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("my.cnf");
        assert_eq!(read(&file), Found::default());
        std::fs::write(&file, "[client]\npassword=secret\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        let found = read(&file);
        assert!(found.password.is_none() && found.warning.is_some_and(|warning| warning.contains("chmod 600")));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&file).password.as_ref().map(Password::reveal), Some("secret"));
    }
}
