//! Adds each command's defaults to its help, from the values that it uses, and groups the commands in the help of all.

use std::io;

use clap::CommandFactory;

use super::{Cli, say};
use crate::plan::Defaults;

/// Commands with defaults: their path below `graymark`, and the defaults. A command whose defaults
/// depend on an option has one entry for each of its values.
const COMMANDS: [(&[&str], &str, Defaults); 14] = [
    (&["bench"], "", Defaults::BENCH),
    (&["chaos"], "", Defaults::CHAOS),
    (&["run"], "", Defaults::RUN),
    (&["load"], "", Defaults::NO_RUN),
    (&["check"], "", Defaults::NO_RUN),
    (&["acid"], "", Defaults::ACID),
    (&["restore"], "", Defaults::NO_RUN),
    (&["scan"], "", Defaults::NO_RUN),
    (&["drop"], "", Defaults::NO_RUN),
    (&["sweep", "load"], "", Defaults::SWEEP_LOAD),
    (&["sweep", "warehouses"], "", Defaults::SWEEP_WAREHOUSES),
    (&["sweep", "max"], "--of warehouses", Defaults::SWEEP_MAX_WAREHOUSES),
    (&["sweep", "max"], "--of clients", Defaults::SWEEP_MAX_CLIENTS),
    (&["sweep", "grid"], "", Defaults::GRID),
];

/// The commands by what they are for.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Run and check", &["bench", "run", "check", "acid", "chaos"]),
    ("Compare", &["compare", "ab", "duet", "gate", "trend"]),
    ("Understand", &["report", "list", "explain", "why", "tune"]),
    ("Load and data", &["load", "restore", "scan", "drop", "rows", "screens"]),
    ("Sizing", &["sweep", "predict", "reproduce"]),
    ("Live", &["watch"]),
    ("Tools", &["engines", "doctor", "completions", "man"]),
];

/// Maximum width of the list of commands, as of the rest of the help.
const WIDTH: usize = 100;
/// Width of the column of names.
const NAMES: usize = 15;

/// The command line, with all defaults in its help.
pub fn command() -> clap::Command {
    let cli = COMMANDS.iter().fold(Cli::command(), |cli, (path, _, _)| with_defaults(cli, path, path));
    let width = say::columns(&io::stdout()).map_or(WIDTH, |columns| columns.min(WIDTH));
    let groups = groups(&cli, width);
    // Clap itself has headings for options only.
    cli.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    ))
}

/// The commands under their headings, with their descriptions.
fn groups(cli: &clap::Command, width: usize) -> String {
    let (heading, literal) = (cli.get_styles().get_header(), cli.get_styles().get_literal());
    let mut text = String::new();
    for (name, commands) in GROUPS {
        text.push_str(&format!("{heading}{name}:{heading:#}\n"));
        for command in commands.iter().filter_map(|name| cli.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let name = command.get_name();
            let pad = NAMES.saturating_sub(2 + name.len());
            text.push_str(&format!("  {literal}{name}{literal:#}{:pad$}", ""));
            let mut column = NAMES;
            for (number, word) in about.split_whitespace().enumerate() {
                let length = word.chars().count();
                if number > 0 && column + 1 + length > width {
                    text.push_str(&format!("\n{:NAMES$}", ""));
                    column = NAMES;
                } else if number > 0 {
                    text.push(' ');
                    column += 1;
                }
                text.push_str(word);
                column += length;
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

/// Adds the defaults of the command at `path` to the one that `rest` leads to.
fn with_defaults(command: clap::Command, path: &[&str], rest: &[&str]) -> clap::Command {
    if let [name, rest @ ..] = rest {
        return command.mut_subcommand(name, |command| with_defaults(command, path, rest));
    }
    command.mut_args(|arg| {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        match text(path, arg.get_id().as_str()).map(|text| format!(" [default: {text}]")) {
            // A command with two entries comes here twice.
            Some(default) if !help.ends_with(&default) => arg.help(help + &default),
            _ => arg,
        }
    })
}

/// The default of an option of the command at `path`.
fn text(path: &[&str], option: &str) -> Option<String> {
    let entries = COMMANDS.iter().filter(|(of, _, _)| *of == path);
    let texts: Vec<(&str, String)> =
        entries.filter_map(|(_, when, defaults)| Some((*when, defaults.text(option)?))).collect();
    match &texts[..] {
        [] => None,
        [(_, text), others @ ..] if others.iter().all(|(_, other)| other == text) => Some(text.clone()),
        all => Some(all.iter().map(|(when, text)| format!("{text} with {when}")).collect::<Vec<_>>().join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_group() {
        let cli = command();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, commands)| *commands).copied().collect();
        let mut all: Vec<&str> =
            cli.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn the_help_lists_commands_under_headings() {
        let help = command().render_long_help().to_string();
        assert!(help.contains("\n\nCompare:\n  compare      Compare two records"), "{help}");
        assert!(
            help.contains("\n\nOptions:\n") && help.contains("--verbose") && help.contains("Exit codes:"),
            "{help}"
        );
        assert!(help.lines().filter(|line| !line.contains("graymark ")).all(|line| line.chars().count() <= 120));
    }
}
