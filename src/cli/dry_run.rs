//! `--dry-run`: shows what a command would do. The output is a plan file: known values are keys, and
//! values that depend on the database or the time are comments.

use super::{Ended, help};
use crate::engine::Error;
use crate::plan::{Defaults, Plan};
use crate::run::{known_profile, preview};

/// The key of the tables at the end of a plan, one for each fault.
const FAULT: &str = "fault";

/// A command with `--dry-run`.
pub(super) struct DryRun<'a> {
    /// Path of the command below `graymark`.
    pub(super) path: &'a [&'a str],
    /// Its defaults.
    pub(super) defaults: Defaults,
    /// Options that are not part of a plan, as lines.
    pub(super) more: String,
    /// Keys that the command varies.
    pub(super) varied: &'a [&'a str],
}

impl DryRun<'_> {
    /// Prints the plan of runs.
    pub(super) fn of_runs(self, plan: Plan, terminal: Option<(u32, u32)>) -> Result<Ended, Error> {
        let plan = preview(plan, &self.defaults, terminal)?;
        self.show(plan)
    }

    /// Prints the plan of a command without runs.
    pub(super) fn show(self, plan: Plan) -> Result<Ended, Error> {
        answer!("{}", self.text(plan)?.trim_end());
        Ok(Ended::Held)
    }

    /// The plan and all other given options.
    pub(super) fn text(&self, mut plan: Plan) -> Result<String, Error> {
        let workload = plan.workload.unwrap_or_default();
        let db = plan.db(workload);
        db.check()?;
        known_profile(&plan)?;
        (plan.workload, plan.db) = (Some(workload), Some(db));
        let keys = toml::from_str::<toml::Table>(&plan.to_toml()?)
            .map_err(|error| Error::Usage(format!("the plan cannot be shown: {error}")))?;
        let mut text = format!("# graymark {} --dry-run: nothing was done\n", self.path.join(" "));
        let root = help::command();
        let command = self.path.iter().try_fold(&root, |command, name| command.find_subcommand(name));
        for id in command.into_iter().flat_map(clap::Command::get_arguments).map(|arg| arg.get_id().as_str()) {
            let line = match (keys.get(id), self.defaults.text(id)) {
                _ if self.varied.contains(&id) => format!("# {id}: varied\n"),
                (Some(toml::Value::Table(_)), _) | (None, None) => continue,
                (Some(_), _) if id == FAULT => continue,
                (Some(value), _) => format!("{id} = {value}\n"),
                (None, Some(default)) => format!("# {id}: {default}\n"),
            };
            text.push_str(&line);
        }
        self.more.lines().for_each(|line| text.push_str(&format!("# {line}\n")));
        if let Some(toml::Value::Table(set)) = keys.get("set") {
            text.push_str("\n[set]\n");
            set.iter().for_each(|(name, value)| text.push_str(&format!("{name:?} = {value}\n")));
        }
        let faults = keys.get(FAULT).and_then(toml::Value::as_array).into_iter().flatten();
        for fault in faults.filter_map(toml::Value::as_table) {
            text.push_str(&format!("\n[[{FAULT}]]\n{fault}"));
        }
        Ok(text)
    }
}

/// Lines for given options that are not part of a plan.
pub(super) fn typed(all: &[(&str, Option<String>)]) -> String {
    let lines = all.iter().filter_map(|(name, value)| Some(format!("{name} = {}\n", value.as_ref()?)));
    lines.collect()
}

/// The same for a switch.
pub(super) fn switch(name: &str, on: bool) -> (&str, Option<String>) {
    (name, on.then(|| "true".to_owned()))
}
