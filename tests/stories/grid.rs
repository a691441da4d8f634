//! A user runs a grid of buffers and clients, kills it at any moment and goes on, and reads what the models of sizing
//! are made from.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use crate::support::command::{graymark, json_file, open_directory, run, start, succeed};
use crate::support::loaded::fail_half_of_history;
use crate::support::require_postgres;
use graymark::cpus::CpuCount;
use graymark::result::summary::Summary;
use graymark::study::sizing::observation::{self, Observation};
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

/// When the runs of finished points began, by the point's directory.
fn finished(sweep: &Path) -> BTreeMap<String, String> {
    let points = std::fs::read_dir(sweep.join("points")).into_iter().flatten().flatten();
    let begun = points.filter_map(|entry| {
        let text = std::fs::read_to_string(entry.path().join("record.json")).ok()?;
        let header: Value = serde_json::from_str(&text).expect("written as a whole");
        (header["status"] == "complete")
            .then(|| (entry.file_name().into_string().unwrap(), header["started"].to_string()))
    });
    begun.collect()
}

/// Writes the mark that a killed sweep leaves beside a copy.
fn mark(copied: &Path) {
    let there = copied.metadata().unwrap();
    let created = there.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let identity = format!("{}-{}-{}", there.dev(), there.ino(), created.map_or(0, |since| since.as_nanos()));
    let text = "Graymark created the database beside this file for one command, and removes both.";
    std::fs::write(format!("{}.graymark-temporary", copied.display()), format!("{text}\n{identity}\n")).unwrap();
}

fn points(sweep: &Path) -> Vec<Observation> {
    observation::read(std::fs::File::open(sweep.join("points.csv")).unwrap()).unwrap()
}

/// Kills the command again and again after a time that grows and then falls back, each time to a little more, until it
/// ends by itself. What was finished stays.
fn killed_again_and_again(place: &Path, arguments: &[&str]) {
    let sweep = place.join("grid");
    let mut before = BTreeMap::new();
    for attempt in 0_u64.. {
        assert!(attempt < 40, "it never ends: {before:?}");
        let mut child = start(graymark(place, arguments));
        std::thread::sleep(Duration::from_millis(400 + 2 * (attempt * 733 % (2_900 + 200 * attempt))));
        let ended = !child.at_work();
        if !ended {
            child.signal(Signal::SIGKILL);
        }
        let (status, done) = child.end();
        let now = finished(&sweep);
        assert!(before.iter().all(|(point, began)| now.get(point) == Some(began)), "{before:?} then {now:?}");
        before = now;
        if ended {
            assert!(status.success(), "{done:?}");
            return;
        }
    }
}

#[test]
fn a_grid_killed_at_any_moment_repeats_no_finished_point_and_loses_none() {
    let place = TempDir::new().unwrap();
    let db = "simulated:service=2ms";
    let arguments = [
        "sweep",
        "grid",
        "clients=1,2,4",
        "--repeats",
        "2",
        "--db",
        db,
        "--seed",
        "5",
        "--steady",
        "0s",
        "--ramp-up",
        "0s",
    ];
    killed_again_and_again(place.path(), &[&arguments[..], &["--duration", "4s", "--out", "grid"]].concat());
    let sweep = place.path().join("grid");
    let points = points(&sweep);
    let mut seen = points.iter().map(|point| (point.repeat.unwrap(), point.clients.unwrap())).collect::<Vec<_>>();
    assert_eq!(seen[..3].iter().map(|(repeat, _)| *repeat).collect::<Vec<_>>(), [1, 1, 1], "repeat after repeat");
    seen.sort_unstable();
    assert_eq!(seen, [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 4)]);
    assert_eq!(finished(&sweep).len(), 6);
    for point in &points {
        // A client of 2 ms a transaction does at most 30,000 a minute.
        let most = 30_000.0 * f64::from(point.clients.unwrap());
        assert!(point.new_orders_per_minute > 0.0 && point.new_orders_per_minute < most, "{point:?}");
        assert!(point.data_hit().is_none() && place.path().join("grid").join(point.record.as_ref().unwrap()).is_dir());
    }
}

