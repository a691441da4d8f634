//! A user reads the report of a run: a whole one, one with a failed check, one that was interrupted or killed, one with
//! an outage.

use crate::support::report::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use graymark::judge;
use graymark::measure::counters_summary::{CountersSummary, Grown};
use graymark::measure::dips::{Dip, Peaks};
use graymark::record::{Record, RecordWriter};
use graymark::report;
use graymark::result::format::{Status, file};
use graymark::result::maintenance::{Maintenance, MaintenanceKind};
use graymark::result::summary::*;
use graymark::result::{Event, Finding, Identity};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tempfile::TempDir;

fn reports(run: &Run, change: impl FnOnce(&mut Summary)) -> (String, String) {
    let place = TempDir::new().unwrap();
    run.write(place.path(), change);
    reported(place.path())
}

/// Text and page of the record, as they are in the files.
fn reported(directory: &Path) -> (String, String) {
    let paths = report::write(directory).unwrap();
    let text = fs::read_to_string(paths.text).unwrap();
    let page = fs::read_to_string(paths.html).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    self_contained(&page);
    // Where the record is differs from test to test; it may fold. After it comes the last word on a paced run.
    let (before, after) = text.split_once("\nPage ").unwrap();
    let last = after.split_once("\n\n").map_or(String::new(), |(_, last)| format!("\n\n{last}"));
    let text = format!("{before}{last}");
    (text, page)
}

fn self_contained(page: &str) {
    for outside in ["<script", "<link", "src=", "href=", "url(", "@import"] {
        // Links within the page are no reference to anything outside.
        assert!(!page.replace("href=\"#", "").contains(outside), "{outside}");
    }
    assert!(page.ends_with("</html>") && !page.contains("NaN") && !page.contains("inf\""));
}

/// The page without its style, and with charts by their size and titles of axes only.
fn skeleton(page: &str) -> String {
    let (head, rest) = page.split_once("<style>").unwrap();
    let (_, body) = rest.split_once("</style>").unwrap();
    let mut skeleton = head.to_owned();
    for (index, part) in body.split("<svg ").enumerate() {
        let Some((chart, after)) = part.split_once("</svg>").filter(|_| index > 0) else {
            skeleton.push_str(part);
            continue;
        };
        let titles = chart
            .lines()
            .filter(|line| line.contains("time") || line.contains("minute") || line.contains("transactions"));
        skeleton.push_str(&format!("[chart: {}]", titles.collect::<Vec<_>>().join("; ")));
        skeleton.push_str(after);
    }
    skeleton
}

/// What a run ends with on a terminal.
fn first_screen(directory: &Path) -> String {
    let record = Record::open(directory).unwrap();
    let model = report::model::ReportModel::of(&record);
    let screen = report::first::render(&record, &model, Some("PLACE/report.html"), report::first::WIDTH);
    assert!(screen.lines().count() <= 10, "{screen}");
    let screen = screen.replace(&directory.display().to_string(), "PLACE");
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    screen
}

#[test]
fn the_first_screen_has_ten_lines() {
    let place = TempDir::new().unwrap();
    let judged = |directory: &str, run: &Run, change: &dyn Fn(&mut Summary)| {
        let directory = place.path().join(directory);
        run.write(&directory, |summary| {
            change(summary);
            summary.verdict = judge::judge(summary);
        });
        first_screen(&directory)
    };
    // The mix of the standard, which the load of these tests is not.
    let mixed = |summary: &mut Summary| {
        let new_order = summary.transactions.get_mut("new_order").unwrap();
        new_order.rolled_back = new_order.completed / 100;
        summary.transactions.get_mut("payment").unwrap().completed = 28_209;
    };
    let well = judged("well", &WHOLE, &mixed);
    insta::assert_snapshot!("first_well", well);
    assert!(!well.contains("! ") && well.contains("graymark report PLACE --full"), "{well}");
    let slow = judged("slow", &WHOLE, &|summary| {
        mixed(summary);
        summary.transactions.get_mut("new_order").unwrap().response_ms.p90 = 7_000.0;
    });
    assert!(slow.contains("! Rule 5.2.5.3 broken: 90th percentile of New-Order"), "{slow}");
    let failed = judged("failed", &Run { outage: Some((140, 12)), ..WHOLE }, &|summary| {
        summary.database.effects.get_mut("payments").unwrap().database -= 12;
        summary.database = DatabaseCount::of(summary.database.effects.clone());
        summary.consistency.failed = vec!["3.3.2.1".into()];
        summary.outcomes.get_mut("delivery").unwrap().failed = 70;
    });
    insta::assert_snapshot!("first_failed", failed);
    judged("interrupted", &Run { interrupted: true, measured: 0, ..WHOLE }, &|_| {});
    insta::assert_snapshot!("first_paced", judged("paced", &PACED, &pace_summary));
    // A run that still goes on, or was killed.
    let killed = place.path().join("killed");
    WHOLE.write(&killed, |_| {});
    fs::remove_file(killed.join(file::SUMMARY)).unwrap();
    header(&killed, Status::Running);
    let killed = first_screen(&killed);
    assert!(killed.contains("transactions per second in the 4 min 30 s measured so far"), "{killed}");
}

