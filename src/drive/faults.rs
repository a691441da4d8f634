//! Injects the planned faults of a run one after the other, on a separate thread.

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::script::{self, ScriptError};
use super::shared::Run;
use super::{Report, Stop};
use crate::engine::relay::{Network, Relay};
use crate::engine::server::{Nodes, PrivateServer};
use crate::engine::{Engine, Error};
use crate::plan::{Action, Fault};
use crate::powercut::Disk;
use crate::result::Event;
use crate::visible::one_line;
use crate::workload::Workload;

/// Interval between polls of a script and of the stop request.
const PAUSE: Duration = Duration::from_millis(10);

/// How long a server may take to exit after its disk has space again: it may be about to exit.
const GIVES_UP: Duration = Duration::from_secs(1);

/// The faults of a run, with their times.
#[derive(Clone, Debug, Default)]
pub struct FaultSchedule {
    /// Ordered by time.
    pub faults: Vec<Fault>,
    /// The proxy between sessions and server, if network faults are planned.
    pub relay: Option<Relay>,
}

impl FaultSchedule {
    pub(super) fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Injects the faults in order until the run ends. A fault that comes due while the previous one lasts follows it
    /// directly. At the end of the run everything is restored.
    pub(super) fn work<W: Workload>(
        &self,
        engine: &dyn Engine<W>,
        run: &Run<W>,
        reports: &mpsc::Sender<Report>,
        started: &mpsc::Receiver<Instant>,
    ) {
        // The receiver is gone if the run was abandoned.
        let _ = reports.send(Report::Ready(Ok(())));
        let Ok(begin) = started.recv() else { return };
        let Run { phases, stop, .. } = run;
        while phases.is_open(begin.elapsed().as_secs_f64()) && !stop.requested() {
            std::thread::sleep(PAUSE);
        }
        // No fault comes before the interval, so its times are known now.
        let (interval, end) = (begin + Duration::from_secs(phases.ramp_up().into()), phases.from(begin).end());
        let partition_node = |number, off| block_on(engine.partition_node(number, off));
        let server = engine.private_server();
        let injector = FaultInjector { server, relay: self.relay.as_ref(), partition_node: &partition_node, stop, end };
        let tell = |event| drop(reports.send(Report::Happened(event)));
        for (number, fault) in self.faults.iter().enumerate() {
            injector.wait_until(interval + fault.at);
            if stop.requested() || Instant::now() >= end {
                return;
            }
            let what = one_line(&fault.action.to_string());
            tell(Event::FaultBegan { at: begin.elapsed().as_secs_f64(), fault: number, what });
            let (done, error) = match injector.carry_out(&fault.action) {
                Ok(done) => (done, None),
                Err(error) => (None, Some(error.to_string())),
            };
            tell(Event::FaultEnded { at: begin.elapsed().as_secs_f64(), fault: number, error, done });
        }
    }
}

/// Waits for a server's answer on this thread.
fn block_on<T>(answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Error::Database(format!("cannot start a runtime: {error}")))?.block_on(answer)
}

/// Injects faults and ends them.
struct FaultInjector<'a> {
    server: Option<&'a dyn PrivateServer>,
    relay: Option<&'a Relay>,
    /// Partitions a node from the others, or joins it again.
    partition_node: &'a dyn Fn(usize, bool) -> Result<String, Error>,
    stop: &'a Stop,
    /// The end of the run.
    end: Instant,
}

