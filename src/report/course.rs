//! The course of a run: peaks, dips and blackouts, and figures from the counters of database, system and client.

use serde::Serialize;

use super::alarms::busy;
use super::format::{Line, bytes, count, plain, plural, rate, seconds, significant};
use crate::measure::counters::Counter;
use crate::measure::counters_summary::CountersSummary;
use crate::measure::dips::Dip;
use crate::measure::pages::{Hits, PagesSummary};
use crate::measure::strangers::Strangers;
use crate::result::summary::{Recovery, Summary};

/// Number of dips that are listed: the longest ones.
const MAX_DIPS: usize = 12;

/// The course of a run.
#[derive(Debug, Serialize)]
pub struct Course {
    /// Throughput, CPU, log, I/O.
    pub lines: Vec<Line>,
    /// The longest dips, in the order of time: start in seconds since the run's start, length and blackout in seconds,
    /// percent of the level that was lost, and the checkpoint.
    pub dips: Vec<[String; 5]>,
    /// Counters that are not available, and why.
    pub left_out: Vec<String>,
}

/// The course of a run; `None` if it was not recorded.
pub(crate) fn of(summary: &Summary) -> Option<Course> {
    let measured =
        summary.interval_s > 0.0 && (summary.peaks.is_some() || summary.dips.is_some() || summary.counters.is_some());
    if !measured {
        return None;
    }
    let mut lines = Vec::new();
    if let Some(peaks) = &summary.peaks {
        let ten = peaks
            .ten_seconds
            .map(|peak| format!(", {} a second in the best ten seconds", rate(peak)))
            .unwrap_or_default();
        let average = rate(summary.transactions_per_second);
        lines.push((
            "Throughput",
            format!("{average} transactions per second; {} in the best second{ten}", rate(peaks.one_second)),
        ));
    }
    if let Some(counters) = &summary.counters {
        lines.extend(counted(counters));
    }
    lines.extend(
        summary.strangers.as_ref().and_then(|strangers| Some(("Others", others(strangers, summary.interval_s)?))),
    );
    if let Some(dips) = &summary.dips {
        lines.push(("Dips", in_a_sentence(dips)));
    }
    lines.extend(summary.recovery.as_ref().map(|recovery| ("Recovery", recovered(recovery))));
    let left_out = summary.counters.iter().flat_map(|counters| &counters.notes).map(|note| plain(note)).collect();
    Some(Course { lines, dips: dip_rows(summary.dips.as_deref().unwrap_or_default()), left_out })
}

/// How long the recovery of a killed server took, and the time since its last checkpoint.
fn recovered(recovery: &Recovery) -> String {
    let took = seconds(recovery.seconds);
    let log = match recovery.since_checkpoint_s {
        Some(length) => format!("{} after the last observed checkpoint", seconds(length)),
        None => "no checkpoint was observed in the run".to_owned(),
    };
    format!("{took} from SIGKILL at the run's end until the server accepted connections, its start included; {log}")
}