#[test]
fn a_whole_run() {
    let (text, page) = reports(&WHOLE, |_| {});
    insta::assert_snapshot!("whole_text", text);
    insta::assert_snapshot!("whole_page", skeleton(&page));
}

/// The course of a run that had a dip at its checkpoint and a blackout later on, and whose log nobody counted for a
/// while.
fn course(summary: &mut Summary) {
    let dip =
        |start_s, length_s, depth, blackout_s, checkpoint_s| Dip { start_s, length_s, depth, blackout_s, checkpoint_s };
    summary.peaks = Some(Peaks { one_second: 230.0, ten_seconds: Some(204.5) });
    summary.dips = Some(vec![dip(121.0, 9.0, 0.62, 0.0, Some(120.4)), dip(200.0, 25.0, 0.98, 24.0, None)]);
    summary.maintenance = vec![Maintenance {
        kind: MaintenanceKind::Checkpoint.into(),
        start_s: 120.4,
        seconds: 7.5,
        work: "4,096 buffers written".into(),
        rows: None,
    }];
    let grown = |total: f64, seconds: f64| Grown { total, seconds, per_second: total / seconds };
    let counters = [
        ("commits", 54_200.0),
        ("log_flushes", 21_000.0),
        ("log_bytes", 3e8),
        ("device_writes", 9e4),
        ("checkpoints", 2.0),
    ];
    summary.counters = Some(CountersSummary {
        grown: counters.map(|(name, total)| (name.to_owned(), grown(total, 250.0))).into(),
        transactions_per_log_flush: Some(2.58),
        log_bytes_per_transaction: Some(5_550.0),
        machine_cpus: Some(7.98),
        client_cpu_percent: Some(3.21),
        server_cpu_percent: Some(61.5),
        machine_busy_percent: Some(70.2),
        checkpoints: vec![(120.0, 8.0), (240.0, 12.0)],
        notes: vec!["I/O of the server's processes: the system does not show it to Graymark".into()],
        ..CountersSummary::default()
    });
}

#[test]
fn a_run_with_its_course() {
    let place = TempDir::new().unwrap();
    WHOLE.write(place.path(), course);
    let row = |second: u32| {
        let log = if (140..160).contains(&second) { String::new() } else { (second * 80).to_string() };
        format!("{second}.002,{:.2},{:.2},{log}\n", f64::from(second) * 0.25, f64::from(second) * 8.0)
    };
    let rows: String = (0..=300).map(row).collect();
    fs::write(place.path().join(file::COUNTERS), format!("at_s,client_cpu_s,machine_cpu_s,log_flushes\n{rows}"))
        .unwrap();
    let (text, page) = reported(place.path());
    let course = text.split_once("Course of the run\n").and_then(|(_, rest)| rest.split_once("\n\n")).unwrap().0;
    insta::assert_snapshot!("course_text", course);

    let figure =
        page.split_once("and log over time</h3>").and_then(|(_, rest)| rest.split_once("</figure>")).unwrap().0;
    assert!(
        figure.contains("Dips have an amber one.") && figure.contains("Shorter grey lines are starts of checkpoints."),
        "{figure}"
    );
    let panels = ["transactions/s", "CPU, %", "I/O a second", "bytes a second", "log flushes/s"];
    assert_eq!(panels.map(|panel| figure.matches(panel).count()), [2, 2, 0, 0, 2]);
    // The checkpoint that was asked for is marked once, and the one that the server made by itself too, in each of
    // three panels.
    let wide = figure.split_once("<svg").and_then(|(_, rest)| rest.split_once("</svg>")).unwrap().0;
    assert_eq!(wide.matches("stroke=\"#808080\"").count(), 2 * 3);
    // A gap breaks the line of the log in two.
    let log = wide.rsplit_once("log flushes/s").unwrap().1;
    assert_eq!(log.matches("#CC79A7").count(), 2);
    assert!(page.contains("begun at 120.4 s") && page.contains("<h3 class=\"later\">Not counted</h3>"));
}

