//! `graymark reproduce`: repeats the experiments of a published document, command by command, and compares its
//! figures with the measured ones.

use std::fs::{self, File, TryLockError};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::Ended;
use super::interrupt::Interrupt;
use crate::engine::Error;
use crate::engine::server::url;
use crate::identity::Identity;
use crate::link_safe;
use crate::record::removal::remove_own;
use crate::record::{environment, writer};
use crate::report::format::bytes;
use crate::report::paper::{Done, Reproduction, file, write};
use crate::study::paper::{Outputs, Paper, Scope, Task};
use crate::url::DatabaseUrl;

/// Built-in documents.
const PAPERS: [(&str, &str); 5] = [
    ("gray", include_str!("../../examples/papers/gray.toml")),
    ("erling", include_str!("../../examples/papers/erling.toml")),
    ("uva", include_str!("../../examples/papers/uva.toml")),
    ("ydb", include_str!("../../examples/papers/ydb.toml")),
    ("tsuei", include_str!("../../examples/papers/tsuei.toml")),
];
/// Interval at which the end of a command is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug, Args)]
pub(super) struct ReproduceArgs {
    /// The document: gray, erling, uva, ydb or tsuei; or a TOML file like those in examples/papers
    paper: String,
    /// The database [default: the document's; a private server keeps its data in the directory]. Relative files are
    /// below the directory
    #[arg(long, value_name = "URL")]
    db: Option<DatabaseUrl>,
    /// Approximate total time of the commands in minutes
    #[arg(long, value_name = "N", value_parser = minutes, conflicts_with = "full")]
    minutes: Option<f64>,
    /// Use the scales and durations of the document
    #[arg(long)]
    full: bool,
    /// Directory of the reproduction [default: graymark-runs/reproduce-NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue the reproduction in the directory
    #[arg(long, conflicts_with_all = ["minutes", "full"])]
    resume: bool,
    /// Print all numbers as one JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Print the commands and exit
    #[arg(long, conflicts_with_all = ["json", "resume"])]
    dry_run: bool,
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse::<f64>().ok().filter(|minutes| (0.1..=10_000.0).contains(minutes));
    minutes.ok_or_else(|| "give a number of minutes from 0.1 to 10000".to_owned())
}

/// The progress of a reproduction, stored in its directory.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    /// The document's name, or its file.
    paper: String,
    /// How much of it is repeated.
    #[serde(alias = "extent")]
    scope: Scope,
    /// The database's URL without its password.
    db: DatabaseUrl,
    /// Finished commands.
    steps: Vec<Done>,
    /// The command that is running, or was interrupted.
    #[serde(default)]
    begun: Option<String>,
    /// The directory that was created for its record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created: Option<Identity>,
}

/// The file of the state.
const STATE: &str = "state.json";
/// Locked by the process that runs the commands, and by the command that runs.
const LOCK: &str = "reproduce.lock";

/// Runs the command.
pub(super) fn reproduce(args: ReproduceArgs) -> Result<Ended, Error> {
    let name = Path::new(&args.paper).file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let directory = args.out.clone().unwrap_or_else(|| Path::new("graymark-runs").join(format!("reproduce-{name}")));
    let directory = std::path::absolute(&directory)
        .map_err(|error| Error::Usage(format!("cannot use {}: {error}", directory.display())))?;
    let paper = read(&args.paper)?;
    let (mut state, db, lock) = if args.resume {
        let (state, lock) = resume(&args.paper, &directory)?;
        // The state has no password.
        let db = args.db.clone().unwrap_or_else(|| state.db.clone());
        if db.redacted() != state.db {
            return Err(Error::Usage(format!("the reproduction uses {}: remove --db, or give the same", state.db)));
        }
        (state, db, Some(lock))
    } else {
        let usual = if args.full { Scope::Full } else { Scope::Minutes(paper.minutes) };
        let scope = args.minutes.map_or(usual, Scope::Minutes);
        let db = args.db.clone().unwrap_or_else(|| paper.db.as_str().into());
        db.check()?;
        let (paper, redacted) = (args.paper.clone(), db.redacted());
        (State { paper, scope, db: redacted, steps: Vec::new(), begun: None, created: None }, db, None)
    };
    let tasks = paper.tasks(state.scope).map_err(Error::Usage)?;
    let commands = Commands { directory, db };
    if args.dry_run {
        tasks.iter().for_each(|task| answer!("{}", commands.line(task)));
        return Ok(Ended::Held);
    }
    let lock = lock.map_or_else(|| commands.begin(&state), Ok)?;
    let interrupt = Interrupt::listen()?;
    interrupt.running(true);
    let mut ended = commands.run(&tasks, &mut state, &lock, &interrupt)?;
    let reproduction = commands.tell(&paper, &name, &state, &tasks)?;
    let page = write(&commands.directory, &reproduction)?;
    writer::put(&commands.directory, file::JSON, format!("{}\n", json(&reproduction)?).as_bytes())?;
    if args.json {
        answer!("{}", serde_json::json!(reproduction));
    } else {
        conclusions(&reproduction);
    }
    tell!("page: {}", page.display());
    if ended == Ended::Held && state.steps.iter().any(|done| done.exit_code != 0) {
        ended = Ended::Failed;
    }
    Ok(ended)
}

