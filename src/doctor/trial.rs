//! Trials of a dialect: the tables and transactions of all workloads, and a run of a second.

use super::Answer;
use crate::drive::Stop;
use crate::engine::dialect::Dialect;
use crate::engine::probe::ProbedServer;
use crate::engine::registry::{WorkloadName, WorkloadVisitor};
use crate::engine::sql::{SqlWorkload, WorkloadSql};
use crate::plan::{Check, ISOLATION, Plan, RampUp, TIMEOUT};
use crate::result::Via;
use crate::run::Run;
use crate::url::DatabaseUrl;

/// A step of a trial.
pub(super) enum Step {
    /// A workload's tables and transactions, without rows.
    Rehearse(WorkloadName),
    /// A load and a run of the smallest workload.
    Run,
}

/// All steps in order.
pub(super) const STEPS: &[Step] = &[Step::Rehearse(WorkloadName::Tpcc), Step::Run];
/// The workload that is loaded and run.
const SMALLEST: WorkloadName = WorkloadName::DebitCredit;

impl Step {
    /// A description of the step.
    pub(super) fn title(&self) -> String {
        match self {
            Step::Rehearse(workload) => {
                format!("{}: tables, keys, transactions, conditions and effects, without rows", workload.about().name)
            }
            Step::Run => {
                format!("{}: load, check, run for a second, count and check again", SMALLEST.about().name)
            }
        }
    }
}

/// A workload's SQL in a dialect.
struct SqlOf(&'static Dialect);

impl WorkloadVisitor for SqlOf {
    type Output = WorkloadSql;

    fn visit<W: SqlWorkload>(self) -> WorkloadSql {
        WorkloadSql::of::<W>(self.0)
    }
}

/// Creates a workload's tables in an empty schema and prepares its transactions.
pub(super) async fn rehearse(
    server: &dyn ProbedServer,
    dialect: &'static Dialect,
    via: Via,
    workload: WorkloadName,
    place: &str,
) -> Answer {
    let level = dialect.isolation.unwrap_or(ISOLATION);
    let done = server.rehearse(place, &workload.visit(SqlOf(dialect)), via, level).await;
    done.map(|()| String::new()).map_err(|error| error.to_string())
}

/// Loads the smallest population and executes a normal run of a second, or of ten if nothing completes in one.
pub(super) fn run(url: &DatabaseUrl, via: Via, timeout: Option<u32>, stop: &Stop) -> Answer {
    match run_of(1, url, via, timeout, stop)? {
        Trial { nothing: true, .. } => run_of(10, url, via, timeout, stop)?.answer,
        trial => trial.answer,
    }
}

/// What came of a run, and whether nothing completed and nothing failed.
struct Trial {
    answer: Answer,
    nothing: bool,
}

fn run_of(seconds: u32, url: &DatabaseUrl, via: Via, timeout: Option<u32>, stop: &Stop) -> Result<Trial, String> {
    let directory = tempfile::tempdir().map_err(|error| format!("a temporary directory cannot be created: {error}"))?;
    let plan = Plan {
        db: Some(url.clone()),
        workload: Some(SMALLEST),
        scale: Some(1),
        via: Some(via),
        clients: Some(2),
        ramp_up: Some(RampUp::Seconds(0)),
        duration: Some(seconds),
        check: Some(Check::Both),
        timeout: Some(timeout.unwrap_or(TIMEOUT)),
        ..Plan::default()
    };
    let run = Run::bench(plan).out(directory.path().join("record")).stop(stop.clone());
    let outcome = run.start().map_err(|error| error.to_string())?.ok_or("stopped")?;
    let summary = &outcome.summary;
    let completed: u64 = summary.transactions.values().map(|of_type| of_type.completed).sum();
    let failed: u64 = summary.outcomes.values().map(|outcomes| outcomes.all_failed()).sum();
    let agrees = match summary.database.agrees {
        Some(true) => "the database has the same effects",
        Some(false) => "the database has different effects",
        None => "effects were not counted",
    };
    let broken = summary.consistency.failed.join(", ");
    let conditions = match broken.as_str() {
        "" => format!("{} conditions hold", summary.consistency.held),
        broken => format!("conditions that failed: {broken}"),
    };
    let texts = format!("{completed} transactions, {failed} failed; {agrees}; {conditions}");
    let works = !outcome.failed() && completed > 0 && summary.database.agrees == Some(true);
    let answer = if works { Ok(texts) } else { Err(texts) };
    Ok(Trial { answer, nothing: completed + failed == 0 })
}
