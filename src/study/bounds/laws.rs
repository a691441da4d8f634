//! Bounds of how much faster or slower a closed system becomes when one part of it is changed, from measurements.
//!
//! These bounds hold in closed product-form networks (Denning and Buzen, "The Operational Analysis of Queueing Network
//! Models", ACM Computing Surveys 10, 1978), and in all systems that more demand or less service never makes
//! faster:
//!
//! - Without one part, the other residence times do not shrink: more clients meet there. So the response time keeps all
//!   but the part.
//! - If, besides, all other demands shrink to a share `f` at the least, the response time keeps `f` of that: the same
//!   network on a faster clock.
//! - A resource of `m` servers of which a transaction needs `D` seconds passes `m / D` of them a second.
//! - One more client makes the response time grow, and the more so the more there are (Dowdy, Eager, Gordon and Saxton,
//!   "Throughput Concavity and Response Time Convexity", Information Processing Letters 19, 1984). So it lies below the
//!   straight line from one client, who waits for nobody, to the clients that were measured. The balanced job bounds
//!   (Zahorjan, Sevcik, Eager and Galler, Communications of the ACM 25, 1982) would need the demand for each resource
//!   alone, which no server tells of its log.
//! - `m - 1` servers work at `(m - 1) / m` of the speed of `m` at the least.
//!
//! The demand for CPUs is not taken for granted, for it shrinks with the waits: the kernel works for every wait, puts
//! to sleep and wakes up, and clients that come closer together share that (a flush for several commits, a wake-up for
//! several replies). User mode needs less where caches stay warm, because the CPUs rest less. What is taken for
//! granted: the least that user mode needs, and that the kernel's work for what stays takes no less CPU **a second**
//! than before.

/// The measurements of a closed system without think time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    /// Clients.
    pub(super) clients: f64,
    /// Transactions a second.
    pub(super) rate: f64,
    /// Seconds of the mean transaction.
    pub(super) response_s: f64,
    /// Of these, seconds on a CPU and of waiting for one.
    pub(super) at_cpu_s: f64,
    /// Of these, seconds of waiting for other transactions of the system, as far as they are known: for a CPU that they
    /// have, for what they have locked.
    pub(super) waits_s: f64,
    /// Of these, seconds of waiting for locks.
    pub(super) locks_s: f64,
    /// The demand for CPUs; none if it is not known.
    pub(super) cpu: Option<Cpu>,
}

/// The demand for CPUs of the mean transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cpu {
    /// Number of CPUs.
    pub(super) cpus: f64,
    /// Seconds in user mode, of client and server.
    pub(super) user_s: f64,
    /// Minimum seconds in user mode, with warm caches.
    pub(super) least_user_s: f64,
    /// Seconds in the kernel.
    pub(super) kernel_s: f64,
}

/// Lower and upper bound of the speed-up; `None` without a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Lower bound.
    pub least: Option<f64>,
    /// Upper bound.
    pub most: Option<f64>,
}

impl Measured {
    /// At most so many times as fast without so many seconds of the response time, and without so many of the kernel's
    /// CPU seconds at the most.
    pub(super) fn without(&self, part_s: f64, kernel_s: f64) -> Option<f64> {
        let left = self.response_s - part_s;
        let times = match self.cpu {
            Some(cpu) => {
                let kernel = (cpu.kernel_s - kernel_s).max(0.0);
                // With `g` times the throughput a transaction needs `least_user + kernel / g` of a CPU. All of what is
                // left shrinks as that does at the most; or everything but the CPU stays.
                let now = cpu.user_s + cpu.kernel_s;
                let faster = ratio(now * ratio(self.response_s, left) - kernel, cpu.least_user_s);
                let shrinks = (self.at_cpu_s - cpu.least_user_s).max(0.0);
                let others = ratio(self.response_s - kernel.min(shrinks), left - shrinks);
                faster.min(others).min(self.cpus_pass(cpu, kernel))
            }
            None => ratio(self.response_s, left - self.at_cpu_s),
        };
        times.is_finite().then_some(times.max(1.0))
    }

    /// The same, if without so many seconds of lock waits the server also saves the user-mode time that they cause:
    /// after a wait it evaluates the statement again on the row that has changed, so at most half of the time is for
    /// that.
    pub(super) fn without_rework(self, locks_s: f64) -> Measured {
        let share = ratio(locks_s, self.response_s).min(1.0);
        let least = |cpu: Cpu| Cpu { least_user_s: cpu.least_user_s * (1.0 - share / 2.0), ..cpu };
        Measured { cpu: self.cpu.map(least), ..self }
    }

    /// Maximum speed-up without CPU time, CPU waits and lock waits.
    pub(super) fn without_cpu(&self) -> Option<f64> {
        let times = ratio(self.response_s, self.response_s - self.at_cpu_s - self.locks_s);
        times.is_finite().then_some(times.max(1.0))
    }

    /// Bounds of the speed-up with another number of clients.
    pub(super) fn with_clients(&self, clients: f64) -> Limits {
        let times = clients / self.clients;
        if times >= 1.0 {
            let passed = self.cpu.map_or(f64::INFINITY, |cpu| self.cpus_pass(cpu, cpu.kernel_s).max(1.0));
            // There is no lower bound: more clients can block each other.
            return Limits { least: None, most: Some(times.min(passed)) };
        }
        let fewer = (self.clients - clients) / (self.clients - 1.0).max(1.0);
        let least = times * ratio(self.response_s, self.response_s - self.waits_s * fewer);
        // No more than as many as before, if those did not lock each other out.
        let as_many = self.without_rework(self.locks_s).without(self.locks_s, 0.0);
        let alone = self.cpu.map(|cpu| ratio(clients, self.rate * cpu.least_user_s).max(least));
        Limits { least: Some(least.min(1.0)), most: as_many.into_iter().chain(alone).reduce(f64::min) }
    }

    /// Bounds of the speed-up with `times` the CPUs for the server.
    pub(super) fn with_cpus(&self, times: f64) -> Limits {
        if times >= 1.0 {
            return Limits { least: None, most: Some(times) };
        }
        Limits { least: Some(times), most: Some(1.0) }
    }

    /// The largest speed-up that the CPUs allow if `kernel_s` seconds of kernel work per transaction remain.
    pub(super) fn cpus_pass(&self, cpu: Cpu, kernel_s: f64) -> f64 {
        ratio(cpu.cpus / self.rate - kernel_s, cpu.least_user_s)
    }
}

/// A quotient; infinite if the divisor is 0.
fn ratio(of: f64, by: f64) -> f64 {
    if by > 0.0 { of / by } else { f64::INFINITY }
}

#[cfg(test)]
mod tests;
