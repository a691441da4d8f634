//! The URL of a private server: `mysql:local[?data=DIR&cpus=0-1&memory=1GB&buffers=256MB&NAME=VALUE…]`.

use std::path::PathBuf;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::engine::Error;
use crate::engine::server::mariadb::Options;
use crate::size;

/// What cannot stand in a value as it is.
const VALUE: &AsciiSet = &CONTROLS.add(b' ').add(b'&').add(b'%').add(b'#').add(b'+');

/// What private server a URL asks for; none if it names a server that is there.
pub fn parse(url: &str) -> Result<Option<Options>, Error> {
    let Some(rest) = url.strip_prefix("mysql:local").or_else(|| url.strip_prefix("mariadb:local")) else { return Ok(None) };
    let query = match rest.split_at_checked(1) {
        None => "",
        Some(("?", query)) => query,
        Some(_) => return Err(Error::Usage("a private server is asked for by mysql:local?NAME=VALUE&NAME=VALUE".to_owned())),
    };
    let mut options = Options::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = percent_decode_str(value).decode_utf8();
        let value = value.map_err(|_| Error::Usage(format!("the value of {name} is not UTF-8")))?.into_owned();
        match name {
            "cpus" if !value.is_empty() => options.cpus = Some(value),
            "memory" => options.memory = Some(size::parse(&value).map_err(|why| Error::Usage(format!("memory: {why}")))?),
            "buffers" => {
                let bytes = size::parse(&value).map_err(|why| Error::Usage(format!("buffers: {why}")))?;
                options.settings.push(("innodb_buffer_pool_size".to_owned(), bytes.to_string()));
            }
            "data" if !value.is_empty() => options.data = Some(PathBuf::from(value)),
            name if is_setting(name) && !value.is_empty() => options.settings.push((name.to_owned(), value)),
            name => {
                return Err(Error::Usage(format!(
                    "`{name}` in mysql:local is neither data=, cpus=, memory=, buffers= nor a system variable with a value"
                )));
            }
        }
    }
    Ok(Some(options))
}

/// The URL that starts the same server again.
pub fn url(options: &Options) -> String {
    let encoded = |value: &str| utf8_percent_encode(value, VALUE).to_string();
    let data = options.data.iter().map(|data| format!("data={}", encoded(&data.to_string_lossy())));
    let cpus = options.cpus.iter().map(|cpus| format!("cpus={}", encoded(cpus)));
    let memory = options.memory.map(|bytes| format!("memory={}", size::text(bytes)));
    let settings = options.settings.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
    let pairs: Vec<String> = data.chain(cpus).chain(memory).chain(settings).collect();
    if pairs.is_empty() { "mysql:local".to_owned() } else { format!("mysql:local?{}", pairs.join("&")) }
}

/// A system variable's name, as `SHOW VARIABLES` writes it; not one whose value could hold a password, for settings are recorded.
pub fn is_setting(name: &str) -> bool {
    let secret = name.contains("password") || name.contains("key") || name.contains("auth");
    !secret && !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_server_is_asked_for_with_its_settings() {
        assert_eq!(parse("mysql://localhost/local"), Ok(None));
        assert_eq!(parse("mariadb:local"), Ok(Some(Options::default())));
        let options = parse("mysql:local?data=/var/bench%20data&cpus=0,2-3&innodb_buffer_pool_size=1G").unwrap().unwrap();
        assert_eq!(options.data, Some(PathBuf::from("/var/bench data")));
        assert_eq!(options.cpus.as_deref(), Some("0,2-3"));
        assert_eq!(options.settings, [("innodb_buffer_pool_size".to_owned(), "1G".to_owned())]);
        assert_eq!(parse(&url(&options)), Ok(Some(options)));
        let bounded = parse("mysql:local?memory=1GB&buffers=64MB").unwrap().unwrap();
        assert_eq!(bounded.memory, Some(1 << 30));
        assert_eq!(bounded.settings, [("innodb_buffer_pool_size".to_owned(), (64 << 20).to_string())]);
        assert_eq!(parse(&url(&bounded)), Ok(Some(bounded)));
        for wrong in [
            "mysql:local?buffers=many",
            "mysql:local:3306",
            "mysql:local?--port=1",
            "mysql:local?ssl_key=x",
            "mysql:local?sync_binlog=",
        ] {
            assert!(matches!(parse(wrong), Err(Error::Usage(_))), "{wrong}");
        }
    }
}
