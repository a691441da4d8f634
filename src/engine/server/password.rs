//! The password of a private server's administrator: random, and stored in a file of its data directory.

use std::fs::File;
use std::io::{Read, Write};

use super::directory::Directory;
use super::process::failed;
use crate::engine::Error;
use crate::url::Password;

/// In the data directory, readable by the user who runs Graymark alone.
pub const FILE: &str = "graymark.password";
/// Length of a password: 5 random bits per letter.
const LETTERS: usize = 32;
/// 32 letters, so that each random byte selects one without bias.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// A new random password.
fn random() -> Result<Password, Error> {
    let mut bytes = [0; LETTERS];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| failed("cannot read random numbers from /dev/urandom", &error))?;
    Ok(Password::new(
        bytes.iter().map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()])).collect::<String>(),
    ))
}

/// The password in the file of a data directory, and whether it was created now because the file did not exist.
pub(super) fn of(data: &Directory) -> Result<(Password, bool), Error> {
    if let Some(bytes) = data.read(FILE)? {
        let text = String::from_utf8(bytes).unwrap_or_default();
        let text = text.trim_end();
        if text.len() != LETTERS || !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(Error::Database(format!(
                "{FILE} in the data directory is not as Graymark wrote it: remove it, and the next start gives the \
                 server a new password"
            )));
        }
        return Ok((Password::new(text), false));
    }
    let password = random()?;
    Ok((password, true))
}

/// Stores a password for the next start.
pub(super) fn keep(data: &Directory, password: &Password) -> Result<(), Error> {
    let written = data.create_own(FILE)?.write_all(format!("{}\n", password.reveal()).as_bytes());
    written.map_err(|error| failed("cannot keep the server's password", &error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_password_is_kept_for_its_user_alone_and_found_again() {
        let place = tempfile::tempdir().unwrap();
        let data = Directory::open(place.path(), None).unwrap();
        let (password, new) = of(&data).unwrap();
        assert!(new && password.reveal().len() == 32 && password != of(&data).unwrap().0);
        assert!(!format!("{password:?}").contains(password.reveal()));
        keep(&data, &password).unwrap();
        assert_eq!(of(&data), Ok((password, false)));
        let file = place.path().join(FILE);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        // Other contents are neither passed to a server nor shown.
        std::fs::write(&file, "root:x:0:0\n").unwrap();
        let refused = of(&data).unwrap_err().to_string();
        assert!(refused.contains("remove it") && !refused.contains("root:x"), "{refused}");
    }
}
