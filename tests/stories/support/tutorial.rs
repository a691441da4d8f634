//! The commands of the documentation, as its reader types them.

use std::fs;
use std::path::Path;

/// The commands in a page's blocks of code: the words of each after `graymark`, and the paths of the JSON that it hands
/// to `jq`. A scale or a duration is shortened: TUTORIAL_DURATION and TUTORIAL_SCALE set others than 1 s and 1.
pub fn commands(page: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page)).unwrap();
    let text = text.replace("\\\n", " ").replace("|\n", "| ");
    let blocks = text.split("\n```").skip(1).step_by(2);
    blocks.flat_map(str::lines).filter(|line| line.starts_with("graymark ")).map(command).collect()
}

fn command(line: &str) -> (Vec<String>, Vec<String>) {
    let line = line.split_once(" #").map_or(line, |(command, _)| command);
    let (typed, piped) = line.split_once('|').unwrap_or((line, ""));
    let mut words: Vec<String> = typed.split_whitespace().skip(1).map(str::to_owned).collect();
    for (option, variable, short) in [("--duration", "TUTORIAL_DURATION", "1s"), ("-w", "TUTORIAL_SCALE", "1")] {
        if words[0] == "bench"
            && let Some(at) = words.iter().position(|word| word == option)
        {
            words[at + 1] = std::env::var(variable).unwrap_or_else(|_| short.to_owned());
        }
    }
    let paths = piped.split(['\'', ',', ' ']).filter_map(|path| path.strip_prefix('.'));
    (words, paths.map(|path| format!("/{}", path.replace('.', "/"))).collect())
}

/// What stands between backticks in the last columns of a page's tables.
pub fn right_columns(page: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page)).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.rsplit_once(" | "));
    rows.flat_map(|(_, last)| last.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}
