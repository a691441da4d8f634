//! A crash of a server that is not Graymark's own: by one program of the user's, and recovered by another.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::drive::Stop;
use crate::drive::script::{self, ScriptError};
use crate::engine::Error;
use crate::result::acid::ScriptedCrash;

/// How long a program may take.
const LONGEST: Duration = Duration::from_secs(600);

/// Programs that crash a server and recover it.
#[derive(Clone, Debug)]
pub struct CrashScripts {
    /// Crashes the server: after it has ended with 0, the server is down.
    pub crash: PathBuf,
    /// Recovers it: after it has ended with 0, the server takes connections.
    pub recover: PathBuf,
}

impl CrashScripts {
    /// Runs one after the other. The second is run even if the first fails, for it may have crashed the server.
    pub(super) fn crash(&self, stop: &Stop) -> Result<(), Error> {
        let crashed = run(&self.crash, stop);
        // The server is to come back even if someone asked to stop.
        let recovered = run(&self.recover, &Stop::new());
        crashed.and(recovered)
    }

    /// What is told of it.
    pub(super) fn told(&self, disconnected: u64) -> ScriptedCrash {
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
