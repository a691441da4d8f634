//! An engine without a database: transactions take a given time and do nothing. It tests everything else of Graymark,
//! and shows the cost of the driver and the accuracy of its clock.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::ConnectOptions;
use super::Kept;
use super::{
    DatabaseState, Engine, Error, Failure, Finding, Identity, LoadReport, LoadStep, MaintenanceOutcome, Manifest,
    NoObserver, Observer, RestoreReport, ServerProcess, Session, Sessions, Via,
};
use crate::result::CheckStep;
use crate::result::maintenance::MaintenanceKind;
use crate::workload::Workload;
use crate::workload::value::Timestamp;

/// The distribution of service times.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Service {
    Constant(Duration),
    /// Negative exponential with this mean.
    Exponential(Duration),
}

/// Periodic stalls in which nothing is answered.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stall {
    length: Duration,
    every: Duration,
}

/// A simulated database.
pub struct Simulated {
    identity: Identity,
    service: Service,
    stall: Option<Stall>,
    scale: u32,
    profile: Option<String>,
    opened: Instant,
    effects: Arc<Vec<AtomicI64>>,
}

/// More effects than any workload has.
const EFFECTS: usize = 8;

const USAGE: &str =
    "give simulated:service=5ms, and if wanted distribution=exponential, stall=10s and every=60s, joined by &";

impl Simulated {
    /// Parses `simulated:service=5ms[&distribution=constant|exponential][&stall=10s&every=60s]`.
    pub fn open(options: ConnectOptions) -> Result<Simulated, Error> {
        let wrong = |what: String| Error::Usage(format!("{what}: {USAGE}"));
        let (mut service, mut exponential, mut stall, mut every) =
            (Duration::ZERO, false, None, Duration::from_secs(60));
        let parameters = options.url.reveal().strip_prefix("simulated:").unwrap_or_default();
        for parameter in parameters.trim_start_matches('?').split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) =
                parameter.split_once('=').ok_or_else(|| wrong("a parameter has no value".to_owned()))?;
            let time =
                || humantime::parse_duration(value).map_err(|_| wrong(format!("the value of {name} is no time")));
            match (name, value) {
                ("service", _) => service = time()?,
                ("distribution", "constant") => exponential = false,
                ("distribution", "exponential") => exponential = true,
                ("stall", _) => stall = Some(time()?),
                ("every", _) => every = time()?,
                ("distribution", _) => return Err(wrong("the distribution is constant or exponential".to_owned())),
                _ => return Err(wrong(format!("`{name}` is not known"))),
            }
        }
        if stall.is_some_and(|stall| stall >= every) {
            return Err(wrong("a stall must be shorter than the time from one to the next".to_owned()));
        }
        Ok(Simulated {
            identity: Identity {
                name: "simulated".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                url: options.url.to_string(),
            },
            service: if exponential { Service::Exponential(service) } else { Service::Constant(service) },
            stall: stall.map(|length| Stall { length, every }),
            scale: options.scale.unwrap_or(1),
            profile: options.profile,
            opened: Instant::now(),
            effects: Arc::new((0..EFFECTS).map(|_| AtomicI64::new(0)).collect()),
        })
    }
}

#[async_trait(?Send)]
impl<W: Workload> Engine<W> for Simulated {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn via(&self) -> Via {
        Via::Procedures
    }

    fn isolation(&self) -> &str {
        "none"
    }

    fn blocking(&self) -> bool {
        false
    }

    fn data_directory(&self) -> Option<PathBuf> {
        None
    }

    async fn settings(&self) -> Result<BTreeMap<String, String>, Error> {
        Ok(BTreeMap::new())
    }

    fn server_process(&self) -> ServerProcess {
        ServerProcess::InProcess
    }

    fn server_cpu_seconds(&self) -> Option<f64> {
        None
    }

