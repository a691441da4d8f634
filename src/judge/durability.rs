//! Does a commit wait for the disk (clause 3.5)? Decided from the settings of the run's sessions, for each engine.
//!
//! Settings can only show that it does not: disks and controllers may keep in memory what they report as written, and
//! only a loss of power reveals it. By settings alone the rule is therefore broken or not tested; it holds if ACID
//! tests of the same database say so.

use std::collections::{BTreeMap, BTreeSet};

use super::{NEEDS_ACID_TESTS, Rule, with_note, with_reason};
use crate::result::Environment;
use crate::result::summary::{Clause, Durability, DurabilityClass, State, Summary};

/// The durability settings of an engine, evaluated.
struct DurabilitySettings {
    /// Names of the settings that were examined.
    names: &'static [&'static str],
    /// Whether all settings needed for a judgement are known.
    known: bool,
    /// Reasons why commits may be lost.
    risks: Vec<String>,
}

/// The id of the clause.
pub(super) const ID: &str = "3.5";

/// File systems in memory.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// Evaluates the engine, its settings and the file system of its data.
pub(crate) fn of(environment: &Environment) -> Durability {
    let setting = |name: &str| environment.settings.get(name).map(String::as_str);
    let engine = environment.engine.as_ref().map(|engine| engine.name.to_lowercase()).unwrap_or_default();
    let DurabilitySettings { names, known, mut risks } = match engine.as_str() {
        "postgresql" => postgresql(&setting),
        "mariadb" | "mysql" => mysql(&setting),
        "sqlite" => sqlite(&setting),
        engine if engine.contains("virtuoso") => virtuoso(),
        _ => DurabilitySettings { names: &[], known: false, risks: Vec::new() },
    };
    if let Some(file_system) = environment.file_system.as_deref().filter(|name| IN_MEMORY.contains(name)) {
        risks.push(format!("the database's files are in memory, on {file_system}"));
    }
    let class = match (risks.is_empty(), known) {
        (false, _) => DurabilityClass::MayLoseCommits,
        (true, true) => DurabilityClass::WaitsForTheDisk,
        (true, false) => DurabilityClass::NotKnown,
    };
    let settings = names.iter().filter_map(|name| Some(((*name).to_owned(), setting(name)?.to_owned())));
    Durability { class: class.into(), risks, settings: settings.collect(), ..Durability::default() }
}

/// The durability of a run, from the settings before it and those after it, or why these could not be read. If they
/// differ, the worse ones count: nothing shows when they changed.
pub(crate) fn over_run(before: &Durability, after: &Result<Durability, String>) -> Durability {
    let after = match after {
        Ok(after) => after,
        Err(why) => return Durability { unread: why.clone(), ..before.clone() },
    };
    let (worse, other) = if badness(after) > badness(before) { (after, before) } else { (before, after) };
    let others = other.risks.iter().filter(|risk| !worse.risks.contains(risk));
    Durability {
        risks: worse.risks.iter().chain(others).cloned().collect(),
        changed: changes(&before.settings, &after.settings),
        ..worse.clone()
    }
}

/// Orders the classes: what may lose commits is the worst.
fn badness(durability: &Durability) -> u8 {
    match durability.class.known() {
        Some(DurabilityClass::WaitsForTheDisk) => 0,
        Some(DurabilityClass::NotKnown) | None => 1,
        Some(DurabilityClass::MayLoseCommits) => 2,
    }
}

/// The settings that differ, each with both values.
fn changes(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let value =
        |settings: &BTreeMap<String, String>, name| settings.get(name).map_or("none", String::as_str).to_owned();
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let values = names.into_iter().map(|name| (name, value(before, name), value(after, name)));
    values.filter(|(_, from, to)| from != to).map(|(name, from, to)| format!("{name} from {from} to {to}")).collect()
}

/// The rule of a run. Settings that changed during it, or were read only before it, are noted.
pub(super) fn rule(id: &'static str, summary: &Summary) -> Clause {
    let clause = by_class(id, summary);
    let Some(reservation) = summary.durability.reservation() else { return clause };
    let note = if clause.note.is_empty() { reservation } else { format!("{}; {reservation}", clause.note) };
    with_note(clause, note)
}