impl FaultInjector<'_> {
    /// Injects a fault, and ends it if it has a length. Returns details that the plan does not have.
    fn carry_out(&self, action: &Action) -> Result<Option<String>, Error> {
        match action {
            Action::KillPrimary => return self.nodes()?.kill_primary().map(Some),
            Action::KillStandby(length) => return self.kill_standby(*length).map(Some),
            Action::Kill => {
                let server = self.server()?;
                server.crash()?;
                server.start_again()
            }
            Action::KillNode(number) => {
                let node = self.node(*number)?;
                node.crash()?;
                node.start_again()
            }
            Action::Restart => self.server()?.restart(),
            Action::Stop(length) => self.pause(self.server()?, *length),
            Action::StopNode { number, length } => self.pause(self.node(*number)?, *length),
            Action::PartitionNode { number, length } => {
                let parted = (self.partition_node)(*number, true);
                if parted.is_ok() {
                    self.wait(*length);
                }
                return parted.and((self.partition_node)(*number, false)).map(Some);
            }
            Action::Delay { by, length } => self.network(Network { delay: *by, ..Network::default() }, *length),
            Action::Bandwidth { bytes_per_second, length } => {
                self.network(Network { bytes_per_second: Some(*bytes_per_second), ..Network::default() }, *length)
            }
            Action::Partition(length) => self.network(Network { parted: true, ..Network::default() }, *length),
            Action::SlowFlush { by, length } => {
                let slowed = self.disk()?.slow(*by).map_err(Error::Database);
                if slowed.is_ok() {
                    self.wait(*length);
                }
                self.disk()?.slow(Duration::ZERO).map_err(Error::Database).and(slowed)
            }
            Action::FullDisk(length) => {
                let filled = self.disk()?.full(true).map_err(Error::Database);
                if filled.is_ok() {
                    self.wait(*length);
                }
                self.disk()?.full(false).map_err(Error::Database).and(filled)?;
                self.start_if_ended()
            }
            Action::Script(path) => self.script(path),
        }
        .map(|()| None)
    }

    /// Kills a standby, and starts it again after a time if one is given.
    fn kill_standby(&self, length: Option<Duration>) -> Result<String, Error> {
        let nodes = self.nodes()?;
        let number = nodes.kill_standby()?;
        let Some(length) = length else { return Ok(format!("node {} was killed", number + 1)) };
        self.wait(length);
        nodes.start_standby(number)
    }

    /// Suspends all processes of a server for a time.
    fn pause(&self, server: &dyn PrivateServer, length: Duration) -> Result<(), Error> {
        // Some processes may be suspended even if others could not be.
        let paused = server.pause();
        if paused.is_ok() {
            self.wait(length);
        }
        server.resume();
        paused
    }

    fn node(&self, number: usize) -> Result<&dyn PrivateServer, Error> {
        let missing = || Error::Usage(format!("node {number} is not running"));
        self.server()?.member(number).ok_or_else(missing)
    }

    fn nodes(&self) -> Result<&dyn Nodes, Error> {
        let nodes = self.server.and_then(PrivateServer::nodes);
        nodes.ok_or_else(|| Error::Usage("Graymark started no standbys".to_owned()))
    }

    fn server(&self) -> Result<&dyn PrivateServer, Error> {
        self.server.ok_or_else(|| Error::Usage("Graymark did not start the server".to_owned()))
    }

    /// Starts the server again if it exited because its disk was full, as an administrator would.
    fn start_if_ended(&self) -> Result<(), Error> {
        let server = self.server()?;
        let end = Instant::now() + GIVES_UP;
        while !server.has_ended() {
            if Instant::now() >= end || self.stop.requested() {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        server.start_again()
    }

    fn disk(&self) -> Result<&Disk, Error> {
        self.server()?.disk().ok_or_else(|| Error::Usage("its data directory is not on Graymark's own disk".to_owned()))
    }

    fn network(&self, network: Network, length: Duration) -> Result<(), Error> {
        let relay = self.relay.ok_or_else(|| Error::Usage("sessions do not connect through a relay".to_owned()))?;
        relay.set(network);
        self.wait(length);
        relay.set(Network::default());
        Ok(())
    }

    /// Waits for a time, but not beyond the end of the run.
    fn wait(&self, length: Duration) {
        self.wait_until(Instant::now() + length);
    }

    fn wait_until(&self, due: Instant) {
        let due = due.min(self.end);
        while !self.stop.requested() {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(PAUSE));
        }
    }

    /// Runs a program and waits for it, but not beyond the end of the run.
    fn script(&self, path: &Path) -> Result<(), Error> {
        let ended = || self.stop.requested() || Instant::now() >= self.end;
        script::run(path, &ended).map_err(|why| match why {
            ScriptError::GivenUp => Error::Usage(format!("{} had not ended when the run did: killed", path.display())),
            ScriptError::Failed(why) => Error::Usage(why),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn injector(stop: &Stop, left: Duration) -> FaultInjector<'_> {
        let partition_node = &|_, _| Err(Error::Usage("there are no nodes".to_owned()));
        FaultInjector { server: None, relay: None, partition_node, stop, end: Instant::now() + left }
    }

    /// Another process writes the script: a child that another test starts at that moment keeps this process's files
    /// open until it runs its own program, and no script can be started that somebody has open for writing.
    fn script(place: &Path, text: &str) -> Action {
        let path = place.join("fault.sh");
        let write = ["-c", "printf '%s\\n' '#!/bin/sh' \"$1\" > \"$0\" && chmod 755 \"$0\""];
        assert!(Command::new("sh").args(write).arg(&path).arg(text).status().unwrap().success());
        Action::Script(path)
    }

    #[test]
    fn a_script_is_waited_for_and_its_failure_reported() {
        let (place, stop) = (tempfile::tempdir().unwrap(), Stop::new());
        let long = injector(&stop, Duration::from_secs(600));
        let done = place.path().join("done");
        long.carry_out(&script(place.path(), &format!("touch {}", done.display()))).unwrap();
        assert!(done.exists());
        let failed = long.carry_out(&script(place.path(), "echo first; echo why not >&2; exit 3")).unwrap_err();
        assert!(failed.to_string().ends_with("ended with exit status: 3: why not"), "{failed}");
        let missing = long.carry_out(&Action::Script("/nowhere/fault".into())).unwrap_err();
        assert!(missing.to_string().starts_with("cannot run /nowhere/fault"), "{missing}");
    }

    #[test]
    fn nothing_outlasts_the_run() {
        let (place, stop) = (tempfile::tempdir().unwrap(), Stop::new());
        let short = injector(&stop, Duration::from_millis(50));
        let killed = short.carry_out(&script(place.path(), "sleep 600")).unwrap_err();
        assert!(killed.to_string().contains("had not ended when the run did"), "{killed}");
        let relay = Relay::new();
        let parted = FaultInjector { relay: Some(&relay), ..injector(&stop, Duration::from_millis(50)) };
        parted.carry_out(&Action::Partition(Duration::from_secs(600))).unwrap();
        stop.request();
        let stopped = FaultInjector { relay: Some(&relay), ..injector(&stop, Duration::from_secs(600)) };
        stopped.carry_out(&Action::Partition(Duration::from_secs(600))).unwrap();
    }

    #[test]
    fn what_is_not_there_is_not_broken() {
        let stop = Stop::new();
        let bare = injector(&stop, Duration::from_secs(600));
        for action in [
            "kill",
            "kill node 1",
            "kill primary",
            "kill standby",
            "restart",
            "stop for 1s",
            "stop node 1 for 1s",
            "partition for 1s",
            "partition node 1 for 1s",
        ] {
            assert!(bare.carry_out(&action.parse().unwrap()).is_err(), "{action}");
        }
    }

    #[test]
    fn a_node_is_joined_again_whatever_became_of_its_partition() {
        let stop = Stop::new();
        for broken in [false, true] {
            let asked = std::cell::RefCell::new(Vec::new());
            let partition_node = |number: usize, off: bool| {
                asked.borrow_mut().push((number, off));
                let failed = || Error::Database("it does not answer".to_owned());
                (!off || !broken).then(|| format!("node {number} is back")).ok_or_else(failed)
            };
            let injector =
                FaultInjector { partition_node: &partition_node, ..injector(&stop, Duration::from_secs(600)) };
            let done = injector.carry_out(&"partition node 2 for 1ms".parse().unwrap());
            assert_eq!(done.ok().flatten().as_deref(), (!broken).then_some("node 2 is back"));
            assert_eq!(*asked.borrow(), [(2, true), (2, false)]);
        }
    }
}
