//! A user sizes a system: fits models to a sweep's points, predicts, looks for the cheapest configuration, and reads
//! the figures.

use std::fs;
use std::path::Path;

use crate::support::command::{open_directory, run, succeed};
use crate::support::{require_postgres, tutorial};
use graymark::cpus::CpuCount;
use graymark::study::sizing::PAGE;
use graymark::study::sizing::observation::{self, Observation};
use serde_json::Value;
use tempfile::TempDir;

const USAGE: i32 = 2;
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");

fn example(name: &str) -> String {
    Path::new(EXAMPLES).join(name).display().to_string()
}

/// Thousands of pages as bytes.
fn pages(thousands: f64) -> u64 {
    (thousands * 1e3 * PAGE as f64) as u64
}

/// The paper's grid, as if measured without errors: Equation 1 as published, an Equation 2 of our own, and Equation 3
/// with 0.93. The two largest buffers of scale 100 are on a plateau.
fn sweep() -> Vec<Observation> {
    let mut points = Vec::new();
    for cpus in [4, 8, 12] {
        let speed = (1.0 - 0.93_f64.powi(cpus)) / (1.0 - 0.93_f64.powi(12));
        for warehouses in [100_u32, 250, 375, 525] {
            for thousands in [51.0, 102.0, 203.75, 407.5, 815.0] {
                let scale = f64::from(warehouses);
                let flat = if warehouses == 100 { 203.75 } else { f64::INFINITY };
                let hit = 87.65 + 0.0042 * scale + 7.91 * (f64::min(thousands, flat) / scale).ln();
                let reads = 1_000_000;
                points.push(Observation {
                    warehouses,
                    buffer_bytes: Some(pages(thousands)),
                    cpus: CpuCount::whole(cpus as u32),
                    new_orders_per_minute: speed * (-9_000.0 - 3.0 * scale + 200.0 * hit),
                    data_hit_percent: Some(hit),
                    index_hit_percent: Some(100.0 - (100.0 - hit) / 4.0),
                    overall_hit_percent: Some(100.0 - (100.0 - hit) / 2.0),
                    data_logical_reads: Some(reads),
                    data_physical_reads: Some((reads as f64 * (1.0 - hit / 100.0)) as u64),
                    index_logical_reads: Some(2 * reads),
                    index_physical_reads: Some((reads as f64 * (1.0 - hit / 100.0) / 2.0) as u64),
                    database_bytes: Some(u64::from(warehouses) * 93_466_669),
                    ..Observation::default()
                });
            }
        }
    }
    points
}

fn put(place: &Path, points: &[Observation]) {
    let mut table = Vec::new();
    observation::write(&mut table, points).unwrap();
    fs::write(place.join(observation::FILE), table).unwrap();
}

fn near(value: &Value, right: f64, within: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    assert!((value - right).abs() <= within, "{value} is not {right}");
}

