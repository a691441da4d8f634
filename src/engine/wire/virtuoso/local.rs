//! The URL of a private server:
//! `virtuoso:local[?buffers=N&dirty=N&checkpoint=MINUTES&stripes=N&cpus=0-1&memory=1GB&data=DIR &NAME=VALUE…]`. Buffers
//! are counted, as in Virtuoso's ini file, or given as a size such as 64MB.

use std::path::PathBuf;

use crate::engine::Error;
use crate::engine::server::url;
use crate::engine::server::virtuoso::{FEWEST_BUFFERS, PAGE, VirtuosoServerOptions};
use crate::size;

/// The minimum number of buffers, and a maximum of 8 TiB. Version 7.2.5 silently raises a smaller number in its ini
/// file.
const BUFFERS: std::ops::RangeInclusive<u32> = FEWEST_BUFFERS..=1_073_741_824;
/// Number of files in one segment.
const STRIPES: std::ops::RangeInclusive<u32> = 1..=64;

/// Parses the URL of a private server; `None` if it names an existing server.
pub fn parse(url: &str) -> Result<Option<VirtuosoServerOptions>, Error> {
    let Some(values) = url::values(url, &["virtuoso"])? else { return Ok(None) };
    let mut options = VirtuosoServerOptions::default();
    for (name, value) in values {
        set(&mut options, &name, value)?;
    }
    Ok(Some(options))
}

/// Sets an option of a private server by its name.
pub(super) fn set(options: &mut VirtuosoServerOptions, name: &str, value: String) -> Result<(), Error> {
    match name {
        "buffers" => options.buffers = Some(buffers(&value)?),
        "memory" => options.memory = Some(url::bytes(name, &value)?),
        "dirty" => options.dirty = Some(number(name, &value, 1..=*BUFFERS.end())?),
        "checkpoint" => options.checkpoint = Some(number(name, &value, 0..=100_000)?),
        "stripes" => options.stripes = Some(number(name, &value, STRIPES)?),
        "cpus" if !value.is_empty() => options.cpus = Some(value),
        "data" if !value.is_empty() => options.data = Some(PathBuf::from(value)),
        name if is_setting(name) && !value.is_empty() => options.settings.push((name.to_owned(), value)),
        name => {
            return Err(Error::Usage(format!(
                "`{name}` in virtuoso:local is neither buffers=, dirty=, checkpoint=, stripes=, cpus=, memory=, data= \
                 nor a \
                 setting of the section [Parameters] with a value"
            )));
        }
    }
    Ok(())
}

/// A number of buffers, or a size with its unit.
fn buffers(value: &str) -> Result<u32, Error> {
    if value.chars().all(|letter| letter.is_ascii_digit()) {
        return number("buffers", value, BUFFERS);
    }
    let bytes = size::parse(value)
        .map_err(|why| Error::Usage(format!("buffers={value} in virtuoso:local: {why}, nor a whole number")))?;
    let buffers = u32::try_from(bytes / PAGE).ok().filter(|buffers| BUFFERS.contains(buffers));
    buffers.ok_or_else(|| {
        let least = (u64::from(FEWEST_BUFFERS) * PAGE).div_ceil(1 << 20);
        Error::Usage(format!(
            "buffers={value} in virtuoso:local: Virtuoso has at least {FEWEST_BUFFERS} buffers, which are {least} MB"
        ))
    })
}

fn number(name: &str, value: &str, allowed: std::ops::RangeInclusive<u32>) -> Result<u32, Error> {
    let (least, most) = (allowed.start(), allowed.end());
    let number = value.parse().ok().filter(|number| allowed.contains(number));
    number.ok_or_else(|| {
        Error::Usage(format!("{name}={value} in virtuoso:local: give a whole number from {least} to {most}"))
    })
}

/// The URL that starts the same server again.
pub fn url(options: &VirtuosoServerOptions) -> String {
    let numbers = [
        ("buffers", options.buffers),
        ("dirty", options.dirty),
        ("checkpoint", options.checkpoint),
        ("stripes", options.stripes),
    ];
    let numbers = numbers.into_iter().filter_map(|(name, number)| Some((name.to_owned(), number?.to_string())));
    url::of(
        "virtuoso",
        numbers.chain(url::common(options.data.as_deref(), options.cpus.as_deref(), options.memory, &options.settings)),
    )
}

/// Settings that Graymark manages: addresses.
const CLOSED: [&str; 3] = ["ServerPort", "SSLServerPort", "DisableUnixSocket"];

/// Whether a name is that of a setting, with a capital as in Virtuoso's ini file, that may be set: not one that opens
/// the server to others.
fn is_setting(name: &str) -> bool {
    let letters = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    letters
        && name.starts_with(|letter: char| letter.is_ascii_uppercase())
        && !CLOSED.iter().any(|closed| closed.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_server_is_asked_for_with_its_options() {
        assert_eq!(parse("virtuoso://dba@localhost:1111"), Ok(None));
        assert_eq!(parse("virtuoso:local"), Ok(Some(VirtuosoServerOptions::default())));
        let text = "virtuoso:local?buffers=22000&dirty=1500&checkpoint=20&stripes=2&data=/var/bench%20data\
                    &cpus=0,2-3&memory=1GB&O_DIRECT=1";
        let options = parse(text).unwrap().unwrap();
        assert_eq!(
            (options.buffers, options.dirty, options.checkpoint, options.stripes),
            (Some(22_000), Some(1_500), Some(20), Some(2))
        );
        assert_eq!(options.data, Some(PathBuf::from("/var/bench data")));
        assert_eq!(options.settings, [("O_DIRECT".to_owned(), "1".to_owned())]);
        assert_eq!(url(&options), text);
        assert_eq!(parse("virtuoso:local?buffers=256MB").unwrap().unwrap().buffers, Some(32_768));
        for wrong in [
            "virtuoso:local:1111",
            "virtuoso:local?memory=much",
            "virtuoso:local?buffers=many",
            "virtuoso:local?buffers=19999",
            "virtuoso:local?buffers=64MB",
            "virtuoso:local?stripes=0",
            "virtuoso:local?ServerPort=1",
            "virtuoso:local?DisableUnixSocket=0",
            "virtuoso:local?Serverport=1",
            "virtuoso:local?O_DIRECT=1%0A[HTTPServer]",
            "virtuoso:local?o_direct=1",
            "virtuoso:local?O_DIRECT=",
        ] {
            assert!(matches!(parse(wrong), Err(Error::Usage(_))), "{wrong}");
        }
    }
}
