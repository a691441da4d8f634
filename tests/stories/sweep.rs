//! A user sweeps the load of a database, and searches the largest number of warehouses that it can serve.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

const GRAYMARK: &str = env!("CARGO_BIN_EXE_graymark");
/// Two sessions of 20 ms serve 100 transactions a second, which are 100 × 10/23 × 60 = 2,609 New-Orders a minute. At a
/// hundredth of the standard's times a warehouse asks for about 1,286 of them, so that 70 % of this are 2.9 warehouses.
const CAPACITY: [&str; 10] = [
    "--db",
    "simulated:service=20ms",
    "--clients",
    "2",
    "--pace",
    "standard*0.01",
    "--ramp-up",
    "1s",
    "--duration",
    "5s",
];

fn graymark(arguments: &[&str], directory: &Path) -> Command {
    let mut command = Command::new(GRAYMARK);
    command.args(arguments).arg("--out").arg(directory).env_remove("GRAYMARK_DB");
    command
}

fn run(arguments: &[&str], directory: &Path) -> Output {
    graymark(arguments, directory).output().unwrap()
}

fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn search<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["sweep", "warehouses", "--to", "16"], &CAPACITY[..], more].concat()
}

fn records(directory: &Path) -> Vec<(String, String)> {
    let points = std::fs::read_dir(directory.join("points")).into_iter().flatten().flatten();
    let mut records = points
        .filter_map(|entry| {
            let header = std::fs::read_to_string(entry.path().join("record.json")).ok()?;
            let header: Value = serde_json::from_str(&header).unwrap();
            let complete = header["status"] == "complete";
            complete.then(|| (entry.file_name().into_string().unwrap(), header["started"].to_string()))
        })
        .collect::<Vec<_>>();
    records.sort();
    records
}

#[test]
fn the_largest_number_of_warehouses_is_what_the_capacity_allows() {
    let place = TempDir::new().unwrap();
    let out = place.path().join("sweep");
    let dry = run(&search(&["--dry-run"]), &out);
    let text = String::from_utf8(dry.stdout).unwrap();
    assert!(
        dry.status.success() && text.contains("1 warehouse: simulated:") && text.contains("16 warehouses"),
        "{text}"
    );
    assert!(!out.exists());

    let sweep = json(&run(&search(&["--json"]), &out));
    let largest = sweep["series"][0]["largest"].as_u64().unwrap_or(0);
    // Two sessions of 20 ms carry 2,609 New-Orders a minute, which is enough for 2.07 such warehouses at full pace and
    // 2.95 at 70 % of it. A busy machine may carry less; none can carry more.
    assert!(largest <= 3, "{sweep}");
    assert_eq!(sweep["finished"], true);
    let points = sweep["series"][0]["points"].as_array().unwrap();
    let tried = points.iter().map(|point| (point["warehouses"].as_u64().unwrap(), point["passed"].as_bool().unwrap()));
    let tried = tried.collect::<Vec<_>>();
    let expected = match largest {
        0 => vec![(1, false)],
        1 => vec![(1, true), (2, false)],
        2 => vec![(1, true), (2, true), (3, false), (4, false)],
        _ => vec![(1, true), (2, true), (3, true), (4, false)],
    };
    assert_eq!(tried, expected, "doubling up to the first failure, then the gap");
    let failed = points.last().unwrap();
    let efficiency = |broken: &Value| broken.as_str().unwrap().contains("efficiency");
    assert!(largest == 0 || failed["broken"].as_array().unwrap().iter().any(efficiency), "{failed}");
    let capacity = failed["throughput"].as_f64().unwrap();
    // In five seconds, by chance, more New-Orders may be among the transactions.
    assert!((capacity > 0.0 || largest == 0) && capacity <= 3_600.0, "{failed}");
    for file in ["sweep.toml", "sweep.txt", "sweep.json"] {
        assert!(out.join(file).is_file(), "{file}");
    }
    let page = std::fs::read_to_string(out.join("sweep.html")).unwrap();
    assert!(page.contains("<title>Throughput over warehouses</title>") && page.contains("<nav aria-label"), "{page}");
    // Each point leads to its record.
    let page = page.replace("&#x2f;", "/");
    for point in points {
        let linked = format!("{}/report.html", point["record"].as_str().unwrap());
        assert!(page.contains(&format!("<a href=\"{linked}\">")) && out.join(&linked).is_file(), "{linked}");
    }

    // A sweep that is done stays as it is, and one with other options is not mixed with it.
    let before = records(&out);
    assert_eq!(json(&run(&search(&["--json"]), &out))["series"], sweep["series"]);
    assert_eq!(records(&out), before);
    let other = run(&search(&["--efficiency", "80"]), &out);
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).contains("other options"));
}

