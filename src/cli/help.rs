//! The command line as it parses and shows itself: each command's defaults are told from the values that it uses.

use clap::CommandFactory;

use super::Cli;
use crate::plan::Defaults;

/// Commands whose defaults are told: where they stand below `graymark`, and what they take. A command whose defaults
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

/// The command line, with all defaults in its help.
pub fn command() -> clap::Command {
    COMMANDS.iter().fold(Cli::command(), |cli, (path, _, _)| told(cli, path, path))
}

/// Adds the defaults of the command at `path` to the one that `rest` leads to.
fn told(command: clap::Command, path: &[&str], rest: &[&str]) -> clap::Command {
    if let [name, rest @ ..] = rest {
        return command.mut_subcommand(name, |command| told(command, path, rest));
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