#[test]
fn each_point_begins_with_the_same_database() {
    let place = open_directory();
    let db = "sqlite:tpcc.db?synchronous=off";
    let arguments =
        ["sweep", "grid", "clients=1,2", "--db", db, "-w", "1", "--seed", "5", "--steady", "0s", "--ramp-up", "0s"];
    let arguments = [&arguments[..], &["--duration", "8s", "--check", "both", "--out", "grid"]].concat();
    // Someone else's, by names that a point's copy could have.
    std::fs::create_dir(place.path().join("tpcc-w1-point")).unwrap();
    std::fs::write(place.path().join("tpcc-w1-point/letter"), "dear").unwrap();
    std::fs::write(place.path().join("tpcc-w1-point.db"), "a letter").unwrap();
    let sweep = succeed(place.path(), &[&arguments[..], &["--keep-databases", "--json"]].concat()).json();
    let points = sweep["series"][0]["points"].as_array().unwrap();
    assert_eq!(points.iter().map(|point| point["clients"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    assert!(points.iter().all(|point| point["passed"] == true && point["throughput"].as_f64() > Some(0.0)), "{sweep}");
    // As a kill just after the last point was noted as done leaves it.
    let table = place.path().join("grid/points.csv");
    let whole = std::fs::read_to_string(&table).unwrap();
    let (before, _) = whole.trim_end().rsplit_once('\n').unwrap();
    std::fs::write(&table, format!("{before}\n")).unwrap();
    let state = std::fs::read_to_string(place.path().join("grid/sweep.toml")).unwrap();
    let ending = state.lines().find_map(|line| line.strip_prefix("copies = \"")?.strip_suffix('"')).unwrap();
    let copied = place.path().join(format!("tpcc-w1-{ending}.db"));
    std::fs::copy(place.path().join("tpcc-w1.db"), &copied).unwrap();
    mark(&copied);
    succeed(place.path(), &["sweep", "resume", "grid"]);
    // Someone else's, by the name of the very copy.
    std::fs::write(&copied, "a letter").unwrap();
    succeed(place.path(), &["sweep", "resume", "grid"]);
    assert_eq!(std::fs::read_to_string(&copied).unwrap(), "a letter");
    std::fs::remove_file(&copied).unwrap();
    assert_eq!(std::fs::read_to_string(&table).unwrap(), whole, "no point is lost");
    let files =
        std::fs::read_dir(place.path()).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    let mut files = files.filter(|name| name != "grid").collect::<Vec<_>>();
    files.sort();
    assert_eq!(files, ["tpcc-w1-point", "tpcc-w1-point.db", "tpcc-w1.db"], "the copies are gone, and only they");
    assert_eq!(std::fs::read_to_string(place.path().join("tpcc-w1-point/letter")).unwrap(), "dear");
    assert_eq!(std::fs::read_to_string(place.path().join("tpcc-w1-point.db")).unwrap(), "a letter");
    // The loaded database was never worked on: nothing is to be restored.
    let restored = succeed(place.path(), &["restore", "--db", "sqlite:tpcc-w1.db", "--json"]).json();
    let undone = restored["restore"]["undone"].as_array().unwrap();
    assert!(!undone.is_empty() && undone.iter().all(|table| table[1] == 0), "{restored}");
}

/// The planted fault: the database that each point copies gets a trigger during the first point, and half of all
/// Payments fail from the second point on, which the user allows.
#[test]
fn points_whose_transactions_fail_are_named_in_every_table() {
    let place = open_directory();
    let place = place.path();
    let db = "sqlite:x.db?synchronous=off";
    let grid = ["sweep", "grid", "clients=1,2", "--db", db, "-w", "1", "--ramp-up", "0s", "--steady", "0s"];
    let short = ["--duration", "12s", "--allow-errors", "90%", "--out", "grid"];
    let mut working = start(graymark(place, &[&grid[..], &short].concat()));
    working.wait_for("run: measurement");
    fail_half_of_history(&place.join("x-w1.db"));
    let (_, done) = working.end();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("! Transactions FAILED, but no more than allowed at 1 of 2 points."), "{done:?}");
    let rows: Vec<&str> = done.out.lines().filter(|line| line.contains("transactions FAILED, within")).collect();
    assert_eq!(rows.len(), 1, "its row: {done:?}");
    assert!(done.out.contains("% of transactions FAILED)"), "its difference: {done:?}");
    let failed: Vec<f64> = points(&place.join("grid")).iter().filter_map(|point| point.failed_percent).collect();
    assert!(failed.len() == 1 && failed[0] > 1.0, "{failed:?}");
}

fn percent(hits: &Value) -> f64 {
    let number = |name: &str| hits[name].as_f64().unwrap_or_else(|| panic!("{name} in {hits}"));
    let computed = 100.0 * (1.0 - number("physical") / number("logical"));
    assert!((number("hit_percent") - computed).abs() < 1e-9, "{hits}");
    computed
}

#[test]
fn hit_rates_follow_the_buffers_of_private_servers() {
    let Some(()) = require_postgres() else { return };
    // The server's user has to reach it.
    let place = open_directory();
    let dimensions = [
        "sweep",
        "grid",
        "buffers=2MB,256MB",
        "cpus=1",
        "set.work_mem=8MB",
        "--bound-memory",
        "--db",
        "postgres:local?fsync=off",
        "-w",
        "1",
    ];
    let run =
        ["--seed", "5", "--clients", "2", "--steady", "0s", "--ramp-up", "3s", "--duration", "12s", "--out", "grid"];
    // On a busy machine, so few transactions would leave much unread.
    let arguments = [&dimensions[..], &run, &["--warm", "random"]].concat();
    // Killed with its server at work: the second attempt finds one point that is whole, and a copy that is not.
    let mut first = start(graymark(place.path(), &arguments));
    first.wait_for("sweep: 1 point done");
    // Someone else's, by the name that a point's copy could have.
    let letter = place.path().join("grid/databases/graymark-w1-point/letter");
    std::fs::create_dir_all(letter.parent().unwrap()).unwrap();
    std::fs::write(&letter, "dear").unwrap();
    first.wait_for("run: ramp-up");
    first.signal(Signal::SIGKILL);
    let _ = first.end();
    let sweep = place.path().join("grid");
    let before = finished(&sweep);
    assert_eq!(before.len(), 1);
    let text = succeed(place.path(), &["sweep", "resume", "grid"]).out;
    assert!(text.contains("data hits") && text.contains("work_mem=8MB"), "{text}");
    let after = finished(&sweep);
    assert!(
        after.len() == 2 && before.iter().all(|(point, began)| after.get(point) == Some(began)),
        "{before:?} {after:?}"
    );
    let left = std::fs::read_dir(sweep.join("databases")).unwrap().count();
    assert_eq!(left, 1, "databases and copies are removed");
    assert_eq!(std::fs::read_to_string(&letter).unwrap(), "dear");

    let mut points = points(&sweep);
    points.sort_by_key(|point| point.buffer_bytes);
    let [little, much] = &points[..] else { panic!("{points:?}") };
    assert_eq!((little.buffer_bytes, much.buffer_bytes), (Some(2 << 20), Some(256 << 20)));
    assert!(
        points.iter().all(|point| (point.warehouses, point.cpus, point.clients) == (1, CpuCount::whole(1), Some(2))),
        "{points:?}"
    );
    let record = |point: &Observation| sweep.join(point.record.as_ref().unwrap());
    let [few, all] = [little, much].map(|point| json_file(&record(point), "summary.json")["counters"].clone());
    let (little, much) = (&few["pages"], &all["pages"]);
    let database = much["database_bytes"].as_u64().unwrap();
    assert!((80 << 20..400 << 20).contains(&database), "one warehouse has about 150 MB, not {database}");

    // All is in the buffers after a while; what is new is read never.
    for kind in ["data", "index", "overall"] {
        let (much, little) = (percent(&much[kind]), percent(&little[kind]));
        assert!(much > 90.0 && little < much - 2.0, "{kind}: {much} and {little}");
    }
    // Rows of stock are drawn from everywhere, those of warehouse are always on the same page.
    let of = |table: &str| percent(&little["tables"][table]["data"]);
    assert!(of("stock") < 80.0 && of("warehouse") > of("stock"), "{little}");
    let sum = |part: &str| little["data"][part].as_u64().unwrap() + little["index"][part].as_u64().unwrap();
    for part in ["logical", "physical"] {
        assert_eq!(Some(sum(part)), little["overall"][part].as_u64());
    }
    for point in &points {
        let text = std::fs::read_to_string(record(point).join("report.txt")).unwrap();
        assert!(text.contains("hit rates: data"), "{text}");
        let plan = std::fs::read_to_string(record(point).join("plan.toml")).unwrap();
        assert!(plan.contains("work_mem = \"8MB\""), "{plan}");
        let _: Summary = serde_json::from_value(json_file(&record(point), "summary.json")).unwrap();
    }
    bounded(&sweep, little);
    #[cfg(target_os = "linux")]
    assert!(few["page_cache_percent"].as_f64().is_some_and(|percent| (0.0..=100.0).contains(&percent)), "{few}");
}

/// What the kernel says of the server's memory; where it cannot be bounded, the sweep says so.
fn bounded(sweep: &Path, pages: &Value) {
    let text = std::fs::read_to_string(sweep.join("sweep.txt")).unwrap();
    let number = |name: &str| pages["memory"][name].as_u64();
    match number("limit_bytes") {
        Some(limit) => {
            assert!(text.contains("was limited (auto)"), "{text}");
            // The kernel counts in batches of a page for each CPU.
            assert!(number("peak_bytes").is_none_or(|peak| peak <= limit + (1 << 20)), "{pages}");
            assert!(
                number("page_cache_bytes") < Some(limit) && number("killed").is_none_or(|killed| killed == 0),
                "{pages}"
            );
        }
        None => {
            assert!(!nix::unistd::Uid::effective().is_root() && text.contains("cannot be bounded"), "{text}");
            println!("not limited: {text}");
        }
    }
}

/// Control groups that a process with this id has made, and that are still there.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    let ours = format!("graymark-{pid}-");
    let below = |root: &Path| std::fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    let root = Path::new("/sys/fs/cgroup");
    let all = below(root).chain(below(root).flat_map(|group| below(&group).collect::<Vec<_>>()));
    let named = |group: &PathBuf| group.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&ours));
    all.filter(named).collect()
}

