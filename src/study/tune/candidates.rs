//! Candidate settings, read from a list: those that come with Graymark, a file for each engine, or a user's own.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::result::Recorded;
use crate::result::tune::{Candidate, Fate};
use crate::size;

/// Why a candidate was skipped that was not requested.
pub const NOT_ASKED: &str = "not requested with --only";

/// The built-in lists, by the scheme of the URL.
const LISTS: [(&str, &str); 5] = [
    ("postgres", include_str!("postgres.toml")),
    ("mysql", include_str!("mysql.toml")),
    ("mariadb", include_str!("mysql.toml")),
    ("sqlite", include_str!("sqlite.toml")),
    ("virtuoso", include_str!("virtuoso.toml")),
];
/// Bytes of a buffer of Virtuoso, which counts them.
const VIRTUOSO_BUFFER: u64 = 8 << 10;
/// Suffix of a value that is a share of the memory.
const OF_MEMORY: &str = "% of memory";

/// A file of candidates.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    candidate: Vec<Listed>,
}

/// One of them. What it means stands in [`Candidate`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    name: String,
    settings: BTreeMap<String, String>,
    reason: String,
    source: String,
    #[serde(default)]
    risk: String,
    restart: bool,
    loses: Option<String>,
}

/// The built-in list for a scheme.
pub fn of_scheme(scheme: &str) -> Option<&'static str> {
    LISTS.iter().find(|(of, _)| *of == scheme).map(|(_, list)| *list)
}

/// Reads a list. Values that are a share of the memory are worked out for a server of `scheme` with so many bytes of
/// it; without any, their candidates are left out.
///
/// # Errors
/// What is wrong with it, in one line.
pub fn read(list: &str, scheme: &str, memory: Option<u64>) -> Result<Vec<Candidate>, String> {
    let list: List = toml::from_str(list).map_err(|error| {
        let text = error.to_string();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    })?;
    let mut names = BTreeSet::new();
    let mut candidates = Vec::new();
    for listed in list.candidate {
        check(&listed)?;
        if !names.insert(listed.name.clone()) {
            return Err(format!("two candidates have the name {}", listed.name));
        }
        candidates.push(worked_out(listed, scheme, memory)?);
    }
    if candidates.is_empty() {
        return Err("it has no [[candidate]]".to_owned());
    }
    Ok(candidates)
}

/// A name is a directory and a word on the command line; settings of nothing change nothing.
fn check(listed: &Listed) -> Result<(), String> {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let name = &listed.name;
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) || name.starts_with('-') {
        return Err(format!("invalid name `{name}` of a candidate: use lower-case letters, digits and hyphens"));
    }
    if [super::START, super::TOGETHER].contains(&name.as_str()) {
        return Err(format!("{name} is a reserved name"));
    }
    if listed.settings.is_empty() {
        return Err(format!("{name} has no settings"));
    }
    let odd = |text: &String| text.is_empty() || text.chars().any(char::is_control);
    match listed.settings.iter().find(|(name, value)| odd(name) || odd(value)) {
        Some((setting, _)) => Err(format!("{name}: `{setting}` has no value in one line")),
        None => Ok(()),
    }
}

fn worked_out(listed: Listed, scheme: &str, memory: Option<u64>) -> Result<Candidate, String> {
    let (mut settings, mut fate, mut why) = (BTreeMap::new(), Fate::InTheRace, String::new());
    for (setting, value) in listed.settings {
        let value = match value.strip_suffix(OF_MEMORY).map(|percent| (percent.trim().parse::<u64>(), memory)) {
            None => value,
            Some((Ok(percent @ 1..=90), Some(memory))) => share(memory / 100 * percent, scheme),
            Some((Ok(1..=90), None)) => {
                (fate, why) = (Fate::LeftOut, "the size of the memory is unknown".to_owned());
                value
            }
            Some(_) => return Err(format!("{}: {setting} takes 1 to 90% of memory", listed.name)),
        };
        settings.insert(setting, value);
    }
    Ok(Candidate {
        name: listed.name,
        settings,
        reason: listed.reason,
        source: listed.source,
        risk: listed.risk,
        restart: listed.restart,
        loses: listed.loses,
        fate: fate.into(),
        why,
        gain: None,
        runs: 0,
    })
}

/// So many bytes, as the server writes them.
fn share(bytes: u64, scheme: &str) -> String {
    let mib = (bytes >> 20).max(1);
    match scheme {
        "mysql" | "mariadb" => format!("{mib}M"),
        "sqlite" => mib.to_string(),
        "virtuoso" => (bytes / VIRTUOSO_BUFFER).to_string(),
        _ => format!("{mib}MB"),
    }
}

