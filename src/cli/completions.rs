//! `graymark completions`: shell completions, generated from the command line definitions.

use clap::{Args, ValueEnum};
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
    aot::generate(shell, &mut help::command(), "graymark", &mut script);
    super::say::script(&script);
    Ok(Ended::Held)
}
