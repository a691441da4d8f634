//! `graymark man`: manual pages, generated from the command line definitions.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{Resettable, StyledStr};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::{Ended, help};
use crate::engine::Error;
use crate::link_safe;

#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// Target directory, created if it does not exist. Pages of the same names are replaced
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Runs the command.
pub(super) fn man(args: &ManArgs) -> Result<Ended, Error> {
    let failed = |error: io::Error| {
        Error::Output(format!(
            "cannot write manual pages to {}: {error}; name another directory",
            args.directory.display()
        ))
    };
    let directory = link_safe::make_directory(&args.directory).map_err(failed)?;
    let mut command = help::command().disable_help_subcommand(true);
    command.build();
    pages(&command, &directory).map_err(failed)?;
    tell!("man: the pages are in {}", args.directory.display());
    Ok(Ended::Held)
}

/// Writes the pages of a command and its subcommands.
fn pages(command: &clap::Command, directory: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        pages(below, directory)?;
    }
    let (name, page) = page(command)?;
    link_safe::write(&directory.join(name), page.as_bytes())
}

/// The name of a command's page, and the page.
fn page(command: &clap::Command) -> io::Result<(String, String)> {
    let none = || Resettable::<StyledStr>::Reset;
    let man = Man::new(command.clone().after_help(none()).after_long_help(none()));
    let mut page = Vec::new();
    man.render(&mut page)?;
    let page = String::from_utf8(page).map_err(io::Error::other)?;
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    let after = after.map(|text| after_help(&text.to_string())).unwrap_or_default();
    let end = page.rfind(".SH VERSION").unwrap_or(page.len());
    let (before, version) = page.split_at(end);
    Ok((man.get_filename(), format!("{before}{after}{version}")))
}

/// The text after the help as sections: paragraphs, which may be filled, and examples, whose lines may not.
fn after_help(text: &str) -> String {
    let (mut notes, mut examples) = (Vec::new(), Vec::new());
    for block in text.split("\n\n") {
        match block.strip_prefix("Examples:\n").or_else(|| block.strip_prefix("Example: ")) {
            Some(lines) => examples.extend(lines.lines().map(|line| line.strip_prefix("  ").unwrap_or(line))),
            None => notes.push(block),
        }
    }
    let mut page = Roff::default();
    if !notes.is_empty() {
        page.control("SH", ["NOTES"]);
        for (number, note) in notes.iter().enumerate() {
            if number > 0 {
                page.control("PP", []);
            }
            page.text([roman(note.replace('\n', " "))]);
        }
    }
    if !examples.is_empty() {
        page.control("SH", ["EXAMPLES"]);
        page.control("nf", []);
        for line in examples {
            page.text([roman(line)]);
        }
        page.control("fi", []);
    }
    // The preamble is at the beginning of the page.
    page.render().split_once(".SH ").map(|(_, sections)| format!(".SH {sections}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_keep_their_lines() {
        let mut command = help::command();
        command.build();
        let (name, text) = page(&command).unwrap();
        assert_eq!(name, "graymark.1");
        let (_, examples) = text.split_once("\n.SH EXAMPLES\n.nf\n").unwrap_or_else(|| panic!("{text}"));
        let (examples, after) = examples.split_once("\n.fi\n").unwrap();
        assert!(examples.lines().all(|line| line.starts_with("graymark ")), "{examples}");
        assert!(after.contains(".SH VERSION") && !text.contains("EXTRA"), "{text}");
        assert!(text.contains(".SH NOTES\nExit codes"), "{text}");
        let run = page(command.find_subcommand("bench").unwrap()).unwrap().1;
        assert!(run.contains(".SH EXAMPLES\n.nf\ngraymark bench"), "{run}");
    }
}
