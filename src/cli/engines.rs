//! `graymark engines`: lists supported engines, installed ones, and how far each was tested; downloads servers.

use clap::Args;

use super::Ended;
use super::interrupt::Interrupt;
use crate::engine::Error;
use crate::engine::listed::engines as all;
use crate::engine::server::fetched::{self, Make, PACKAGES, Package};
use crate::report::engines::text;

#[derive(Debug, Args)]
pub(super) struct EnginesArgs {
    /// Download a server by Maven (the program `mvn`), check it and unpack it, for `postgres:local?version=18` and its
    /// likes: postgres@14 to postgres@18, mariadb@11.4, mysql@8.0
    #[arg(long, value_name = "NAME@VERSION")]
    fetch: Vec<String>,
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn engines(args: &EnginesArgs) -> Result<Ended, Error> {
    if !args.fetch.is_empty() {
        return fetch(args);
    }
    let all = all();
    let packages: Vec<String> = PACKAGES.iter().map(Package::to_string).collect();
    if args.json {
        answer!("{}", serde_json::json!({ "engines": all, "packages": packages }));
    } else {
        answer!("{}\n\nAvailable with graymark engines --fetch: {}", text(&all).trim_end(), packages.join(", "));
    }
    Ok(Ended::Held)
}

/// Downloads the requested servers, one after the other.
fn fetch(args: &EnginesArgs) -> Result<Ended, Error> {
    let packages: Vec<_> = args.fetch.iter().map(|asked| Package::named(asked)).collect::<Result<_, _>>()?;
    let interrupt = Interrupt::listen()?;
    let mut done = Vec::new();
    for package in packages {
        tell!("{package}: mvn downloads {}, unless it has it already", package.whole);
        let Some(fetched) = fetched::fetch(package, &|| interrupt.stop.requested())? else {
            tell!("engines: stopped; nothing of {package} was kept");
            return Ok(Ended::Interrupted);
        };
        let scheme = if package.make == Make::Postgres { "postgres" } else { "mysql" };
        let url = format!("{scheme}:local?version={}", package.version);
        let place = fetched.place.display();
        if args.json {
            let place = place.to_string();
            done.push(serde_json::json!({ "package": package.to_string(), "version": package.whole, "place": place,
                "url": url, "before": fetched.before }));
        } else {
            let was = if fetched.before { "already present: " } else { "" };
            answer!("{package}: {was}{} in {place}; {url} starts it", package.whole);
        }
    }
    if args.json {
        answer!("{}", serde_json::json!({ "fetched": done }));
    }
    Ok(Ended::Held)
}
