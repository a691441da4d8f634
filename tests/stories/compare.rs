//! A developer has two builds, settings or machines, and asks whether one of them is slower.

use std::fs;
use std::path::Path;
use std::thread;

use crate::support::command::{run, succeed};
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
    runs(place, &[("a", "20ms"), ("b/1", "20ms"), ("b/2", "20ms"), ("slow", "60ms")]);

    let slower = compare(place, &["a", "slow"]);
    let throughput = &slower["throughput"];
    assert_eq!(throughput["finding"], "slower", "{slower}");
    let percent = throughput["percent"].as_f64().unwrap();
    // Two thirds; timers on a busy machine add to both.
    assert!((-80.0..-40.0).contains(&percent), "{throughput}");
    let [before, after] = [0, 1].map(|side| slower["responses"]["new_order"][side]["p50"].as_f64().unwrap());
    assert!(before >= 20.0 && after >= 60.0, "{slower}");

    // One is told from the other, whichever way round; only the slower one fails.
    assert_eq!(run(place, &["compare", "a", "slow", "--fail-if-slower", "5%"]).code, Some(1));
    assert_eq!(run(place, &["compare", "a", "slow", "--fail-if-slower", "90%"]).code, Some(0));
    let faster = succeed(place, &["compare", "slow", "a", "--fail-if-slower", "5%"]);
    assert!(faster.out.contains("B is faster than A by") && faster.out.contains("new_order p99"), "{faster:?}");

    // One table in every form, whose figures are those of the object and of the records' pages.
    assert_eq!(succeed(place, &["compare", "a", "slow", "--format", "json"]).json(), slower);
    let csv = succeed(place, &["compare", "a", "slow", "--format", "csv"]).out;
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows[0], ",A,B,change");
    let row = |name: &str| rows.iter().find(|row| row.starts_with(name)).unwrap_or_else(|| panic!("{name}: {csv}"));
    let p90 = slower["responses"]["new_order"][0]["p90"].as_f64().unwrap();
    let [told, page] = [row("\"new_order p90, ms\",").to_string(), text_of_page(place, "a")];
    let told = told.trim_start_matches("\"new_order p90, ms\",").split(',').next().unwrap().to_owned();
    assert!((told.parse::<f64>().unwrap() - p90).abs() < 0.05 * p90, "{told} is not {p90}");
    assert!(page.contains(&format!("<td>{told}</td>")), "{told} is not in the page");
    assert!(row("\"client CPU, µs\",").ends_with('%'), "{csv}");
    let markdown = succeed(place, &["compare", "a", "slow", "--format", "markdown"]).out;
    assert!(markdown.starts_with("**B is slower") && markdown.contains(&format!("| new\\_order p90, ms | {told} |")));
    let latex = succeed(place, &["compare", "a", "slow", "--format", "latex"]).out;
    assert!(latex.contains(&format!("new\\_order p90, ms & {told} &")), "{latex}");

    // A directory stands for the records in it; the same records on both sides are the same.
    let same = compare(place, &["b", "--with", "b/1", "b/2"]);
    assert_eq!(
        (&same["throughput"]["finding"], same["a"]["records"].as_array().unwrap().len()),
        (&"no_difference".into(), 2)
    );
    assert_eq!(same["a"]["transactions_per_second"], same["b"]["transactions_per_second"]);
    assert_eq!(compare(place, &["a", "slow"]), slower);
}