fn json(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string_pretty(value).map_err(|error| Error::Usage(format!("the result cannot be printed: {error}")))
}

/// Reads a document by its name or file.
fn read(paper: &str) -> Result<Paper, Error> {
    let known = PAPERS.iter().find(|(name, _)| *name == paper).map(|(_, text)| (*text).to_owned());
    let text = match known {
        Some(text) => text,
        None if paper.ends_with(".toml") => {
            fs::read_to_string(paper).map_err(|error| Error::Usage(format!("cannot read {paper}: {error}")))?
        }
        None => {
            let names: Vec<&str> = PAPERS.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            return Err(Error::Usage(format!("unknown document `{paper}`: give one of {names}, or a .toml file")));
        }
    };
    Paper::parse(&text).map_err(|why| Error::Usage(format!("{paper}: {}", why.trim_end())))
}

/// The state of an existing reproduction, and its lock.
fn resume(paper: &str, directory: &Path) -> Result<(State, File), Error> {
    let path = directory.join(STATE);
    let read = || {
        link_safe::read_to_string(&path)
            .map_err(|error| Error::Usage(format!("cannot read {}: {error}; start without --resume", path.display())))
    };
    // No lock is made where no reproduction is.
    read()?;
    let lock = lock(directory)?;
    let text = read()?;
    let state: State = serde_json::from_str(&text)
        .map_err(|error| Error::Usage(format!("{} is damaged: {error}; start with another --out", path.display())))?;
    if state.paper != paper {
        let there = &state.paper;
        return Err(Error::Usage(format!(
            "{} contains a reproduction of {there}, not of {paper}",
            directory.display()
        )));
    }
    Ok((state, lock))
}

/// Locks a reproduction's directory against other processes.
fn lock(directory: &Path) -> Result<File, Error> {
    let path = directory.join(LOCK);
    let failed = |error: &std::io::Error| Error::Output(format!("cannot lock {}: {error}", path.display()));
    let file = link_safe::open_lock(&path).map_err(|error| failed(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let shown = directory.display();
            Err(Error::Usage(format!("another graymark works in {shown}: wait for it, or give another --out")))
        }
        Err(TryLockError::Error(error)) => Err(failed(&error)),
    }
}

/// Creates and runs the commands.
struct Commands {
    directory: PathBuf,
    db: DatabaseUrl,
}

impl Commands {
    /// Creates and locks the directory, which must be empty but for what a command leaves that is killed at once.
    fn begin(&self, state: &State) -> Result<File, Error> {
        if link_safe::is_used(&self.directory, LOCK) {
            let directory = self.directory.display();
            return Err(Error::Usage(format!("{directory} is not empty: give another --out, or --resume to continue")));
        }
        link_safe::make_directory(&self.directory)
            .map_err(|source| crate::record::Error::Create { directory: self.directory.clone(), source })?;
        let lock = lock(&self.directory)?;
        self.keep(state).map(|()| lock)
    }

    fn keep(&self, state: &State) -> Result<(), Error> {
        Ok(writer::put(&self.directory, STATE, json(state)?.as_bytes())?)
    }

    /// The database of a task.
    fn db(&self, task: &Task) -> DatabaseUrl {
        match task.db.as_deref() {
            // The command starts servers of its own.
            Some("{server}") => self.db.clone(),
            Some(other) => other.into(),
            None => self.kept().unwrap_or_else(|| self.db.clone()),
        }
    }

    /// A private server with its data below the directory, so that all commands share a loaded database; `None`
    /// for other databases, or if its data is elsewhere.
    fn kept(&self) -> Option<DatabaseUrl> {
        let scheme = self.db.scheme();
        let mut values = url::values(self.db.reveal(), &[scheme]).ok()??;
        if values.iter().any(|(name, _)| name == "data") {
            return None;
        }
        values.push(("data".to_owned(), self.directory.join("server").to_string_lossy().into_owned()));
        Some(url::of(scheme, values).as_str().into())
    }

