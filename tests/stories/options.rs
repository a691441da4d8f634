//! A user relies on `--help` and on `--dry-run`: every option is used or refused with a reason, and every default is
//! the one that counts.

use std::fs;
use std::path::Path;

use graymark::cli;
use tempfile::TempDir;

use crate::support::command::{Done, run, succeed};

/// Commands that do work, each with what it cannot do without.
const COMMANDS: [(&[&str], &[&str]); 15] = [
    (&["bench"], &[]),
    (&["chaos"], &[]),
    (&["run"], &[]),
    (&["load"], &[]),
    (&["check"], &[]),
    (&["acid"], &[]),
    (&["restore"], &[]),
    (&["scan"], &[]),
    (&["drop"], &[]),
    (&["sweep", "load"], &[]),
    (&["sweep", "warehouses"], &["--to", "4"]),
    (&["sweep", "max"], &["--of", "warehouses", "--to", "4", "--until", "errors<=0"]),
    (&["sweep", "max"], &["--of", "clients", "--to", "4", "--until", "errors<=0"]),
    (&["sweep", "grid"], &["buffers=64MB", "--db", "postgres:local"]),
    (&["tune"], &[]),
];

/// A value for each option, other than its default, with what it needs beside it, and the line that must come of it.
const VALUES: [(&str, &[&str], &str); 81] = [
    ("db", &["--db", "sqlite:other.db"], "db = \"sqlite:other.db\""),
    ("set", &["--set", "a=b"], "\"a\" = \"b\""),
    ("fault", &["--fault", "1s: partition for 1s"], "do = \"partition for 1s\""),
    ("scale", &["-w", "3"], "scale = 3"),
    ("profile", &["--profile", "virtuoso"], "profile = \"virtuoso\""),
    ("jobs", &["--jobs", "3"], "jobs = 3"),
    ("foreign_keys", &["--foreign-keys"], "foreign_keys = true"),
    ("date", &["--date", "2026-01-31T12:00:00Z"], "date = \"2026-01-31T12:00:00Z\""),
    ("seed", &["--seed", "5"], "seed = \"5\""),
    ("pace", &["--pace", "think*2"], "pace = \"think*2\""),
    ("rate", &["--rate", "50"], "rate = 50"),
    ("rates", &["--rates", "50,70"], "rates = [50.0, 70.0]"),
    ("and_back", &["--and-back", "--rates", "50,70"], "and_back = true"),
    ("until_latency", &["--until-latency", "10s", "--rates", "50"], "until_ms = 10000"),
    ("arrivals", &["--arrivals", "constant", "--rate", "50"], "arrivals = \"constant\""),
    ("arrivals", &["--arrivals", "constant", "--rates", "50"], "arrivals = \"constant\""),
    ("mix", &["--mix", "new_order=1"], "mix = \"new_order=1\""),
    ("clients", &["--clients", "3"], "clients = 3"),
    ("at_home", &["--at-home"], "at_home = true"),
    ("threads", &["--threads", "3"], "threads = 3"),
    ("ramp_up", &["--ramp-up", "7s"], "ramp_up = \"7s\""),
    ("duration", &["--duration", "7s"], "duration = \"7s\""),
    ("warm", &["--warm", "scan"], "warm = \"scan\""),
    ("cold", &["--cold"], "cold = true"),
    ("steady", &["--steady", "7s"], "steady = \"7s\""),
    ("stages", &["--stages", "3,5"], "stages = [3, 5]"),
    ("stage_duration", &["--stage-duration", "7s", "--stages", "3,5"], "stage_duration = \"7s\""),
    ("via", &["--via", "statements"], "via = \"statements\""),
    ("isolation", &["--isolation", "serializable"], "isolation = \"serializable\""),
    ("read_only_on", &["--read-only-on", "standby"], "read_only_on = \"standby\""),
    ("connect_rate", &["--connect-rate", "50"], "connect_rate = 50"),
    ("check", &["--check", "none"], "check = \"none\""),
    ("check", &["--check", "after"], "check = \"after\""),
    ("allow_errors", &["--allow-errors", "50%"], "allow_errors = \"0.5\""),
    ("history", &["--history", "50%"], "history = \"0.5\""),
    ("timeout", &["--timeout", "7s"], "timeout = \"7s\""),
    ("reconnect_for", &["--reconnect-for", "7s"], "reconnect_for = \"7s\""),
    ("measure_recovery", &["--measure-recovery"], "measure_recovery = true"),
    ("checkpoint", &["--checkpoint", "7s"], "checkpoint = \"7s\""),
    ("vacuum", &["--vacuum", "7s"], "vacuum = \"7s\""),
    ("vacuums", &["--vacuums", "3", "--vacuum", "7s"], "vacuums = 3"),
    ("workload", &["debitcredit"], "workload = \"debitcredit\""),
    ("plan_file", &["--plan", "plan.toml"], "threads = 9"),
    ("out", &["--out", "there"], "out = \"there\""),
    ("listen", &["--listen", "9464"], "listen = \"127.0.0.1:9464\""),
    ("name", &["--name", "before"], "name = \"before\""),
    ("tag", &["--tag", "nightly", "--tag", "big"], "tag = [\"nightly\", \"big\"]"),
    ("price", &["--price", "price.toml"], "price = \"price.toml\""),
    ("tui", &["--tui"], "tui = true"),
    ("require_valid", &["--require-valid"], "require_valid = true"),
    ("require_quiet", &["--require-quiet"], "require_quiet = true"),
    ("show_terminal", &["--show-terminal", "1.2", "--pace", "standard"], "show_terminal = 1.2"),
    ("procedures_only", &["--procedures-only"], "procedures_only = true"),
    ("deep", &["--deep"], "deep = true"),
    ("crash", &["--crash", "kill", "--db", "postgres:local"], "crash = \"kill\""),
    ("crash_with", &["--crash-with", "off", "--recover-with", "on"], "crash_with = \"off\""),
    ("recover_with", &["--crash-with", "off", "--recover-with", "on"], "recover_with = \"on\""),
    ("times", &["--times", "3", "--crash", "kill"], "times = 3"),
    ("lying_disk", &["--lying-disk", "--crash", "power"], "lying_disk = true"),
    ("without_last_log", &["--without-last-log", "--crash", "media"], "without_last_log = true"),
    ("all_levels", &["--all-levels"], "all_levels = true"),
    ("statements", &["--statements", "some.sql"], "statements = \"some.sql\""),
    ("acid", &["--acid", "tests"], "acid = \"tests\""),
    ("drop_caches", &["--drop-caches"], "drop_caches = true"),
    ("at", &["--at", "30"], "at = [100, 30]"),
    ("from", &["--from", "2"], "from = 2"),
    ("to", &["--to", "3"], "to = 3"),
    ("efficiency", &["--efficiency", "55"], "efficiency = 55"),
    ("p90", &["--p90", "300ms"], "new_order_ms = 300"),
    ("data_directory", &["--data-directory", "there"], "data_directory = \"there\""),
    ("cpus", &["--cpus", "0", "--db", "postgres:local"], "cpus = \"0\""),
    ("keep_databases", &["--keep-databases"], "keep_databases = true"),
    ("replace", &["--replace"], "replace = true"),
    ("repeats", &["--repeats", "3"], "repeats = 3"),
    ("bound_memory", &["--bound-memory=1GB"], "bound_memory = \"1GB\""),
    ("budget", &["--budget", "31m"], "budget = \"1860s\""),
    ("only", &["--only", "cache-64"], "only = [\"cache-64\"]"),
    ("candidates", &["--candidates", "candidates.toml"], "candidates = \"candidates.toml\""),
    ("pairs", &["--pairs", "5"], "pairs = 5"),
    ("allow_loss", &["--allow-loss"], "allow_loss = true"),
    ("dimensions", &["clients=3,5"], "clients = [3, 5]"),
];