fn by_class(id: &'static str, summary: &Summary) -> Clause {
    let rule = Rule::new(id, "committed transactions survive a loss of power", "none is lost");
    let durability = &summary.durability;
    let class = durability.class.name();
    match durability.class.known() {
        Some(DurabilityClass::MayLoseCommits) => with_note(rule.is(false, class), durability.risks.join("; ")),
        Some(DurabilityClass::WaitsForTheDisk) if !durability.changed.is_empty() => with_reason(
            with_note(rule.with_state(State::NotTested, class), "by its settings, before and after the run"),
            NEEDS_ACID_TESTS,
        ),
        Some(DurabilityClass::WaitsForTheDisk) => match super::acid::durability_of_run(summary) {
            Ok((clause, proofs)) => {
                let tests = proofs.iter().map(|proof| format!("{} on {}", proof.record, proof.engine.url));
                let tests = tests.collect::<Vec<_>>().join(", ");
                let state = clause.state.known().copied().unwrap_or(State::NotTested);
                let note = if clause.note.is_empty() { String::new() } else { format!("{}; ", clause.note) };
                with_note(rule.with_state(state, format!("{class}; {}", clause.value)), format!("{note}tests: {tests}"))
            }
            Err(_) => with_reason(
                with_note(
                    rule.with_state(State::NotTested, class),
                    "by its settings; only a power-cut test shows what the disk keeps",
                ),
                NEEDS_ACID_TESTS,
            ),
        },
        Some(DurabilityClass::NotKnown) => {
            let clause =
                with_note(rule.with_state(State::NotTested, class), "Graymark does not know this database's settings");
            with_reason(clause, NEEDS_ACID_TESTS)
        }
        None => rule.with_state(State::NotTested, class),
    }
}

/// Whether acknowledged commits survived the lost connections of a run; `None` if no connection was lost.
pub(super) fn acknowledged(id: &'static str, summary: &Summary) -> Option<Clause> {
    let lookup = summary.connections.lookup.as_ref()?;
    let found = &lookup.acknowledged;
    let rule = Rule::new(
        id,
        "commits acknowledged in the last second before a lost connection are in the database",
        "none is lost",
    );
    Some(if found.lost > 0 {
        with_note(rule.is(false, format!("{} of {} lost", found.lost, found.looked_up)), "each was looked up")
    } else if !lookup.unasked.is_empty() {
        rule.not_tested(lookup.unasked.clone())
    } else if found.looked_up == 0 {
        rule.not_tested("no acknowledged commit can be looked up")
    } else if found.beyond {
        let clause = rule.with_state(State::NotTested, format!("{} looked up, none lost", found.looked_up));
        with_note(clause, "more commits were acknowledged in that second than Graymark keeps")
    } else {
        rule.is(true, format!("{} looked up, none lost", found.looked_up))
    })
}

fn is_off(value: Option<&str>) -> bool {
    value.is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "off" | "0" | "false" | "no"))
}

type Setting<'a, 's> = &'a dyn Fn(&str) -> Option<&'s str>;

fn postgresql(setting: Setting<'_, '_>) -> DurabilitySettings {
    const NAMES: &[&str] = &["fsync", "synchronous_commit", "full_page_writes", "unlogged_tables"];
    let mut risks = Vec::new();
    if is_off(setting("fsync")) {
        risks.push("fsync=off: the server never waits for the disk".to_owned());
    }
    if is_off(setting("synchronous_commit")) {
        risks.push("synchronous_commit=off: commits are acknowledged before their log is on disk".to_owned());
    }
    if is_off(setting("full_page_writes")) {
        risks.push(
            "full_page_writes=off: a page half written at a loss of power is not repaired, unless the file system \
             writes whole pages"
                .to_owned(),
        );
    }
    risks.extend(setting("unlogged_tables").map(|tables| format!("UNLOGGED tables, which a crash empties: {tables}")));
    DurabilitySettings { names: NAMES, known: NAMES[..3].iter().all(|name| setting(name).is_some()), risks }
}