/// A paced run of 500 warehouses, judged.
fn pace_summary(summary: &mut Summary) {
    let maintenance = |kind: MaintenanceKind, start_s, seconds, work: &str| Maintenance {
        kind: kind.into(),
        start_s,
        seconds,
        work: work.into(),
        rows: None,
    };
    summary.pace = "standard".into();
    summary.metric = "tpmC-gm".into();
    summary.scale = 500;
    summary.client.terminals = 5_000;
    summary.efficiency = summary.new_orders_per_minute.map(|rate| 100.0 * rate / (12.86 * 500.0));
    let orders = summary.transactions["new_order"].completed;
    let payments = summary.transactions["payment"].completed;
    summary.tallies = BTreeMap::from([
        ("order_lines".into(), 10 * orders),
        ("remote_order_lines".into(), orders / 10),
        ("remote_payments".into(), payments * 3 / 20),
        ("payments_by_name".into(), payments * 3 / 5),
        ("order_status_by_name".into(), summary.transactions["order_status"].completed * 3 / 5),
        ("deliveries_with_skips".into(), 1),
        ("districts_skipped".into(), 2),
    ]);
    summary.maintenance = vec![
        maintenance(MaintenanceKind::WarmUp, -12.0, 12.0, "9 tables"),
        maintenance(MaintenanceKind::Checkpoint, 30.0, 4.2, "1,024 buffers written"),
        maintenance(MaintenanceKind::Checkpoint, 60.0, 6.4, "2,048 buffers written"),
        maintenance(MaintenanceKind::Checkpoint, 360.0, 9.1, "4,096 buffers written"),
        maintenance(MaintenanceKind::Vacuum, 400.0, 21.5, "9 tables"),
    ];
    summary.verdict = judge::judge(summary);
}

#[test]
fn a_paced_run() {
    let (text, page) = reports(&PACED, pace_summary);
    insta::assert_snapshot!("paced_text", text);
    let last = text.trim_end().rsplit_once("\n\n").unwrap().1;
    assert!(last.starts_with("FAILED: clauses ") && last.contains("; not tested: 2.1.6.1"), "{last}");
    for figure in [
        "Think time after New-Order",
        "Throughput over time",
        "Delivery from queueing to end",
        "Lateness of the driver",
    ] {
        assert!(page.contains(figure), "{figure}");
    }
    assert!(page.contains("checkpoint") && page.contains("2026-03-01T10:06:00Z"));
}

#[test]
fn a_paced_run_that_keeps_all_rules_ends_with_passed() {
    let (text, _) = reports(&PACED, |summary| {
        pace_summary(summary);
        summary.verdict.clauses.retain(|clause| clause.state == State::Held);
        summary.verdict.valid = true;
    });
    assert_eq!(text.lines().last(), Some("PASSED"));
}

/// Three stages of the whole run, the last of which was broken off, with a warm-up and a price.
fn stage_summary(summary: &mut Summary) {
    let stage = |(clients, rate, seconds): (u32, f64, f64), start_s: f64| StageSummary {
        clients,
        start_s,
        seconds,
        whole: seconds == 100.0,
        completed: (rate * seconds) as u64,
        transactions_per_second: rate,
        new_orders_per_minute: Some(rate * 26.0),
        response_ms: LatencySummary { p50: 3.2, p90: 9.1, p99: 18.4, max: 40.0, ..LatencySummary::default() },
        client_cpu_us_per_transaction: (seconds == 100.0).then_some(350.0),
        server_cpu_us_per_transaction: (seconds == 100.0).then_some(6_500.0),
        ..StageSummary::default()
    };
    let stages = [(1, 60.5, 100.0), (8, 203.7, 100.0), (4, 190.2, 70.0)];
    summary.stages = stages.into_iter().zip([30.0, 130.0, 230.0]).map(|(of, start)| stage(of, start)).collect();
    summary.maintenance = vec![Maintenance {
        kind: MaintenanceKind::WarmUp.into(),
        start_s: -12.5,
        seconds: 12.5,
        work: "1200 rows of 8 tables read at random".into(),
        rows: Some(1_200),
    }];
    summary.price = Some(PriceSummary {
        currency: "USD".into(),
        years: 3,
        parts: 2,
        total: 3_419,
        metric: "USD/NOPM".into(),
        per_metric: Some(0.61),
    });
    summary.verdict = judge::judge(summary);
}

