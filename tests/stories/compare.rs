//! A developer has two builds, settings or machines, and asks whether one of them is slower.

use std::fs;
use std::path::Path;
use std::thread;

use crate::support::command::{end, graymark, json_file, run, succeed};
use crate::support::tutorial;
use graymark::result::format::file;
use serde_json::Value;
use tempfile::TempDir;

/// Runs on an engine whose transactions take just so long, side by side: record and service time.
fn runs(place: &Path, runs: &[(&str, &str)]) {
    thread::scope(|scope| {
        for (record, service) in runs {
            scope.spawn(move || {
                let db = format!("simulated:service={service}");
                let arguments =
                    ["run", "tpcc", "--db", &db, "-w", "2", "--clients", "4", "--ramp-up", "1s", "--duration", "12s"];
                succeed(place, &[&arguments[..], &["--out", record]].concat());
            });
        }
    });
}

fn compare(place: &Path, arguments: &[&str]) -> Value {
    succeed(place, &[&["compare", "--json"], arguments].concat()).json()
}

#[test]
fn a_slower_database_is_told_and_a_script_can_stop_at_it() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    runs(place, &[("a", "20ms"), ("b/1", "20ms"), ("b/2", "20ms"), ("slow", "100ms")]);

    let slower = compare(place, &["a", "slow"]);
    let throughput = &slower["throughput"];
    assert_eq!(throughput["finding"], "slower", "{slower}");
    let percent = throughput["percent"].as_f64().unwrap();
    // Two thirds; timers on a busy machine add to both.
    assert!((-92.0..-40.0).contains(&percent), "{throughput}");
    let [before, after] = [0, 1].map(|side| slower["responses"]["new_order"][side]["p50"].as_f64().unwrap());
    assert!(before >= 20.0 && after >= 100.0, "{slower}");

    // One is distinguished from the other, whichever way round; only the slower one fails.
    assert_eq!(run(place, &["compare", "a", "slow", "--fail-if-slower", "5%"]).code, Some(1));
    assert_eq!(run(place, &["compare", "a", "slow", "--fail-if-slower", "90%"]).code, Some(0));
    let faster = succeed(place, &["compare", "slow", "a", "--fail-if-slower", "5%"]);
    assert!(faster.out.contains("B is faster than A by") && faster.out.contains("new_order p99"), "{faster:?}");

    // One table in every form, whose figures are those of the object and of the records' pages.
    assert_eq!(succeed(place, &["compare", "a", "slow", "--format", "json"]).json(), slower);
    let csv = succeed(place, &["compare", "a", "slow", "--format", "csv"]).out;
    let rows: Vec<&str> = csv.lines().collect();
    let head = "what,a,b,a_standard_error,b_standard_error,change_percent,low_percent,high_percent";
    assert_eq!(rows[0], head);
    let row = |name: &str| rows.iter().find(|row| row.starts_with(name)).unwrap_or_else(|| panic!("{name}: {csv}"));
    let p90 = slower["responses"]["new_order"][0]["p90"].as_f64().unwrap();
    // For programs, each cell is one number.
    let number = |name: &str, cell: usize| {
        let cells = row(name).trim_start_matches(name).split(',').collect::<Vec<_>>();
        cells[cell].parse::<f64>().unwrap_or_else(|_| panic!("{name}: {csv}"))
    };
    assert_eq!(number("\"new_order p90, ms\",", 0), p90);
    assert_eq!(number("transactions/s,", 4), percent);
    assert!(number("\"client CPU, µs\",", 4).is_finite());
    let markdown = succeed(place, &["compare", "a", "slow", "--format", "markdown"]).out;
    assert!(markdown.starts_with("**B is slower"), "{markdown}");
    let reported =
        markdown.split_once("| new\\_order p90, ms | ").and_then(|(_, rest)| rest.split(' ').next()).unwrap();
    assert!((reported.parse::<f64>().unwrap() - p90).abs() < 0.05 * p90, "{reported} is not {p90}");
    assert!(text_of_page(place, "a").contains(&format!("<td>{reported}</td>")), "{reported} is not in the page");
    let latex = succeed(place, &["compare", "a", "slow", "--format", "latex"]).out;
    assert!(latex.contains(&format!("new\\_order p90, ms & {reported} &")), "{latex}");

    // A directory stands for the records in it; the same records on both sides are the same.
    let same = compare(place, &["b", "--with", "b/1", "b/2"]);
    assert_eq!(
        (&same["throughput"]["finding"], same["a"]["records"].as_array().unwrap().len()),
        (&"no_difference".into(), 2)
    );
    assert_eq!(same["a"]["transactions_per_second"], same["b"]["transactions_per_second"]);
    assert_eq!(compare(place, &["a", "slow"]), slower);
}