fn mysql(setting: Setting<'_, '_>) -> DurabilitySettings {
    const NAMES: &[&str] = &[
        "innodb_flush_log_at_trx_commit",
        "innodb_doublewrite",
        "log_bin",
        "sync_binlog",
        "innodb_flush_method",
        "tables_of_other_engines",
    ];
    let mut risks = Vec::new();
    if let Some(value @ ("0" | "2")) = setting("innodb_flush_log_at_trx_commit") {
        let when = if value == "0" { "once a second" } else { "at commit, and is flushed once a second" };
        risks.push(format!("innodb_flush_log_at_trx_commit={value}: the log is written {when}"));
    }
    let detects = |value: &str| value.eq_ignore_ascii_case("detect_only");
    if let Some(value) = setting("innodb_doublewrite").filter(|value| is_off(Some(value)) || detects(value)) {
        risks.push(format!(
            "innodb_doublewrite={value}: a page half written at a loss of power is not repaired, unless the file \
             system writes whole pages"
        ));
    }
    let binlog = setting("log_bin").is_some_and(|value| !is_off(Some(value)));
    if let Some(value) = setting("sync_binlog").filter(|value| binlog && *value != "1") {
        // After a crash, the binary log decides which prepared transactions are committed.
        risks.push(format!("sync_binlog={value}: a commit does not wait for the binary log, which recovery needs"));
    }
    if let Some((value, risk)) = setting("innodb_flush_method").and_then(|value| Some((value, unflushed(value)?))) {
        risks.push(format!("innodb_flush_method={value}: {risk}"));
    }
    risks.extend(
        setting("tables_of_other_engines").map(|tables| format!("tables of other engines than InnoDB: {tables}")),
    );
    DurabilitySettings { names: NAMES, known: NAMES[..3].iter().all(|name| setting(name).is_some()), risks }
}

/// What is not flushed with a value of `innodb_flush_method` that is meant for tests of speed only.
fn unflushed(method: &str) -> Option<&'static str> {
    match method.to_ascii_lowercase().as_str() {
        "nosync" => Some("the server never waits for the disk"),
        "littlesync" => Some("the server does not wait until its data files are on disk"),
        _ => None,
    }
}

fn sqlite(setting: Setting<'_, '_>) -> DurabilitySettings {
    const NAMES: &[&str] = &["synchronous", "journal_mode"];
    let mut risks = Vec::new();
    let (synchronous, journal) = (setting("synchronous"), setting("journal_mode"));
    // Some drivers report SQLite's numbers.
    match synchronous {
        Some("off" | "0") => risks.push("synchronous=off: SQLite never waits for the disk".to_owned()),
        Some("normal" | "1") => {
            risks.push("synchronous=normal: SQLite waits for the disk at checkpoints, not at each commit".to_owned());
        }
        // A deleted rollback journal reappears if the directory was not flushed, and then undoes the commit.
        Some("full" | "2") if journal == Some("delete") => risks.push(
            "journal_mode=delete with synchronous=full: a commit does not wait until the journal's directory \
             is on disk (synchronous=extra does)"
                .to_owned(),
        ),
        _ => {}
    }
    if let Some(journal @ ("off" | "memory")) = journal {
        risks.push(format!("journal_mode={journal}: an incomplete transaction is not rolled back after a crash"));
    }
    let known = synchronous.is_some_and(|value| matches!(value, "full" | "extra" | "2" | "3")) && journal.is_some();
    DurabilitySettings { names: NAMES, known, risks }
}

