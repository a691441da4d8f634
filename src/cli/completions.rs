//! `graymark completions`: shell completions, generated from the command line definitions.

use clap::{Arg, Args, Command, ValueEnum, ValueHint};
use clap_complete::aot;

use super::{Ended, help};
use crate::engine::Error;

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Runs the command.
pub(super) fn completions(args: &CompletionsArgs) -> Result<Ended, Error> {
    let shell = match args.shell {
        Shell::Bash => aot::Shell::Bash,
        Shell::Zsh => aot::Shell::Zsh,
        Shell::Fish => aot::Shell::Fish,
    };
    let mut script = Vec::new();
    aot::generate(shell, &mut with_hints(help::command()), "graymark", &mut script);
    super::say::script(&script);
    Ok(Ended::Held)
}

/// Completes paths only where an option or argument takes one; shells do so everywhere otherwise.
fn with_hints(command: Command) -> Command {
    let hinted = |arg: Arg| if arg.get_action().takes_values() { with_hint(arg) } else { arg };
    command.mut_args(hinted).mut_subcommands(with_hints)
}

fn with_hint(arg: Arg) -> Arg {
    let takes = arg.get_value_names().and_then(|names| names.first()).map(|name| name.as_str());
    let hint = match takes {
        Some("DIR") => ValueHint::DirPath,
        Some("FILE" | "SCRIPT") => ValueHint::FilePath,
        Some("RECORD" | "RECORD|DIR") => ValueHint::AnyPath,
        Some("PROGRAM") => ValueHint::CommandName,
        _ => ValueHint::Other,
    };
    arg.value_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_completed_only_where_they_are_taken() {
        let command = with_hints(help::command());
        let hint = |command_name: &str, long: &str| {
            let command = command.find_subcommand(command_name).unwrap();
            let mut args = command.get_arguments();
            args.find(|arg| arg.get_long() == Some(long)).unwrap().get_value_hint()
        };
        assert_eq!(hint("run", "db"), ValueHint::Other);
        assert_eq!(hint("run", "pace"), ValueHint::Other);
        assert_eq!(hint("run", "plan"), ValueHint::FilePath);
        assert_eq!(hint("run", "out"), ValueHint::DirPath);
        let report = command.find_subcommand("report").unwrap();
        assert_eq!(report.get_positionals().next().unwrap().get_value_hint(), ValueHint::AnyPath);
    }
}