#[test]
fn a_run_in_stages_with_a_price() {
    let (text, page) = reports(&WHOLE, stage_summary);
    insta::assert_snapshot!("staged_text", text);
    for words in ["Throughput against clients", "Response time against clients", "0.610 USD&#x2f;NOPM", ">4*</th>"] {
        assert!(page.contains(words), "{words}");
    }
    // The clients of each stage stand in both charts over time, narrow and wide; the lines are of whole stages only.
    for clients in ["1", "8", "4"] {
        assert!(page.matches(&format!("\n{clients}\n</text>")).count() >= 4, "{clients}");
    }
}

#[test]
fn a_run_after_which_a_check_fails() {
    let (text, page) = reports(&WHOLE, |summary| {
        let bad = &mut summary.consistency.after[1];
        bad.offending = 3;
        bad.examples = vec![
            "w_id=1 d_id=4 d_next_o_id=3100 max_o_id=3098".into(),
            "w_id=2 d_id=1 d_next_o_id=3055 max_o_id=3053".into(),
        ];
        summary.consistency.failed = vec!["3.3.2.2".into()];
        summary.consistency.held = 3;
        summary.database.agrees = Some(false);
        if let Some(effect) = summary.database.effects.get_mut("new_orders") {
            effect.database -= 3;
        }
        summary.errors = BTreeMap::from([("duplicate key value violates \"orders_pkey\"\n<b>\u{1b}[31m".into(), 3)]);
    });
    insta::assert_snapshot!("failed_text", text);
    assert!(page.contains("3 rows fail") && page.contains("w_id=1 d_id=4 d_next_o_id=3100"));
    assert!(page.contains("&lt;b&gt;") && !page.contains("<b>"));
}

#[test]
fn a_run_that_was_interrupted() {
    let (text, page) = reports(&Run { measured: 17, interrupted: true, ..WHOLE }, |_| {});
    insta::assert_snapshot!("interrupted_text", text);
    assert!(page.contains("Partial: the run was interrupted after 17 s of measurement."));
}

#[test]
fn a_run_that_was_interrupted_before_it_measured_anything() {
    for ramp_up in [0, 3] {
        let (text, page) =
            reports(&Run { ramp_up, measured: 0, outage: None, interrupted: true, paced: false }, |_| {});
        assert!(text.contains("interrupted after no measurement") && !text.contains("NOPM"), "{text}");
        assert!(page.contains("No result"));
    }
}

#[test]
fn a_run_with_an_outage() {
    let (text, page) = reports(&Run { outage: Some((140, 12)), ..WHOLE }, |_| {});
    insta::assert_snapshot!("outage_text", text);
    assert!(page.contains("Outages have a red one."));
}

#[test]
fn a_run_that_was_killed() {
    let place = TempDir::new().unwrap();
    let mut writer = RecordWriter::create(place.path(), "", "tpcc", &TYPES).unwrap();
    let run = Run { measured: 25, ..WHOLE };
    run.events().iter().for_each(|event| writer.event(event));
    drop(writer);
    header(place.path(), Status::Running);
    let (text, page) = reported(place.path());
    insta::assert_snapshot!("killed_text", text);
    assert!(page.contains("No result") && page.contains("Throughput over time"));
}

/// The planted fault: transactions of a run that was killed had failed.
#[test]
fn a_killed_run_counts_what_had_failed() {
    let place = TempDir::new().unwrap();
    let mut writer = RecordWriter::create(place.path(), "", "tpcc", &TYPES).unwrap();
    for mut event in (Run { measured: 25, ..WHOLE }).events() {
        if let Event::Second { second: 7, interval, .. } = &mut event {
            interval.transactions[0].errors = 1_200;
        }
        writer.event(&event);
    }
    drop(writer);
    header(place.path(), Status::Running);
    let (text, page) = reported(place.path());
    assert!(text.lines().take(3).any(|line| line.contains("1,200 transactions FAILED")), "{text}");
    assert!(page.contains("1,200 transactions FAILED"));
}

#[test]
fn a_type_that_never_completed_has_no_times() {
    let (text, _) = reports(&WHOLE, |summary| {
        summary.transactions.insert("delivery".into(), TransactionSummary::default());
    });
    let times = text.lines().filter(|line| line.starts_with("Delivery")).nth(1).unwrap();
    assert!(times.split_whitespace().skip(1).all(|figure| figure == "-"), "{times}");
}

