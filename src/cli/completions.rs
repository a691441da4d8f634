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
    // What is read as a path is known by its type. A record may also be given by its name, which is text.
    let hint = match (arg.get_value_hint(), takes) {
        (_, Some("DIR")) => ValueHint::DirPath,
        (ValueHint::Unknown, Some("RECORD")) => ValueHint::AnyPath,
        (ValueHint::Unknown, _) => ValueHint::Other,
        (known, _) => known,
    };
    arg.value_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The options and arguments of a command and of those below it, with what is completed for each.
    fn hints(command: &Command, of: &str) -> Vec<(String, ValueHint)> {
        let here = command.get_arguments().filter(|arg| arg.get_action().takes_values());
        let here = here.map(|arg| (format!("{of} {}", arg.get_id()), arg.get_value_hint()));
        let below = command.get_subcommands().flat_map(|below| hints(below, &format!("{of} {}", below.get_name())));
        here.chain(below).collect()
    }

    #[test]
    fn paths_are_completed_only_where_they_are_taken() {
        let (plain, hinted) = (hints(&help::command(), ""), hints(&with_hints(help::command()), ""));
        assert_eq!(plain.len(), hinted.len());
        for ((name, before), (_, after)) in plain.iter().zip(&hinted) {
            let path = matches!(after, ValueHint::AnyPath | ValueHint::DirPath);
            assert!(path || (*before, *after) == (ValueHint::Unknown, ValueHint::Other), "{name}: {after:?}");
        }
        let hint = |name: &str| hinted.iter().find(|(other, _)| other == name).unwrap().1;
        assert_eq!([" run db", " run pace"].map(hint), [ValueHint::Other; 2]);
        assert_eq!([" run out", " list directory"].map(hint), [ValueHint::DirPath; 2]);
        let paths = [" sweep resume directory", " acid crash_with", " report records", " run plan_file"];
        assert_eq!(paths.map(hint), [ValueHint::AnyPath; 4]);
    }
}
