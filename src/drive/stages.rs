//! Stages: the number of active clients changes within one measurement interval; all sessions are opened before the
//! run.

use super::slices::Slices;

/// The number of active clients in each stage. No stages means that all clients are active all the time.
#[derive(Clone, Debug, Default)]
pub struct Stages {
    clients: Vec<u32>,
    seconds: u32,
    slices: Option<Slices>,
}

impl Stages {
    /// Consecutive stages of `seconds` whole seconds each; together they are the measurement interval.
    pub fn new(clients: Vec<u32>, seconds: u32) -> Stages {
        Stages { clients, seconds, slices: None }
    }

    /// All clients are active in the same slices of time, and pause in between.
    pub fn sliced(slices: Slices) -> Stages {
        Stages { slices: Some(slices), ..Stages::default() }
    }

    /// The slices of time in which all clients are active, if they are not active all the time.
    pub(super) fn slices(&self) -> Option<&Slices> {
        self.slices.as_ref()
    }

    /// Whether there are no stages.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// Clients of each stage.
    pub fn clients(&self) -> &[u32] {
        &self.clients
    }

    /// Length of a stage in seconds.
    pub fn seconds(&self) -> u32 {
        self.seconds
    }

    /// The stage at a second of the measurement interval; `None` after the last stage.
    pub fn at(&self, second: u32) -> Option<usize> {
        let stage = second.checked_div(self.seconds)? as usize;
        (stage < self.clients.len()).then_some(stage)
    }

    /// The number of active clients, of `all`, at a time in seconds since the run's start. The ramp-up has those of the
    /// first stage.
    pub(super) fn wanted(&self, at: f64, ramp_up: u32, all: u32) -> u32 {
        let second = (at as u32).saturating_sub(ramp_up);
        let stage = self.at(second).and_then(|stage| self.clients.get(stage)).or(self.clients.last());
        stage.copied().unwrap_or(all)
    }

    /// The windows in which a client is active, in seconds since the start of a run that ends at `end`, in order.
    pub(super) fn shifts(&self, client: u32, ramp_up: u32, end: u32) -> Vec<(u32, u32)> {
        if let Some(slices) = &self.slices {
            return slices.windows().to_vec();
        }
        if self.is_empty() {
            return vec![(0, end)];
        }
        let mut shifts: Vec<(u32, u32)> = Vec::new();
        let mut from = 0;
        for (stage, clients) in (1..).zip(&self.clients) {
            let to = ramp_up + stage * self.seconds;
            if client < *clients {
                match shifts.last_mut().filter(|last| last.1 == from) {
                    Some(last) => last.1 = to,
                    None => shifts.push((from, to)),
                }
            }
            from = to;
        }
        shifts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_works_in_the_stages_that_want_it() {
        let stages = Stages::new(vec![1, 3, 2, 2, 3], 10);
        let shifts = |client| stages.shifts(client, 5, 55);
        assert_eq!(shifts(0), [(0, 55)]);
        assert_eq!(shifts(1), [(15, 55)]);
        assert_eq!(shifts(2), [(15, 25), (45, 55)]);
        assert_eq!(shifts(3), []);
        assert_eq!(
            Stages::new(vec![2, 1], 10).shifts(1, 5, 25),
            [(0, 15)],
            "the ramp-up has the clients of the first stage"
        );
        assert_eq!(Stages::default().shifts(7, 5, 25), [(0, 25)]);
    }

    #[test]
    fn a_second_belongs_to_one_stage() {
        let stages = Stages::new(vec![1, 3], 10);
        assert_eq!([0, 9, 10, 19, 20].map(|second| stages.at(second)), [Some(0), Some(0), Some(1), Some(1), None]);
        assert_eq!(Stages::default().at(0), None);
        assert_eq!([0.0, 14.9, 15.0, 99.0].map(|at| stages.wanted(at, 5, 3)), [1, 1, 3, 3]);
        assert_eq!(Stages::default().wanted(3.0, 5, 8), 8);
    }
}
