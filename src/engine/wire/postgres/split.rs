//! A session that sends read-only transactions over a second connection, and knows on which nodes of the database the
//! rows of a transaction are.

use std::sync::Arc;

use super::placement::Placement;
use crate::engine::{Failure, Session};
use crate::workload::Workload;
use crate::workload::trace::Footprint;

/// A session, and optionally a second one for read-only transactions.
pub struct Split<S> {
    main: S,
    reads: Option<S>,
    /// Whether the last transaction used the second one.
    elsewhere: bool,
    placement: Option<Arc<Placement>>,
    /// On how many nodes the rows of the last transaction are.
    nodes: Option<usize>,
}

impl<S> Split<S> {
    /// Without a second one, everything goes to the first.
    pub(super) fn new(main: S, reads: Option<S>) -> Split<S> {
        Split { main, reads, elsewhere: false, placement: None, nodes: None }
    }

    /// The same on a distributed database.
    pub(super) fn placed(self, placement: Option<Arc<Placement>>) -> Split<S> {
        Split { placement, ..self }
    }
}

impl<W: Workload, S: Session<W>> Session<W> for Split<S> {
    async fn execute(&mut self, input: &W::Input) -> Result<W::Output, Failure> {
        self.nodes = self.placement.as_ref().and_then(|placement| placement.nodes(&W::places(input)));
        match &mut self.reads {
            Some(reads) if W::footprint(input) == Footprint::None => {
                self.elsewhere = true;
                reads.execute(input).await
            }
            _ => {
                self.elsewhere = false;
                self.main.execute(input).await
            }
        }
    }

    fn id(&self) -> Option<u64> {
        self.main.id()
    }

    fn nodes(&self) -> Option<usize> {
        self.nodes
    }

    /// The host of the last transaction.
    fn host(&self) -> Option<usize> {
        self.reads.as_ref().filter(|_| self.elsewhere).unwrap_or(&self.main).host()
    }

    /// The sum of both.
    fn round_trips(&self) -> Option<u64> {
        let reads = self.reads.as_ref().map_or(Some(0), Session::round_trips);
        self.main.round_trips().zip(reads).map(|(main, reads)| main + reads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Terminal;
    use crate::workload::tpcc::Tpcc;
    use crate::workload::value::Timestamp;

    /// Answers like a database, and counts.
    struct Host(usize, u32);

    impl Session<Tpcc> for Host {
        async fn execute(&mut self, input: &<Tpcc as Workload>::Input) -> Result<<Tpcc as Workload>::Output, Failure> {
            self.1 += 1;
            Tpcc::simulated(input).map_err(Failure::Invalid)
        }

        fn host(&self) -> Option<usize> {
            Some(self.0)
        }
    }

    #[test]
    fn what_changes_nothing_goes_to_the_second_session_and_all_else_to_the_first() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let parameters = Tpcc::parameters(&Tpcc::population(1, 1, Timestamp(0), 0));
        let mut terminal = Tpcc::terminal(&Tpcc::terminals(1, &parameters, 1).unwrap(), 0);
        let mut split = Split::new(Host(0, 0), Some(Host(1, 0)));
        let mut reads = 0;
        for _ in 0..200 {
            let input = terminal.next_input();
            let only_reads = Tpcc::footprint(&input) == Footprint::None;
            reads += u32::from(only_reads);
            runtime.block_on(Session::<Tpcc>::execute(&mut split, &input)).unwrap();
            assert_eq!(Session::<Tpcc>::host(&split), Some(usize::from(only_reads)));
        }
        assert!(reads > 0 && reads < 200, "{reads}");
        assert_eq!((split.main.1, split.reads.map(|host| host.1)), (200 - reads, Some(reads)));
    }
}