/// Leaves out what loses commits, what was not asked for, and what the start already has. `only` are names; none means
/// all. `now` are the settings of the start as far as they are known.
///
/// # Errors
/// If a name is unknown.
pub fn leave_out(
    candidates: &mut [Candidate],
    only: &[String],
    allow_loss: bool,
    now: &BTreeMap<String, String>,
) -> Result<(), String> {
    if let Some(unknown) = only.iter().find(|name| candidates.iter().all(|candidate| candidate.name != **name)) {
        let names: Vec<&str> = candidates.iter().map(|candidate| candidate.name.as_str()).collect();
        return Err(format!("unknown candidate `{unknown}`; the candidates are {}", names.join(", ")));
    }
    for candidate in candidates.iter_mut().filter(|candidate| candidate.fate == Fate::InTheRace) {
        let has = |(name, value): (&String, &String)| now.get(name).is_some_and(|now| same(now, value));
        let why = match &candidate.loses {
            _ if !only.is_empty() && !only.contains(&candidate.name) => NOT_ASKED.to_owned(),
            Some(loses) if !allow_loss => format!("{loses}; --allow-loss includes it"),
            _ if candidate.settings.iter().all(has) => "already set at the start".to_owned(),
            _ => continue,
        };
        (candidate.fate, candidate.why) = (Recorded::Known(Fate::LeftOut), why);
    }
    Ok(())
}

/// Whether two values are equivalent: case, notation of switches and of sizes are ignored.
fn same(one: &str, other: &str) -> bool {
    let switch = |text: &str| match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    };
    let alike = |one: Option<bool>, other: Option<bool>| one.is_some() && one == other;
    let size = |text: &str| size::parse(text).ok();
    one.eq_ignore_ascii_case(other)
        || alike(switch(one), switch(other))
        || (size(one).is_some() && size(one) == size(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "[[candidate]]\nname = \"a\"\nreason = \"r\"\nsource = \"s\"\nrestart = true\n";

    #[test]
    fn every_list_can_be_read_and_has_sources() {
        for (scheme, list) in LISTS {
            let candidates = read(list, scheme, Some(8 << 30)).unwrap();
            assert!(candidates.len() >= 4, "{scheme}");
            for candidate in &candidates {
                let texts = [&candidate.reason, &candidate.source];
                assert!(texts.iter().all(|text| !text.is_empty()), "{candidate:?}");
                assert!(candidate.source.contains("documentation, "), "{candidate:?}");
                assert!(candidate.settings.values().all(|value| !value.contains("memory")), "{candidate:?}");
            }
            let unknown = read(list, scheme, None).unwrap();
            let left = unknown.iter().filter(|candidate| candidate.fate == Fate::LeftOut).count();
            assert_eq!(left > 0, scheme != "sqlite", "{scheme}");
        }
    }

    #[test]
    fn shares_of_the_memory_are_as_each_server_writes_them() {
        let list = format!("{ONE}settings = {{ x = \"25% of memory\" }}");
        for (scheme, value) in [("postgres", "1024MB"), ("mysql", "1024M"), ("virtuoso", "131072"), ("sqlite", "1024")]
        {
            let memory = (4 << 30) + 100;
            assert_eq!(read(&list, scheme, Some(memory)).unwrap()[0].settings["x"], value, "{scheme}");
        }
    }

    #[test]
    fn errors_in_a_list_are_reported() {
        let wrong = |list: &str| read(list, "postgres", Some(1 << 30)).unwrap_err();
        assert!(wrong(&format!("{ONE}settings = {{ x = \"95% of memory\" }}")).contains("1 to 90"));
        assert!(wrong(&format!("{ONE}settings = {{}}")).contains("no settings"));
        assert!(wrong(&format!("{ONE}settings = {{ x = \"a\\nb\" }}")).contains("one line"));
        assert!(wrong(&format!("{ONE}settings = {{ x = \"1\" }}\n{ONE}settings = {{ x = \"1\" }}")).contains("two"));
        assert!(wrong("candidate = []").contains("no [[candidate]]"));
        for name in ["../a", "A", "start", "together", ""] {
            let list = format!("{ONE}settings = {{ x = \"1\" }}").replace("\"a\"", &format!("\"{name}\""));
            assert!(wrong(&list).contains("name"), "{name}");
        }
    }

    #[test]
    fn candidates_that_lose_commits_or_change_nothing_are_skipped() {
        let mut candidates = read(LISTS[0].1, "postgres", Some(8 << 30)).unwrap();
        let now = [("wal_compression", "ON"), ("jit", "off"), ("shared_buffers", "838860kB")];
        let now = now.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        leave_out(&mut candidates, &[], false, &now).unwrap();
        let left = |name: &str| candidates.iter().find(|one| one.name == name && one.fate == Fate::LeftOut);
        for name in ["commits-do-not-wait", "no-full-pages"] {
            assert!(left(name).unwrap().why.contains("--allow-loss"), "{name}");
        }
        assert!(left("compressed-log").unwrap().why.contains("already") && left("no-jit").is_some());
        assert!(left("more-buffers").is_none());
        let mut again = read(LISTS[0].1, "postgres", Some(8 << 30)).unwrap();
        leave_out(&mut again, &["no-full-pages".to_owned()], true, &BTreeMap::new()).unwrap();
        let there: Vec<&str> =
            again.iter().filter(|one| one.fate == Fate::InTheRace).map(|one| one.name.as_str()).collect();
        assert_eq!(there, ["no-full-pages"]);
        assert!(leave_out(&mut again, &["none".to_owned()], true, &BTreeMap::new()).unwrap_err().contains("no-jit"));
    }
}
