//! The commands of the documentation, as its reader types them.

use std::fs;
use std::path::Path;

/// The commands in a page's blocks of code: the words of each after `graymark`, and the paths of the JSON that it hands
/// to `jq`. A scale or a duration is shortened: TUTORIAL_DURATION and TUTORIAL_SCALE set others than 5 s and 1.
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
    if words[0] == "bench" {
        words = shortened(&words, &[("--duration", "TUTORIAL_DURATION", "5s"), ("-w", "TUTORIAL_SCALE", "1")]);
    }
    let paths = piped.split(['\'', ',', ' ']).filter_map(|path| path.strip_prefix('.'));
    (words, paths.map(|path| format!("/{}", path.replace('.', "/"))).collect())
}

/// The lines of a page's pipelines that a shell runs: what stands behind `run:`, and in the list behind `script:`.
pub fn pipeline_lines(page: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page)).unwrap();
    let line = |line: &str| {
        let line = line.trim_start().trim_start_matches("- ");
        let listed = line.strip_prefix("script: [").and_then(|list| list.strip_suffix(']'));
        line.strip_prefix("run: ").or(listed).map(str::to_owned)
    };
    text.split("\n```").skip(1).step_by(2).flat_map(str::lines).filter_map(line).collect()
}

/// A command with the values of some options shortened, unless the variable of an option says which one to take.
pub fn shortened(words: &[String], values: &[(&str, &str, &str)]) -> Vec<String> {
    let mut words = words.to_vec();
    for (option, variable, short) in values {
        if let Some(at) = words.iter().position(|word| word == option) {
            words[at + 1] = std::env::var(variable).unwrap_or_else(|_| (*short).to_owned());
        }
    }
    words
}

/// What stands between backticks in the last columns of a page's tables.
pub fn right_columns(page: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page)).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.rsplit_once(" | "));
    rows.flat_map(|(_, last)| last.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}