/// Options that need no value here: they decide how a result is reported, which a dry run has none of, and what each of
/// the commands above is given anyway.
const APART: [&str; 7] = ["help", "version", "json", "full", "dry_run", "of", "until"];

/// Options that a command has for some of its uses, and refuses for others: what the refusal says.
const REFUSED: [(&[&str], &str, &str); 13] = [
    (&["chaos"], "fault", "graymark chaos has its own ten faults"),
    (&["chaos"], "stages", "remove --stages"),
    (&["chaos"], "stage_duration", "remove --stages"),
    (&["chaos"], "duration", "make --duration longer"),
    (&["acid"], "clients", "--crash"),
    (&["sweep", "load"], "workload", "remove the workload"),
    (&["sweep", "warehouses"], "workload", "remove the workload"),
    (&["sweep", "max"], "workload", "remove the workload"),
    (&["sweep", "max"], "scale", "this search varies -w"),
    (&["sweep", "max"], "clients", "this search varies --clients"),
    (&["sweep", "max"], "steady", "--steady is for runs without think time"),
    (&["sweep", "max"], "data_directory", "--data-directory is only for SQLite and private servers"),
    (
        &["sweep", "grid"],
        "db",
        "buffers=, cpus=, memory=, stripes=, set.NAME= and --bound-memory are for private servers",
    ),
];

