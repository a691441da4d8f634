//! The engines in a table.

use super::table;
use crate::result::Recorded;
use crate::result::engines::Listed;

/// The list as text: what can be used and how far it was run, then what was found on this machine.
pub fn text(all: &[Listed]) -> String {
    let mut rows = vec![["engine", "URL", "transactions by", "load", "how far it was run"].map(str::to_owned).to_vec()];
    rows.extend(all.iter().map(|one| {
        let via: Vec<String> = one.via.iter().map(Recorded::name).collect();
        vec![one.engine.clone(), one.url.clone(), via.join(", "), one.load.clone(), one.run.clone()]
    }));
    let mut text = table::words(&rows);
    text.push_str("\nOn this machine:\n");
    let mut told: Vec<String> = Vec::new();
    for one in all {
        let starts = one.private.as_ref().map(|url| format!(", {url} starts it")).unwrap_or_default();
        let found =
            one.found.iter().map(|found| format!("{}: {} in {}{starts}", one.engine, found.version, found.place));
        let missing = (!one.missing.is_empty()).then(|| format!("{}: {}", one.engine, one.missing));
        // The dialects of a server share what was found.
        let usual = !one.url.contains("?dialect=");
        for line in found.chain(missing).filter(|_| usual) {
            if !told.contains(&line) {
                told.push(line);
            }
        }
    }
    for line in told {
        text.push_str(&format!("  {line}\n"));
    }
    text
}
