//! Fills in what a plan leaves open, and turns it into what the driver is given.

use std::hash::{BuildHasher, RandomState};

use super::population;
use crate::drive::{Load, Schedule, Stages};
use crate::engine::Error;
use crate::engine::registry::WorkloadVisitor;
use crate::engine::sql::SqlWorkload;
use crate::plan::resolved::{Cards, Clients, Interval, Resolved, Scale};
use crate::plan::{
    CHECKPOINT_PACED, CLIENTS_OF_RATE, Defaults, Factor, Pace, Plan, RECONNECT_FOR, RampUp, SCALE, Share, TIMEOUT, Warm,
};
use crate::result::Manifest;
use crate::workload::{Users, Workload};

/// The plan as it is executed: whatever it leaves open is filled in from the database or by default. `loaded` is what
/// the database holds, where it has been looked at.
pub(super) fn settle<W: Workload>(
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
        return Err(Error::Usage(
            "--steady is for runs without think time: leave it out, or give --pace none".to_owned(),
        ));
    }
    let preset = W::preset(profile);
    // A profile that the database does not hold is the run's own matter: told where it was asked for.
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
        patience: asked.timeout.unwrap_or(TIMEOUT),
        allowed_errors: asked.allow_errors.unwrap_or(Share::NONE),
        history: asked.history.unwrap_or(Share::NONE),
        reconnect_for: asked.reconnect_for.unwrap_or(RECONNECT_FOR),
        faults,
        asked,
    })
}

/// The plan of a run, as far as it can be told without looking at the database. `terminal` is the one to follow.
///
/// # Errors
/// If it makes no sense.
pub(crate) fn preview(plan: Plan, defaults: &Defaults, terminal: Option<(u32, u32)>) -> Result<Plan, Error> {
    struct Preview<'a>(Plan, &'a Defaults, Option<(u32, u32)>);
    impl WorkloadVisitor for Preview<'_> {
        type Output = Result<Plan, Error>;

        fn visit<W: SqlWorkload>(self) -> Result<Plan, Error> {
            let Preview(asked, defaults, terminal) = self;
            let scale = asked.scale;
            population::within::<W>(scale.unwrap_or(SCALE), profile::<W>(&asked, None)?)?;
            let plan = settle::<W>(asked, defaults, None)?;
            followed::<W>(terminal, plan.pace, scale.unwrap_or(u32::MAX))?;
            // A seed that the run draws is not known before.
            Ok(Plan { seed: plan.asked.seed, ..plan.file() })
        }
    }
    plan.workload.unwrap_or_default().visit(Preview(plan, defaults, terminal))
}

/// Refuses a profile that the workload of a plan has not.
///
/// # Errors
/// Those that it has.
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

/// The time before the interval, with its limit where it ends by itself.
fn ramp_up(asked: &Plan, preset: Option<u32>, usual: u32, paced: bool) -> RampUp {
    match asked.ramp_up {
        Some(RampUp::Auto(most)) => RampUp::Auto(Some(RampUp::Auto(most).at_most(paced))),
        Some(seconds) => seconds,
        None => RampUp::Seconds(preset.unwrap_or(usual)),
    }
}

/// A seed when none is asked for. The standard library seeds its hashers from the system's randomness.
pub(crate) fn random_seed() -> u64 {
    RandomState::new().hash_one(std::time::SystemTime::now())
}

/// The profile that a run has: the database's, else the one that is asked for, else the usual one.
pub(super) fn profile<W: Workload>(plan: &Plan, manifest: Option<&Manifest>) -> Result<usize, Error> {
    let asked = population::profile::<W>(plan.profile.as_deref())?;
    Ok(manifest.and_then(|manifest| W::profile(&manifest.parameters)).or(asked).unwrap_or_default())
}

/// The pace that is asked for, else the profile's usual one.
fn pace<W: Workload>(plan: &Plan, defaults: &Defaults, profile: usize) -> Result<Pace, Error> {
    match (W::users(profile), plan.pace) {
        (Users::None, Some(pace)) if pace.factors().is_some() => {
            let name = W::PROFILES.get(profile).copied().unwrap_or_default();
            Err(Error::Usage(format!(
                "the profile {name} has no terminals that could think: leave out --pace, or give another --profile"
            )))
        }
        (_, Some(pace)) => Ok(pace),
        // Stages add clients without think time, and a rate has no terminals.
        (Users::Usual, None) if plan.stages.is_empty() && plan.rate.is_none() => Ok(Pace::Standard),
        (_, None) => Ok(defaults.pace),
    }
}

/// The cards of each transaction type.
fn cards<W: Workload>(plan: &Plan) -> Result<Cards, Error> {
    let Some(mix) = &plan.mix else { return Ok(Cards::Standard) };
    if W::TRANSACTIONS.len() < 2 {
        return Err(Error::Usage(format!("--mix: {} has one transaction type: leave --mix out", W::NAME)));
    }
    mix.cards(W::TRANSACTIONS).map(Cards::Of).map_err(Error::Usage)
}

/// The number of the terminal to follow, given as warehouse or branch and terminal, if one is asked for.
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
            Err(Error::Usage(format!("there is no terminal of {one} {unit}: the database has {scale} {units}")))
        }
        Some((unit, terminal)) => Ok(Some((unit - 1) * W::TERMINALS + terminal - 1)),
    }
}

/// The stages of a plan; none of them without.
pub(super) fn stages(plan: &Resolved) -> Stages {
    match &plan.interval {
        Interval::Whole { .. } => Stages::default(),
        Interval::Stages { clients, seconds } => Stages::new(clients.clone(), *seconds),
    }
}

/// How a run goes on a population. `shown` is the terminal to follow.
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
        patience: plan.patience,
        duration,
    }
}
