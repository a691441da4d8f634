//! Fills in what a plan leaves open, and turns it into what the driver is given.

use std::hash::{BuildHasher, RandomState};

use super::population;
use crate::drive::{Load, Schedule, Stages};
use crate::engine::Error;
use crate::engine::registry::WorkloadVisitor;
use crate::engine::sql::SqlWorkload;
use crate::plan::{CHECKPOINT_PACED, Defaults, Factor, Pace, Plan, RECONNECT_FOR, SCALE, TIMEOUT};
use crate::result::Manifest;
use crate::workload::{Users, Workload};

/// The plan as it is executed: whatever it leaves open is filled in from the database or by default. What only the
/// database decides stays open where it is not looked at: `loaded` is what it holds.
pub(super) fn settle<W: Workload>(plan: Plan, defaults: &Defaults, loaded: Option<&Manifest>) -> Result<Plan, Error> {
    let stage_duration = plan.staged()?.map(|(_, seconds)| seconds);
    let profile = profile::<W>(&plan, loaded)?;
    let pace = pace::<W>(&plan, defaults, profile)?;
    mix::<W>(&plan)?;
    let paced = pace.factors().is_some();
    if paced && plan.steady.is_some_and(|most| most > 0) {
        return Err(Error::Usage(
            "--steady is for runs without think time: leave it out, or give --pace none".to_owned(),
        ));
    }
    let preset = W::preset(profile);
    // A profile that the database does not hold is the run's own matter: told where it was asked for.
    let known = plan.profile.is_some() || loaded.is_some_and(|there| W::profile(&there.parameters).is_some());
    let name = known.then(|| W::PROFILES.get(profile).map(|name| (*name).to_owned())).flatten();
    let scale = loaded.map(|there| there.scale).or(plan.scale);
    let clients = match preset.clients_per_unit {
        _ if paced => scale.map(Defaults::sessions_paced),
        Some(each) => scale.map(|scale| each.saturating_mul(scale)),
        None => Some(defaults.clients),
    };
    Ok(Plan { profile: name, ..plan }.or(Plan {
        scale,
        pace: Some(pace),
        clients,
        ramp_up: preset.ramp_up.or(Some(defaults.ramp_up(paced))),
        checkpoint: preset.checkpoint.or(paced.then_some(CHECKPOINT_PACED)),
        duration: preset.duration.or(Some(defaults.duration)),
        stage_duration,
        seed: loaded.map(|_| random_seed()),
        check: Some(defaults.check),
        steady: (defaults.steady > 0).then_some(defaults.steady),
        reconnect_for: Some(RECONNECT_FOR),
        ..Plan::default()
    }))
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
            let Preview(plan, defaults, terminal) = self;
            let profile = profile::<W>(&plan, None)?;
            population::within::<W>(plan.scale.unwrap_or(SCALE), profile)?;
            let plan = settle::<W>(plan, defaults, None)?;
            followed::<W>(terminal, &plan, plan.scale.unwrap_or(u32::MAX))?;
            Ok(plan)
        }
    }
    plan.workload.unwrap_or_default().visit(Preview(plan, defaults, terminal))
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
        // Stages add clients without think time.
        (Users::Usual, None) if plan.stages.is_empty() => Ok(Pace::Standard),
        (_, None) => Ok(defaults.pace),
    }
}

/// The cards of each transaction type, if the plan asks for another mix than the standard's.
pub(super) fn mix<W: Workload>(plan: &Plan) -> Result<Option<Vec<u8>>, Error> {
    let Some(mix) = &plan.mix else { return Ok(None) };
    if W::TRANSACTIONS.len() < 2 {
        return Err(Error::Usage(format!("--mix: {} has one transaction type: leave --mix out", W::NAME)));
    }
    mix.cards(W::TRANSACTIONS).map(Some).map_err(Error::Usage)
}

/// The number of the terminal to follow, given as warehouse or branch and terminal, if one is asked for.
pub(super) fn followed<W: Workload>(
    terminal: Option<(u32, u32)>,
    plan: &Plan,
    scale: u32,
) -> Result<Option<u32>, Error> {
    match terminal {
        None => Ok(None),
        Some(_) if plan.pace.and_then(Pace::factors).is_none() => {
            Err(Error::Usage("--show-terminal follows a terminal: add --pace standard".to_owned()))
        }
        Some((unit, _)) if unit > scale => {
            let (one, units) = (W::SCALE_UNIT.0, population::unit::<W>(scale));
            Err(Error::Usage(format!("there is no terminal of {one} {unit}: the database has {scale} {units}")))
        }
        Some((unit, terminal)) => Ok(Some((unit - 1) * W::TERMINALS + terminal - 1)),
    }
}

/// How a run of a settled plan goes.
pub(super) fn schedule<W: Workload>(
    plan: &Plan,
    manifest: &Manifest,
    stages: &Stages,
    shown: Option<u32>,
) -> Result<Schedule, Error> {
    let most = stages.clients().iter().max().copied();
    let clients = most.or(plan.clients).unwrap_or(1);
    let terminals = u64::from(manifest.scale) * u64::from(W::TERMINALS);
    let factors = plan.pace.and_then(Pace::factors);
    let (load, terminals) = match factors {
        None => (Load::ClosedLoop, terminals.max(u64::from(clients))),
        Some(_) => (Load::Paced, terminals),
    };
    let (keying, think) = factors.unwrap_or((Factor::ONE, Factor::ONE));
    Ok(Schedule {
        load,
        clients,
        terminals,
        at_home: W::preset(profile::<W>(plan, Some(manifest))?).clients_per_unit.is_some(),
        shown,
        pass: 0,
        seed: plan.seed.unwrap_or_default(),
        threads: plan.threads,
        keying,
        think,
        ramp_up: plan.ramp_up.unwrap_or_default(),
        patience: plan.timeout.unwrap_or(TIMEOUT),
        duration: if stages.is_empty() {
            plan.duration.unwrap_or(1)
        } else {
            stages.clients().len() as u32 * stages.seconds()
        },
    })
}
