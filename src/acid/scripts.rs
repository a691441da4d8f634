//! Crashes of any server: one program of the user crashes it, another one recovers it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::drive::Stop;
use crate::drive::script::{self, ScriptError};
use crate::engine::Error;
use crate::result::acid::ScriptedCrash;

/// The maximum time of a program.
const LONGEST: Duration = Duration::from_secs(600);

/// Programs that crash a server and recover it.
#[derive(Clone, Debug)]
pub struct CrashScripts {
    /// Crashes the server. When it exits with 0, the server must be down.
    pub crash: PathBuf,
    /// Recovers the server. When it exits with 0, the server must accept connections.
    pub recover: PathBuf,
}

impl CrashScripts {
    /// Runs both programs. The second one runs even if the first one failed, because it may have crashed the server.
    pub(super) fn crash(&self, stop: &Stop) -> Result<(), Error> {
        let crashed = run(&self.crash, stop);
        // The server is recovered even if the user asked to stop.
        let recovered = run(&self.recover, &Stop::new());
        crashed.and(recovered)
    }

    /// The result for the record.
    pub(super) fn result(&self, disconnected: u64) -> ScriptedCrash {
        let name = |path: &Path| path.display().to_string();
        ScriptedCrash { crash: name(&self.crash), recover: name(&self.recover), disconnected }
    }
}

fn run(path: &Path, stop: &Stop) -> Result<(), Error> {
    let end = Instant::now() + LONGEST;
    script::run(path, &|| stop.requested() || Instant::now() > end).map_err(|why| {
        Error::Usage(match why {
            ScriptError::GivenUp => format!("{} did not end, and was killed", path.display()),
            ScriptError::Failed(why) => why,
        })
    })
}
