//! What tests of several user stories need.

use graymark::engine::postgres::Postgres;
use graymark::engine::registry::Options;
use graymark::engine::server;
use graymark::engine::{Error, Via};
use graymark::plan::Isolation;

/// Set where every engine must be there, as in CI: a missing one then fails the test instead of leaving it out.
const REQUIRE: &str = "GRAYMARK_REQUIRE_ENGINES";

/// Whether a private PostgreSQL can be started here; a test that needs one ends without.
pub fn require_postgres() -> Option<()> {
    match server::postgres::available() {
        Ok(()) => Some(()),
        Err(why) if std::env::var_os(REQUIRE).is_some() => panic!("{REQUIRE} is set, but {why}"),
        Err(why) => {
            println!("not run: {why}");
            None
        }
    }
}

/// Options for a URL, all else by default.
#[allow(dead_code, reason = "each test file uses its own part of these helpers")]
pub fn options(url: &str, via: Via) -> Options {
    Options { url: url.to_owned(), via: Some(via), isolation: Isolation::ReadCommitted, settings: Default::default(), scale: None }
}

/// A small private PostgreSQL.
#[allow(dead_code, reason = "each test file uses its own part of these helpers")]
pub fn small_server() -> server::postgres::Server {
    let settings = [("shared_buffers", "64MB"), ("fsync", "off"), ("max_connections", "40")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let options = server::postgres::Options { settings, ..Default::default() };
    server::postgres::Server::start(&options).expect("a private PostgreSQL starts")
}

/// A database by its URL.
#[allow(dead_code, reason = "each test file uses its own part of these helpers")]
pub async fn open(url: &str, via: Via) -> Result<Postgres, Error> {
    Postgres::open(options(url, via)).await
}
