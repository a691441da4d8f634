//! Does a commit wait for the disk (clause 3.5)? By what the settings of the run's sessions say, engine by engine.
//!
//! Settings can show that it does not. That it does they cannot show: disks and controllers may keep in memory what
//! they call written, and only a loss of power tells. So by settings alone the rule is broken or not tested; it holds
//! where tests of the same database say so.

use super::{NOT_BY_A_RUN, Rule, because, noted};
use crate::result::Environment;
use crate::result::summary::{Clause, Durability, DurabilityClass, State, Summary};

/// What the settings of an engine say.
struct Said {
    /// The settings that were looked at.
    names: &'static [&'static str],
    /// Whether all were known that a judgement needs.
    known: bool,
    /// Why commits may be lost, a reason each.
    risks: Vec<String>,
}

/// The clause.
pub(super) const ID: &str = "3.5";

/// File systems that are in memory.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// By where a run took place: the engine, what its sessions are set to, and where its files are.
pub(crate) fn of(environment: &Environment) -> Durability {
    let setting = |name: &str| environment.settings.get(name).map(String::as_str);
    let engine = environment.engine.as_ref().map(|engine| engine.name.to_lowercase()).unwrap_or_default();
    let Said { names, known, mut risks } = match engine.as_str() {
        "postgresql" => postgresql(&setting),
        "mariadb" | "mysql" => mysql(&setting),
        "sqlite" => sqlite(&setting),
        engine if engine.contains("virtuoso") => virtuoso(),
        _ => Said { names: &[], known: false, risks: Vec::new() },
    };
    if let Some(file_system) = environment.file_system.as_deref().filter(|name| IN_MEMORY.contains(name)) {
        risks.push(format!("the database's files are on {file_system}: they are in memory"));
    }
    let class = match (risks.is_empty(), known) {
        (false, _) => DurabilityClass::MayLoseCommits,
        (true, true) => DurabilityClass::WaitsForTheDisk,
        (true, false) => DurabilityClass::NotKnown,
    };
    let settings = names.iter().filter_map(|name| Some(((*name).to_owned(), setting(name)?.to_owned())));
    Durability { class: class.into(), risks, settings: settings.collect() }
}

/// The rule of a run.
pub(super) fn rule(id: &'static str, summary: &Summary) -> Clause {
    let rule = Rule::new(id, "committed transactions survive a loss of power", "none is lost");
    let durability = &summary.durability;
    let class = durability.class.name();
    match durability.class.known() {
        Some(DurabilityClass::MayLoseCommits) => noted(rule.is(false, class), durability.risks.join("; ")),
        Some(DurabilityClass::WaitsForTheDisk) => match super::acid::durability_of_run(summary) {
            Ok((clause, records)) => {
                let state = clause.state.known().copied().unwrap_or(State::NotTested);
                let note = if clause.note.is_empty() { String::new() } else { format!("{}; ", clause.note) };
                noted(
                    rule.stands(state, format!("{class}; {}", clause.value)),
                    format!("{note}tests: {}", records.join(", ")),
                )
            }
            Err(_) => because(
                noted(
                    rule.stands(State::NotTested, class),
                    "so its settings say; only a test that cuts the power shows what the disk keeps",
                ),
                NOT_BY_A_RUN,
            ),
        },
        Some(DurabilityClass::NotKnown) => {
            let clause = noted(rule.stands(State::NotTested, class), "Graymark does not know this database's settings");
            because(clause, NOT_BY_A_RUN)
        }
        None => rule.stands(State::NotTested, class),
    }
}

/// Whether commits that were acknowledged outlived the lost connections of a run; none where none was lost.
pub(super) fn acknowledged(id: &'static str, summary: &Summary) -> Option<Clause> {
    let lookup = summary.connections.lookup.as_ref()?;
    let found = &lookup.acknowledged;
    let rule = Rule::new(
        id,
        "commits acknowledged in the last second before a connection was lost are there after it",
        "none is lost",
    );
    Some(if found.lost > 0 {
        noted(rule.is(false, format!("{} of {} lost", found.lost, found.looked_up)), "looked up one by one")
    } else if !lookup.unasked.is_empty() {
        rule.not_tested(lookup.unasked.clone())
    } else if found.looked_up == 0 {
        rule.not_tested("no commit had been acknowledged that can be looked up")
    } else if found.beyond {
        let clause = rule.stands(State::NotTested, format!("{} looked up, none lost", found.looked_up));
        noted(clause, "more were acknowledged in that second than Graymark remembers")
    } else {
        rule.is(true, format!("{} looked up, none lost", found.looked_up))
    })
}

