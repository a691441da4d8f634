//! The decision of a gate for CI systems: JUnit XML, and Markdown for a page or a comment.

use super::format::plain;
use super::{comparison, table};
use crate::study::compare::Comparison;
use crate::study::compare::gate::{Decision, Gate};

/// One test case: passed, failed, or an error if the comparison is inconclusive.
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
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  \
         <testsuite name=\"graymark\" {counts}>\n    \
         <testcase classname=\"graymark\" name=\"{}\">{outcome}</testcase>\n  </testsuite>\n</testsuites>\n",
        escaped(&name)
    )
}

/// The decision, and the comparison as a table.
pub fn markdown(gate: &Gate, comparison: &Comparison) -> String {
    let warnings: Vec<String> = comparison.warnings.iter().map(|warning| format!("- {}\n", plain(warning))).collect();
    let warnings = if warnings.is_empty() { String::new() } else { format!("\n{}", warnings.concat()) };
    format!("**{}**\n\n{}{warnings}", plain(&gate.sentence), table::markdown(&comparison::rows(comparison)))
}

/// Escapes text for XML.
fn escaped(text: &str) -> String {
    plain(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
