//! The parts of the verdict that are known before a run begins, so that a two-hour run is not spent on a plan that
//! cannot be valid.

use super::standard;
use crate::result::Isolation;
use crate::result::summary::{Durability, DurabilityClass};

/// The properties of a plan that the verdict depends on.
#[derive(Clone, Debug)]
pub(crate) struct Planned<'a> {
    /// Keying and think times are the standard's.
    pub(crate) paced: bool,
    /// Measurement interval in seconds.
    pub(crate) interval_s: f64,
    /// The consistency conditions are checked before and after the run.
    pub(crate) checked: bool,
    /// The mix is the standard's.
    pub(crate) standard_mix: bool,
    /// Number of faults planned in the interval.
    pub(crate) faults: usize,
    /// Isolation level as the engine reports it.
    pub(crate) isolation: &'a str,
    /// Durability by the server's settings.
    pub(crate) durability: &'a Durability,
}

/// Why a run that is paced and long enough to be valid cannot be valid, with the option that fixes it. Empty for
/// workloads without a standard and for all other runs.
pub(crate) fn plan_violations(workload: &str, planned: &Planned) -> Vec<String> {
    let Some(requirements) = &standard(workload).requirements else { return Vec::new() };
    if !planned.paced || planned.interval_s < requirements.interval_s {
        return Vec::new();
    }
    let weak = [Isolation::ReadUncommitted, Isolation::ReadCommitted].map(Isolation::words);
    let weak = weak.iter().find(|level| planned.isolation.starts_with(**level));
    let level = weak.map(|level| {
        let (clause, upper) = (requirements.isolation, level.to_uppercase());
        format!("clause {clause} requires more than {upper}: use --isolation repeatable-read or serializable")
    });
    let unchecked =
        || format!("clause {} requires checks before and after the run: use --check both", requirements.conditions);
    let mixed = || format!("clause {}: the mix is not the standard's: remove --mix", requirements.mix);
    let disturbed = || {
        let faults = if planned.faults == 1 { "a fault is" } else { "faults are" };
        format!("clause {}: {faults} planned in the interval: remove --fault", requirements.steady)
    };
    let risks = || format!("clause {}: {}", requirements.durability, planned.durability.risks.join("; "));
    level
        .into_iter()
        .chain((!planned.checked).then(unchecked))
        .chain((!planned.standard_mix).then(mixed))
        .chain((planned.faults > 0).then(disturbed))
        .chain((planned.durability.class == DurabilityClass::MayLoseCommits).then(risks))
        .collect()
}

/// The requirements of a standard that a plan alone can violate.
pub(super) struct PlanRequirements {
    /// The shortest measurement interval in seconds.
    pub(super) interval_s: f64,
    pub(super) isolation: &'static str,
    pub(super) conditions: &'static str,
    pub(super) mix: &'static str,
    pub(super) steady: &'static str,
    pub(super) durability: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;
    use crate::workload::debitcredit::DebitCredit;
    use crate::workload::tpcc::Tpcc;

    #[test]
    fn a_plan_that_cannot_be_valid_is_reported_before_the_run() {
        let durability = Durability { class: DurabilityClass::WaitsForTheDisk.into(), ..Durability::default() };
        let good = Planned {
            paced: true,
            interval_s: 7_200.0,
            checked: true,
            standard_mix: true,
            faults: 0,
            isolation: "repeatable read",
            durability: &durability,
        };
        assert_eq!(plan_violations(Tpcc::NAME, &good), Vec::<String>::new());
        let expect = |planned: Planned, clause: &str| {
            let all = plan_violations(Tpcc::NAME, &planned);
            assert!(all.len() == 1 && all[0].contains(&format!("clause {clause}")), "{all:?}");
        };
        expect(Planned { isolation: "read committed with row locks", ..good.clone() }, "3.4");
        expect(Planned { checked: false, ..good.clone() }, "3.3.2");
        expect(Planned { standard_mix: false, ..good.clone() }, "5.2.3");
        expect(Planned { faults: 2, ..good.clone() }, "5.5.1.2: faults are planned");
        let lost = Durability {
            class: DurabilityClass::MayLoseCommits.into(),
            risks: vec!["fsync = off".to_owned()],
            ..Durability::default()
        };
        expect(Planned { durability: &lost, ..good.clone() }, "3.5");
        // These runs cannot be mistaken for valid ones.
        let weak = Planned { isolation: "read committed", ..good };
        assert!(plan_violations(Tpcc::NAME, &Planned { interval_s: 7_199.0, ..weak.clone() }).is_empty());
        assert!(plan_violations(Tpcc::NAME, &Planned { paced: false, ..weak.clone() }).is_empty());
        assert!(plan_violations(DebitCredit::NAME, &weak).is_empty());
    }
}