fn dry(place: &Path, command: &[&str], more: &[&str]) -> Done {
    run(place, &[command, more, &["--dry-run"]].concat())
}

/// The options of a command with their help.
fn options(path: &[&str]) -> Vec<(String, String)> {
    let root = cli::command();
    let command = path.iter().fold(&root, |command, name| command.find_subcommand(name).expect("a command"));
    let help = |arg: &clap::Arg| arg.get_help().map(ToString::to_string).unwrap_or_default();
    command.get_arguments().map(|arg| (arg.get_id().to_string(), help(arg))).collect()
}

#[test]
fn every_option_is_used_or_refused_with_a_reason() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    fs::write(place.join("plan.toml"), "threads = 9\n").unwrap();
    fs::write(place.join("price.toml"), include_str!("../../examples/price.toml")).unwrap();
    let list =
        "[[candidate]]\nname = \"a\"\nsettings = { cache = \"8\" }\nreason = \"r\"\nsource = \"s\"\nrestart = true\n";
    fs::write(place.join("candidates.toml"), list).unwrap();
    for (path, needed) in COMMANDS {
        let command = [path, needed].concat();
        let before = dry(place, &command, &[]);
        assert_eq!(before.code, Some(0), "{command:?}: {before:?}");
        let known = options(path);
        // What an option needs beside it may be an option of another command.
        let fits = |typed: &[&str]| {
            let beside = typed.iter().skip(1).filter_map(|word| word.strip_prefix("--"));
            beside.into_iter().all(|word| known.iter().any(|(option, _)| *option == word.replace('-', "_")))
        };
        for (option, _) in known.iter().filter(|(option, _)| !APART.contains(&option.as_str())) {
            let (_, typed, line) = VALUES
                .iter()
                .find(|(name, typed, line)| {
                    name == option && fits(typed) && !before.out.lines().any(|there| there.ends_with(line))
                })
                .unwrap_or_else(|| panic!("{path:?}: this test does not know {option}"));
            // What is typed here takes the place of what the command was given.
            let given = needed.iter().position(|name| typed.first() == Some(name));
            let mut command = command.clone();
            if let Some(at) = given {
                command.drain(path.len() + at..path.len() + at + 2);
            }
            let done = dry(place, &command, typed);
            match done.code {
                Some(0) => {
                    let lines: Vec<&str> = done.out.lines().map(|line| line.trim_start_matches("# ")).collect();
                    assert!(lines.iter().any(|there| there.starts_with(line)), "{command:?} {typed:?}: {done:?}");
                }
                _ => {
                    let reason = REFUSED.iter().find(|(of, name, _)| *of == path && name == option);
                    let (.., reason) = reason.unwrap_or_else(|| panic!("{command:?} {typed:?}: {done:?}"));
                    done.refused(2, &[reason]);
                }
            }
        }
    }
    let left: Vec<_> = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "a dry run does nothing: {left:?}");
}

