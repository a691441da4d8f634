//! A seed when none is asked for.

use std::hash::{BuildHasher, RandomState};

/// A number that nobody chose. The standard library seeds its hashers from the system's randomness.
pub(super) fn drawn() -> u64 {
    RandomState::new().hash_one(std::time::SystemTime::now())
}