#[test]
fn runs_that_are_not_alike_are_compared_under_protest() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    runs(place, &[("a", "20ms"), ("b", "20ms")]);
    let alike = succeed(place, &["compare", "a", "b"]);
    assert!(!alike.err.contains("they differ in"), "{alike:?}");
    assert!(alike.err.contains("one run a side"), "{alike:?}");
    for (file, from, to, told) in [
        ("summary.json", "\"scale\": 2", "\"scale\": 3", "they differ in scale: 2 in A, 3 in B"),
        ("summary.json", "\"clients\": 4", "\"clients\": 5", "they differ in clients: 4 in A, 5 in B"),
        ("plan.toml", "clients = 4", "clients = 4\nat_home = true", "warehouses of their own: usual in A, true in B"),
        (
            "plan.toml",
            "clients = 4",
            "clients = 4\nmix = \"new_order=1\"",
            "they differ in mix: usual in A, new_order=1 in B",
        ),
        ("environment.json", "\"cpu_model\": \"", "\"cpu_model\": \"Other ", "they differ in CPU: "),
    ] {
        let path = place.join("b").join(file);
        let text = fs::read_to_string(&path).unwrap();
        let changed = text.replace(from, to);
        assert_ne!(text, changed, "{from} in {text}");
        fs::write(&path, changed).unwrap();
        let done = succeed(place, &["compare", "a", "b"]);
        assert!(done.err.contains(told), "{told}: {done:?}");
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
    let told = succeed(place, &["compare", "a", "b"]);
    assert!(told.out.contains("Not ranked: they differ in durability") && !told.out.contains("faster"), "{told:?}");
    assert!(told.out.contains("--across-durability"), "{told:?}");
    // A gate must not pass what nobody judged.
    assert_eq!(run(place, &["compare", "a", "b", "--fail-if-slower", "5%"]).code, Some(1));
    // Neither may one set hold both kinds.
    assert_eq!(compare(place, &["a", "--with", "a", "b"])["throughput"]["finding"], "not_ranked");

    let asked = succeed(place, &["compare", "a", "b", "--across-durability", "--fail-if-slower", "5%"]);
    assert!(
        asked.out.contains("B is faster than A") && asked.err.contains("they differ in durability: not known in A"),
        "{asked:?}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_line() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    run(place, &["compare", "a"]).refused(2, &["--with"]);
    run(place, &["compare", "a", "b", "c"]).refused(2, &["--with"]);
    run(place, &["compare", "a", "b"]).refused(2, &["a is not a record"]);
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
}

/// A gate passes only what is excluded, fails what is shown, and says when it knows neither; the script of docs/ci.md
/// keeps a baseline and asks it.
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
    let (code, gate, junit, markdown) = decide("same", "70%");
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
    run(place, &["compare", "a", "same", "--max-slowdown", "70%"])
        .refused(2, &["differ in scale (2 in A, 3 in B)", "--anyway"]);
    assert_eq!(run(place, &["compare", "a", "same", "--max-slowdown", "70%", "--anyway"]).code, Some(0));
    fs::write(&path, text).unwrap();
    let path = place.join("same/plan.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("clients = 4", "clients = 4\nmix = \"new_order=1\"")).unwrap();
    run(place, &["compare", "a", "same", "--max-slowdown", "70%"]).refused(2, &["differ in mix (usual in A"]);
    fs::write(&path, text).unwrap();

    let gate = |service: &str, percent: &str, out: &str| {
        let db = format!("simulated:service={service}");
        run(
            place,
            &["gate", "--baseline", "a", "--db", &db, "--max-slowdown", percent, "--at-most", "14s", "--out", out],
        )
    };
    let (passed, failed) = thread::scope(|scope| {
        let passed = scope.spawn(|| gate("20ms", "70%", "gate-1"));
        let failed = scope.spawn(|| gate("80ms", "20%", "gate-2"));
        (passed.join().unwrap(), failed.join().unwrap())
    });
    assert!(passed.code == Some(0) && passed.out.contains("Passed: a slowdown of 70 % is excluded"), "{passed:?}");
    assert!(failed.code == Some(1) && failed.out.contains("Failed: "), "{failed:?}");
    assert!(place.join("gate-1/1/record.json").exists());

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ci-gate.sh");
    let ask = || {
        let mut command = std::process::Command::new("sh");
        command.arg(&script).current_dir(place).env("GRAYMARK", env!("CARGO_BIN_EXE_graymark"));
        for (name, value) in [
            ("GRAYMARK_DB", "simulated:service=20ms"),
            ("BASELINE", "kept"),
            ("DURATION", "10s"),
            ("RAMP_UP", "0s"),
            ("MAX_SLOWDOWN", "80%"),
            ("AT_MOST", "12s"),
        ] {
            command.env(name, value);
        }
        command.output().unwrap()
    };
    let first = ask();
    assert!(first.status.success() && place.join("kept/record.json").exists(), "{first:?}");
    let second = ask();
    assert!(
        second.status.success() && fs::read_to_string(place.join("gate.xml")).unwrap().contains("<testsuite"),
        "{second:?}"
    );
}
