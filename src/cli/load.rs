//! `graymark load`: creates and fills the tables, or goes on with an interrupted load.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::ask::{Patience, Pulse};
use super::interrupt::Interrupt;
use super::progress::LoadProgress;
use super::{Ended, LoadArgs, WorkloadName, check, seed, with_engine};
use crate::engine::Options;
use crate::engine::registry::Visitor;
use crate::engine::{DatabaseState, Engine, Error};
use crate::plan::Plan;
use crate::report::text;
use crate::result::Isolation;
use crate::result::{LoadReport, Manifest};
use crate::workload::value::Timestamp;
use crate::workload::{Population, Workload};

/// The command.
pub(super) fn load(args: LoadArgs) -> Result<Ended, Error> {
    let options = options(args.workload, &args.plan);
    let LoadArgs { plan, json, procedures_only, .. } = args;
    with_engine(args.workload, options, Load { plan, json, procedures_only, interrupt: Interrupt::listen()? })
}

/// What an engine is opened with for a plan.
pub(super) fn options(workload: WorkloadName, plan: &Plan) -> Options {
    Options {
        url: plan.db(workload),
        via: plan.via,
        scale: plan.scale,
        profile: plan.profile.clone(),
        isolation: plan.isolation.unwrap_or(Isolation::ReadCommitted),
        settings: plan.settings(),
    }
}

struct Load {
    plan: Plan,
    json: bool,
    procedures_only: bool,
    interrupt: Interrupt,
}

impl Visitor for Load {
    type Output = Ended;

    fn visit<W: Workload, E: Engine<W>>(self, _: &Runtime, engine: Arc<E>) -> Result<Ended, Error> {
        let patience = Patience::of(self.plan.timeout);
        let Some(database_state) = self.interrupt.database_state::<W, E>(&engine, patience)? else {
            return Ok(Ended::Interrupted);
        };
        if self.procedures_only {
            check::complete::<W>(database_state, &engine.identity().url)?;
            let renew = async |engine: &E, _: &Pulse| engine.renew_procedures().await;
            if self.interrupt.ask::<W, E, _>(&engine, patience, renew)?.is_none() {
                return Ok(Ended::Interrupted);
            }
            tell!("load: the procedures in {} are those of this Graymark now", engine.identity().url);
            return Ok(Ended::Held);
        }
        if let DatabaseState::Complete(manifest) | DatabaseState::Unfinished(manifest) = &database_state {
            same(&self.plan, manifest, &engine.identity().url)?;
        }
        if let DatabaseState::Complete(manifest) = &database_state {
            agree::<W>(&self.plan, manifest, &engine.identity().url)?;
            let unit = check::unit::<W>(manifest.scale);
            tell!("load: {} is loaded already with {} {unit}", engine.identity().url, manifest.scale);
            return Ok(Ended::Held);
        }
        let Some((report, manifest)) = fill::<W, E>(&engine, &self.plan, &self.interrupt)? else {
            tell!("load: stopped; start the same command again and it goes on where it was");
            return Ok(Ended::Interrupted);
        };
        if self.json {
            answer!("{}", serde_json::json!({ "engine": engine.identity(), "population": manifest, "load": report }));
        } else {
            answer!("{}", text::load(&report).trim_end());
        }
        Ok(Ended::Held)
    }
}

/// The number of the profile of a name, if there is a name.
pub(super) fn profile<W: Workload>(name: Option<&str>) -> Result<Option<usize>, Error> {
    let Some(name) = name else { return Ok(None) };
    let number = W::PROFILES.iter().position(|profile| *profile == name);
    let unknown = || Error::Usage(format!("{} has no profile `{name}`; it has {}", W::NAME, W::PROFILES.join(", ")));
    number.map(Some).ok_or_else(unknown)
}

/// Refuses a scale whose keys would not fit.
pub(super) fn within<W: Workload>(scale: u32, profile: usize) -> Result<(), Error> {
    let most = W::max_scale(profile);
    if scale <= most {
        return Ok(());
    }
    Err(Error::Usage(format!("{scale} {} are too many: at most {most} fit the keys of {}", W::SCALE_UNIT.1, W::NAME)))
}