fn is_off(value: Option<&str>) -> bool {
    value.is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "off" | "0" | "false" | "no"))
}

type Setting<'a, 's> = &'a dyn Fn(&str) -> Option<&'s str>;

fn postgresql(setting: Setting<'_, '_>) -> Said {
    const NAMES: &[&str] = &["fsync", "synchronous_commit", "full_page_writes", "unlogged_tables"];
    let mut risks = Vec::new();
    if is_off(setting("fsync")) {
        risks.push("fsync=off: the server never waits for the disk".to_owned());
    }
    if is_off(setting("synchronous_commit")) {
        risks.push("synchronous_commit=off: a commit is answered before its log is on disk".to_owned());
    }
    if is_off(setting("full_page_writes")) {
        risks.push(
            "full_page_writes=off: a page that a loss of power left half written is not mended, unless the file system \
             writes whole ones"
                .to_owned(),
        );
    }
    risks.extend(setting("unlogged_tables").map(|tables| format!("UNLOGGED tables, which a crash empties: {tables}")));
    Said { names: NAMES, known: NAMES[..3].iter().all(|name| setting(name).is_some()), risks }
}

fn mysql(setting: Setting<'_, '_>) -> Said {
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
            "innodb_doublewrite={value}: a page that a loss of power left half written is not mended, unless the file \
             system writes whole ones"
        ));
    }
    let binlog = setting("log_bin").is_some_and(|value| !is_off(Some(value)));
    if let Some(value) = setting("sync_binlog").filter(|value| binlog && *value != "1") {
        // Which prepared transactions are committed, the binary log says after a crash.
        risks.push(format!(
            "sync_binlog={value}: a commit does not wait for the binary log, by which a crash is recovered"
        ));
    }
    if let Some(value) = setting("innodb_flush_method").filter(|value| value.eq_ignore_ascii_case("nosync")) {
        risks.push(format!("innodb_flush_method={value}: the server never waits for the disk"));
    }
    risks
        .extend(setting("tables_of_other_engines").map(|tables| format!("tables that InnoDB does not keep: {tables}")));
    Said { names: NAMES, known: NAMES[..3].iter().all(|name| setting(name).is_some()), risks }
}

fn sqlite(setting: Setting<'_, '_>) -> Said {
    const NAMES: &[&str] = &["synchronous", "journal_mode"];
    let mut risks = Vec::new();
    let (synchronous, journal) = (setting("synchronous"), setting("journal_mode"));
    // Some drivers give the numbers of SQLite.
    match synchronous {
        Some("off" | "0") => risks.push("synchronous=off: SQLite never waits for the disk".to_owned()),
        Some("normal" | "1") => {
            risks.push(
                "synchronous=normal: SQLite waits for the disk at checkpoints, and not at each commit".to_owned(),
            );
        }
        // A rollback journal that was deleted comes back if the directory was not flushed, and takes the commit back.
        Some("full" | "2") if journal == Some("delete") => risks.push(
            "journal_mode=delete with synchronous=full: a commit does not wait for the directory of its journal to be \
             on disk \
             (synchronous=extra does)"
                .to_owned(),
        ),
        _ => {}
    }
    if let Some(journal @ ("off" | "memory")) = journal {
        risks.push(format!("journal_mode={journal}: what a crash left half done is not taken back"));
    }
    let known = synchronous.is_some_and(|value| matches!(value, "full" | "extra" | "2" | "3")) && journal.is_some();
    Said { names: NAMES, known, risks }
}

/// Version 7.2 writes its log at commit and flushes it later, whatever it is set to.
fn virtuoso() -> Said {
    Said { names: &[], known: true, risks: vec!["Virtuoso answers a commit before its log is on disk".to_owned()] }
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
    fn each_setting_that_loses_commits_is_told() {
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
    fn what_is_not_known_is_not_called_safe() {
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
    fn what_is_flushed_at_each_commit_waits_for_the_disk() {
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
