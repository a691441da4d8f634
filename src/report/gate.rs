//! A gate's decision for systems that run tests: JUnit's XML, and Markdown for a page or a comment.

use super::format::{plain, significant};
use super::table;
use crate::study::compare::Comparison;
use crate::study::compare::gate::{Decision, Gate};

/// One test case: passed, failed, or, if it could not be decided, in error.
pub fn junit(gate: &Gate) -> String {
    let name = format!("throughput is not lower by {} % or more", gate.max_slowdown_percent);
    let (failures, errors) = match gate.decision {
        Decision::Passed => (0, 0),
        Decision::Failed => (1, 0),
        Decision::Inconclusive => (0, 1),
    };
    let message = escaped(&gate.sentence);
    let outcome = match gate.decision {
        Decision::Passed => format!("<system-out>{message}</system-out>"),
        Decision::Failed => format!("<failure message=\"{message}\"/>"),
        Decision::Inconclusive => format!("<error message=\"{message}\"/>"),
    };
    let counts = format!("tests=\"1\" failures=\"{failures}\" errors=\"{errors}\"");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"graymark\" {counts}>\n    \
         <testcase classname=\"graymark\" name=\"{}\">{outcome}</testcase>\n  </testsuite>\n</testsuites>\n",
        escaped(&name)
    )
}

/// The decision, the throughput and the percentiles of each type.
pub fn markdown(gate: &Gate, comparison: &Comparison) -> String {
    let change = |a: f64, b: f64| if a > 0.0 { format!("{:+.1} %", 100.0 * (b / a - 1.0)) } else { "-".to_owned() };
    let row = |name: String, a: f64, b: f64| vec![name, significant(a), significant(b), change(a, b)];
    let mut rows = vec![["", "A", "B", "change"].map(str::to_owned).to_vec()];
    let (a, b) = (comparison.a.transactions_per_second, comparison.b.transactions_per_second);
    rows.push(row("transactions/s".to_owned(), a, b));
    for (name, responses) in &comparison.responses {
        let [Some(a), Some(b)] = responses else { continue };
        for (percentile, a, b) in [("p50", a.p50, b.p50), ("p90", a.p90, b.p90), ("p99", a.p99, b.p99)] {
            rows.push(row(format!("{} {percentile}, ms", plain(name)), a, b));
        }
    }
    let warnings: Vec<String> = comparison.warnings.iter().map(|warning| format!("- {}\n", plain(warning))).collect();
    let warnings = if warnings.is_empty() { String::new() } else { format!("\n{}", warnings.concat()) };
    format!("**{}**\n\n{}{warnings}", plain(&gate.sentence), table::markdown(&rows))
}

/// Text in XML.
fn escaped(text: &str) -> String {
    plain(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
