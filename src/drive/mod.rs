//! Offers the load: sessions, phases, and the stream of what happens.

pub mod event;