/// A record in which the database's own count differs from the client's.
fn copy_that_disagrees(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    let mut summary = json_file(to, "summary.json");
    summary["database"]["agrees"] = false.into();
    fs::write(to.join("summary.json"), summary.to_string()).unwrap();
}

#[test]
fn a_failed_run_is_named_in_every_form_and_passes_nowhere() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    runs(place, &[("a", "20ms")]);
    copy_that_disagrees(&place.join("a"), &place.join("b"));
    copy_that_disagrees(&place.join("a"), &place.join("c"));
    fs::copy(place.join("a/summary.json"), place.join("c/summary.json")).unwrap();
    let mut header = json_file(&place.join("c"), file::HEADER);
    header["status"] = "partial".into();
    fs::write(place.join("c").join(file::HEADER), header.to_string()).unwrap();
    for form in ["text", "csv", "markdown", "latex"] {
        let compared = succeed(place, &["compare", "a", "c", "--format", form]);
        assert!(compared.out.contains("Incomplete: 1 of 1 run."), "{form}: {compared:?}");
    }
    for form in ["text", "csv", "markdown", "latex"] {
        let compared = succeed(place, &["compare", "a", "b", "--format", form]);
        assert!(compared.out.contains("Client and database disagree"), "{form}: {compared:?}");
        let sound = succeed(place, &["compare", "a", "a", "--format", form]);
        assert!(!sound.out.contains("disagree") && !sound.out.contains("failures"), "{form}: {sound:?}");
    }
    let object = compare(place, &["a", "b"]);
    assert_eq!(object["b"]["incidents"]["failed_checks"], serde_json::json!(["counts_differ"]), "{object}");
    assert_eq!(run(place, &["compare", "a", "b", "--fail-if-slower", "90%"]).code, Some(1));
    assert_eq!(run(place, &["compare", "a", "b", "--max-slowdown", "90%"]).code, Some(1));
    run(place, &["compare", "b", "a", "--max-slowdown", "90%"]).refused(2, &["disagree", "--anyway"]);
}

#[test]
fn runs_that_are_not_alike_are_compared_under_protest() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    runs(place, &[("a", "20ms"), ("b", "20ms")]);
    let alike = succeed(place, &["compare", "a", "b"]);
    assert!(!alike.out.contains("differs"), "{alike:?}");
    assert!(alike.err.contains("one run a side"), "{alike:?}");
    for (file, from, to, reported) in [
        ("summary.json", "\"scale\": 2", "\"scale\": 3", "\nscale    2  3\n"),
        ("summary.json", "\"clients\": 4", "\"clients\": 5", "\nclients  4  5\n"),
        (
            "plan.toml",
            "clients = 4",
            "clients = 4\nat_home = true",
            "\nclients that use only their own warehouses  usual  true\n",
        ),
        ("plan.toml", "clients = 4", "clients = 4\nmix = \"new_order=1\"", "\nmix      usual  new_order=1\n"),
        ("environment.json", "\"cpu_model\": \"", "\"cpu_model\": \"Other ", "\nCPU      "),
    ] {
        let path = place.join("b").join(file);
        let text = fs::read_to_string(&path).unwrap();
        let changed = text.replace(from, to);
        assert_ne!(text, changed, "{from} in {text}");
        fs::write(&path, changed).unwrap();
        let done = succeed(place, &["compare", "a", "b"]);
        assert!(done.out.contains(reported), "{reported}: {done:?}");
        fs::write(&path, text).unwrap();
    }
}

fn text_of_page(place: &Path, record: &str) -> String {
    fs::read_to_string(place.join(record).join("report.html")).unwrap()
}

