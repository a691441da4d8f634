//! What goes wrong in a run, on a timetable: one fault after the other, on a thread of its own.

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

/// From one look at a script, or at the wish to stop, to the next.
const PAUSE: Duration = Duration::from_millis(10);

/// How long a server may take to give up after its disk has room again: it may be in the middle of it.
const GIVES_UP: Duration = Duration::from_secs(1);

/// What goes wrong, and when.
#[derive(Clone, Debug, Default)]
pub struct Timetable {
    /// In the order of time.
    pub faults: Vec<Fault>,
    /// The network between sessions and server, if it is to fail.
    pub relay: Option<Relay>,
}

impl Timetable {
    pub(super) fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Does one after the other until the run ends. One that comes due while the one before still goes on is done right
    /// after it; at the end of the run all is as it was.
    pub(super) fn work<W: Workload>(
        &self,
        engine: &dyn Engine<W>,
        run: &Run<W>,
        reports: &mpsc::Sender<Report>,
        started: &mpsc::Receiver<Instant>,
    ) {
        // Nobody listens any more if the run was given up.
        let _ = reports.send(Report::Ready(Ok(())));
        let Ok(begin) = started.recv() else { return };
        let Run { course, stop, .. } = run;
        while course.is_open(begin.elapsed().as_secs_f64()) && !stop.requested() {
            std::thread::sleep(PAUSE);
        }
        // Nothing goes wrong before the interval, so that its times are known now.
        let (interval, end) = (begin + Duration::from_secs(course.ramp_up().into()), course.from(begin).end());
        let cut_off = |number, off| block_on(engine.cut_off(number, off));
        let server = engine.private_server();
        let breaker = Breaker { server, relay: self.relay.as_ref(), cut_off: &cut_off, stop, end };
        let tell = |event| drop(reports.send(Report::Happened(event)));
        for (number, fault) in self.faults.iter().enumerate() {
            breaker.wait_until(interval + fault.at);
            if stop.requested() || Instant::now() >= end {
                return;
            }
            let what = one_line(&fault.action.to_string());
            tell(Event::FaultBegan { at: begin.elapsed().as_secs_f64(), fault: number, what });
            let (done, error) = match breaker.carry_out(&fault.action) {
                Ok(done) => (done, None),
                Err(error) => (None, Some(error.to_string())),
            };
            tell(Event::FaultEnded { at: begin.elapsed().as_secs_f64(), fault: number, error, done });
        }
    }
}

/// Waits for an answer of a server, on this thread.
fn block_on<T>(answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Error::Database(format!("cannot ask a server: {error}")))?.block_on(answer)
}

/// Breaks things and mends them.
struct Breaker<'a> {
    server: Option<&'a dyn PrivateServer>,
    relay: Option<&'a Relay>,
    /// Cuts a node off from the others, or joins it to them again.
    cut_off: &'a dyn Fn(usize, bool) -> Result<String, Error>,
    stop: &'a Stop,
    /// When the run ends.
    end: Instant,
}

impl Breaker<'_> {
    /// Does it, and mends it where that belongs to it. Says in words what the plan does not.
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
                let parted = (self.cut_off)(*number, true);
                if parted.is_ok() {
                    self.wait(*length);
                }
                return parted.and((self.cut_off)(*number, false)).map(Some);
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

    /// Has all processes of a server stand still for a time.
    fn pause(&self, server: &dyn PrivateServer, length: Duration) -> Result<(), Error> {
        // Some of them may stand still although others could not be stopped.
        let paused = server.pause();
        if paused.is_ok() {
            self.wait(length);
        }
        server.resume();
        paused
    }

    fn node(&self, number: usize) -> Result<&dyn PrivateServer, Error> {
        let missing = || Error::Usage(format!("node {number} does not run"));
        self.server()?.member(number).ok_or_else(missing)
    }

    fn nodes(&self) -> Result<&dyn Nodes, Error> {
        let nodes = self.server.and_then(PrivateServer::nodes);
        nodes.ok_or_else(|| Error::Usage("there are no standbys that Graymark started".to_owned()))
    }

    fn server(&self) -> Result<&dyn PrivateServer, Error> {
        self.server.ok_or_else(|| Error::Usage("there is no server that Graymark started".to_owned()))
    }

    /// Starts the server again if it ended for want of room, as who looks after it would once there is some.
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
        self.server()?.disk().ok_or_else(|| Error::Usage("its data lie on no disk of Graymark's own".to_owned()))
    }

    fn network(&self, network: Network, length: Duration) -> Result<(), Error> {
        let relay = self.relay.ok_or_else(|| Error::Usage("sessions are led through no relay".to_owned()))?;
        relay.set(network);
        self.wait(length);
        relay.set(Network::default());
        Ok(())
    }

    /// Waits for a time, but no longer than the run goes on.
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

    /// Runs a program and waits for it, but no longer than the run goes on.
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
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn breaker(stop: &Stop, left: Duration) -> Breaker<'_> {
        let cut_off = &|_, _| Err(Error::Usage("there are no nodes".to_owned()));
        Breaker { server: None, relay: None, cut_off, stop, end: Instant::now() + left }
    }

    fn script(place: &Path, text: &str) -> Action {
        let path = place.join("fault.sh");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        Action::Script(path)
    }

    #[test]
    fn a_script_is_waited_for_and_its_failure_told() {
        let (place, stop) = (tempfile::tempdir().unwrap(), Stop::new());
        let long = breaker(&stop, Duration::from_secs(600));
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
        let short = breaker(&stop, Duration::from_millis(50));
        let killed = short.carry_out(&script(place.path(), "sleep 600")).unwrap_err();
        assert!(killed.to_string().contains("had not ended when the run did"), "{killed}");
        let relay = Relay::new();
        let parted = Breaker { relay: Some(&relay), ..breaker(&stop, Duration::from_millis(50)) };
        parted.carry_out(&Action::Partition(Duration::from_secs(600))).unwrap();
        stop.request();
        let stopped = Breaker { relay: Some(&relay), ..breaker(&stop, Duration::from_secs(600)) };
        stopped.carry_out(&Action::Partition(Duration::from_secs(600))).unwrap();
    }

    #[test]
    fn what_is_not_there_is_not_broken() {
        let stop = Stop::new();
        let bare = breaker(&stop, Duration::from_secs(600));
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
            let cut_off = |number: usize, off: bool| {
                asked.borrow_mut().push((number, off));
                let failed = || Error::Database("it does not answer".to_owned());
                (!off || !broken).then(|| format!("node {number} is back")).ok_or_else(failed)
            };
            let breaker = Breaker { cut_off: &cut_off, ..breaker(&stop, Duration::from_secs(600)) };
            let done = breaker.carry_out(&"partition node 2 for 1ms".parse().unwrap());
            assert_eq!(done.ok().flatten().as_deref(), (!broken).then_some("node 2 is back"));
            assert_eq!(*asked.borrow(), [(2, true), (2, false)]);
        }
    }
}
