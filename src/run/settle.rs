//! Fills in what a plan leaves open, and turns it into what the driver is given.

use std::hash::{BuildHasher, RandomState};

use super::population;
use crate::drive::{Load, Schedule, Stages};
use crate::engine::Error;
use crate::plan::{Check, Factor, Pace, Plan, TIMEOUT};
use crate::result::Manifest;
use crate::workload::{Users, Workload};

/// Seconds that a database which is away when the run ends is waited for.
const RECONNECT_FOR: u32 = 300;

/// The plan as it is executed on a loaded database: whatever it leaves open is filled in. `check` is when the
/// conditions are checked if it does not say.
pub(super) fn settle<W: Workload>(plan: Plan, url: &str, manifest: &Manifest, check: Check) -> Result<Plan, Error> {
    let stage_duration = plan.staged()?.map(|(_, seconds)| seconds);
    let profile = profile::<W>(&plan, Some(manifest))?;
    let pace = pace::<W>(&plan, profile)?;
    let paced = pace.factors().is_some();
    let preset = W::preset(profile);
    // A profile that the database does not hold is the run's own matter: told where it was asked for.
    let known = plan.profile.is_some() || W::profile(&manifest.parameters).is_some();
    let name = known.then(|| W::PROFILES.get(profile).map(|name| (*name).to_owned())).flatten();
    let clients = preset.clients_per_unit.map(|clients| clients.saturating_mul(manifest.scale));
    let usual = if paced { manifest.scale.div_ceil(100).clamp(8, 1_000) } else { 4 };
    Ok(Plan { db: Some(url.into()), profile: name, ..plan }.or(Plan {
        scale: Some(manifest.scale),
        pace: Some(pace),
        clients: Some(clients.filter(|_| !paced).unwrap_or(usual)),
        ramp_up: preset.ramp_up.or(Some(if paced { 60 } else { 10 })),
        checkpoint: preset.checkpoint.or(paced.then_some(20 * 60)),
        duration: preset.duration.or(Some(60)),
        stage_duration,
        seed: Some(random_seed()),
        check: Some(check),
        reconnect_for: Some(RECONNECT_FOR),
        ..Plan::default()
    }))
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
pub(super) fn pace<W: Workload>(plan: &Plan, profile: usize) -> Result<Pace, Error> {
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
        (_, None) => Ok(Pace::None),
    }
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
