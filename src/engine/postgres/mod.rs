//! PostgreSQL.

pub mod connect;
pub mod copy;
pub mod failure;
pub mod numeric;
pub mod pgpass;
pub mod tls;
