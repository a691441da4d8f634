//! `counters.csv`: one row per sample, with its time and the value of each counter; an empty cell is unknown. Columns
//! are found by name, so later formats may have more of them and earlier ones fewer.

use std::fmt::Write;

use crate::measure::counters::{Counter, Sample};

/// The column with the time, in seconds since the run's start.
const AT: &str = "at_s";

/// The header line.
pub(super) fn head() -> String {
    let names: Vec<&str> = std::iter::once(AT).chain(Counter::ALL.map(Counter::name)).collect();
    names.join(",") + "\n"
}

/// Writes a sample as a line.
pub(super) fn row(sample: &Sample, line: &mut String) {
    let _ = write!(line, "{:.3}", sample.at);
    for counter in Counter::ALL {
        line.push(',');
        if let Some(value) = sample.counters.get(counter) {
            // Clocks have a resolution of a microsecond at best; all other values are integers.
            let _ = write!(line, "{}", (value * 1e6).round() / 1e6);
        }
    }
    line.push('\n');
}

/// Parses the file, or returns what is wrong with it.
pub(super) fn read(text: &str) -> Result<Vec<Sample>, String> {
    let mut lines = text.lines();
    let mut columns = lines.next().unwrap_or_default().split(',');
    if columns.next() != Some(AT) {
        return Err("its first line does not name the columns of counters".to_owned());
    }
    let columns: Vec<Option<Counter>> = columns.map(Counter::named).collect();
    let mut samples: Vec<Sample> = Vec::new();
    for (number, line) in lines.enumerate() {
        let sample = sample(line, &columns).ok_or_else(|| format!("line {} is not a row of counters", number + 2))?;
        if samples.last().is_some_and(|last| last.at > sample.at) {
            return Err(format!("line {} goes back in time", number + 2));
        }
        samples.push(sample);
    }
    Ok(samples)
}

/// Parses a line; `None` if it is not a sample.
pub(super) fn sample(line: &str, columns: &[Option<Counter>]) -> Option<Sample> {
    let number = |cell: &str| cell.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    let mut cells = line.split(',');
    let mut sample = Sample { at: number(cells.next()?)?, ..Sample::default() };
    for counter in columns {
        let cell = cells.next()?;
        if let (Some(counter), false) = (counter, cell.is_empty()) {
            sample.counters.set(*counter, number(cell)?);
        }
    }
    cells.next().is_none().then_some(sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: f64) -> Sample {
        let mut sample = Sample { at, ..Sample::default() };
        sample.counters.set(Counter::ClientCpu, 0.1 + at);
        sample.counters.set(Counter::LogBytes, 1e15 + at);
        sample
    }

    #[test]
    fn samples_are_read_as_they_were_written() {
        let mut text = head();
        let samples = [sample(0.001), sample(1.002)];
        samples.iter().for_each(|sample| row(sample, &mut text));
        assert_eq!(read(&text).unwrap(), samples);
        assert!(text.lines().nth(1).unwrap().starts_with("0.001,0.101,,,"), "{text}");
    }

    #[test]
    fn columns_may_come_and_go() {
        let samples = read("at_s,later,log_bytes\n0.5,7,\n1.5,,8\n").unwrap();
        let log: Vec<Option<f64>> = samples.iter().map(|sample| sample.counters.get(Counter::LogBytes)).collect();
        assert_eq!(log, [None, Some(8.0)]);
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, why) in [
            ("", "first line"),
            ("second,log_bytes\n", "first line"),
            ("at_s,log_bytes\n1\n", "line 2 is not"),
            ("at_s,log_bytes\n1,2\n2,-3\n", "line 3 is not"),
            ("at_s,log_bytes\n1,inf\n", "line 2 is not"),
            ("at_s,log_bytes\n1,2,3\n", "line 2 is not"),
            ("at_s,log_bytes\n2,2\n1,2\n", "line 3 goes back"),
        ] {
            assert!(read(text).unwrap_err().contains(why), "{text}");
        }
    }
}
