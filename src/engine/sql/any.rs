//! A type-erased connection, for work where speed does not matter.

use std::future::Future;
use std::pin::Pin;

use super::{Call, Connection, Counts, Row};
use crate::engine::Failure;

type OnRow<'a> = dyn FnMut(usize, &dyn Row) -> Result<(), Failure> + 'a;
type Exchanged<'a> = Pin<Box<dyn Future<Output = Result<Counts, Failure>> + 'a>>;

/// The methods of a [`Connection`], without its type.
trait Exchange {
    fn exchange<'a>(&'a mut self, calls: &'a [Call<'a>], on_row: &'a mut OnRow<'a>) -> Exchanged<'a>;
    fn unreadable(&mut self, why: &Failure) -> Failure;
}

impl<C: Connection> Exchange for C {
    fn exchange<'a>(&'a mut self, calls: &'a [Call<'a>], on_row: &'a mut OnRow<'a>) -> Exchanged<'a> {
        Box::pin(Connection::exchange(self, calls, on_row))
    }

    fn unreadable(&mut self, why: &Failure) -> Failure {
        Connection::unreadable(self, why)
    }
}

/// A connection of any type. It stays on the thread that opened it: ODBC connections cannot move to another one.
pub struct AnyConnection(Box<dyn Exchange>);

impl AnyConnection {
    /// Wraps a connection.
    pub fn of(connection: impl Connection) -> AnyConnection {
        AnyConnection(Box::new(connection))
    }
}

impl Connection for AnyConnection {
    async fn exchange(
        &mut self,
        calls: &[Call<'_>],
        on_row: &mut dyn FnMut(usize, &dyn Row) -> Result<(), Failure>,
    ) -> Result<Counts, Failure> {
        self.0.exchange(calls, &mut |at, row| on_row(at, row)).await
    }

    fn unreadable(&mut self, why: &Failure) -> Failure {
        self.0.unreadable(why)
    }
}