fn counted(counters: &CountersSummary) -> Vec<Line> {
    let each = |counter| counters.grown(counter).map(|grown| grown.per_second);
    let all = |counter| counters.grown(counter).map(|grown| grown.total);
    let percent = |what: &str, share: Option<f64>| share.map(|share| format!("{what} {} %", significant(share)));
    let size = |figure: f64| bytes(figure as u64);
    let pair = |reads, writes, read_bytes, write_bytes| {
        let one = |number, volume, done: &str| {
            Some(format!(
                "{} {done}{}",
                rate(each(number)?),
                each(volume).map(|volume| format!(" ({})", size(volume))).unwrap_or_default()
            ))
        };
        join(&[one(reads, read_bytes, "read"), one(writes, write_bytes, "written")], " and ")
            .map(|text| format!("{text} a second"))
    };
    let of = counters.machine_cpus.map(|cpus| format!(" (of {})", plural(cpus.round() as u64, "CPU", "CPUs")));
    let cpu = [
        percent("client", counters.client_cpu_percent),
        percent("server", counters.server_cpu_percent),
        percent("machine in total", counters.machine_busy_percent),
        percent("waiting for a disk", counters.machine_iowait_percent),
        percent("used by other virtual machines", counters.machine_steal_percent),
    ];
    let modes = |what: &str, all: Option<f64>, user: Option<f64>| {
        let (all, user) = all.zip(user)?;
        Some(format!("{what} {} + {} %", significant(user), significant((all - user).max(0.0))))
    };
    let modes = [
        modes("client", counters.client_cpu_percent, counters.client_user_percent),
        modes("server", counters.server_cpu_percent, counters.server_user_percent),
        modes("machine", counters.machine_busy_percent, counters.machine_user_percent),
    ];
    let commits =
        each(Counter::Commits).map(|commits| format!("{} a second by the database's own count", rate(commits)));
    let log = [
        each(Counter::LogFlushes).map(|flushes| format!("{} flushes a second", rate(flushes))),
        counters.transactions_per_log_flush.map(|number| format!("{} transactions a flush", significant(number))),
        counters.log_bytes_per_transaction.map(|figure| format!("{} a transaction", size(figure))),
        each(Counter::LogBytes).map(|volume| format!("{} a second", size(volume))),
    ];
    let blocks = pair(Counter::BlockReads, Counter::BlockWrites, Counter::BlockReadBytes, Counter::BlockWriteBytes);
    let buffers = counters.pages.as_ref().and_then(hit_rates);
    let page_cache = counters.page_cache_percent.map(|percent| {
        format!("answered {} % of the bytes that were not in the database's own buffers", significant(percent))
    });
    let processes = {
        let one = |counter, done: &str| each(counter).map(|volume| format!("{} {done}", size(volume)));
        join(
            &[
                one(Counter::ServerReadBytes, "read from storage"),
                one(Counter::ServerWrittenBytes, "passed to the system for writing"),
            ],
            " and ",
        )
        .map(|text| format!("{text} a second"))
    };
    let device =
        pair(Counter::DeviceReads, Counter::DeviceWrites, Counter::DeviceReadBytes, Counter::DeviceWrittenBytes);
    let times = counters.device.as_ref().and_then(|device| {
        let ms = |what: &str, ms: Option<f64>| ms.map(|ms| format!("{what} {} ms", significant(ms)));
        let flushes = each(Counter::DeviceFlushes).map(|flushes| format!("{} flushes a second", rate(flushes)));
        join(
            &[
                ms("a read", device.read_ms),
                ms("a write", device.write_ms),
                ms("a flush", device.flush_ms),
                flushes,
                device.queue_depth.map(|depth| format!("queue of {}", significant(depth))),
                device.busy_percent.map(|share| format!("busy {} % of the time", significant(share))),
            ],
            ", ",
        )
    });
    let checkpoints = all(Counter::Checkpoints).map(|number| {
        let written = all(Counter::CheckpointBlocks)
            .map(|blocks| format!(", {} blocks written", count(blocks as u64)))
            .unwrap_or_default();
        format!("{} in the interval by the database's own count{written}", count(number as u64))
    });
    let quota = counters.pages.as_ref().and_then(|pages| pages.cpu_quota);
    let quota = quota.and_then(|quota| {
        Some(format!(
            "the server may use {} CPUs' time: it used up its quota and was throttled in {} of {} periods of 100 ms",
            quota.cpus,
            count(quota.throttled_periods?),
            count(quota.periods?)
        ))
    });
    let lines = [
        ("CPU", join(&cpu, ", ").map(|text| text + &of.unwrap_or_default())),
        ("User + system", join(&modes, ", ")),
        ("CPU quota", quota),
        ("Commits", commits),
        ("Log", join(&log, ", ")),
        ("Buffers", buffers),
        ("Page cache", page_cache),
        ("Blocks", blocks),
        ("Processes", processes),
        ("Device", device),
        ("Device times", times),
        ("Checkpoints", checkpoints),
    ];
    lines.into_iter().filter_map(|(label, text)| Some((label, text?))).collect()
}

/// Resource usage of other processes.
fn others(strangers: &Strangers, interval_s: f64) -> Option<String> {
    let percent = |what: &str, share: Option<f64>| share.map(|share| format!("{what} {} %", significant(share)));
    let shares = join(
        &[
            percent("other processes", strangers.cpu),
            percent("the kernel", strangers.kernel),
            percent("other virtual machines", strangers.steal),
        ],
        ", ",
    )
    .map(|shares| format!("{shares} of the machine's CPU"));
    let device = percent("reads of other processes at least", strangers.device)
        .map(|share| format!("{share} of the device's time"));
    let busiest = strangers.processes.iter().filter(|process| process.cpu_s > 0.005 * interval_s).take(3);
    let named: Vec<String> = busiest.map(|process| busy(process, interval_s)).collect();
    let named = (!named.is_empty() && strangers.cpu.is_some()).then(|| named.join(", "));
    join(&[shares, device, named], "; ")
}

