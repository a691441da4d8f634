//! Records are read back as they were written, and reading never panics, whatever a file contains.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tempfile::TempDir;

use crate::measure::Interval;
use crate::measure::counters::{Counter, Sample};
use crate::record::*;
use crate::result::format::*;
use crate::result::{Event, Phase};

const TYPES: [&str; 2] = ["new_order", "payment"];

/// A second in which each type completed `completed` transactions of `us` microseconds and more.
fn second(second: u32, phase: Phase, completed: u64, us: u64) -> Event {
    let mut interval = Interval::new(TYPES.len(), 0);
    for (index, measured) in interval.transactions.iter_mut().enumerate() {
        measured.completed = completed;
        measured.rolled_back = completed / 100;
        measured.errors = index as u64;
        measured.retries = 2;
        for transaction in 0..completed {
            measured.response.record(us + 17 * transaction).unwrap();
            measured.service.record(us).unwrap();
        }
    }
    let pacing = interval.pacing();
    for (histogram, us) in [
        (&mut pacing.lateness, us),
        (&mut pacing.queued, 2 * us),
        (&mut pacing.deferred, 3 * us),
        (&mut pacing.headline_think, 4_000 * us),
    ] {
        histogram.record(us).unwrap();
    }
    Event::Second { second, phase, interval: Box::new(interval) }
}

/// Counters at the beginning of a second; the log is unknown in some of them.
fn sample(second: u32) -> Sample {
    let mut sample = Sample { at: f64::from(second) + 0.002, ..Sample::default() };
    sample.counters.set(Counter::ClientCpu, 0.25 * f64::from(second));
    sample.counters.set(Counter::LogBytes, (second % 9 != 4).then_some(1e9 * f64::from(second)));
    sample
}

/// A run of 3 s of ramp-up and 25 s of measurement, in which the 20th second completed nothing.
fn events() -> Vec<Event> {
    let mut events = vec![Event::PhaseBegan { at: 0.0, phase: Phase::RampUp.into() }];
    events.extend((0..3).map(|number| second(number, Phase::RampUp, 10, 90_000)));
    events.push(Event::PhaseBegan { at: 3.0, phase: Phase::Measurement.into() });
    events.extend((3..28).map(|number| {
        second(number, Phase::Measurement, if number == 20 { 0 } else { 100 }, 1_000 + u64::from(number))
    }));
    events.extend((0..=28).map(|second| Event::Sampled(Box::new(sample(second)))));
    events.push(Event::NotCounted { why: "log flushes".into() });
    events.push(Event::SessionLost {
        at: 20.1,
        session: 4,
        why: "server closed\nthe \"connection\"".into(),
        ambiguous: true,
        host: None,
    });
    events.push(Event::SessionRestored { at: 20.9, session: 4, after: 0.8, host: None });
    events.push(Event::TransactionFailed { at: 21.0, transaction: TYPES[1].to_owned(), why: "no such row".into() });
    events.push(Event::RunEnded { at: 28.0, interrupted: false });
    events
}

fn write(directory: &Path) -> RecordWriter {
    let mut writer = RecordWriter::create(directory, "graymark run tpcc", "tpcc", &TYPES).unwrap();
    writer.put_text(file::PLAN, "clients = 4\n").unwrap();
    writer.put_json(file::ENVIRONMENT, &environment::of_host(None)).unwrap();
    for event in &events() {
        writer.event(event);
    }
    writer
}

fn complete() -> TempDir {
    let place = TempDir::new().unwrap();
    write(place.path()).finish(Status::Complete).unwrap();
    place
}