#[test]
fn a_killed_sweep_repeats_no_finished_point_and_loses_none() {
    let place = TempDir::new().unwrap();
    let out = place.path().join("sweep");
    let mut child = graymark(&search(&[]), &out).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(120);
    while records(&out).is_empty() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    // In the middle of a later point: one is whole, and another has begun.
    while !out.join("points/w2/record.json").exists() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = records(&out);
    assert!(!before.is_empty());

    let mut resume = Command::new(GRAYMARK);
    resume.args(["sweep", "resume", "--json"]).arg(&out).env_remove("GRAYMARK_DB");
    let sweep = json(&resume.output().unwrap());
    assert_eq!(sweep["finished"], true);
    let after = records(&out);
    assert!(before.iter().all(|record| after.contains(record)), "{before:?} {after:?}");
    assert_eq!(after.len(), sweep["series"][0]["points"].as_array().unwrap().len());
}

#[test]
fn an_interrupted_sweep_exits_with_130_and_says_how_to_go_on() {
    let place = TempDir::new().unwrap();
    let out = place.path().join("sweep");
    // Long enough to be met at its first point.
    let long = search(&[]).into_iter().map(|word| if word == "5s" { "60s" } else { word }).collect::<Vec<_>>();
    let child = graymark(&long, &out).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(120);
    while !out.join("points/w1/events.jsonl").exists() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stderr).contains("graymark sweep resume"));
    assert!(out.join("sweep.toml").is_file());
    assert!(std::fs::read_to_string(out.join("sweep.txt")).unwrap().starts_with("! Unfinished: "));
    // The planted fault: a directory of the user's in place of the record that was interrupted.
    let theirs = out.join("points/w1/thesis");
    std::fs::create_dir_all(&theirs).unwrap();
    let refused = Command::new(GRAYMARK).args(["sweep", "resume"]).arg(&out).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is not only a record of Graymark"), "{refused:?}");
    assert!(theirs.is_dir());
}

#[test]
fn the_largest_number_of_clients_keeps_the_users_constraints() {
    let place = TempDir::new().unwrap();
    let out = place.path().join("sweep");
    // A client of 20 ms does at most 50 transactions a second, so that four of them always keep this.
    let search = "sweep max --of clients --to 16 --until tps<220,errors<=0 --db simulated:service=20ms --ramp-up 0s \
        --duration 4s";
    let search = search.split(' ').collect::<Vec<_>>();
    let mut child = graymark(&search, &out).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(120);
    while records(&out).is_empty() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = records(&out);

    let sweep = json(&run(&[&search[..], &["--json"]].concat(), &out));
    assert_eq!((&sweep["finished"], &sweep["max"]["until"]), (&true.into(), &"tps<220, errors<=0".into()));
    let largest = sweep["series"][0]["largest"].as_u64().unwrap();
    assert!((4..=16).contains(&largest), "{sweep}");
    let points = sweep["series"][0]["points"].as_array().unwrap();
    for point in points {
        let passed = point["clients"].as_u64() <= Some(largest);
        assert_eq!(point["passed"], passed, "{point}");
        assert!(passed || point["broken"][0].as_str().unwrap().starts_with("tps<220: it is "), "{point}");
    }
    assert!(largest == 16 || points.iter().any(|point| point["clients"] == largest + 1), "{sweep}");
    let after = records(&out);
    assert!(!before.is_empty() && before.iter().all(|record| after.contains(record)), "{before:?} {after:?}");
    let text = std::fs::read_to_string(out.join("sweep.txt")).unwrap();
    assert!(text.contains(&format!("The largest that keeps tps<220, errors<=0: {largest} clients")), "{text}");
    let other = run(&[&search[..6], &["tps<200"], &search[7..]].concat(), &out);
    assert_eq!(other.status.code(), Some(2), "{}", String::from_utf8_lossy(&other.stderr));
}

