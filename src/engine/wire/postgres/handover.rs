//! A stream on which tokio-postgres negotiates TLS and logs in, and which a session uses afterwards.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::JoinHandle;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Bytes to and from a server.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A stream with several owners, of which one at a time uses it.
pub struct Shared<S>(Arc<Mutex<S>>);

impl<S> Shared<S> {
    /// Shares a stream.
    pub fn new(stream: S) -> Shared<S> {
        Shared(Arc::new(Mutex::new(stream)))
    }

    fn stream(&self) -> MutexGuard<'_, S> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Stream + 'static> Shared<S> {
    /// Returns the stream without its mutex, if this is its only owner.
    fn into_inner(self) -> Box<dyn Stream> {
        match Arc::try_unwrap(self.0) {
            Ok(stream) => Box::new(stream.into_inner().unwrap_or_else(PoisonError::into_inner)),
            Err(others) => Box::new(Shared(others)),
        }
    }
}

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Shared<S> {
        Shared(self.0.clone())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Shared<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream()).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Shared<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.stream()).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream()).poll_shutdown(context)
    }
}

impl<S: TlsStream + Unpin> TlsStream for Shared<S> {
    fn channel_binding(&self) -> ChannelBinding {
        self.stream().channel_binding()
    }
}

/// Returns the stream inside TLS, once there is one.
type Inside = Arc<Mutex<Option<Box<dyn FnOnce() -> Box<dyn Stream> + Send>>>>;

/// Connects with TLS and keeps the stream inside it.
struct Keeping<C> {
    connect: C,
    inside: Inside,
}

impl<S, C> TlsConnect<S> for Keeping<C>
where
    S: Send + 'static,
    C: TlsConnect<S, Future: Send> + Send + 'static,
    C::Stream: Send + 'static,
{
    type Stream = Shared<C::Stream>;
    type Error = C::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Stream, C::Error>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let stream = Shared::new(self.connect.connect(stream).await?);
            let kept = stream.clone();
            *self.inside.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(|| kept.into_inner()));
            Ok(stream)
        })
    }
}

/// A client of tokio-postgres.
pub struct Connected {
    /// The client. Its connection is a task of the current runtime, which ends with it.
    pub client: Client,
    connection: JoinHandle<()>,
    stream: Shared<Box<dyn Stream>>,
    inside: Inside,
}

impl Connected {
    /// Takes the stream from the client, which must have no request in progress.
    pub async fn stream(self) -> Box<dyn Stream> {
        // It would say goodbye to the server if the client ended first.
        self.connection.abort();
        let _ = self.connection.await;
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner).take();
        // With TLS, it is the stream inside TLS that a session uses.
        inside.map_or_else(|| self.stream.into_inner(), |inside| inside())
    }
}

/// Logs in on a stream, which can be taken back afterwards. `host` is the server's name for TLS, empty on a Unix
/// socket.
///
/// # Errors
/// If TLS or the login fails.
pub async fn log_in(
    config: &Config,
    stream: Box<dyn Stream>,
    mut tls: MakeRustlsConnect,
    host: &str,
) -> Result<Connected, tokio_postgres::Error> {
    let (stream, inside) = (Shared::new(stream), Inside::default());
    let Ok(connect) = MakeTlsConnect::<Shared<Box<dyn Stream>>>::make_tls_connect(&mut tls, host);
    let tls = Keeping { connect, inside: inside.clone() };
    let (client, connection) = config.connect_raw(stream.clone(), tls).await?;
    // An error of the connection is reported to requests in progress.
    let connection = tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(Connected { client, connection, stream, inside })
}