/// Version 7.2 writes its log at commit and flushes it later, whatever its settings.
fn virtuoso() -> DurabilitySettings {
    DurabilitySettings {
        names: &[],
        known: true,
        risks: vec!["Virtuoso acknowledges commits before their log is on disk".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Identity;

    fn of(engine: &str, settings: &[(&str, &str)]) -> Durability {
        let engine = Identity { name: engine.to_owned(), version: String::new(), url: String::new() };
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        super::of(&Environment { engine: Some(engine), settings, ..Environment::default() })
    }

    const POSTGRESQL: [(&str, &str); 3] = [("fsync", "on"), ("synchronous_commit", "on"), ("full_page_writes", "on")];
    const MARIADB: [(&str, &str); 4] = [
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_doublewrite", "ON"),
        ("log_bin", "OFF"),
        ("sync_binlog", "0"),
    ];
    const SQLITE: [(&str, &str); 2] = [("synchronous", "full"), ("journal_mode", "wal")];

    #[test]
    fn each_setting_that_loses_commits_is_reported() {
        for (engine, whole, name, value) in [
            ("PostgreSQL", &POSTGRESQL[..], "fsync", "off"),
            ("PostgreSQL", &POSTGRESQL, "synchronous_commit", "off"),
            ("PostgreSQL", &POSTGRESQL, "full_page_writes", "off"),
            ("PostgreSQL", &POSTGRESQL, "unlogged_tables", "stock"),
            ("MariaDB", &MARIADB, "innodb_flush_log_at_trx_commit", "0"),
            ("MySQL", &MARIADB, "innodb_flush_log_at_trx_commit", "2"),
            ("MariaDB", &MARIADB, "innodb_doublewrite", "OFF"),
            ("MariaDB", &MARIADB, "log_bin", "ON"),
            ("MariaDB", &MARIADB, "innodb_flush_method", "nosync"),
            ("MariaDB", &MARIADB, "innodb_flush_method", "littlesync"),
            ("MariaDB", &MARIADB, "tables_of_other_engines", "stock (MEMORY)"),
            ("SQLite", &SQLITE, "synchronous", "normal"),
            ("SQLite", &SQLITE, "synchronous", "0"),
            ("SQLite", &SQLITE, "journal_mode", "memory"),
            ("SQLite", &SQLITE, "journal_mode", "delete"),
        ] {
            assert_eq!(of(engine, whole).class, DurabilityClass::WaitsForTheDisk, "{engine}");
            let mut settings = whole.to_vec();
            settings.retain(|(known, _)| *known != name);
            settings.push((name, value));
            let found = of(engine, &settings);
            assert!(
                found.class == DurabilityClass::MayLoseCommits && found.risks.len() == 1,
                "{engine} {name}: {found:?}"
            );
            assert_eq!(found.settings.get(name).map(String::as_str), Some(value));
        }
        assert_eq!(of("OpenLink Virtuoso", &[]).class, DurabilityClass::MayLoseCommits);
    }

    #[test]
    fn the_worse_settings_count_if_they_change_during_a_run() {
        let whole = of("PostgreSQL", &POSTGRESQL);
        assert_eq!(over_run(&whole, &Ok(whole.clone())), whole);
        let mut settings = POSTGRESQL;
        settings[1].1 = "off";
        let lossy = of("PostgreSQL", &settings);
        for (before, after, changed) in [
            (&whole, &lossy, "synchronous_commit from on to off"),
            (&lossy, &whole, "synchronous_commit from off to on"),
        ] {
            let found = over_run(before, &Ok(after.clone()));
            assert_eq!((found.class.known(), found.risks.len()), (Some(&DurabilityClass::MayLoseCommits), 1));
            assert_eq!(found.changed, [changed]);
            let mut summary = crate::study::tests::summary("none", 1, 10.0, 1.0);
            summary.durability = found;
            let clause = rule(ID, &summary);
            assert!(clause.state == State::Broken && clause.note.ends_with(changed), "{clause:?}");
        }
        // A table that is no longer there, and one that was not yet.
        let table = of("PostgreSQL", &[&POSTGRESQL[..], &[("unlogged_tables", "stock")]].concat());
        assert_eq!(over_run(&table, &Ok(whole.clone())).changed, ["unlogged_tables from stock to none"]);
        // Both wait for the disk, and the tests of one of them are not those of the run.
        settings[1].1 = "remote_apply";
        let mut summary = crate::study::tests::summary("none", 1, 10.0, 1.0);
        summary.durability = over_run(&whole, &Ok(of("PostgreSQL", &settings)));
        let clause = rule(ID, &summary);
        assert!(clause.state == State::NotTested && clause.note.contains("from on to remote_apply"), "{clause:?}");
    }

    #[test]
    fn settings_that_could_not_be_read_again_are_not_vouched_for() {
        let mut summary = crate::study::tests::summary("none", 1, 10.0, 1.0);
        summary.durability = over_run(&of("PostgreSQL", &POSTGRESQL), &Err("the server is gone".to_owned()));
        assert_eq!(summary.durability.class, DurabilityClass::WaitsForTheDisk);
        let clause = rule(ID, &summary);
        assert!(clause.note.ends_with("its settings were read only before the run: the server is gone"), "{clause:?}");
    }

    #[test]
    fn unknown_settings_are_not_called_safe() {
        for (engine, settings) in [
            ("PostgreSQL", &POSTGRESQL[..2]),
            ("MariaDB", &MARIADB[..1]),
            ("SQLite", &SQLITE[..1]),
            ("SQLite", &[("synchronous", "9"), ("journal_mode", "wal")]),
            ("simulated", &[]),
            ("Another", &POSTGRESQL),
        ] {
            assert_eq!(of(engine, settings).class, DurabilityClass::NotKnown, "{engine} {settings:?}");
        }
        let nowhere = super::of(&Environment { file_system: Some("tmpfs".to_owned()), ..Environment::default() });
        assert_eq!(nowhere.class, DurabilityClass::MayLoseCommits);
    }

    #[test]
    fn a_flush_at_each_commit_waits_for_the_disk() {
        let flushed = [
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_doublewrite", "ON"),
            ("log_bin", "ON"),
            ("sync_binlog", "1"),
        ];
        assert_eq!(of("MariaDB", &flushed).class, DurabilityClass::WaitsForTheDisk);
        assert_eq!(
            of("SQLite", &[("synchronous", "3"), ("journal_mode", "delete")]).class,
            DurabilityClass::WaitsForTheDisk
        );
    }
}
