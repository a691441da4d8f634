//! Turns a panic of a driver library into an error of the request, so that Graymark goes on.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use super::{Error, Failure};

/// Conversion of a panic during a request to a database.
pub trait PanicError {
    /// From the panic's message.
    fn from_panic(why: &str) -> Self;
}

impl PanicError for Failure {
    /// The outcome is unknown: the panic may have come from the reply to a commit.
    fn from_panic(why: &str) -> Failure {
        Failure::Unreadable(format!("given up, as {}", unreadable(why)))
    }
}

impl PanicError for Error {
    fn from_panic(why: &str) -> Error {
        Error::Database(unreadable(why))
    }
}

fn unreadable(why: &str) -> String {
    format!("the database's answer cannot be read, for the driver panicked: {why}")
}

/// Executes a request to a database. Whatever panicked in it, such as a session, must not be used again.
///
/// # Errors
/// Those of the request, and converted panics.
pub async fn guarded<T, E: PanicError>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| Err(E::from_panic(message(&*panic))))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it does not say why")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_unknown_fate_and_ends_the_session() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let empty: Vec<u8> = Vec::new();
        let done: Result<u8, Failure> = runtime.block_on(guarded(async { Ok(empty[empty.len()]) }));
        let Err(Failure::Unreadable(detail)) = done else { panic!("{done:?}") };
        assert!(detail.contains("index out of bounds"), "{detail}");
        let done: Result<u8, Error> = runtime.block_on(guarded(async { Ok(7) }));
        assert_eq!(done, Ok(7));
    }
}
