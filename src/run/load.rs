//! Loads a database, or continues an interrupted load.

use super::population::{agree, damaged, foreign, other, profile, within};
use super::requests::{Progress, Requests};
use super::resolve::random_seed;
use crate::engine::{DatabaseState, Engine, Error};
use crate::plan::{Plan, SCALE};
use crate::result::{Event, LoadReport, Manifest, Step};
use crate::workload::value::Timestamp;
use crate::workload::{Population, Workload};

/// Loads what is missing; `None` if it was interrupted.
pub(crate) fn fill<W: Workload>(
    requests: &Requests<W>,
    plan: &Plan,
    tell: &mut dyn FnMut(&Event),
) -> Result<Option<(LoadReport, Manifest)>, Error> {
    let Some(there) = requests.database_state()? else { return Ok(None) };
    let manifest = manifest::<W>(plan, there, &requests.engine().identity().url)?;
    let profile = W::profile(&manifest.parameters).unwrap_or_default();
    let population = W::population(manifest.scale, manifest.seed, Timestamp(manifest.date), profile);
    let rows = population.parts().iter().map(|part| part.rows).sum();
    let jobs =
        plan.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()), |jobs| jobs as usize);
    let wanted = manifest.clone();
    tell(&Event::Step(Step::LoadBegan { rows }));
    let loaded = requests.follow(tell, async move |engine: &dyn Engine<W>, progress: &Progress<'_>| {
        engine.load(&wanted, &population, jobs, &|step| progress.tell(Step::Load(step))).await
    });
    tell(&Event::Step(Step::LoadEnded));
    Ok(loaded?.map(|report| (report, manifest)))
}

/// The population to load: that of the interrupted load, else that of the plan.
fn manifest<W: Workload>(plan: &Plan, there: DatabaseState, url: &str) -> Result<Manifest, Error> {
    match there {
        DatabaseState::Nothing => {
            let date = plan.date.unwrap_or_else(jiff::Timestamp::now).as_microsecond();
            let (scale, seed) = (plan.scale.unwrap_or(SCALE), plan.seed.unwrap_or_else(random_seed));
            let profile = profile::<W>(plan.profile.as_deref())?.unwrap_or_default();
            within::<W>(scale, profile)?;
            let parameters = W::parameters(&W::population(scale, seed, Timestamp(date), profile));
            Ok(Manifest { format: 1, scale, seed, date, foreign_keys: plan.foreign_keys, parameters })
        }
        DatabaseState::Unfinished(manifest) | DatabaseState::Complete(manifest) => {
            agree::<W>(plan, &manifest, url)?;
            Ok(manifest)
        }
        DatabaseState::Other { workload } => Err(other::<W>(&workload, url)),
        DatabaseState::Damaged { why } => Err(damaged::<W>(url, &why)),
        DatabaseState::Foreign { why } => Err(foreign(url, &why)),
    }
}
