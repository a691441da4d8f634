//! Which sessions keep a command waiting for the workload's tables.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use super::failure::of_command;
use super::schema::Schema;
use crate::engine::Error;
use crate::visible::one_line;

const HOLDERS: &str = include_str!("holders.sql");

/// The error of a command whose transaction failed. After a lock timeout it names the sessions that hold locks on the
/// tables, as far as the server tells; the transaction is rolled back for that.
pub async fn explain(client: &Client, schema: &Schema, what: &str, error: &tokio_postgres::Error) -> Error {
    let told = of_command(what, error);
    let Error::Database(why) = &told else { return told };
    if error.code() != Some(&SqlState::LOCK_NOT_AVAILABLE) {
        return told;
    }
    let holders = sessions(client, schema).await.unwrap_or_default();
    let who = match holders.as_slice() {
        [] => "pg_stat_activity shows it".to_owned(),
        holders => holders.join(", "),
    };
    Error::Database(format!(
        "{why}; another session holds locks on the tables: {who}; wait for its transaction or end it \
         (SELECT pg_terminate_backend(PROCESS)), then start the same command again"
    ))
}

async fn sessions(client: &Client, schema: &Schema) -> Result<Vec<String>, tokio_postgres::Error> {
    client.batch_execute("ROLLBACK").await?;
    let rows = client.query_typed(HOLDERS, &[(&schema.name(), Type::TEXT)]).await?;
    rows.iter().map(|row| row.try_get(0).map(one_line)).collect()
}