/// A commit that does not wait for the disk is faster, and no better for it.
#[test]
fn runs_that_differ_in_durability_are_ranked_only_if_asked_for() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    runs(place, &[("a", "60ms"), ("b", "20ms")]);
    assert_eq!(compare(place, &["a", "b"])["throughput"]["finding"], "faster");
    let path = place.join("b/summary.json");
    let mut summary: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let lost =
        serde_json::json!({"class": "may lose commits", "risks": ["fsync=off: never"], "settings": {"fsync": "off"}});
    summary["durability"] = lost;
    fs::write(&path, summary.to_string()).unwrap();

    let refused = compare(place, &["a", "b"]);
    assert_eq!(refused["throughput"]["finding"], "not_ranked", "{refused}");
    assert_eq!(refused["not_ranked"], "not known in A, may lose commits (fsync=off) in B");
    let reported = succeed(place, &["compare", "a", "b"]);
    assert!(
        reported.out.contains("Not ranked: they differ in durability") && !reported.out.contains("faster"),
        "{reported:?}"
    );
    assert!(reported.out.contains("--across-durability"), "{reported:?}");
    // Nor does anything else suggest a winner: the values of both are reported, and no change.
    let quiet = |text: &str| !text.contains("Effect size") && !text.contains("+") && !text.contains("changed by");
    assert!(quiet(&reported.out) && reported.out.contains("new_order p90"), "{reported:?}");
    let p90 = reported.out.lines().find(|line| line.starts_with("new_order p90")).unwrap();
    assert!(p90.ends_with(" -"), "{p90}");
    for form in ["markdown", "latex"] {
        let table = succeed(place, &["compare", "a", "b", "--format", form]).out;
        assert!(quiet(&table), "{table}");
    }
    let csv = succeed(place, &["compare", "a", "b", "--format", "csv"]).out;
    let rate = csv.lines().find(|row| row.starts_with("transactions/s,")).unwrap();
    assert!(rate.ends_with(",,,") && rate.split(',').count() == 8, "{csv}");
    // A gate must not pass what nobody judged.
    assert_eq!(run(place, &["compare", "a", "b", "--fail-if-slower", "5%"]).code, Some(1));
    // Neither may one set hold both kinds.
    assert_eq!(compare(place, &["a", "--with", "a", "b"])["throughput"]["finding"], "not_ranked");

    let asked = succeed(place, &["compare", "a", "b", "--across-durability", "--fail-if-slower", "5%"]);
    assert!(
        asked.out.contains("B is faster than A")
            && asked.out.contains("durability  not known  may lose")
            && asked.out.contains("Effect size"),
        "{asked:?}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_line() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    run(place, &["compare", "a"]).refused(2, &["--with"]);
    run(place, &["compare", "a", "b", "c"]).refused(2, &["--with"]);
    run(place, &["compare", "a", "b"]).refused(2, &["no record named a in graymark-runs", "graymark list"]);
    run(place, &["compare", "a", "b", "--fail-if-slower", "much"]).refused(2, &["--fail-if-slower", "5%"]);
    let short = [
        "run",
        "tpcc",
        "--db",
        "simulated:service=1ms",
        "-w",
        "1",
        "--ramp-up",
        "0s",
        "--duration",
        "2s",
        "--out",
        "short",
    ];
    succeed(place, &short);
    run(place, &["compare", "short", "short"]).refused(2, &["short", "fewer than 10 measured seconds"]);
    let gated = run(place, &["gate", "--baseline", "short", "--anyway", "--max-slowdown", "5%", "--out", "gated"]);
    gated.refused(2, &["short", "fewer than 10 measured seconds"]);
    assert!(!place.join("gated").exists(), "nothing was run");
}

/// A gate passes only what is excluded, fails what is shown, and says when it knows neither.
#[test]
fn a_gate_passes_fails_or_asks_for_more() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    runs(place, &[("a", "20ms"), ("same", "20ms"), ("slow", "80ms")]);
    let decide = |b: &str, percent: &str| {
        let files = ["--junit", "gate.xml", "--markdown", "gate.md"];
        let done = run(place, &[&["compare", "a", b, "--max-slowdown", percent, "--json"], &files[..]].concat());
        let read = |name: &str| fs::read_to_string(place.join(name)).unwrap();
        (done.code, done.json()["gate"].clone(), read("gate.xml"), read("gate.md"))
    };
    let (code, gate, junit, markdown) = decide("same", "85%");
    assert_eq!((code, &gate["decision"]), (Some(0), &"passed".into()), "{gate}");
    assert!(junit.contains("failures=\"0\" errors=\"0\"") && markdown.starts_with("**Passed: "), "{junit}{markdown}");
    let (code, gate, junit, _) = decide("slow", "20%");
    assert_eq!((code, &gate["decision"]), (Some(1), &"failed".into()), "{gate}");
    assert!(junit.contains("<failure message=\"Failed: a slowdown of more than 20 % is shown"), "{junit}");
    // Whether it is slower by just what was seen, nobody knows.
    let percent = format!("{}%", -gate["percent"].as_f64().unwrap());
    let (code, gate, junit, markdown) = decide("slow", &percent);
    assert_eq!((code, &gate["decision"]), (Some(5), &"inconclusive".into()), "{gate}");
    assert!(junit.contains("<error message=\"Inconclusive") && markdown.contains("| transactions/s |"), "{junit}");
    run(place, &["compare", "a", "slow", "--max-slowdown", "0%"]).refused(2, &["above 0"]);
    // What was not the same is not decided.
    let path = place.join("same/summary.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"scale\": 2", "\"scale\": 3")).unwrap();
    run(place, &["compare", "a", "same", "--max-slowdown", "85%"])
        .refused(2, &["differ in scale (2 in A, 3 in B)", "--anyway"]);
    assert_eq!(run(place, &["compare", "a", "same", "--max-slowdown", "85%", "--anyway"]).code, Some(0));
    fs::write(&path, text).unwrap();
    let path = place.join("same/plan.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("clients = 4", "clients = 4\nmix = \"new_order=1\"")).unwrap();
    run(place, &["compare", "a", "same", "--max-slowdown", "85%"]).refused(2, &["differ in mix (usual in A"]);
    fs::write(&path, text).unwrap();

    let gate = |service: &str, percent: &str, out: &str| {
        let db = format!("simulated:service={service}");
        run(
            place,
            &["gate", "--baseline", "a", "--db", &db, "--max-slowdown", percent, "--at-most", "14s", "--out", out],
        )
    };
    let (passed, failed) = thread::scope(|scope| {
        let passed = scope.spawn(|| gate("20ms", "85%", "gate-1"));
        let failed = scope.spawn(|| gate("80ms", "20%", "gate-2"));
        (passed.join().unwrap(), failed.join().unwrap())
    });
    assert!(passed.code == Some(0) && passed.out.contains("Passed: a slowdown of 85 % is excluded"), "{passed:?}");
    assert!(failed.code == Some(1) && failed.out.contains("Failed: "), "{failed:?}");
    assert!(place.join("gate-1/1/record.json").exists());
}