#[test]
fn a_server_gets_its_part_of_a_cpu_and_its_group_goes_also_after_a_kill() {
    let Some(()) = require_postgres() else { return };
    let place = open_directory();
    let dimensions = ["sweep", "grid", "debitcredit", "cpus=0.5", "--db", "postgres:local?fsync=off", "--clients", "4"];
    let run = ["--steady", "0s", "--ramp-up", "1s", "--duration", "8s", "--out", "grid"];
    let arguments = [&dimensions[..], &run].concat();
    if !nix::unistd::Uid::effective().is_root() {
        let done = crate::support::command::run(place.path(), &arguments);
        // It may have been given a group of its own to delegate.
        if done.code != Some(0) {
            done.refused(2, &["cannot have 0.5 CPUs", "Delegate=yes", "whole numbers"]);
            println!("not run: control groups are root's");
        }
        return;
    }
    let mut first = start(graymark(place.path(), &arguments));
    first.wait_for("run: ramp-up");
    let pid = first.id();
    assert_eq!(groups_of(pid).len(), 1, "the server's");
    first.signal(Signal::SIGKILL);
    let _ = first.end();
    // Its server ends by itself, with a checkpoint.
    let limit = Instant::now() + Duration::from_secs(120);
    let at_work = |group: PathBuf| std::fs::read_to_string(group.join("cgroup.procs")).is_ok_and(|all| !all.is_empty());
    while groups_of(pid).into_iter().any(at_work) {
        assert!(Instant::now() < limit, "the server does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    succeed(place.path(), &["sweep", "resume", "grid"]);
    assert_eq!(groups_of(pid), Vec::<PathBuf>::new());

    let point = place.path().join("grid/points/w1-cpus0.5-clients4-repeat1");
    let counters = json_file(&point, "summary.json")["counters"].clone();
    let server = &counters["grown"]["server_cpu_s"];
    let used = server["per_second"].as_f64().unwrap();
    // A limit: on a busy machine it gets less. When counters are read varies by a part of a second.
    assert!(used <= 0.7 && used > 0.0, "{server}");
    let quota = &counters["pages"]["cpu_quota"];
    assert_eq!(quota["cpus"], 0.5);
    assert!(quota["throttled_periods"].as_u64() <= quota["periods"].as_u64(), "{quota}");
    assert!(quota["periods"].as_u64() > Some(0), "{quota}");
    let text = std::fs::read_to_string(point.join("report.txt")).unwrap();
    assert!(text.contains("CPU quota") && text.contains("may use 0.5 CPUs"), "{text}");
    let settings = json_file(&point, "environment.json")["settings"].clone();
    assert!(settings["server_cpus"].as_str().unwrap().starts_with("0.5, a quota on "), "{settings}");
}

#[test]
fn a_server_that_needs_more_than_its_bound_is_reported() {
    let Some(()) = require_postgres() else { return };
    let place = TempDir::new().unwrap();
    let done = run(place.path(), &["bench", "--db", "postgres:local?memory=8MB", "--duration", "1s"]);
    if done.code == Some(2) && !nix::unistd::Uid::effective().is_root() {
        assert!(done.err.contains("cannot be bounded"), "{done:?}");
        println!("not limited: {}", done.err);
        return;
    }
    done.refused(3, &["SIGKILL", "more than the 8MB of memory", "give it more"]);
    // In a grid, the other points have their results, and this one is named.
    let grid = ["sweep", "grid", "debitcredit", "memory=8MB,512MB", "--db", "postgres:local?shared_buffers=16MB"];
    let short = ["--clients", "1", "--steady", "0s", "--ramp-up", "0s", "--duration", "3s", "--out", "grid"];
    let done = run(place.path(), &[&grid[..], &short].concat());
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains("memory=8MB has no result: ") && done.err.contains("give it more"), "{done:?}");
    assert!(done.out.contains("No result: ") && done.out.contains("memory=512MB"), "{done:?}");
    assert!(place.path().join("grid/points").read_dir().unwrap().count() >= 1, "{done:?}");
    // Tried again, it fails again, and the finished point is not repeated.
    let again = run(place.path(), &["sweep", "resume", "grid"]);
    assert!(again.code == Some(1) && again.err.contains("has no result") && !again.err.contains("run: wind-down"));
}

#[test]
fn mistakes_are_reported_before_anything_is_done() {
    let place = TempDir::new().unwrap();
    std::fs::write(place.path().join("paced.toml"), "pace = \"standard\"\n").unwrap();
    for (arguments, code, words) in [
        ("sweep grid buffers=1MB --db simulated:service=1ms", 2, "private servers"),
        ("sweep grid cpus=1 --db sqlite:x.db", 2, "private servers"),
        ("sweep grid set.jit=on,off --db sqlite:x.db", 2, "private servers"),
        ("sweep grid set.jit=on --set jit=off --db postgres:local", 2, "exclude each other"),
        ("sweep grid clients=1 --bound-memory=1GB --db sqlite:x.db", 2, "private servers"),
        ("sweep grid clients=1 --db postgres://localhost/x", 2, "postgres:local"),
        ("sweep grid clients=1,1 --db simulated:service=1ms", 2, "twice"),
        ("sweep grid clients=1 --clients 2 --db simulated:service=1ms", 2, "--clients"),
        ("sweep grid warehouses=1 -w 2 --db simulated:service=1ms", 2, "warehouses="),
        ("sweep grid colours=1 --db simulated:service=1ms", 2, "give warehouses="),
        ("sweep grid clients=1 --bound-memory=lots --db postgres:local", 2, "size"),
        ("sweep grid clients=1 --bound-memory --db postgres:local", 2, "buffers="),
        ("sweep grid clients=1 --pace standard --db simulated:service=1ms", 2, "unexpected argument '--pace'"),
        ("sweep grid clients=1 --plan paced.toml --db simulated:service=1ms", 2, "without think time"),
        ("run --pace standard --steady 1m --db simulated:service=1ms", 2, "--steady"),
    ] {
        let done = run(place.path(), &[&arguments.split(' ').collect::<Vec<_>>()[..], &["--out", "grid"]].concat());
        assert_eq!(done.code, Some(code), "{arguments}: {done:?}");
        let last = done.err.lines().last().unwrap_or_default();
        assert!(last.starts_with("graymark: ") && last.contains(words), "{arguments}: {done:?}");
        assert!(!place.path().join("grid/sweep.toml").exists(), "{arguments}");
    }
}