    /// The command line of a task.
    fn line(&self, task: &Task) -> String {
        let db = self.db(task).to_string().replace(&*self.directory.to_string_lossy(), ".");
        format!("GRAYMARK_DB='{db}' graymark {}", self.arguments(task).join(" "))
    }

    fn arguments(&self, task: &Task) -> Vec<String> {
        let mut arguments = task.arguments.clone();
        arguments.push("--json".to_owned());
        if task.record {
            arguments.extend(["--out".to_owned(), task.name.clone()]);
        }
        arguments
    }

    /// Runs the remaining tasks.
    fn run(&self, tasks: &[Task], state: &mut State, lock: &File, interrupt: &Interrupt) -> Result<Ended, Error> {
        for (number, task) in tasks.iter().enumerate() {
            if state.steps.iter().any(|done| done.name == task.name) {
                continue;
            }
            tell!("reproduce: step {} of {}, {}: {}", number + 1, tasks.len(), task.name, task.why);
            tell!("reproduce: {}", self.line(task));
            let begun = state.begun.replace(task.name.clone());
            let created = state.created.take().filter(|_| begun.as_ref() == Some(&task.name));
            if task.record {
                state.created = Some(self.create(task, created)?);
            }
            self.keep(state)?;
            let began = Instant::now();
            let (status, output) = self.one(task, lock, interrupt)?;
            let code = status.code().unwrap_or(i32::from(super::interrupt::EXIT_CODE));
            if code == i32::from(super::interrupt::EXIT_CODE) {
                tell!("reproduce: stopped; to continue, run the same command with --out and --resume");
                return Ok(Ended::Interrupted);
            }
            if code > 1 {
                return Err(Error::Database(format!(
                    "the step {} failed with exit code {code}: see above; to continue, give --out and --resume",
                    task.name
                )));
            }
            writer::put(&self.directory, &format!("{}.json", task.name), &output)?;
            let printed: Option<serde_json::Value> = serde_json::from_slice(&output).ok();
            state.steps.push(Done {
                name: task.name.clone(),
                why: task.why.clone(),
                command: self.line(task),
                exit_code: code,
                seconds: began.elapsed().as_secs_f64(),
                seed: printed.and_then(|printed| printed.get("seed")?.as_u64()),
            });
            self.keep(state)?;
        }
        Ok(Ended::Held)
    }

    /// Creates the directory of a step's record, and removes that of an interrupted one, which was `created` for it.
    ///
    /// # Errors
    /// If anything else is there.
    fn create(&self, task: &Task, created: Option<Identity>) -> Result<Identity, Error> {
        let path = self.directory.join(&task.name);
        let cannot = |error: std::io::Error| Error::Output(format!("cannot make {}: {error}", path.display()));
        // It may have been killed before it noted what it had created. What is not empty stays.
        let _ = fs::remove_dir(&path);
        if let Ok(there) = Identity::of(&path) {
            if created.as_ref() != Some(&there) {
                let shown = path.display();
                return Err(Error::Usage(format!("{shown} is not of this step: move it, and continue with --resume")));
            }
            if task.arguments.first().is_some_and(|command| command == "sweep") {
                // It continues the sweep there, and has its own files.
                return Ok(there);
            }
            remove_own(&path)?;
        }
        fs::create_dir(&path).and_then(|()| Identity::of(&path)).map_err(cannot)
    }