/// Hit rates of the database's buffers.
fn hit_rates(pages: &PagesSummary) -> Option<String> {
    let one = |what: &str, hits: Option<Hits>| {
        let hits = hits?;
        Some(format!("{what} {:.2} % of {}", hits.hit_percent?, count(hits.logical)))
    };
    let found = join(&[one("data", pages.data), one("index", pages.index), one("overall", pages.overall)], ", ")?;
    let of = |size: Option<u64>, what: &str| size.map(|size| format!("{what} {}", bytes(size)));
    let sizes = join(&[of(pages.buffer_bytes, "buffers of"), of(pages.database_bytes, "a database of")], ", ");
    Some(format!("hit rates: {found} page reads{}", sizes.map(|sizes| format!("; {sizes}")).unwrap_or_default()))
}

/// Joins the parts that exist; `None` if there are none.
fn join(parts: &[Option<String>], with: &str) -> Option<String> {
    let there: Vec<&str> = parts.iter().filter_map(|part| part.as_deref()).collect();
    (!there.is_empty()).then(|| there.join(with))
}

fn in_a_sentence(dips: &[Dip]) -> String {
    let black = dips.iter().filter(|dip| dip.blackout_s > 0.0).count() as u64;
    let tied = dips.iter().filter(|dip| dip.checkpoint_s.is_some()).count() as u64;
    let all: f64 = dips.iter().map(|dip| dip.length_s).sum();
    match dips.len() as u64 {
        0 => "none: throughput was never below half of its level for 2 s".to_owned(),
        number => format!(
            "{} below half of the level, {} in all; {} among them; {} while a checkpoint was at work",
            plural(number, "dip", "dips"),
            seconds(all),
            plural(black, "blackout", "blackouts"),
            count(tied)
        ),
    }
}

fn dip_rows(dips: &[Dip]) -> Vec<[String; 5]> {
    let mut longest: Vec<&Dip> = dips.iter().collect();
    longest.sort_by(|one, other| other.length_s.total_cmp(&one.length_s));
    longest.truncate(MAX_DIPS);
    longest.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
    let row = |dip: &Dip| {
        [
            format!("{:.0}", dip.start_s),
            format!("{:.0}", dip.length_s),
            format!("{:.0}", dip.blackout_s),
            format!("{:.0} %", 100.0 * dip.depth),
            dip.checkpoint_s.map_or("none".to_owned(), |start| format!("begun at {start:.1} s")),
        ]
    };
    longest.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::counters_summary::Grown;

    #[test]
    fn only_known_figures_are_shown() {
        let grown = |total: f64| Grown { total, seconds: 10.0, per_second: total / 10.0 };
        let counters = CountersSummary {
            grown: [("log_flushes".to_owned(), grown(12_340.0)), ("device_writes".to_owned(), grown(70.0))].into(),
            transactions_per_log_flush: Some(2.5),
            client_cpu_percent: Some(12.34),
            machine_cpus: Some(1.98),
            ..CountersSummary::default()
        };
        let expected = [
            ("CPU", "client 12.3 % (of 2 CPUs)"),
            ("Log", "1,234 flushes a second, 2.50 transactions a flush"),
            ("Device", "7.00 written a second"),
        ];
        assert_eq!(counted(&counters), expected.map(|(label, text)| (label, text.to_owned())));
        assert_eq!(counted(&CountersSummary::default()), []);
    }

    #[test]
    fn the_longest_dips_are_listed_in_order_of_time() {
        let dip = |number: u32| Dip {
            start_s: f64::from(10 * number),
            length_s: f64::from(2 + number % 3),
            depth: 0.8,
            blackout_s: f64::from(number % 2),
            checkpoint_s: (number == 1).then_some(9.5),
        };
        let dips: Vec<Dip> = (1..=15).map(dip).collect();
        let rows = dip_rows(&dips);
        assert_eq!(rows.len(), 12);
        assert_eq!(rows[0], ["10", "3", "1", "80 %", "begun at 9.5 s"]);
        let starts: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(starts, ["10", "20", "30", "40", "50", "60", "70", "80", "100", "110", "130", "140"]);
        let sentence = in_a_sentence(&dips);
        assert_eq!(
            sentence,
            "15 dips below half of the level, 45 s in all; 8 blackouts among them; 1 while a checkpoint was at work"
        );
        assert!(in_a_sentence(&[]).starts_with("none"));
    }
}