#[test]
fn the_papers_facts_from_the_published_coefficients() {
    let place = TempDir::new().unwrap();
    let paper = example("tsuei-1997.toml");
    let json = |arguments: &[&str]| succeed(place.path(), &[&["predict"], arguments, &["--json"]].concat()).json();
    let hit = json(&["hit", &paper, "-w", "375", "--buffer", "815000pages"]);
    near(&hit["hit_percent"]["value"], 95.3, 0.3);
    assert_eq!(hit["outside"], Value::Array(Vec::new()));
    // The paper's 3.21 GB are 9.82 % of the database, but with the printed coefficients they have 95.6 %; 96.3 % needs
    // 3.50 GB.
    let printed = json(&["hit", &paper, "-w", "375", "--buffer", "3.21GB"]);
    near(&printed["percent_of_database"], 9.82, 0.02);
    near(&printed["hit_percent"]["value"], 95.62, 0.01);
    let needed = json(&["hit", &paper, "-w", "375", "--rate", "96.3"]);
    near(&needed["buffer_bytes"], 3.50 * 1_073_741_824.0, 0.01 * 1_073_741_824.0);
    near(&needed["percent_of_database"], 10.72, 0.02);
    let doublings = json(&["double", &paper, "-w", "525", "--from", "203750pages", "--times", "2"]);
    let gains = doublings["doublings"].as_array().unwrap();
    assert_eq!(gains.len(), 2);
    gains.iter().for_each(|row| near(&row["hit_gain"], 7.91 * 2_f64.ln(), 1e-9));
    let ratios = json(&["ratios", &paper, "--cpus", "4,8,12"]);
    let geometric = &ratios["laws"][0];
    assert_eq!(geometric["scaling"]["law"], "geometric");
    // Table 4: about 1.79 and 1.31, and the paper's estimates were within 4 %.
    near(&geometric["ratios"][0]["ratio"], 1.79, 0.04 * 1.79);
    near(&geometric["ratios"][1]["ratio"], 1.31, 0.04 * 1.31);
    // Table 3, scale 375 with 8 CPUs: 22 % for each doubling.
    let quick =
        json(&["double", "--measured", "203750pages=100", "--measured", "407500pages=122", "--to", "815000pages"]);
    near(&quick["doublings"][0]["throughput"], 144.0, 1e-6);
    assert!(quick["doublings"][0]["outside"][0].as_str().unwrap().contains("not between"), "{quick}");
    run(place.path(), &["predict", "run", &paper, "-w", "375", "--buffer", "3GB", "--ratio", "12"])
        .refused(USAGE, &["no Equation 2"]);
}

#[test]
fn from_a_sweep_to_a_prediction() {
    let place = TempDir::new().unwrap();
    put(place.path(), &sweep());
    let fitted = succeed(place.path(), &["predict", "fit", ".", "--out", "model.toml"]).out;
    for words in [
        "Equation 1: data hit rate",
        "Equation 2: New-Orders per minute at 8 CPUs",
        "R² =",
        "geometric (Eq. 3)",
        "Knees",
        "Model: model.toml",
    ] {
        assert!(fitted.contains(words), "{words}: {fitted}");
    }
    assert!(fitted.contains("scale 100 and 4 CPUs from 1591.8 MiB"), "the plateau is named: {fitted}");
    let json = |arguments: &[&str]| succeed(place.path(), &[&["predict"], arguments, &["--json"]].concat()).json();
    let model = json(&["fit", "points.csv"]);
    near(&model["hit_rate"]["slope"], 7.91, 1e-6);
    near(&model["hit_rate"]["per_warehouse"], 0.0042, 1e-6);
    assert_eq!(model["scaling"][0]["law"], "geometric");
    near(&model["scaling"][0]["parameter"], 0.93, 1e-6);

    // A point that was measured: the step from 8 to 12 CPUs by the law is the step that was measured.
    let measured = sweep().into_iter().find(|point| {
        (point.warehouses, point.cpus, point.buffer_bytes) == (375, CpuCount::whole(12), Some(pages(407.5)))
    });
    let rate = measured.unwrap().new_orders_per_minute;
    let at = |more: &[&str]| json(&[&["run", "model.toml", "-w", "375", "--buffer", "407500pages"], more].concat());
    near(&at(&["--cpus", "12"])["point"]["throughput"]["value"], rate, 1e-3 * rate);
    let interval = &at(&["--cpus", "12"])["point"]["throughput"]["prediction"];
    assert!(interval[0].as_f64() <= interval[1].as_f64() && interval[0].is_number(), "{interval}");
    assert_eq!(at(&["--cpus", "12"])["point"]["outside"], Value::Array(Vec::new()));
    assert_eq!(at(&[])["point"], at(&["--cpus", "12"])["point"], "the most CPUs that were measured are meant");
    let outside = at(&["--cpus", "16", "--extrapolate"])["point"]["outside"].to_string();
    assert!(outside.contains("16 CPUs (measured: 4 to 12)"), "{outside}");
    // What was not measured, and what cannot be, is refused with the range that was measured.
    let refused = |command: &str, more: &[&str], words: &[&str]| {
        run(place.path(), &[&["predict", command, "model.toml"], more].concat()).refused(USAGE, words);
    };
    refused(
        "run",
        &["-w", "375", "--buffer", "407500pages", "--cpus", "16"],
        &["16 CPUs (measured: 4 to 12)", "--extrapolate"],
    );
    refused("run", &["-w", "900", "--buffer", "3GB"], &["900 warehouses (hit rates measured: 100 to 525)"]);
    refused("run", &["-w", "525", "--buffer", "1MB", "--extrapolate"], &["is impossible", "measured"]);
    refused("hit", &["-w", "1", "--rate", "0", "--extrapolate"], &["less than a page is impossible"]);
    refused(
        "hit",
        &["-w", "375", "--rate", "99.9"],
        &["MiB of buffer a warehouse (hit rates measured", "--extrapolate"],
    );
    refused("double", &["-w", "375", "--from", "407500pages"], &["outside of the measured range"]);

    // Algorithms I and II show every step, and end where throughput is the ratio for each warehouse.
    let run = at(&["--cpus", "12", "--ratio", "17", "--tolerance", "0.001"]);
    let steps = run["run"]["steps"].as_array().unwrap();
    assert!(run["run"]["converged"] == true && steps.len() > 2, "{run}");
    near(&steps[0]["warehouses"], 375.0, 0.0);
    let last = &steps[steps.len() - 1];
    near(&last["per_warehouse"], 17.0, 17.0 * 1e-5);
    let text = succeed(
        place.path(),
        &[
            "predict",
            "run",
            "model.toml",
            "-w",
            "375",
            "--buffer",
            "407500pages",
            "--cpus",
            "16",
            "--ratio",
            "17",
            "--extrapolate",
        ],
    )
    .out;
    assert!(text.contains("Algorithm II") && text.contains("iteration") && text.contains("Answer:"), "{text}");
    let lines = text.lines().filter(|line| line.ends_with("OUTSIDE")).count();
    assert!(lines >= 2 && text.contains("OUTSIDE of the measured range: 16 CPUs"), "each line says so: {text}");
}