    fn observer(&self) -> Box<dyn Observer + '_> {
        Box::new(NoObserver { why: "a simulated database counts nothing and writes nothing" })
    }

    async fn database_state(&self) -> Result<DatabaseState, Error> {
        let profile = self.profile.as_deref().and_then(|name| W::PROFILES.iter().position(|known| *known == name));
        let population = W::population(self.scale, 0, Timestamp(0), profile.unwrap_or_default());
        let parameters = W::parameters(&population);
        Ok(DatabaseState::Complete(Manifest {
            format: 1,
            scale: self.scale,
            seed: 0,
            date: 0,
            foreign_keys: false,
            parameters,
        }))
    }

    async fn load(
        &self,
        _: &Manifest,
        _: &W::Population,
        _: usize,
        _: &(dyn Fn(LoadStep) + Send + Sync),
    ) -> Result<LoadReport, Error> {
        Err(Error::Usage("a simulated database holds nothing and cannot be loaded: just run".to_owned()))
    }

    async fn restore(
        &self,
        _: &Manifest,
        _: &W::Population,
        _: &(dyn Fn(LoadStep) + Send + Sync),
    ) -> Result<RestoreReport, Error> {
        Err(Error::Usage("a simulated database holds nothing that could be restored: just run".to_owned()))
    }

    async fn drop_tables(&self) -> Result<Kept, Error> {
        Err(Error::Usage("a simulated database holds nothing that could be removed".to_owned()))
    }

    async fn check(&self, _: &mut dyn for<'f> FnMut(CheckStep<'f>)) -> Result<Vec<Finding>, Error> {
        Ok(Vec::new())
    }

    async fn rows(&self, _: &str) -> Result<Option<u64>, Error> {
        Ok(None)
    }

    async fn effects(&self) -> Result<Vec<i64>, Error> {
        Ok(self.effects.iter().take(W::EFFECTS.len()).map(|effect| effect.load(Ordering::Acquire)).collect())
    }

    async fn maintain(&self, _: MaintenanceKind) -> Result<MaintenanceOutcome, Error> {
        Ok(MaintenanceOutcome::Absent("a simulated database needs no maintenance".to_owned()))
    }

    async fn warm_up(
        &self,
        _: &W::Population,
        _: u64,
        _: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<MaintenanceOutcome, Error> {
        Ok(MaintenanceOutcome::Absent("a simulated database has no rows to read".to_owned()))
    }
}

impl<W: Workload> Sessions<W> for Simulated {
    type Session = Idle<W>;

    async fn open_session(&self) -> Result<Idle<W>, Error> {
        Ok(Idle {
            service: self.service,
            stall: self.stall,
            opened: self.opened,
            random: Xoshiro256PlusPlus::seed_from_u64(0),
            effects: self.effects.clone(),
            scratch: vec![0; W::EFFECTS.len()],
            workload: std::marker::PhantomData,
        })
    }
}

/// A session that only waits.
pub struct Idle<W> {
    service: Service,
    stall: Option<Stall>,
    opened: Instant,
    random: Xoshiro256PlusPlus,
    effects: Arc<Vec<AtomicI64>>,
    scratch: Vec<u64>,
    workload: std::marker::PhantomData<W>,
}

impl<W> Idle<W> {
    fn service(&mut self) -> Duration {
        match self.service {
            Service::Constant(time) => time,
            Service::Exponential(mean) => mean.mul_f64(-(1.0 - self.random.random::<f64>()).ln()),
        }
    }

    /// The rest of the current stall: the last part of each period.
    fn stalled(&self) -> Option<Duration> {
        let stall = self.stall?;
        let period = stall.every.as_nanos().max(1);
        let within = Duration::from_nanos((self.opened.elapsed().as_nanos() % period) as u64);
        (within >= stall.every - stall.length).then(|| stall.every - within)
    }
}

impl<W: Workload> Session<W> for Idle<W> {
    async fn execute(&mut self, input: &W::Input) -> Result<W::Output, Failure> {
        if let Some(left) = self.stalled() {
            tokio::time::sleep(left).await;
        }
        let service = self.service();
        if service > Duration::ZERO {
            tokio::time::sleep(service).await;
        } else {
            tokio::task::yield_now().await;
        }
        let output = W::simulated(input).map_err(Failure::Invalid)?;
        self.scratch.fill(0);
        W::count(&output, &mut self.scratch);
        for (sum, count) in self.effects.iter().zip(&self.scratch).filter(|(_, count)| **count > 0) {
            sum.fetch_add(*count as i64, Ordering::AcqRel);
        }
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Isolation;

    fn open(url: &str) -> Result<Simulated, Error> {
        let options = ConnectOptions {
            disk: None,
            media: None,
            relay: None,
            node_partitions: false,
            url: url.into(),
            via: None,
            scale: None,
            profile: None,
            isolation: Isolation::ReadCommitted,
            read_only_on: None,
            settings: BTreeMap::new(),
        };
        Simulated::open(options)
    }

    #[test]
    fn its_url_says_how_long_a_transaction_takes() {
        assert_eq!(open("simulated:").unwrap().service, Service::Constant(Duration::ZERO));
        assert_eq!(open("simulated:service=5ms").unwrap().service, Service::Constant(Duration::from_millis(5)));
        let odd = open("simulated:?service=1s&distribution=exponential&stall=10s&every=1m").unwrap();
        assert_eq!(odd.service, Service::Exponential(Duration::from_secs(1)));
        assert_eq!(odd.stall, Some(Stall { length: Duration::from_secs(10), every: Duration::from_secs(60) }));
    }

    #[test]
    fn a_url_that_makes_no_sense_is_refused() {
        for url in [
            "simulated:service",
            "simulated:service=5",
            "simulated:x=1",
            "simulated:stall=60s",
            "simulated:distribution=x",
        ] {
            assert!(matches!(open(url), Err(Error::Usage(_))), "{url}");
        }
    }
}
