//! A user finds the records of yesterday by list, by name, by tag and by age, and gets help from the shell.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::command::{end, graymark, run, succeed};
use tempfile::TempDir;

const RUN: [&str; 8] = ["bench", "debitcredit", "--db", "simulated:service=1ms", "--duration", "4s", "--ramp-up", "0s"];

#[test]
fn records_are_listed_and_found_by_name_tag_and_age() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    succeed(place, &[&RUN[..], &["--name", "before", "--tag", "nightly"]].concat());
    // Records of the same second would have the same directory.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    succeed(place, &[&RUN[..], &["--name", "beside", "--out", "graymark-runs/other"]].concat());

    let all = succeed(place, &["list", "--json"]).json();
    let names: Vec<&str> = all["records"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["before", "beside"], "the newest comes last");
    let first = &all["records"][0];
    let directory = first["record"].as_str().unwrap();
    let summary: serde_json::Value =
        serde_json::from_slice(&fs::read(place.join(directory).join("summary.json")).unwrap()).unwrap();
    assert_eq!((&first["figure"], &first["metric"]), (&summary["tps"], &summary["metric"]));
    assert_eq!(first["p99_ms"], summary["transactions"]["debit_credit"]["response_ms"]["p99"]);
    assert_eq!((&first["checks"], &first["status"]), (&"not checked".into(), &"complete".into()));
    let text = succeed(place, &["list", "--tag", "nightly"]).out;
    let name = directory.strip_prefix("graymark-runs/").unwrap();
    assert!(text.lines().count() == 2 && text.contains("before") && text.trim_end().ends_with(name), "{text}");

    // A link leads to the last record that was made by default, and hides no record and doubles none.
    let latest = fs::read_link(place.join("graymark-runs/latest")).unwrap();
    assert_eq!(Path::new("graymark-runs").join(latest), Path::new(directory));
    let glob = ["report", "--table", directory, "graymark-runs/latest", "graymark-runs/other", "--json"];
    assert_eq!(succeed(place, &glob).json()["records"].as_array().unwrap().len(), 2);
    for (name, meant) in [("before", "before"), ("besi", "beside"), ("latest", "before"), ("oth", "beside")] {
        let reported = succeed(place, &["report", name, "--json"]).json();
        let record = reported["record"].as_str().unwrap();
        assert_eq!(record == directory, meant == "before", "{name}: {record}");
    }
    assert_eq!(succeed(place, &["report", "--json"]).json()["record"], "graymark-runs/other");
    run(place, &["report", "be"]).refused(2, &["matches 2 records", directory, "graymark-runs/other"]);
    run(place, &["report", "after"]).refused(2, &["no record named after in graymark-runs", "graymark list"]);
    run(place, &["run", "--name", "a/b"]).refused(2, &["--name", "without blanks and slashes"]);

    // Records of comparisons and sweeps, which lie deeper, are not listed among the others, but named.
    succeed(place, &[&RUN[..], &["--out", "graymark-runs/pair/a/1"]].concat());
    let reported = succeed(place, &["list"]);
    assert!(
        !reported.out.contains("pair") && reported.err.contains("more records in graymark-runs/pair/a:"),
        "{reported:?}"
    );
    assert!(succeed(place, &["list", "graymark-runs/pair/a"]).out.lines().count() == 2);
    let empty = succeed(place, &["list", "graymark-runs/pair"]).err;
    assert!(empty.contains("no records in graymark-runs/pair, but in graymark-runs/pair/a"), "{empty}");

    // A record that cannot be read is reported and hides no other.
    fs::write(place.join("graymark-runs/other/summary.json"), "{").unwrap();
    let rest = succeed(place, &["list"]);
    assert!(rest.out.contains("before") && rest.err.contains("summary.json is damaged"), "{rest:?}");
}

#[test]
fn shells_complete_and_manual_pages_tell_each_command() {
    let place = TempDir::new().unwrap();
    for (shell, word) in [("bash", "_graymark()"), ("zsh", "#compdef graymark"), ("fish", "complete -c graymark")] {
        let script = succeed(place.path(), &["completions", shell]).out;
        assert!(script.contains(word) && script.contains("ramp-up"), "{shell}: {script}");
        if shell == "bash" {
            fs::write(place.path().join("script"), script).unwrap();
            assert!(Command::new("bash").arg("-n").arg(place.path().join("script")).status().unwrap().success());
        }
    }
    succeed(place.path(), &["man", "pages"]);
    for page in ["graymark.1", "graymark-bench.1", "graymark-sweep-load.1"] {
        let page = fs::read_to_string(place.path().join("pages").join(page)).unwrap();
        assert!(page.starts_with(".ie") && page.contains(".SH DESCRIPTION"), "{page}");
    }
    fs::write(place.path().join("file"), "").unwrap();
    run(place.path(), &["man", "file"]).refused(4, &["cannot write manual pages to file"]);
    // What is rare is in the long help only.
    let (short, long) = (succeed(place.path(), &["run", "-h"]).out, succeed(place.path(), &["run", "--help"]).out);
    assert!(!short.contains("--vacuums") && long.contains("--vacuums") && short.contains("--duration"), "{short}");
    assert!(4 * short.lines().count() < 3 * long.lines().count(), "{short}");
    for (typed, near) in
        [(&["bnech"][..], "bench"), (&["run", "--durtion", "5s"], "--duration"), (&["run", "tpc"], "tpcc")]
    {
        run(place.path(), typed).refused(2, &["similar", near]);
    }
}

#[test]
fn engines_are_listed_with_how_far_each_was_run() {
    let place = TempDir::new().unwrap();
    let all = succeed(place.path(), &["engines", "--json"]).json();
    let of = |dialect: &str, url: &str| {
        let all = all["engines"].as_array().unwrap();
        let one = all.iter().find(|one| one["dialect"] == dialect && one["url"].as_str().unwrap().starts_with(url));
        one.unwrap_or_else(|| panic!("no {dialect}")).clone()
    };
    assert!(of("sqlite", "sqlite:")["found"][0]["version"].as_str().unwrap().starts_with('3'));
    let cockroachdb = of("cockroachdb", "postgres:");
    assert!(cockroachdb["run"].as_str().unwrap().starts_with("by documentation only"), "{cockroachdb}");
    assert!(!cockroachdb["sources"].as_array().unwrap().is_empty(), "{cockroachdb}");
    let text = succeed(place.path(), &["engines"]).out;
    assert!(text.contains("postgres://USER@HOST/DATABASE?dialect=yugabytedb") && text.contains("On this machine:"));

    // A version that is not there is reported, with those that are.
    if let Some(found) = of("postgres", "postgres:")["found"].as_array().unwrap().first() {
        let asked = run(place.path(), &["check", "--db", "postgres:local?version=9"]);
        asked.refused(3, &["no PostgreSQL 9", found["version"].as_str().unwrap(), found["place"].as_str().unwrap()]);
        let mut named = graymark(place.path(), &["check", "--db", "postgres:local"]);
        named.env("GRAYMARK_PG_BIN", place.path());
        end(named).refused(3, &["GRAYMARK_PG_BIN", "has no initdb and postgres"]);
    }
}
