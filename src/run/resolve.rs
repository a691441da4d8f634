//! Fills in the missing values of a plan, and converts it into the driver's schedule.

use std::hash::{BuildHasher, RandomState};

use super::faults::needs_private_server;
use super::population;
use crate::drive::{Load, Schedule, Stages};
use crate::engine::Error;
use crate::engine::registry::WorkloadVisitor;
use crate::engine::server::url::is_private;
use crate::engine::sql::SqlWorkload;
use crate::plan::resolved::{Cards, Clients, Interval, Resolved, Scale};
use crate::plan::{
    CHECKPOINT_PACED, CLIENTS_OF_RATE, Defaults, Factor, Pace, Plan, RECONNECT_FOR, RampUp, SCALE, Share, TIMEOUT, Warm,
};
use crate::result::Manifest;
use crate::workload::{Users, Workload};

/// The plan as executed: missing values come from the database or the defaults. `loaded` is the content of the
/// database, if it was queried.
pub(super) fn resolve<W: Workload>(
    asked: Plan,
    defaults: &Defaults,
    loaded: Option<&Manifest>,
) -> Result<Resolved, Error> {
    let open_loop = asked.open_loop()?;
    let stages = asked.staged()?.map(|(clients, seconds)| Interval::Stages { clients: clients.to_vec(), seconds });
    let profile = profile::<W>(&asked, loaded)?;
    let pace = pace::<W>(&asked, defaults, profile)?;
    let cards = cards::<W>(&asked)?;
    let paced = pace.factors().is_some();
    if paced && asked.steady.is_some_and(|most| most > 0) {
        return Err(Error::Usage("--steady is for runs without think time: remove it, or use --pace none".to_owned()));
    }
    let preset = W::preset(profile);
    // An unknown profile is reported where it was requested.
    let known = asked.profile.is_some() || loaded.is_some_and(|there| W::profile(&there.parameters).is_some());
    let name = W::PROFILES.get(profile).filter(|_| known).copied().unwrap_or_default();
    let clients = match (asked.clients, preset.clients_per_unit) {
        (Some(number), _) => Clients::Number(number),
        (None, _) if paced => Clients::ForTerminals,
        (None, _) if open_loop.is_some() => Clients::Number(CLIENTS_OF_RATE),
        (None, Some(each)) => Clients::PerUnit(each),
        (None, None) => Clients::Number(defaults.clients),
    };
    let seconds = asked.duration.or(preset.duration).unwrap_or(defaults.duration);
    let scale = asked.scale.or(loaded.map(|there| there.scale));
    let interval = stages.unwrap_or(Interval::Whole { clients, seconds });
    let faults = asked.timetable(interval.seconds())?;
    Ok(Resolved {
        scale: scale.map_or(Scale::AsLoaded, Scale::Of),
        profile,
        profile_name: name.to_owned(),
        pace,
        open_loop,
        cards,
        interval,
        ramp_up: ramp_up(&asked, preset.ramp_up, defaults.ramp_up(paced), paced),
        seed: asked.seed.unwrap_or_else(random_seed),
        check: asked.check.unwrap_or(defaults.check),
        checkpoint: asked.checkpoint.or(preset.checkpoint).or(paced.then_some(CHECKPOINT_PACED)).into(),
        vacuum: asked.vacuum.into(),
        vacuums: asked.vacuums.unwrap_or(u32::MAX),
        warm: asked.warm.unwrap_or(Warm::None),
        steady: asked.steady.unwrap_or(defaults.steady),
        timeout: asked.timeout.unwrap_or(TIMEOUT),
        allowed_errors: asked.allow_errors.unwrap_or(Share::NONE),
        history: asked.history.unwrap_or(Share::NONE),
        reconnect_for: asked.reconnect_for.unwrap_or(RECONNECT_FOR),
        faults,
        asked,
    })
}

/// The plan of a run as far as it is known without the database. `terminal` is the one to follow.
///
/// # Errors
/// If it is invalid.
pub(crate) fn preview(plan: Plan, defaults: &Defaults, terminal: Option<(u32, u32)>) -> Result<Plan, Error> {
    struct Preview<'a>(Plan, &'a Defaults, Option<(u32, u32)>);
    impl WorkloadVisitor for Preview<'_> {
        type Output = Result<Plan, Error>;

        fn visit<W: SqlWorkload>(self) -> Result<Plan, Error> {
            let Preview(asked, defaults, terminal) = self;
            let private = is_private(asked.db(asked.workload.unwrap_or_default()).reveal());
            let mut needy = asked.fault.iter().filter(|fault| fault.action.needs_private_server());
            if let Some(fault) = needy.next().filter(|_| !private) {
                return Err(needs_private_server(fault));
            }
            let scale = asked.scale;
            population::within::<W>(scale.unwrap_or(SCALE), profile::<W>(&asked, None)?)?;
            let plan = resolve::<W>(asked, defaults, None)?;
            followed::<W>(terminal, plan.pace, scale.unwrap_or(u32::MAX))?;
            // A random seed is drawn by the run itself.
            Ok(Plan { seed: plan.asked.seed, ..plan.file() })
        }
    }
    plan.workload.unwrap_or_default().visit(Preview(plan, defaults, terminal))
}

