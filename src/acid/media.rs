//! The loss of a medium in a crash audit: the server's processes are killed, a directory that stands for a medium is
//! emptied, and the data are restored from what is left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::drive::LoadTarget;
use crate::engine::Error;
use crate::engine::server::{Media, Medium, PrivateServer};
use crate::result::acid::MediaLoss;
use crate::workload::Workload;

/// The lost medium, and the result of the restore.
pub(super) struct Loss {
    medium: Medium,
    restored: Duration,
    recovered: Duration,
    /// How long the base backup took, before the load.
    backed_up: Duration,
    taken_back: bool,
}

/// The server and its media.
fn server<W: Workload>(engine: &Arc<dyn LoadTarget<W>>) -> Result<(&dyn PrivateServer, &dyn Media), Error> {
    let server = engine.private_server().and_then(|server| Some((server, server.media()?)));
    server.ok_or_else(unsupported)
}

/// The error for a server that cannot be restored.
pub(super) fn unsupported() -> Error {
    Error::Usage(
        "--crash media needs a private PostgreSQL: give postgres:local. Graymark cannot back up other databases or \
         keep a second copy of their log"
            .to_owned(),
    )
}

/// Makes a backup and starts the copy of the log. Returns how long that took.
pub(super) fn back_up<W: Workload>(engine: &Arc<dyn LoadTarget<W>>) -> Result<Duration, Error> {
    let began = Instant::now();
    server(engine)?.1.back_up().map(|()| began.elapsed())
}

/// Kills the server under load, removes a medium, restores and recovers it. Returns the loss, and why the database
/// cannot be used any more. Losses take the data and the log in turn.
pub(super) fn lose<W: Workload>(
    engine: &Arc<dyn LoadTarget<W>>,
    backed_up: Duration,
    number: u32,
) -> Result<(Loss, String), Error> {
    let (server, media) = server(engine)?;
    let medium = Medium::ALL[number.wrapping_sub(1) as usize % Medium::ALL.len()];
    server.crash()?;
    media.lose(medium)?;
    let began = Instant::now();
    media.restore(medium, true)?;
    let restored = began.elapsed();
    let unusable = server.start_again().err().map(|error| error.to_string()).unwrap_or_default();
    let recovered = began.elapsed().saturating_sub(restored);
    Ok((Loss { medium, restored, recovered, backed_up, taken_back: false }, unusable))
}

impl Loss {
    /// Restores a database that cannot be used any more without the end of its log, so that the series can continue.
    pub(super) fn reset_database<W: Workload>(&mut self, engine: &Arc<dyn LoadTarget<W>>) -> Result<(), Error> {
        let (server, media) = server(engine)?;
        server.crash()?;
        media.restore(self.medium, false)?;
        self.taken_back = true;
        server.start_again()
    }

    /// The result for the record. `oldest_lost_s` is how long before the loss the oldest lost commit was confirmed.
    pub(super) fn result(&self, unusable: &str, oldest_lost_s: Option<f64>) -> MediaLoss {
        MediaLoss {
            medium: self.medium.name().to_owned(),
            backup_s: self.backed_up.as_secs_f64(),
            restore_s: self.restored.as_secs_f64(),
            recover_s: self.recovered.as_secs_f64(),
            unusable: unusable.to_owned(),
            // A commit confirmed while the server was being killed counts as confirmed at the loss.
            oldest_lost_s: oldest_lost_s.map(|seconds| seconds.max(0.0)),
            taken_back: self.taken_back,
        }
    }
}