/// Whether a value of a plan is what help says: the same words, number, or time.
fn same(value: &str, reported: &str) -> bool {
    let time = |text: &str| humantime::parse_duration(text).ok();
    let value = value.trim_matches('"');
    let reported = reported.strip_prefix("that of the plan file, else ").unwrap_or(reported);
    value == reported || time(value).is_some_and(|value| Some(value) == time(reported))
}

/// The alternatives of a default: `10s; 60s with a pace`.
fn alternative<'a>(reported: &'a str, paced: bool, of: Option<&str>) -> &'a str {
    let all: Vec<&str> = reported.split("; ").collect();
    let of = of.map(|of| format!(" with --of {of}"));
    let suffix = of.as_deref().filter(|of| reported.contains(*of)).or(paced.then_some(" with a pace"));
    let with = suffix.and_then(|suffix| all.iter().find_map(|one| one.strip_suffix(suffix)));
    with.unwrap_or(if all.iter().skip(1).any(|one| one.contains(" with ") || one.contains(": ")) {
        all[0]
    } else {
        reported
    })
}

#[test]
fn every_default_in_help_is_the_one_that_counts() {
    let place = TempDir::new().unwrap();
    let mut seen = 0;
    for (path, needed) in COMMANDS {
        let of = needed.iter().position(|word| *word == "--of").map(|at| needed[at + 1]);
        let can_pace = options(path).iter().any(|(option, _)| option == "pace");
        for paced in [false, true].into_iter().filter(|paced| !paced || can_pace) {
            let pace: &[&str] = if paced { &["--pace", "standard", "-w", "1"] } else { &[] };
            // Sweeps that always have a pace, and those that vary the scale, need no more said.
            let pace = if path == ["sweep", "warehouses"] || of == Some("warehouses") {
                &pace[..pace.len().min(2)]
            } else {
                pace
            };
            let done = succeed(place.path(), &[path, needed, pace, &["--dry-run"]].concat());
            for (option, help) in options(path) {
                let Some((_, reported)) = help.rsplit_once(" [default: ") else { continue };
                let reported = reported.strip_suffix(']').unwrap_or_else(|| panic!("{path:?} {option}: {help}"));
                let typed = pace.contains(&"-w") && option == "scale" || paced && option == "pace" || option == "out";
                if typed || needed.contains(&format!("--{option}").as_str()) || option == "keep_databases" {
                    continue;
                }
                if let Some(value) = done.out.lines().find_map(|line| line.strip_prefix(&format!("{option} = "))) {
                    let has_pace = done.out.contains("\npace = ") && !done.out.contains("\npace = \"none\"");
                    let expected = alternative(reported, has_pace, of);
                    let computed = option == "clients" && expected.starts_with("one for every 100 warehouses, from 8");
                    assert!(
                        same(value, expected) || (computed && value == "8"),
                        "{path:?} {option}: {value}, {reported}"
                    );
                    seen += 1;
                } else if !done.out.contains(&format!("# {option}: varied\n")) && option != "workload" {
                    let line = format!("# {option}: {reported}\n");
                    assert!(done.out.contains(&line), "{path:?}: {line}{done:?}");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 150, "{seen}");
}

/// The output of a dry run is a plan file: it says the same again.
#[test]
fn a_dry_run_can_be_saved_and_run() {
    let place = TempDir::new().unwrap();
    let typed = ["--db", "simulated:service=1ms", "-w", "2", "--clients", "2", "--ramp-up", "0s", "--duration", "4s"];
    let reported = succeed(place.path(), &[&["run", "--seed", "7", "--dry-run"], &typed[..]].concat());
    fs::write(place.path().join("plan.toml"), &reported.out).unwrap();
    assert_eq!(succeed(place.path(), &["run", "--plan", "plan.toml", "--dry-run"]).out, reported.out);
    let done = succeed(place.path(), &["run", "--plan", "plan.toml", "--json", "--out", "record"]).json();
    assert_eq!((&done["clients"], &done["scale"], &done["seed"]), (&2.into(), &2.into(), &7.into()));
}