/// The planted faults: points of a database that did not work, points with failed transactions, and ones that are
/// missing.
#[test]
fn bad_points_are_named_before_every_prediction() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let mut points = sweep();
    points[0].problem = Some("NO payment COMPLETED".to_owned());
    points[1].failed_percent = Some(21.3);
    put(place, &points);
    let missing = r#"{"finished": false, "missing": ["1 warehouse, buffers 8MB: the server ended"]}"#;
    fs::write(place.join("sweep.json"), missing).unwrap();
    let all = points.len();
    let fitted = succeed(place, &["predict", "fit", ".", "--out", "model.toml"]).out;
    let first: Vec<&str> = fitted.lines().take_while(|line| line.starts_with("! ")).collect();
    assert_eq!(first[0], format!("! 1 of {all} points are left out: NO payment COMPLETED."));
    assert!(
        first[1].starts_with(&format!("! Transactions FAILED at 1 of {} points, up to 21.3 %", all - 1)),
        "{first:?}"
    );
    assert_eq!(
        first[2..],
        [
            "! The sweep is not finished.",
            "! 1 point of the sweep without a result: 1 warehouse, buffers 8MB: the server ended.",
        ]
    );
    let model = succeed(place, &["predict", "fit", ".", "--json"]).json();
    assert_eq!(model["warnings"].as_array().unwrap().len(), 4, "{model}");
    let predicted = succeed(place, &["predict", "run", "model.toml", "-w", "375", "--buffer", "3GB", "--cpus", "8"]);
    assert!(predicted.err.contains("model.toml: 1 of") && predicted.err.contains("left out"), "{predicted:?}");
    let reported = succeed(place, &["predict", "report", ".", "--out", "few"]).out;
    assert!(reported.starts_with("! 1 of"), "{reported}");
    assert!(fs::read_to_string(place.join("few/sizing.html")).unwrap().contains("left out: NO payment COMPLETED"));

    points.iter_mut().for_each(|point| point.problem = Some("A CHECK FAILED".to_owned()));
    put(place, &points);
    run(place, &["predict", "fit", "points.csv"]).refused(USAGE, &["no point is of a database that worked", "A CHECK"]);
}

