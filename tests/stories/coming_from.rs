//! What docs/coming-from.md tells the user of another tool to type.

use std::collections::BTreeSet;

use tempfile::TempDir;

use crate::support::command::{STEADY, graymark, run, succeed};
use crate::support::{require_mariadb, require_postgres, small_mariadb, small_server, tutorial};

/// Options with values that take their time, and values that do not.
const SHORT: [(&str, &str); 6] =
    [("-w", "1"), ("-b", "1"), ("--clients", "2"), ("--ramp-up", "0s"), ("--duration", "6s"), ("--rate", "50")];

/// A command as it is run here: small, and on a database of this machine. `last` is the one that was named last.
fn shortened<'a>(command: &str, databases: [(&str, &'a str); 2], last: &mut &'a str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in command.split_whitespace().skip(1) {
        if let Some((_, here)) = databases.iter().find(|(scheme, _)| word.starts_with(scheme)) {
            *last = here;
            words.push((*here).to_owned());
        } else if word == "postgres:local" {
            // No command here is tested for its disk, which may stand still for as long as so short a run.
            words.push(format!("{word}?fsync=off"));
        } else {
            words.push(if word == "…" { *last } else { word }.to_owned());
        }
    }
    for at in 1..words.len() {
        // With the standard's times, nobody has even typed in a second.
        if words[at - 1] == "--pace" && words[at] == "standard" {
            words[at] = "standard*0.01".to_owned();
        }
        if let Some((_, short)) = SHORT.iter().find(|(option, _)| *option == words[at - 1]) {
            words[at] = (*short).to_owned();
        }
    }
    // At full load a run takes the whole machine, which no command here is tested for.
    let bounded = ["--pace", "--rate"].iter().any(|option| words.iter().any(|word| word == option));
    if words[0] == "run" && !bounded {
        words.extend(STEADY.map(str::to_owned));
    }
    words
}

#[test]
fn every_command_of_the_page_does_what_it_says() {
    let commands: Vec<String> = tutorial::right_columns("coming-from.md")
        .into_iter()
        .filter(|typed| typed.starts_with("graymark ") && typed != "graymark watch")
        .collect();
    assert!(commands.len() >= 15, "{commands:?}");
    let (Some(()), Some(())) = (require_postgres(), require_mariadb()) else { return };
    let (postgres, mysql) = (small_server(), small_mariadb(&[]));
    let place = TempDir::new().unwrap();
    let (postgres, mysql) = (postgres.url(), mysql.url());
    let databases = [("postgres://", &*postgres), ("mysql://", &*mysql)];
    let mut last = databases[0].1;
    let mut done = BTreeSet::new();
    for command in commands {
        let words = shortened(&command, databases, &mut last);
        if done.insert(words.clone()) {
            let reported = succeed(place.path(), &words.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(!reported.out.is_empty() || !reported.err.is_empty(), "{command}");
        }
    }
}

#[test]
fn every_option_of_the_page_is_known() {
    let options: Vec<String> =
        tutorial::right_columns("coming-from.md").into_iter().filter(|typed| typed.starts_with("--")).collect();
    assert!(options.len() >= 12, "{options:?}");
    let place = TempDir::new().unwrap();
    for option in options {
        // The page names this one without a value.
        let option = if option == "--isolation" { "--isolation serializable" } else { &option };
        let mut words = vec!["run", "tpcc", "--db", "postgres://me@127.0.0.1:1/bench", "--dry-run"];
        words.extend(option.split_whitespace());
        succeed(place.path(), &words);
    }
    run(place.path(), &["run", "--no-such-option"]).refused(2, &["--no-such-option"]);
    assert!(graymark(place.path(), &["watch", "--help"]).output().unwrap().status.success());
}