    /// Runs one command. Returns its exit status and output. The URL is in its environment, where other users cannot
    /// see it.
    fn one(&self, task: &Task, lock: &File, interrupt: &Interrupt) -> Result<(ExitStatus, Vec<u8>), Error> {
        let failed = |error: std::io::Error| Error::Usage(format!("cannot run the step {}: {error}", task.name));
        let mut printed = tempfile::tempfile().map_err(failed)?;
        let mut child = Command::new(std::env::current_exe().map_err(failed)?)
            .args(self.arguments(task))
            .env("GRAYMARK_DB", self.db(task).reveal())
            .current_dir(&self.directory)
            // Ctrl-C is for this process, which asks the command to end; asked twice, it would end at once.
            .process_group(0)
            // The lock is an empty file. The command holds it too, so that it keeps it if this process is killed.
            .stdin(lock.try_clone().map_err(failed)?)
            .stdout(printed.try_clone().map_err(failed)?)
            .spawn()
            .map_err(failed)?;
        let mut asked = false;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                break status;
            }
            if interrupt.stop.requested() && !asked {
                asked = true;
                let _ = i32::try_from(child.id()).map(|id| kill(Pid::from_raw(id), Signal::SIGTERM));
            }
            thread::sleep(POLL_INTERVAL);
        };
        let mut text = Vec::new();
        std::io::Seek::rewind(&mut printed).map_err(failed)?;
        std::io::Read::read_to_end(&mut printed, &mut text).map_err(failed)?;
        Ok((status, text))
    }

    /// Writes the results so far.
    fn tell(&self, paper: &Paper, name: &str, state: &State, tasks: &[Task]) -> Result<Reproduction, Error> {
        let mut outputs = Outputs::new();
        for done in &state.steps {
            let path = self.directory.join(format!("{}.json", done.name));
            let text = link_safe::read_to_string(&path)
                .map_err(|error| Error::Usage(format!("cannot read {}: {error}", path.display())))?;
            if let Ok(printed) = serde_json::from_str(&text) {
                outputs.insert(done.name.clone(), printed);
            }
        }
        let mut engines: Vec<String> = outputs.values().filter_map(engine).collect();
        engines.sort();
        engines.dedup();
        let figures: Vec<_> = paper.figures.iter().map(|figure| figure.show(tasks, &outputs)).collect();
        let claims = paper.claims.iter().filter_map(|claim| {
            figures.iter().find(|figure| figure.id == claim.figure).map(|figure| claim.look(figure))
        });
        let claims = claims.collect();
        Ok(Reproduction {
            paper: name.to_owned(),
            title: paper.title.clone(),
            source: paper.source.clone(),
            setting: paper.setting.clone(),
            scope: state.scope,
            db: state.db.to_string(),
            engines,
            machine: machine(),
            graymark: env!("CARGO_PKG_VERSION").to_owned(),
            steps: state.steps.clone(),
            figures,
            claims,
            notes: paper.notes.clone(),
        })
    }
}

/// Name and version of the database that a command used.
fn engine(printed: &serde_json::Value) -> Option<String> {
    let engine = printed.get("engine")?;
    let text = |name: &str| engine.get(name).and_then(serde_json::Value::as_str);
    match engine.as_str() {
        Some(engine) => Some(engine.to_owned()),
        None => Some(format!("{} {}", text("name")?, text("version")?)),
    }
}

/// A short description of this machine.
fn machine() -> String {
    let host = environment::of_host(None);
    let cpus = host.logical_cpus.map(|cpus| format!("{cpus} CPUs"));
    let memory = host.memory_bytes.map(|memory| format!("{} of memory", bytes(memory)));
    let parts = [cpus, host.cpu_model, memory, host.os, host.kernel.map(|kernel| format!("kernel {kernel}"))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The conclusions as text.
fn conclusions(reproduction: &Reproduction) {
    answer!("{}", reproduction.title);
    for claim in &reproduction.claims {
        let word = |held: Option<bool>| held.map_or("no numbers", |held| if held { "yes" } else { "no" });
        let (published, here) = (word(claim.published), word(claim.measured));
        answer!("  {}: in the document {published}, here {here} (figure {})", claim.says, claim.figure);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_documents_are_valid() {
        for (name, text) in PAPERS {
            let paper = Paper::parse(text).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert!(!paper.claims.is_empty() && !paper.notes.is_empty(), "{name}");
            for scope in [Scope::Full, Scope::Minutes(paper.minutes)] {
                let commands = Commands { directory: PathBuf::from("/reproduction"), db: paper.db.as_str().into() };
                for task in paper.tasks(scope).unwrap() {
                    let words = std::iter::once("graymark".to_owned()).chain(commands.arguments(&task));
                    let parsed = super::super::command().try_get_matches_from(words);
                    assert!(parsed.is_ok(), "{name}, {}: {}", task.name, parsed.unwrap_err());
                }
            }
        }
    }

    #[test]
    fn a_private_server_keeps_its_data_below_the_directory() {
        let task = |db: Option<&str>| Task {
            name: "a".to_owned(),
            step: "a".to_owned(),
            each: String::new(),
            why: String::new(),
            arguments: Vec::new(),
            db: db.map(str::to_owned),
            record: true,
        };
        let of = |url: &str, db: Option<&str>| {
            let commands = Commands { directory: PathBuf::from("/a place"), db: url.into() };
            commands.db(&task(db)).reveal().to_owned()
        };
        assert_eq!(of("postgres:local", None), "postgres:local?data=/a%20place/server");
        assert_eq!(of("mysql:local?a=b", None), "mysql:local?a=b&data=/a%20place/server");
        assert_eq!(of("postgres:local?data=/there", None), "postgres:local?data=/there");
        assert_eq!(of("postgres:local", Some("{server}")), "postgres:local");
        assert_eq!(of("sqlite:a.db", None), "sqlite:a.db");
        assert_eq!(of("sqlite:a.db", Some("simulated:")), "simulated:");
    }
}
