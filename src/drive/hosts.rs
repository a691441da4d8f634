//! Which of several hosts served what, and when one of them had no sessions.

/// What a thread counts for each host. Empty where there are not several.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Sessions at the start.
    begun: Vec<u64>,
    /// Transactions completed, by host and type: the types of the first host come first.
    served: Vec<u64>,
    types: usize,
}

impl Counts {
    /// Room for so many hosts and types of transactions.
    pub(super) fn new(hosts: usize, types: usize) -> Counts {
        Counts { begun: vec![0; hosts], served: vec![0; hosts * types], types }
    }

    /// A session began at a host.
    pub(super) fn opened(&mut self, host: Option<usize>) {
        if let Some(count) = host.and_then(|host| self.begun.get_mut(host)) {
            *count += 1;
        }
    }

    /// A transaction was completed at a host.
    pub(super) fn served(&mut self, host: Option<usize>, transaction: usize) {
        if let Some(count) = host.and_then(|host| self.served.get_mut(host * self.types + transaction)) {
            *count += 1;
        }
    }

    /// Adds those of another thread.
    pub(super) fn add(&mut self, other: &Counts) {
        for (sum, count) in self.begun.iter_mut().zip(&other.begun) {
            *sum += count;
        }
        for (sum, count) in self.served.iter_mut().zip(&other.served) {
            *sum += count;
        }
    }
}

/// A session left a host, or came to it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Move {
    /// Seconds since the run's start.
    pub(super) at: f64,
    /// The host.
    pub(super) host: String,
    /// Whether it came.
    pub(super) came: bool,
}

/// What a host did in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostTotals {
    /// Its name and port.
    pub host: String,
    /// Sessions at the start.
    pub sessions_begin: u64,
    /// Sessions at the end.
    pub sessions_end: u64,
    /// Connections to it that were lost.
    pub lost: u64,
    /// Transactions that it completed, by their types.
    pub served: Vec<u64>,
    /// Times in which it had lost all of its sessions: start in seconds since the run's start, and length in seconds.
    pub outages: Vec<(f64, f64)>,
}

/// What each host did in a run that ended at so many seconds.
pub(super) fn totals(names: &[String], counts: &Counts, mut moves: Vec<Move>, end: f64) -> Vec<HostTotals> {
    moves.sort_by(|one, other| one.at.total_cmp(&other.at));
    let of_host = |(number, name): (usize, &String)| {
        let begun = counts.begun.get(number).copied().unwrap_or_default();
        let served = counts.served.chunks(counts.types.max(1)).nth(number).map(<[u64]>::to_vec).unwrap_or_default();
        let (mut sessions, mut lost, mut outages, mut since) = (begun, 0, Vec::new(), None);
        for step in moves.iter().filter(|step| step.host == *name) {
            if step.came {
                sessions += 1;
                outages.extend(since.take().map(|since| (since, step.at - since)));
            } else {
                sessions = sessions.saturating_sub(1);
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
    fn a_host_is_away_from_its_last_session_to_its_next() {
        let names = ["a", "b"].map(str::to_owned);
        let mut counts = Counts::new(2, 3);
        (0..2).for_each(|_| counts.opened(Some(0)));
        counts.served(Some(1), 2);
        counts.served(Some(7), 2);
        let mut sum = Counts::new(2, 3);
        sum.add(&counts);
        let step = |at, host: &str, came| Move { at, host: host.to_owned(), came };
        let moves = vec![
            step(9.0, "a", true),
            step(3.0, "a", false),
            step(4.0, "a", false),
            step(5.0, "b", true),
            step(8.0, "b", false),
        ];
        let [a, b] = totals(&names, &sum, moves, 20.0).try_into().unwrap();
        assert_eq!((a.sessions_begin, a.sessions_end, a.lost, a.outages), (2, 1, 2, vec![(4.0, 5.0)]));
        assert_eq!((b.sessions_begin, b.sessions_end, b.served, b.outages), (0, 0, vec![0, 0, 1], vec![(8.0, 12.0)]));
    }
}