/// Refuses a plan that asks for another population than the one there is.
pub(super) fn agree<W: Workload>(plan: &Plan, there: &Manifest, url: &str) -> Result<(), Error> {
    if let Some(scale) = plan.scale.filter(|scale| *scale != there.scale) {
        return Err(Error::Usage(format!(
            "{url} holds {} {}, not {scale}: leave out -w, or remove them first with graymark drop",
            there.scale,
            check::unit::<W>(there.scale)
        )));
    }
    let (asked, is) = (profile::<W>(plan.profile.as_deref())?, W::profile(&there.parameters));
    if let (Some(asked), Some(is)) = (asked, is)
        && asked != is
    {
        let name = |profile: usize| W::PROFILES.get(profile).copied().unwrap_or_default();
        return Err(Error::Usage(format!(
            "{url} is loaded for the profile {}, not {}: leave out --profile, or remove the tables first with graymark drop {}",
            name(is),
            name(asked),
            W::NAME
        )));
    }
    // Also a database that is there may say of itself what cannot be.
    within::<W>(there.scale, is.or(asked).unwrap_or_default())
}

/// Refuses to load other rows than those that an earlier load has brought, or has begun to bring.
fn same(plan: &Plan, there: &Manifest, url: &str) -> Result<(), Error> {
    let other = |what: &str, is: String| {
        let advice = "leave the option out, or remove the tables first with graymark drop";
        Err(Error::Usage(format!("the rows in {url} have the {what} {is}: {advice}")))
    };
    if plan.seed.is_some_and(|seed| seed != there.seed) {
        return other("seed", there.seed.to_string());
    }
    if plan.date.is_some_and(|date| date.as_microsecond() != there.date) {
        let date = jiff::Timestamp::from_microsecond(there.date);
        return other("date", date.map_or_else(|_| there.date.to_string(), |date| date.to_string()));
    }
    if plan.foreign_keys && !there.foreign_keys {
        return Err(Error::Usage(format!(
            "the tables in {url} have no foreign keys: remove them first with graymark drop"
        )));
    }
    Ok(())
}

/// Loads what is not loaded yet; none when it was interrupted.
pub(super) fn fill<W: Workload, E: Engine<W>>(
    engine: &Arc<E>,
    plan: &Plan,
    interrupt: &Interrupt,
) -> Result<Option<(LoadReport, Manifest)>, Error> {
    let url = &engine.identity().url;
    let patience = Patience::of(plan.timeout);
    let Some(database_state) = interrupt.database_state::<W, E>(engine, patience)? else { return Ok(None) };
    let manifest = match database_state {
        DatabaseState::Nothing => {
            let date = plan.date.unwrap_or_else(jiff::Timestamp::now).as_microsecond();
            let (scale, seed) = (plan.scale.unwrap_or(1), plan.seed.unwrap_or_else(seed::drawn));
            let profile = profile::<W>(plan.profile.as_deref())?.unwrap_or_default();
            within::<W>(scale, profile)?;
            let parameters = W::parameters(&W::population(scale, seed, Timestamp(date), profile));
            Manifest { format: 1, scale, seed, date, foreign_keys: plan.foreign_keys, parameters }
        }
        DatabaseState::Unfinished(manifest) | DatabaseState::Complete(manifest) => {
            agree::<W>(plan, &manifest, url)?;
            manifest
        }
        DatabaseState::Other { workload } => return Err(check::other::<W>(&workload, url)),
        DatabaseState::Damaged { why } => {
            return Err(Error::Usage(format!(
                "{url} holds {} tables that are not whole ({why}): remove them with graymark drop {}, or give another database",
                W::NAME,
                W::NAME
            )));
        }
        DatabaseState::Foreign { why } => return Err(check::foreign(url, &why)),
    };
    let profile = W::profile(&manifest.parameters).unwrap_or_default();
    let population = W::population(manifest.scale, manifest.seed, Timestamp(manifest.date), profile);
    let rows = population.parts().iter().map(|part| part.rows).sum();
    let jobs =
        plan.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()), |jobs| jobs as usize);
    let progress = Arc::new(LoadProgress::new(rows));
    let (seen, wanted) = (Arc::clone(&progress), manifest.clone());
    let loaded = interrupt.ask::<W, E, _>(engine, patience, async move |engine: &E, pulse: &Pulse| {
        let pulse = pulse.clone();
        let told = move |step| {
            pulse.beat();
            seen.step(&step);
        };
        engine.load(&wanted, &population, jobs, &told).await
    });
    progress.finish();
    Ok(loaded?.map(|report| (report, manifest)))
}