/// Refuses a profile that the workload does not have.
///
/// # Errors
/// Names the profiles that it has.
pub(crate) fn known_profile(plan: &Plan) -> Result<(), Error> {
    struct Known<'a>(&'a Plan);
    impl WorkloadVisitor for Known<'_> {
        type Output = Result<(), Error>;

        fn visit<W: SqlWorkload>(self) -> Result<(), Error> {
            profile::<W>(self.0, None).map(|_| ())
        }
    }
    plan.workload.unwrap_or_default().visit(Known(plan))
}

/// The ramp-up, with its limit if it is automatic.
fn ramp_up(asked: &Plan, preset: Option<u32>, usual: u32, paced: bool) -> RampUp {
    match asked.ramp_up {
        Some(RampUp::Auto(most)) => RampUp::Auto(Some(RampUp::Auto(most).at_most(paced))),
        Some(seconds) => seconds,
        None => RampUp::Seconds(preset.unwrap_or(usual)),
    }
}

/// A random seed. The standard library seeds its hashers from the system's randomness.
pub(crate) fn random_seed() -> u64 {
    RandomState::new().hash_one(std::time::SystemTime::now())
}

/// The profile of a run: the database's, else the requested one, else the default.
pub(super) fn profile<W: Workload>(plan: &Plan, manifest: Option<&Manifest>) -> Result<usize, Error> {
    let asked = population::profile::<W>(plan.profile.as_deref())?;
    Ok(manifest.and_then(|manifest| W::profile(&manifest.parameters)).or(asked).unwrap_or_default())
}

/// The requested pace, else the profile's default.
fn pace<W: Workload>(plan: &Plan, defaults: &Defaults, profile: usize) -> Result<Pace, Error> {
    match (W::users(profile), plan.pace) {
        (Users::None, Some(pace)) if pace.factors().is_some() => {
            let name = W::PROFILES.get(profile).copied().unwrap_or_default();
            Err(Error::Usage(format!(
                "the profile {name} has no think times: remove --pace, or give another --profile"
            )))
        }
        (_, Some(pace)) => Ok(pace),
        // Stages have clients without think time, and a rate has no terminals.
        (Users::Usual, None) if plan.stages.is_empty() && plan.rate.is_none() => Ok(Pace::Standard),
        (_, None) => Ok(defaults.pace),
    }
}

/// The number of cards of each transaction type.
fn cards<W: Workload>(plan: &Plan) -> Result<Cards, Error> {
    let Some(mix) = &plan.mix else { return Ok(Cards::Standard) };
    if W::TRANSACTIONS.len() < 2 {
        return Err(Error::Usage(format!("--mix: {} has one transaction type: remove --mix", W::NAME)));
    }
    mix.cards(W::TRANSACTIONS).map(Cards::Of).map_err(Error::Usage)
}

/// The number of the terminal to follow, if requested as a pair of warehouse or branch and terminal.
pub(super) fn followed<W: Workload>(
    terminal: Option<(u32, u32)>,
    pace: Pace,
    scale: u32,
) -> Result<Option<u32>, Error> {
    match terminal {
        None => Ok(None),
        Some(_) if pace.factors().is_none() => {
            Err(Error::Usage("--show-terminal follows a terminal: add --pace standard".to_owned()))
        }
        Some((unit, _)) if unit > scale => {
            let (one, units) = (W::SCALE_UNIT.0, population::unit::<W>(scale));
            Err(Error::Usage(format!("there is no terminal in {one} {unit}: the database has {scale} {units}")))
        }
        Some((unit, terminal)) => Ok(Some((unit - 1) * W::TERMINALS + terminal - 1)),
    }
}

/// The stages of a plan; empty without stages.
pub(super) fn stages(plan: &Resolved) -> Stages {
    match &plan.interval {
        Interval::Whole { .. } => Stages::default(),
        Interval::Stages { clients, seconds } => Stages::new(clients.clone(), *seconds),
    }
}

/// The driver's schedule for a population. `shown` is the terminal to follow.
pub(super) fn schedule<W: Workload>(plan: &Resolved, manifest: &Manifest, shown: Option<u32>) -> Schedule {
    let (clients, duration) = match &plan.interval {
        Interval::Whole { clients, seconds } => (clients.at(manifest.scale), *seconds),
        Interval::Stages { clients, seconds } => {
            (clients.iter().max().copied().unwrap_or(1), clients.len() as u32 * seconds)
        }
    };
    let terminals = u64::from(manifest.scale) * u64::from(W::TERMINALS);
    let factors = plan.pace.factors();
    let (load, terminals) = match (factors, plan.open_loop) {
        (Some(_), _) => (Load::Paced, terminals),
        (None, Some((rate, arrivals))) => (Load::OpenLoop { rate, arrivals }, terminals.max(u64::from(clients))),
        (None, None) => (Load::ClosedLoop, terminals.max(u64::from(clients))),
    };
    let (keying, think) = factors.unwrap_or((Factor::ONE, Factor::ONE));
    Schedule {
        load,
        clients,
        terminals,
        at_home: plan.asked.at_home || W::preset(plan.profile).clients_per_unit.is_some(),
        shown,
        pass: 0,
        seed: plan.seed,
        tenths: !plan.faults.is_empty(),
        history: (plan.history.get() * 1e6) as u32,
        threads: plan.asked.threads,
        keying,
        think,
        ramp_up: plan.ramp_up.at_most(factors.is_some()),
        settles: plan.ramp_up.is_auto(),
        patience: plan.timeout,
        connect_rate: plan.asked.connect_rate,
        duration,
    }
}