#[test]
fn three_loads_give_three_points_of_the_curve() {
    let place = TempDir::new().unwrap();
    let out = place.path().join("sweep");
    let load = "sweep load --db simulated:service=2ms -w 4 --pace standard*0.01 --ramp-up 1s --duration 20s --json";
    let sweep = json(&run(&load.split(' ').collect::<Vec<_>>(), &out));
    let points = sweep["series"][0]["points"].as_array().unwrap();
    let full = points.last().unwrap()["throughput"].as_f64().unwrap();
    assert_eq!(points.len(), 3);
    for (point, percent) in points.iter().zip([50.0, 80.0, 100.0]) {
        assert_eq!(point["at"], percent as u64);
        let share = 100.0 * point["throughput"].as_f64().unwrap() / full;
        assert!((share / percent - 1.0).abs() < 0.4, "{share} instead of {percent}");
    }
    assert_eq!(points[2]["pace"], "standard*0.01");
    assert!(points[0]["pace"].as_str().unwrap().starts_with("keying*0.01,think*0.0"), "{points:?}");
    let page = std::fs::read_to_string(out.join("sweep.html")).unwrap();
    assert!(page.contains("Response time against throughput") && page.contains("<svg"), "{page}");
}

#[test]
fn each_scale_gets_a_file_that_goes_with_its_point() {
    let place = TempDir::new().unwrap();
    let out = place.path().join("sweep");
    let db = format!("sqlite:{}?synchronous=off", place.path().join("tpcc.db").display());
    let arguments = [
        "sweep",
        "warehouses",
        "--to",
        "1",
        "--db",
        &db,
        "--pace",
        "standard*0.01",
        "--ramp-up",
        "1s",
        "--duration",
        "6s",
    ];
    let sweep = json(&run(&[&arguments[..], &["--efficiency", "0", "--json"]].concat(), &out));
    let point = &sweep["series"][0]["points"][0];
    assert!(point["throughput"].as_f64().unwrap() > 0.0, "{sweep}");
    assert_eq!(point["check_failed"], false);
    let left = std::fs::read_dir(place.path()).unwrap().flatten().map(|entry| entry.file_name()).collect::<Vec<_>>();
    assert_eq!(left, ["sweep"], "its database is removed");
}

#[test]
fn mistakes_are_reported_before_anything_is_done() {
    let place = TempDir::new().unwrap();
    let out = place.path().join("sweep");
    for (arguments, text) in [
        ("sweep warehouses --to 4 -w 2", "unexpected argument '-w'"),
        ("sweep warehouses --from 5 --to 4", "larger"),
        ("sweep warehouses --to 4 --pace none", "think times"),
        ("sweep warehouses --to 4 --db postgres://localhost/db", "--replace"),
        ("sweep warehouses --to 4 --db simulated:service=1ms --cpus 0", "private server"),
        ("sweep warehouses --to 4 --db simulated:service=1ms --data-directory x", "--data-directory"),
        ("sweep load --at 0", "0"),
        ("sweep max --of clients --to 4 --until p90(refund)<5s", "is not a transaction type"),
        ("sweep max --of clients --to 4 --until efficiency=1", "none of <"),
        ("sweep max --of clients --to 4 --clients 2 --until tps>1", "--from and --to"),
        ("sweep max --of warehouses --to 4 -w 2 --until tps>1", "--from and --to"),
    ] {
        let output = run(&arguments.split(' ').collect::<Vec<_>>(), &out);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
        assert!(error.contains(text) && error.lines().count() == 1, "{arguments}: {error}");
        assert!(!out.exists());
    }
}

/// The corrected command can use the same directory.
#[test]
fn a_sweep_whose_first_point_is_refused_leaves_no_files() {
    let place = TempDir::new().unwrap();
    let (out, foreign) = (place.path().join("sweep"), place.path().join("shop.db"));
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE customer (id, name)").unwrap();
    let db = format!("sqlite:{}", foreign.display());
    let refused = |code: i32| {
        let output = run(&["sweep", "load", "--db", &db, "-w", "1"], &out);
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    };
    refused(3);
    assert!(!out.exists());
    // A directory that was there before stays, and what somebody else keeps there.
    std::fs::create_dir(&out).unwrap();
    refused(3);
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0);
    std::fs::write(out.join("notes"), "").unwrap();
    refused(2);
    let left: Vec<_> = std::fs::read_dir(&out).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["notes"]);
}
