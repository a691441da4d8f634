//! PostgreSQL.

pub mod connect;
pub mod pgpass;
pub mod tls;