#[test]
fn the_cheapest_configuration() {
    let place = TempDir::new().unwrap();
    put(place.path(), &sweep());
    succeed(place.path(), &["predict", "fit", "points.csv", "--out", "model.toml"]);
    let prices = example("memory-or-cpus.toml");
    let cheapest = ["predict", "cheapest", "model.toml", "--price", &prices, "-w", "375", "--target"];
    let of = |target: &str| succeed(place.path(), &[cheapest.as_slice(), &[target, "--json"]].concat()).json();
    let guess = ["6000", "--extrapolate", "--json"];
    let answer = succeed(place.path(), &[cheapest.as_slice(), &guess].concat()).json();
    assert_eq!(
        of("6000")["cheapest"],
        answer["cheapest_inside_measured_range"],
        "without --extrapolate nothing is guessed"
    );
    let found = &answer["cheapest"];
    assert!(found["throughput"]["value"].as_f64().unwrap() >= 6_000.0, "{found}");
    // Nothing that is cheaper reaches it, and everything that the price file makes was looked at.
    let all = answer["candidates"].as_array().unwrap();
    assert_eq!(all.len(), 5 * 16);
    let price = |candidate: &Value| candidate["price"].as_u64().unwrap();
    assert!(
        all.iter().filter(|candidate| price(candidate) < price(found)).all(|candidate| candidate["meets"] == false)
    );
    let inside = &answer["cheapest_inside_measured_range"];
    assert!(inside["outside"] == Value::Array(Vec::new()) && price(inside) >= price(found), "{inside}");
    let missed = run(place.path(), &[cheapest.as_slice(), &["1000000"]].concat());
    assert_eq!(missed.code, Some(1));
    assert!(missed.out.contains("No system reaches the target"), "{missed:?}");
    let fixed = example("price.toml");
    let done =
        run(place.path(), &["predict", "cheapest", "model.toml", "--price", &fixed, "-w", "375", "--target", "1"]);
    done.refused(USAGE, &["price.toml", "memory_gib"]);
}

