//! The engines in a table.

use super::table;
use crate::result::Recorded;
use crate::result::engines::Listed;

/// The list as text: the engines and how far they were tested, then the programs found on this machine.
pub fn text(all: &[Listed]) -> String {
    let mut rows =
        vec![["engine", "URL", "transactions by", "load", "how far it was tested"].map(str::to_owned).to_vec()];
    rows.extend(all.iter().map(|one| {
        let via: Vec<String> = one.via.iter().map(Recorded::name).collect();
        vec![one.engine.clone(), one.url.clone(), via.join(", "), one.load.clone(), one.run.clone()]
    }));
    let mut text = table::words(&rows);
    text.push_str("\nOn this machine:\n");
    let mut lines: Vec<String> = Vec::new();
    for one in all {
        let found = one.found.iter().map(|found| {
            let name = if found.name.is_empty() { &one.engine } else { &found.name };
            let starts = found.private.as_ref().or(one.private.as_ref());
            let starts = starts.map(|url| format!(", {url} starts it")).unwrap_or_default();
            let can = if found.can.is_empty() { String::new() } else { format!(": {}", found.can) };
            format!("{name} {} in {}{starts}{can}", found.version, found.place)
        });
        let missing = (!one.missing.is_empty()).then(|| format!("{}: {}", one.engine, one.missing));
        // Dialects of the same server share their programs.
        let usual = !one.url.contains("?dialect=");
        for line in found.chain(missing).filter(|_| usual) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    for line in lines {
        text.push_str(&format!("  {line}\n"));
    }
    text
}