#[test]
fn reads_what_it_wrote() {
    let place = complete();
    let record = Record::open(place.path()).unwrap();
    assert_eq!(record.header.status, Status::Complete);
    assert_eq!(record.header.transactions, TYPES);
    assert!(record.header.ended.is_some());
    assert_eq!(record.plan.as_deref(), Some("clients = 4\n"));
    assert_eq!(record.environment, Some(environment::of_host(None)));
    assert!(record.summary.is_none() && record.load.is_none());

    assert_eq!(record.series.len(), 28 * 2);
    let row = &record.series[7];
    assert_eq!((row.second, &row.phase, row.transaction), (3, &Phase::Measurement.into(), 1));
    assert_eq!((row.completed, row.rolled_back, row.errors, row.retries), (100, 1, 1, 2));
    let response = row.response_ms.unwrap();
    assert_eq!(response.max, 2.687);
    assert!((response.p90 - 2.516).abs() <= 0.003 && (response.p50 - 1.836).abs() <= 0.002, "{response:?}");
    assert_eq!(record.series[40].response_ms, None);

    assert_eq!(record.counters, (0..=28).map(sample).collect::<Vec<_>>());

    assert_eq!(record.events.len(), 7);
    assert_eq!(record.events[2], Event::NotCounted { why: "log flushes".into() });
    assert_eq!(
        record.events[5],
        Event::TransactionFailed { at: 21.0, transaction: "payment".into(), why: "no such row".into() }
    );
}

#[test]
fn merged_histograms_are_exactly_those_of_the_interval() {
    let mut all = Interval::new(TYPES.len(), 0);
    for event in events() {
        if let Event::Second { phase: Phase::Measurement, interval, .. } = event {
            all.add(&interval);
        }
    }
    let place = complete();
    let record = Record::open(place.path()).unwrap();
    for (name, measured) in TYPES.iter().zip(&all.transactions) {
        assert_eq!(record.histogram(name, Clock::Response), Some(&measured.response));
        assert_eq!(record.histogram(name, Clock::Service), Some(&measured.service));
    }
    let pacing = all.pacing();
    for (what, histogram) in
        Waiting::ALL.into_iter().zip([&pacing.lateness, &pacing.queued, &pacing.deferred, &pacing.headline_think])
    {
        assert_eq!(record.waiting(what), Some(histogram), "{what:?}");
    }
    let log = fs::read_to_string(place.path().join(file::HISTOGRAMS)).unwrap();
    let starts: Vec<&str> =
        log.lines().filter_map(|line| line.strip_prefix("Tag=payment.service,")?.split(',').next()).collect();
    assert_eq!(starts, ["3.000", "13.000", "23.000"]);
}

#[test]
fn a_killed_run_leaves_what_it_had() {
    let place = TempDir::new().unwrap();
    let writer = write(place.path());
    // As after a kill: the writer is never closed, and a line is half written.
    std::mem::forget(writer);
    let path = place.path().join(file::SERIES);
    let mut series = fs::read_to_string(&path).unwrap();
    series.push_str("28,measurement,new_or");
    fs::write(&path, series).unwrap();
    let path = place.path().join(file::COUNTERS);
    fs::write(&path, fs::read_to_string(&path).unwrap() + "29.001,7.2").unwrap();

    let record = Record::open(place.path()).unwrap();
    assert_eq!(record.header.status, Status::Running);
    assert_eq!(record.series.len(), 56);
    assert_eq!(record.histogram("new_order", Clock::Response).unwrap().len(), 19 * 100);
    assert_eq!(record.events.len(), 7);
    assert_eq!(record.counters.len(), 29);
}

#[test]
fn records_without_counters_are_read() {
    let place = complete();
    fs::remove_file(place.path().join(file::COUNTERS)).unwrap();
    assert_eq!(Record::open(place.path()).unwrap().counters, []);
}

#[test]
fn says_why_a_directory_cannot_take_a_record() {
    let place = complete();
    let create = |path: &Path| RecordWriter::create(path, "", "tpcc", &TYPES).map(|_| ()).unwrap_err().to_string();
    let refused = create(place.path());
    assert!(refused.contains("is not empty; name another directory with --out"), "{refused}");
    let refused = create(&place.path().join(file::SERIES));
    assert!(refused.contains("cannot make the record") && refused.contains("--out"), "{refused}");
    // The kernel allows no files there.
    if Path::new("/proc/self").exists() {
        let refused = create(Path::new("/proc/graymark"));
        assert!(refused.contains("cannot make the record /proc/graymark"), "{refused}");
    }
}

#[test]
fn bounds_the_failures_that_are_written_one_by_one() {
    let place = TempDir::new().unwrap();
    let mut writer = write(place.path());
    for _ in 0..10_004 {
        writer.event(&Event::TransactionFailed { at: 21.0, transaction: TYPES[0].to_owned(), why: String::new() });
    }
    writer.finish(Status::Complete).unwrap();
    let events = Record::open(place.path()).unwrap().events;
    assert_eq!(events.last(), Some(&Event::FailuresLeftOff { transactions: 5 }));
}

