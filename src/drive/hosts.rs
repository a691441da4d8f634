//! Counts the transactions that each of several hosts completed, and the times in which a host had no sessions.

/// Counts of one thread for each host, and of transactions by the number of nodes of their rows. Empty with one host.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Sessions at the start.
    begun: Vec<u64>,
    /// Transactions completed, by host and type: all types of the first host come first.
    served: Vec<u64>,
    types: usize,
    /// For each type, transactions whose nodes are known, and how many of them used several.
    spread: Vec<(u64, u64)>,
}

impl Counts {
    /// Empty counts for a number of hosts and of transaction types.
    pub(super) fn new(hosts: usize, types: usize) -> Counts {
        Counts { begun: vec![0; hosts], served: vec![0; hosts * types], types, spread: vec![(0, 0); types] }
    }

    /// A session started at a host.
    pub(super) fn opened(&mut self, host: Option<usize>) {
        if let Some(count) = host.and_then(|host| self.begun.get_mut(host)) {
            *count += 1;
        }
    }

    /// A host completed a transaction, whose rows were on `nodes` nodes.
    pub(super) fn served(&mut self, host: Option<usize>, nodes: Option<usize>, transaction: usize) {
        if let Some(count) = host.and_then(|host| self.served.get_mut(host * self.types + transaction)) {
            *count += 1;
        }
        if let Some((nodes, (known, several))) = nodes.zip(self.spread.get_mut(transaction)) {
            *known += 1;
            *several += u64::from(nodes > 1);
        }
    }

    /// Transactions by type: those whose nodes are known, and those on several; empty if none are known.
    pub(super) fn by_nodes(&self) -> Vec<(u64, u64)> {
        if self.spread.iter().any(|(known, _)| *known > 0) { self.spread.clone() } else { Vec::new() }
    }

    /// Adds the counts of another thread.
    pub(super) fn add(&mut self, other: &Counts) {
        for (sum, count) in self.begun.iter_mut().zip(&other.begun) {
            *sum += count;
        }
        for (sum, count) in self.served.iter_mut().zip(&other.served) {
            *sum += count;
        }
        for (sum, count) in self.spread.iter_mut().zip(&other.spread) {
            *sum = (sum.0 + count.0, sum.1 + count.1);
        }
    }
}

/// A session connected to a host, or its connection ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HostChange {
    /// Seconds since the run's start.
    pub(super) at: f64,
    /// The host.
    pub(super) host: String,
    /// How the session's connection changed.
    pub(super) what: Change,
}

/// How a session's connection to a host changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It was opened.
    Opened,
    /// It was lost.
    Lost,
    /// It was given up, while the host could be reached.
    GivenUp,
}

/// The totals of a host in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostTotals {
    /// Name and port.
    pub host: String,
    /// Sessions at the start.
    pub sessions_begin: u64,
    /// Sessions at the end.
    pub sessions_end: u64,
    /// Lost connections.
    pub lost: u64,
    /// Completed transactions by type.
    pub served: Vec<u64>,
    /// Times in which it had lost all of its sessions: start in seconds since the run's start, and length in seconds.
    pub outages: Vec<(f64, f64)>,
}

/// The totals of each host in a run that ended at `end` seconds.
pub(super) fn totals(names: &[String], counts: &Counts, mut moves: Vec<HostChange>, end: f64) -> Vec<HostTotals> {
    moves.sort_by(|one, other| one.at.total_cmp(&other.at));
    let of_host = |(number, name): (usize, &String)| {
        let begun = counts.begun.get(number).copied().unwrap_or_default();
        let served = counts.served.chunks(counts.types.max(1)).nth(number).map(<[u64]>::to_vec).unwrap_or_default();
        let (mut sessions, mut lost, mut outages, mut since) = (begun, 0, Vec::new(), None);
        for step in moves.iter().filter(|step| step.host == *name) {
            if step.what == Change::Opened {
                sessions += 1;
                outages.extend(since.take().map(|since| (since, step.at - since)));
                continue;
            }
            sessions = sessions.saturating_sub(1);
            if step.what == Change::Lost {
                lost += 1;
                if sessions == 0 {
                    since = Some(step.at);
                }
            }
        }
        outages.extend(since.map(|since| (since, (end - since).max(0.0))));
        HostTotals { host: name.clone(), sessions_begin: begun, sessions_end: sessions, lost, served, outages }
    };
    names.iter().enumerate().map(of_host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_counted_by_their_nodes() {
        let (mut counts, mut all) = (Counts::new(0, 2), Counts::new(0, 2));
        counts.served(None, None, 0);
        assert!(counts.by_nodes().is_empty());
        for nodes in [1, 2, 3] {
            counts.served(None, Some(nodes), 1);
        }
        all.add(&counts);
        all.add(&counts);
        assert_eq!(all.by_nodes(), [(0, 0), (6, 4)]);
    }

    #[test]
    fn a_host_is_away_from_its_last_session_to_its_next() {
        let names = ["a", "b"].map(str::to_owned);
        let mut counts = Counts::new(2, 3);
        (0..2).for_each(|_| counts.opened(Some(0)));
        counts.served(Some(1), None, 2);
        counts.served(Some(7), None, 2);
        let mut sum = Counts::new(2, 3);
        sum.add(&counts);
        let step = |at, host: &str, what| HostChange { at, host: host.to_owned(), what };
        let moves = vec![
            step(9.0, "a", Change::Opened),
            step(3.0, "a", Change::Lost),
            step(4.0, "a", Change::Lost),
            step(5.0, "b", Change::Opened),
            step(8.0, "b", Change::Lost),
        ];
        let [a, b] = totals(&names, &sum, moves, 20.0).try_into().unwrap();
        assert_eq!((a.sessions_begin, a.sessions_end, a.lost, a.outages), (2, 1, 2, vec![(4.0, 5.0)]));
        assert_eq!((b.sessions_begin, b.sessions_end, b.served, b.outages), (0, 0, vec![0, 0, 1], vec![(8.0, 12.0)]));
    }

    #[test]
    fn a_session_that_was_given_up_is_at_the_host_where_it_was_opened_again() {
        let names = ["a", "b"].map(str::to_owned);
        let mut counts = Counts::new(2, 1);
        (0..2).for_each(|_| counts.opened(Some(0)));
        let step = |at, host: &str, what| HostChange { at, host: host.to_owned(), what };
        let moves = vec![
            step(3.0, "a", Change::GivenUp),
            step(3.1, "b", Change::Opened),
            step(5.0, "a", Change::GivenUp),
            step(5.1, "a", Change::Opened),
            step(8.0, "a", Change::Lost),
        ];
        let [a, b] = totals(&names, &counts, moves, 20.0).try_into().unwrap();
        assert_eq!((a.sessions_begin, a.sessions_end, a.lost, a.outages), (2, 0, 1, vec![(8.0, 12.0)]));
        assert_eq!((b.sessions_begin, b.sessions_end, b.lost, b.outages), (0, 1, 0, vec![]));
    }
}
