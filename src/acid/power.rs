//! The power cut of a crash audit: the server's processes are killed, its disk loses what was not synced, and the
//! server starts again on what is left. A database in Graymark's own process has none to be killed: there, all that its
//! sessions ask of the disk fails from the moment of the cut.

use std::sync::Arc;

use super::load::Clients;
use crate::drive::LoadTarget;
use crate::engine::Error;
use crate::engine::server::PrivateServer;
use crate::powercut::{Disk, Loss, Losses};
use crate::result::acid::PowerCut;
use crate::workload::Workload;

/// The losses of a power cut.
pub(super) struct Cut {
    loss: Loss,
    losses: Losses,
    taken_back: bool,
}

/// The server and its disk.
fn server<W: Workload>(engine: &Arc<dyn LoadTarget<W>>) -> Result<(&dyn PrivateServer, &Disk), Error> {
    let server = engine.private_server().and_then(|server| Some((server, server.disk()?)));
    server.ok_or_else(unsupported)
}

/// The error for a server without a simulated disk.
pub(super) fn unsupported() -> Error {
    Error::Usage(
        "--crash power cuts the power of a database that Graymark starts itself: give postgres:local, mysql:local or \
         sqlite:FILE"
            .to_owned(),
    )
}

/// Makes everything durable before the load starts, because creating the tables is not part of the test. A database
/// that a cut breaks is restored to this state.
pub(super) fn settle<W: Workload>(engine: &Arc<dyn LoadTarget<W>>) -> Result<(), Error> {
    server(engine)?.1.settle().map_err(Error::Database)
}

/// Cuts the power under load, and restores it. Returns the cut, and why the database cannot be used any more. Cuts lose
/// in turn all unsynced writes, some pages of them, and parts of pages.
pub(super) fn cut<W: Workload>(
    engine: &Arc<dyn LoadTarget<W>>,
    clients: &Clients,
    seed: u64,
    number: u32,
) -> Result<(Cut, String), Error> {
    let (server, disk) = server(engine)?;
    let loss = Loss::ALL[number.wrapping_sub(1) as usize % Loss::ALL.len()];
    clients.pause();
    server.crash()?;
    let losses = disk.cut(seed.wrapping_add(u64::from(number)), loss).map_err(Error::Database)?;
    clients.wait_until_disconnected()?;
    disk.on().map_err(Error::Database)?;
    let unusable = server.start_again().err().map(|error| error.to_string()).unwrap_or_default();
    if unusable.is_empty() {
        clients.go_on();
    }
    Ok((Cut { loss, losses, taken_back: false }, unusable))
}

impl Cut {
    /// Restores a database that cannot be used any more, or whose conditions failed, to its state before the load, so
    /// that the series can continue.
    pub(super) fn reset_database<W: Workload>(&mut self, engine: &Arc<dyn LoadTarget<W>>) -> Result<(), Error> {
        let (server, disk) = server(engine)?;
        server.crash()?;
        disk.back().map_err(Error::Database)?;
        self.taken_back = true;
        server.start_again()
    }

    /// The result for the record. `oldest_lost_s` is how long before the cut the oldest lost commit was confirmed.
    pub(super) fn result(&self, unusable: &str, oldest_lost_s: Option<f64>) -> PowerCut {
        PowerCut {
            loss: self.loss.name().to_owned(),
            unsynced_pages: self.losses.unsynced,
            kept_pages: self.losses.kept,
            torn_pages: self.losses.torn,
            lost_names: self.losses.names,
            unusable: unusable.to_owned(),
            // A commit confirmed while the server was being killed counts as confirmed at the cut.
            oldest_lost_s: oldest_lost_s.map(|seconds| seconds.max(0.0)),
            taken_back: self.taken_back,
        }
    }
}