#[test]
fn a_report_has_the_papers_figures_and_tables() {
    let place = TempDir::new().unwrap();
    put(place.path(), &sweep());
    let written = succeed(place.path(), &["predict", "report", ".", "--out", "sizing", "--json"]).json();
    assert_eq!(written["missing"], Value::Array(Vec::new()));
    for table in ["reads", "knees/printed", "knees/tabulated", "doublings", "cpu_ratios"] {
        let rows = written.pointer(&format!("/tables/{table}")).and_then(Value::as_array);
        assert!(rows.is_some_and(|rows| !rows.is_empty()), "{table}: {written}");
    }
    let page = fs::read_to_string(place.path().join("sizing/sizing.html")).unwrap();
    for number in ["2", "3", "4", "5", "6", "7", "8", "9", "11"] {
        assert!(page.contains(&format!("<h3>Figure {number}. ")), "Figure {number}");
    }
    assert!((1..=4).all(|number| page.contains(&format!("<h3>Table {number}. "))));
    assert!(!page.contains("<script") && !page.contains("href=\"http"), "the page is self-contained");
    let figures = written["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 10);
    for figure in figures {
        let svg = fs::read_to_string(place.path().join(figure.as_str().unwrap())).unwrap();
        assert!(
            svg.starts_with("<svg xmlns=") && svg.trim_end().ends_with("</svg>") && svg.contains("<circle"),
            "{figure}"
        );
    }
    assert!(
        succeed(place.path(), &["predict", "hit", "sizing/model.toml", "-w", "375", "--buffer", "1GB"])
            .out
            .contains("data hit rate")
    );

    // One number of CPUs, no counts of reads, one buffer size of which none is twice another: what is missing is said,
    // with why.
    let few = sweep()
        .into_iter()
        .filter(|point| point.cpus == CpuCount::whole(12) && point.buffer_bytes == Some(pages(102.0)));
    let few = few.map(|point| Observation { data_logical_reads: None, ..point }).collect::<Vec<_>>();
    put(place.path(), &few);
    let lacking = succeed(place.path(), &["predict", "report", "points.csv", "--out", "few"]).out;
    for words in [
        "Figure 2 (figure-2): no scale has two buffer sizes",
        "Figure 8 (figure-8): no two points differ in CPUs alone",
        "Table 1: no point has",
        "Table 3: no buffer is twice",
    ] {
        assert!(lacking.contains(words), "{words}: {lacking}");
    }
}

#[test]
fn mistakes_are_reported_in_one_line() {
    let place = TempDir::new().unwrap();
    let paper = example("tsuei-1997.toml");
    let table = |text: &str| fs::write(place.path().join("points.csv"), text).unwrap();
    run(place.path(), &["predict", "fit", "nowhere"]).refused(USAGE, &["nowhere", "points.csv"]);
    run(place.path(), &["predict", "fit", "."]).refused(USAGE, &["points.csv", "sweep"]);
    table("warehouses,new_orders_per_minute,buffer_bytes\n10,100,1 GB\n");
    run(place.path(), &["predict", "fit", "points.csv"])
        .refused(USAGE, &["points.csv: line 2, column buffer_bytes: `1 GB`"]);
    table("warehouses,new_orders_per_minute,buffer_bytes\n10,100,1000000\n");
    run(place.path(), &["predict", "fit", "points.csv"]).refused(USAGE, &["data_hit_percent"]);
    run(place.path(), &["predict", "run", "nowhere.toml", "-w", "1", "--buffer", "1GB"])
        .refused(USAGE, &["nowhere.toml", "predict fit"]);
    run(place.path(), &["predict", "run", "points.csv", "-w", "1", "--buffer", "1GB"])
        .refused(USAGE, &["points.csv is not a model file", "line 1"]);
    run(place.path(), &["predict", "run", &paper, "-w", "1", "--buffer", "large"])
        .refused(USAGE, &["--buffer", "815000pages"]);
    run(place.path(), &["predict", "run", &paper, "-w", "0", "--buffer", "1GB"])
        .refused(USAGE, &["--warehouses", "at least 1"]);
    run(place.path(), &["predict", "hit", &paper, "-w", "10"]).refused(USAGE, &["--buffer"]);
    run(place.path(), &["predict", "hit", &paper, "-w", "10", "--rate", "90", "--buffer", "1GB"])
        .refused(USAGE, &["cannot be used with"]);
    run(place.path(), &["predict", "double"]).refused(USAGE, &["<MODEL>"]);
    run(place.path(), &["predict", "hit", &paper, "-w", "10", "--rate", "101"]).refused(USAGE, &["--rate", "0 to 100"]);
    run(place.path(), &["predict", "double", &paper]).refused(USAGE, &["--warehouses"]);
    run(place.path(), &["predict", "double", "--measured", "1GB=5", "--to", "2GB"])
        .refused(USAGE, &["--measured twice"]);
    run(place.path(), &["predict", "ratios", &paper, "--cpus", "0,1"]).refused(USAGE, &["--cpus"]);
}

/// The sequence of commands in docs/sizing.md, on the points of the measured study; of the sweeps, which take hours,
/// the plans.
#[test]
fn the_commands_of_the_page_work_as_written() {
    let place = TempDir::new().unwrap();
    let sweep = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/sizing").display().to_string();
    let commands: Vec<_> = tutorial::commands("sizing.md").into_iter().map(|(words, _)| words).collect();
    assert!(commands.len() >= 10, "{commands:?}");
    for command in commands {
        let words = command.iter().map(|word| match &**word {
            "SWEEP" => sweep.clone(),
            word => word.replace("examples/", &format!("{EXAMPLES}/")).replace("docs/sizing", &sweep),
        });
        let mut words: Vec<String> = words.collect();
        if words[0] == "sweep" {
            words.push("--dry-run".to_owned());
            words.iter_mut().filter(|word| **word == sweep).for_each(|word| *word = "new".to_owned());
        }
        let reported = succeed(place.path(), &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(!reported.out.is_empty(), "{command:?}");
    }
}

/// The sweeps of docs/sizing.md, with one scale, two sizes of buffers at most and short runs, or as
/// TUTORIAL_SWEEPS=full has them; and the program that sets a grid beside a simulation.
#[test]
fn the_sweeps_of_the_page_measure() {
    let Some(()) = require_postgres() else { return };
    let place = open_directory();
    let full = std::env::var("TUTORIAL_SWEEPS").is_ok_and(|how| how == "full");
    let commands = tutorial::commands("sizing.md").into_iter().map(|(words, _)| words);
    let sweeps: Vec<Vec<String>> = commands.filter(|words| words[0] == "sweep").collect();
    assert_eq!(sweeps.len(), 3, "{sweeps:?}");
    for (number, sweep) in sweeps.iter().enumerate() {
        let out = if number == 0 { "SWEEP".to_owned() } else { format!("study-{number}") };
        let kept = |list: &str, most: usize| list.split(',').take(most).collect::<Vec<_>>().join(",");
        let mut words: Vec<String> = sweep.clone();
        if !full {
            words = sweep
                .iter()
                .map(|word| match word.split_once('=') {
                    Some(("warehouses", _)) => "warehouses=1".to_owned(),
                    Some(("buffers", list)) => format!("buffers={}", kept(list, 2 - number.min(1))),
                    Some(("cpus", list)) => format!("cpus={}", kept(list, 1)),
                    // No stall of the disk empties an interval of seconds.
                    _ if word == "postgres:local" => "postgres:local?fsync=off".to_owned(),
                    _ => word.clone(),
                })
                .collect();
            for (option, short) in [("--steady", "0s"), ("--ramp-up", "1s"), ("--duration", "6s"), ("--clients", "2")] {
                match words.iter().position(|word| word == option) {
                    Some(at) => words[at + 1] = short.to_owned(),
                    None => words.extend([option.to_owned(), short.to_owned()]),
                }
            }
        }
        if number > 0 {
            words.extend(["--out".to_owned(), out.clone()]);
        }
        succeed(place.path(), &words.iter().map(String::as_str).collect::<Vec<_>>());
        let points = fs::read_to_string(place.path().join(&out).join("points.csv")).unwrap();
        assert!(full || points.lines().count() == 1 + (2 - number.min(1)), "{points}");
    }
    let page = fs::read_to_string(place.path().join("SWEEP/sweep.html")).unwrap();
    for word in ["<svg viewBox", "<title>Throughput over buffers</title>", "<nav aria-label=\"Contents\">"] {
        assert!(page.contains(word), "{word} is not in {page}");
    }
    assert_eq!(page.matches("/report.html\">").count(), if full { 48 } else { 2 }, "{page}");

    // A point whose hit rate was not measured, as on a machine that starves the server.
    let points = place.path().join("SWEEP/points.csv");
    let mut reader = csv::Reader::from_path(&points).unwrap();
    let heading = reader.headers().unwrap().clone();
    let hits = heading.iter().position(|column| column == "data_hit_percent").unwrap();
    let mut rows: Vec<Vec<String>> = reader.deserialize().map(Result::unwrap).collect();
    rows.last_mut().unwrap()[hits].clear();
    let mut writer = csv::Writer::from_path(&points).unwrap();
    writer.write_record(&heading).unwrap();
    rows.iter().for_each(|row| writer.write_record(row).unwrap());
    writer.flush().unwrap();

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/study/simulate-grid.sh");
    let mut beside = std::process::Command::new(script);
    beside.arg("SWEEP").current_dir(place.path()).env("GRAYMARK", env!("CARGO_BIN_EXE_graymark"));
    let beside = beside.output().unwrap();
    let table = String::from_utf8_lossy(&beside.stdout);
    assert!(beside.status.success() && table.contains("| simulated |") && table.contains("| – |"), "{beside:?}");
}