#[test]
fn a_record_of_a_load_only() {
    let place = TempDir::new().unwrap();
    let writer = RecordWriter::create(place.path(), "", "tpcc", &TYPES).unwrap();
    writer.put_json(file::LOAD, &load()).unwrap();
    writer.finish(Status::Complete).unwrap();
    header(place.path(), Status::Complete);
    let (text, page) = reported(place.path());
    insta::assert_snapshot!("load_text", text);
    assert!(page.contains("4,990,110 in 61.5 s"));
}

/// What is not a figure of ours may be anything, and must not break the page or the text.
#[test]
fn text_of_servers_and_users_is_escaped() {
    let evil = "</td><script>alert(1)</script>\u{1b}[2J\u{7}\u{9b}31m\u{202e}\r\n\"'&".to_owned();
    let (text, page) = reports(&Run { measured: 2, ..WHOLE }, |summary| {
        summary.engine = Identity { name: evil.clone(), version: evil.clone(), url: evil.clone() };
        (summary.isolation, summary.pace, summary.metric) = (evil.clone(), evil.clone(), evil.clone());
        summary.errors.insert(evil.clone(), 1);
        summary.retries.insert(evil.clone(), 1);
        summary.database.effects.insert(evil.clone(), EffectCount::default());
        summary.consistency.after.push(Finding { examples: vec![evil.clone()], offending: 1, ..finding(&evil, &evil) });
        summary.verdict.clauses.push(clause(&evil, &evil, &evil, &evil, State::Broken, &evil));
        summary.transactions.insert(evil.clone(), TransactionSummary::default());
    });
    assert!(text.contains("alert(1)"));
    assert!(page.contains("&lt;script&gt;"));
    for reported in [text, page] {
        let obeyed = reported.chars().find(|letter| (letter.is_control() && *letter != '\n') || *letter == '\u{202e}');
        assert_eq!(obeyed, None, "{reported}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::with_cases(40)
    })]

    /// Whatever figures a record holds, a report comes of it; counts beyond 2^53 are damage.
    #[test]
    fn any_figures_make_a_report(
        counts in prop::array::uniform4(0..=1_u64 << 53),
        floats in prop::array::uniform4(prop::num::f64::NORMAL | prop::num::f64::ZERO),
        times in prop::array::uniform5(prop::num::f64::POSITIVE | prop::num::f64::ZERO),
        seconds in prop::collection::vec(any::<u32>(), 0..6),
    ) {
        let place = TempDir::new().unwrap();
        Run { ramp_up: 2, measured: 2, outage: None, interrupted: false, paced: false }.write(place.path(), |summary| {
            summary.interval_s = floats[0];
            summary.ramp_up_s = floats[1];
            summary.new_orders_per_minute = Some(floats[2]);
            summary.connections.lost = counts[0];
            summary.connections.outages = vec![(floats[2], floats[3])];
            summary.client.peak_rss_bytes = counts[1];
            summary.peaks = Some(Peaks { one_second: floats[0], ten_seconds: Some(floats[1]) });
            let [start_s, length_s, depth, blackout_s] = floats;
            summary.dips = Some(vec![Dip { start_s, length_s, depth, blackout_s, checkpoint_s: Some(floats[0]) }]);
            let grown = Grown { total: floats[1], seconds: floats[2], per_second: floats[3] };
            summary.counters = Some(CountersSummary {
                grown: ["log_flushes", "log_bytes", "checkpoints", "device_reads"]
                    .map(|name| (name.to_owned(), grown))
                    .into(),
                machine_cpus: Some(floats[0]),
                checkpoints: vec![(floats[2], floats[3])],
                ..CountersSummary::default()
            });
            if let Some(payment) = summary.transactions.get_mut("payment") {
                payment.completed = counts[2];
                payment.response_ms.p90 = floats[3];
            }
        });
        let path = place.path().join(file::SERIES);
        let mut series = fs::read_to_string(&path).unwrap();
        let mut seconds = seconds;
        seconds.sort_unstable();
        for second in seconds.into_iter().filter(|second| *second > 4) {
            let [mean, p50, p90, p99, max] = times;
            let completed = counts[3];
            series.push_str(&format!(
                "{second},measurement,payment,{completed},0,0,0,{mean},{p50},{p90},{p99},{max}\n"
            ));
        }
        fs::write(&path, series).unwrap();
        let mut moments = times;
        moments.sort_unstable_by(f64::total_cmp);
        let rows = moments.iter().zip(times).map(|(at, value)| format!("{at},{value},{value}\n"));
        let rows = format!("at_s,log_bytes,machine_cpu_s\n{}", rows.collect::<String>());
        fs::write(place.path().join(file::COUNTERS), rows).unwrap();
        prop_assert!(Record::open(place.path()).is_ok());
        reported(place.path());
    }
}