#[test]
fn says_what_is_no_record() {
    let place = TempDir::new().unwrap();
    let open = |path: &Path| Record::open(path).unwrap_err().to_string();
    assert!(open(place.path()).contains("is not a record of Graymark"));
    assert!(open(&place.path().join("absent")).contains("is not a record of Graymark"));
    fs::write(place.path().join(file::HEADER), "{\"format\": 2, \"new\": true}").unwrap();
    assert!(open(place.path()).contains("has format 2") && open(place.path()).contains("use a newer Graymark"));
    fs::write(place.path().join(file::HEADER), "{\"format\": 1}").unwrap();
    assert!(open(place.path()).contains("record.json is damaged"));
}

#[test]
fn takes_events_of_later_versions() {
    let later: Event = serde_json::from_str("{\"event\":\"checkpoint_began\",\"at\":1.0}").unwrap();
    assert_eq!(later, Event::Unknown);
}

#[test]
fn a_file_cut_off_anywhere_is_read_or_refused_in_one_line() {
    let place = complete();
    for name in [file::HEADER, file::ENVIRONMENT, file::SERIES, file::COUNTERS, file::HISTOGRAMS, file::EVENTS] {
        let path = place.path().join(name);
        let content = fs::read(&path).unwrap();
        for eighth in 0..8 {
            fs::write(&path, &content[..content.len() * eighth / 8]).unwrap();
            if let Err(error) = Record::open(place.path()) {
                let line = error.to_string();
                assert!(line.contains(name) && !line.contains('\n'), "{line}");
            }
        }
        fs::write(&path, content).unwrap();
    }
    Record::open(place.path()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn arbitrary_bytes_in_a_file_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), which in 0_usize..8) {
        let place = complete();
        let name = [
            file::HEADER,
            file::ENVIRONMENT,
            file::SERIES,
            file::COUNTERS,
            file::HISTOGRAMS,
            file::EVENTS,
            file::SUMMARY,
            file::PLAN,
        ][which];
        fs::write(place.path().join(name), bytes).unwrap();
        if let Err(error) = Record::open(place.path()) {
            let line = error.to_string();
            prop_assert!(line.contains(name) && !line.contains('\n'), "{}", line);
        }
    }

    #[test]
    fn arbitrary_histograms_never_panic(
        counts in prop::collection::vec(any::<u8>(), 0..100),
        digits in 0_u32..5,
        low in (0_u32..64).prop_map(|bits| 1_u64 << bits),
        high in (0_u32..64).prop_map(|bits| u64::MAX >> bits),
        length in prop::option::of(any::<u32>()),
    ) {
        use base64::Engine as _;
        use std::io::Write;
        let mut plain = 0x1c84_9303_u32.to_be_bytes().to_vec();
        plain.extend(length.unwrap_or(counts.len() as u32).to_be_bytes());
        plain.extend(0_u32.to_be_bytes());
        plain.extend(digits.to_be_bytes());
        plain.extend(low.to_be_bytes());
        plain.extend(high.to_be_bytes());
        plain.extend(1_f64.to_be_bytes());
        plain.extend(&counts);
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&plain).unwrap();
        let compressed = encoder.finish().unwrap();
        let mut bytes = 0x1c84_9304_u32.to_be_bytes().to_vec();
        bytes.extend((compressed.len() as u32).to_be_bytes());
        bytes.extend(compressed);
        let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);

        let place = complete();
        let line = format!("Tag=a,0.0,1.0,1.0,{encoded}\n");
        fs::write(place.path().join(file::HISTOGRAMS), line.repeat(2)).unwrap();
        let _ = Record::open(place.path());
    }

    #[test]
    fn arbitrary_rows_never_panic(line in "[0-9a-z_,.\\-+N]{0,60}") {
        let place = complete();
        fs::write(place.path().join(file::SERIES), format!("{}\n{line}\n", SERIES_COLUMNS.join(","))).unwrap();
        let _ = Record::open(place.path());
    }
}
