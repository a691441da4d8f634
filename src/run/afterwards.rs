//! Database requests after the load of a run.

use std::time::{Duration, Instant};

use super::steps::{Steps, no_private_server};
use super::summary::{After, Measured};
use super::{count, lookup, nodes};
use crate::drive::Totals;
use crate::engine::Error;
use crate::plan::Check;
use crate::plan::resolved::Resolved;
use crate::result::{Manifest, Step};
use crate::workload::Workload;

impl<W: Workload> Steps<'_, W> {
    /// Kills the private server and starts it again. Returns the seconds until it accepted connections.
    pub(super) fn recover(&mut self) -> Result<f64, Error> {
        self.run.tell(Step::RecoveryBegan);
        let began = Instant::now();
        let server = self.engine().private_server().ok_or_else(no_private_server)?;
        server.crash()?;
        server.start_again()?;
        Ok(began.elapsed().as_secs_f64())
    }

    /// Queries the database's own counts.
    pub(super) fn count(&mut self, plan: &Resolved, totals: &Totals, after: &mut After) {
        let reconnect_for = Duration::from_secs(plan.reconnect_for.into());
        let count = if totals.ambiguous > 0 { count::settled } else { count::after };
        let silent = totals.abandoned > 0;
        after.effects = count(&self.requests, plan.asked.timeout, reconnect_for, silent, &mut self.run.consumer);
    }

    /// Checks the consistency conditions after the run, if the plan requests it and the database is reachable. Returns
    /// whether they were checked.
    pub(super) fn check_after(&mut self, plan: &Resolved, manifest: &Manifest, after: &mut After) -> bool {
        if !plan.check.is_after() {
            return false;
        }
        // The results stored so far have this as still to come.
        after.unchecked.clear();
        if after.effects.is_err() || after.interrupted {
            return true;
        }
        match self.check(manifest, true) {
            Ok(Some(findings)) => after.findings = findings,
            Ok(None) => after.interrupted = true,
            Err(error) => after.unchecked = error.to_string(),
        }
        true
    }

    /// Checks the standbys of a cluster after the run, if conditions are to be checked. Returns whether there are any.
    pub(super) fn check_nodes(&mut self, plan: &Resolved, after: &mut After) -> bool {
        if plan.check == Check::None || after.effects.is_err() || after.interrupted || after.nodes.0.is_empty() {
            return false;
        }
        match nodes::check(&self.requests, plan.asked.timeout, &mut self.run.consumer) {
            Ok(None) => after.interrupted = true,
            Ok(Some(checks)) => {
                let finding = nodes::finding(&checks);
                finding.iter().for_each(|finding| self.run.tell(Step::Checked(finding.clone())));
                after.nodes.1 = checks;
                after.findings.extend(finding);
            }
            Err(error) => after.unchecked = error.to_string(),
        }
        true
    }

    /// Looks up the commits of unknown outcome. Returns whether there could be any.
    pub(super) fn look_up(&mut self, plan: &Resolved, measured: &Measured, after: &mut After) -> bool {
        let totals = &measured.totals;
        if totals.lost == 0 && totals.unreadable == 0 {
            return false;
        }
        if let Err(why) = &after.effects {
            after.lookup = Some(lookup::unasked(totals, why));
            return true;
        }
        match lookup::after(&self.requests, plan.asked.timeout, totals) {
            Ok((lookup, finding)) => {
                if let Some(finding) = &finding {
                    self.run.tell(Step::Checked(finding.clone()));
                }
                after.lookup = Some(lookup);
                after.findings.extend(finding);
            }
            Err(error) => {
                after.lookup = Some(lookup::unasked(totals, error.to_string()));
                after.unchecked = error.to_string();
            }
        }
        true
    }
}
