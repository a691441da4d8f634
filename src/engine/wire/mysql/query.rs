//! Checked conversion of rows. The driver's own conversions panic at an unexpected NULL or type, which modified tables
//! may have; here they are errors.

use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, DriverError, Error, FromRowError, Params, Row, from_row_opt};

/// Queries with checked conversion of the answers.
pub trait Read {
    /// The rows of a statement.
    async fn rows<T: FromRow>(&mut self, sql: impl AsRef<str>) -> Result<Vec<T>, Error>;
    /// The rows of a statement with parameters.
    async fn rows_of<T: FromRow>(&mut self, sql: &str, parameters: impl Into<Params>) -> Result<Vec<T>, Error>;
    /// The first row of a statement, if there is any.
    async fn first<T: FromRow>(&mut self, sql: impl AsRef<str>) -> Result<Option<T>, Error>;
    /// The first row of a statement with parameters, if there is any.
    async fn first_of<T: FromRow>(&mut self, sql: &str, parameters: impl Into<Params>) -> Result<Option<T>, Error>;
}

impl Read for Conn {
    async fn rows<T: FromRow>(&mut self, sql: impl AsRef<str>) -> Result<Vec<T>, Error> {
        self.query::<Row, _>(sql.as_ref()).await?.into_iter().map(read).collect()
    }

    async fn rows_of<T: FromRow>(&mut self, sql: &str, parameters: impl Into<Params>) -> Result<Vec<T>, Error> {
        self.exec::<Row, _, _>(sql, parameters.into()).await?.into_iter().map(read).collect()
    }

    async fn first<T: FromRow>(&mut self, sql: impl AsRef<str>) -> Result<Option<T>, Error> {
        self.query_first::<Row, _>(sql.as_ref()).await?.map(read).transpose()
    }

    async fn first_of<T: FromRow>(&mut self, sql: &str, parameters: impl Into<Params>) -> Result<Option<T>, Error> {
        self.exec_first::<Row, _, _>(sql, parameters.into()).await?.map(read).transpose()
    }
}

fn read<T: FromRow>(row: Row) -> Result<T, Error> {
    from_row_opt(row).map_err(|FromRowError(row)| Error::Driver(DriverError::FromRow { row }))
}
