//! Tests that the commands in the documentation are valid.

use std::fs;
use std::path::{Path, PathBuf};

use clap::FromArgMatches;

use super::{Cli, command};

/// All Markdown pages below a directory.
fn pages(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Splits a line into words like a shell, up to a comment, a pipe, a redirection or the next command.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let ends = |word: &Option<String>, c: char| word.is_none() && matches!(c, '#' | '|' | '>' | '&' | ';' | '<');
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"' | '(') => {
                quote = Some(if c == '(' { ')' } else { c });
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, c) if ends(&word, c) => break,
            // A command substitution is one word.
            (Some(')'), ' ') => word.get_or_insert_default().push('-'),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The commands in the code blocks of a page, one line each.
fn commands(page: &str) -> Vec<String> {
    let blocks = page.split("\n```").skip(1).step_by(2);
    let block = |block: &str| {
        let lines = block.split_once('\n').map_or("", |(_, lines)| lines).replace("\\\n", " ");
        lines
            .lines()
            .filter(|line| !line.contains("graymark = "))
            .filter_map(|line| line.find("graymark ").map(|at| (at, line)))
            .filter_map(command_in)
            .collect()
    };
    blocks.flat_map(|text| -> Vec<String> { block(text) }).collect()
}

/// The command in a line, if only a prompt or environment variables precede it.
fn command_in((at, line): (usize, &str)) -> Option<String> {
    let before = line[..at].trim();
    let begins =
        before.is_empty() || before == "$" || before.split(' ').all(|word| word.contains('=') && !word.contains('"'));
    begins.then(|| line[at..].to_owned())
}

#[test]
fn every_command_in_the_documentation_is_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    pages(&root.join("docs"), &mut found);
    let (mut tried, mut wrong) = (0, Vec::new());
    for page in found {
        for line in commands(&fs::read_to_string(&page).unwrap()) {
            tried += 1;
            let parsed = command().try_get_matches_from(words(&line));
            let parsed = parsed.and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches).map(|_| ()));
            let shown = page.strip_prefix(root).unwrap().display();
            match parsed {
                Err(error) if error.use_stderr() => wrong.push(format!("{shown}: {line}\n{error}")),
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 150, "{tried} commands");
    assert!(command().try_get_matches_from(words("graymark bench --no-such-option")).is_err());
}
