//! Compares the contents of a database with a plan.

use crate::engine::{DatabaseState, Error};
use crate::plan::Plan;
use crate::result::{Manifest, Procedures};
use crate::workload::Workload;

/// The index of a profile, by its name if one is given.
pub(crate) fn profile<W: Workload>(name: Option<&str>) -> Result<Option<usize>, Error> {
    let Some(name) = name else { return Ok(None) };
    let number = W::PROFILES.iter().position(|profile| *profile == name);
    let unknown = || Error::Usage(format!("{} has no profile `{name}`; it has {}", W::NAME, W::PROFILES.join(", ")));
    number.map(Some).ok_or_else(unknown)
}

/// Refuses a scale whose keys would not fit.
pub(crate) fn within<W: Workload>(scale: u32, profile: usize) -> Result<(), Error> {
    let most = W::max_scale(profile);
    if scale <= most {
        return Ok(());
    }
    Err(Error::Usage(format!("{scale} {} are too many: the keys of {} allow at most {most}", W::SCALE_UNIT.1, W::NAME)))
}

/// Refuses stored procedures whose source is not this program's.
pub(crate) fn own(procedures: Procedures, workload: &str, url: &str) -> Result<Procedures, Error> {
    match procedures {
        Procedures::Other(names) => Err(Error::Database(format!(
            "the stored procedures in {url} are of another version of Graymark, were changed, or this user has no right \
             to them ({}): reinstall them with graymark load {workload} --procedures-only, or grant EXECUTE on them",
            names.join(", ")
        ))),
        known => Ok(known),
    }
}

/// Refuses a plan whose population differs from the database's.
pub(crate) fn agree<W: Workload>(plan: &Plan, there: &Manifest, url: &str) -> Result<(), Error> {
    if let Some(scale) = plan.scale.filter(|scale| *scale != there.scale) {
        return Err(Error::Usage(format!(
            "{url} holds {} {}, not {scale}: leave out -w or -b, or remove the tables first with graymark drop",
            there.scale,
            unit::<W>(there.scale)
        )));
    }
    let (asked, is) = (profile::<W>(plan.profile.as_deref())?, W::profile(&there.parameters));
    if let (Some(asked), Some(is)) = (asked, is)
        && asked != is
    {
        let name = |profile: usize| W::PROFILES.get(profile).copied().unwrap_or_default();
        return Err(Error::Usage(format!(
            "{url} is loaded for the profile {}, not {}: leave out --profile, or remove the tables first with graymark \
             drop {}",
            name(is),
            name(asked),
            W::NAME
        )));
    }
    // The manifest of an existing database may be invalid, too.
    within::<W>(there.scale, is.or(asked).unwrap_or_default())
}

/// Refuses to continue a load with other rows than it began with.
pub(crate) fn same(plan: &Plan, there: &Manifest, url: &str) -> Result<(), Error> {
    let other = |what: &str, is: String| {
        let advice = "remove the option, or remove the tables first with graymark drop";
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

/// Singular or plural of the scale's unit.
pub(crate) fn unit<W: Workload>(scale: u32) -> &'static str {
    if scale == 1 { W::SCALE_UNIT.0 } else { W::SCALE_UNIT.1 }
}

/// The error for a database that contains another workload.
pub(crate) fn other<W: Workload>(workload: &str, url: &str) -> Error {
    Error::Usage(format!(
        "{url} holds the workload {workload}, not {}: name {workload} in the command, or give another database",
        W::NAME
    ))
}

/// The error for tables with the workload's names that Graymark did not create.
pub(crate) fn foreign(url: &str, why: &str) -> Error {
    Error::Database(format!("{url}: {why}"))
}

/// The error for incomplete tables that cannot be loaded further.
pub(crate) fn damaged<W: Workload>(url: &str, why: &str) -> Error {
    Error::Usage(format!(
        "{url} holds incomplete {} tables ({why}): remove them with graymark drop {}, or give another database",
        W::NAME,
        W::NAME
    ))
}

/// The manifest of a completely loaded database; otherwise an error that says what to do.
pub(crate) fn complete<W: Workload>(there: DatabaseState, url: &str) -> Result<Manifest, Error> {
    let name = W::NAME;
    match there {
        DatabaseState::Complete(manifest) => Ok(manifest),
        DatabaseState::Nothing => Err(Error::Database(format!(
            "{url} holds no {name} tables that this user can see: load them first with graymark load {name}, or use \
             graymark \
             bench"
        ))),
        DatabaseState::Unfinished(manifest) => Err(Error::Database(format!(
            "the load of {} {} into {url} is incomplete: continue it with graymark load {name}",
            manifest.scale,
            unit::<W>(manifest.scale)
        ))),
        DatabaseState::Other { workload } => Err(other::<W>(&workload, url)),
        DatabaseState::Damaged { why } => Err(Error::Database(format!(
            "{url} holds incomplete {name} tables ({why}): remove them with graymark drop {name} and load again"
        ))),
        DatabaseState::Foreign { why } => Err(foreign(url, &why)),
    }
}