/// The commands of docs/ci.md, shortened, and what its pipelines have a shell run: the first time the script keeps a
/// baseline, the second time it asks the gate.
#[test]
fn the_tutorial_on_ci_works_as_written() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let shorter = [
        ("--duration", "TUTORIAL_DURATION", "10s"),
        ("--ramp-up", "TUTORIAL_RAMP_UP", "0s"),
        ("--at-most", "TUTORIAL_AT_MOST", "14s"),
        ("--max-slowdown", "TUTORIAL_MAX_SLOWDOWN", "80%"),
    ];
    let commands = tutorial::commands("ci.md");
    let named: Vec<&str> = commands.iter().map(|(words, _)| words[0].as_str()).collect();
    assert_eq!(named, ["bench", "gate", "bench", "compare"]);
    for (command, _) in &commands {
        let words = tutorial::shortened(command, &shorter);
        let mut command = graymark(place, &words.iter().map(String::as_str).collect::<Vec<_>>());
        command.env("GRAYMARK_DB", "simulated:service=20ms");
        let done = end(command);
        assert_eq!(done.code, Some(0), "{words:?}: {done:?}");
    }
    let written = |name: &str, text: &str| fs::read_to_string(place.join(name)).unwrap().contains(text);
    assert!(written("gate.xml", "<testsuite") && written("gate.md", "Passed"));
    for file in ["gate.xml", "gate.md"] {
        fs::remove_file(place.join(file)).unwrap();
    }

    let lines = tutorial::pipeline_lines("ci.md");
    assert!(lines.len() == 3 && lines.iter().any(|line| line.contains("gate.md")), "{lines:?}");
    std::os::unix::fs::symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"), place.join("examples")).unwrap();
    let shell = |line: &str| {
        let mut command = std::process::Command::new("sh");
        command.args(["-euc", line]).current_dir(place).env("GRAYMARK", env!("CARGO_BIN_EXE_graymark"));
        for (name, value) in [
            ("GITHUB_STEP_SUMMARY", "summary.md"),
            ("GRAYMARK_DB", "simulated:service=20ms"),
            ("DURATION", "10s"),
            ("RAMP_UP", "0s"),
            ("MAX_SLOWDOWN", "80%"),
            ("AT_MOST", "12s"),
        ] {
            command.env(name, value);
        }
        let done = command.output().unwrap();
        assert!(done.status.success(), "{line}: {done:?}");
    };
    let (scripts, after): (Vec<&String>, Vec<&String>) = lines.iter().partition(|line| line.starts_with("sh "));
    // Two systems: the first asks for the baseline, the second finds it.
    assert_eq!(scripts.len(), 2, "{lines:?}");
    scripts.iter().for_each(|line| shell(line));
    assert!(place.join("baseline/record.json").exists() && written("gate.xml", "<testsuite"));
    after.iter().for_each(|line| shell(line));
    assert!(written("summary.md", "Passed"));
}
