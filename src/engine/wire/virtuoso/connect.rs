//! The URL of a Virtuoso server: `virtuoso://USER[:PASSWORD]@HOST[:PORT]`.

use crate::engine::address::{Host, port};
use crate::engine::relay::Relay;
use crate::engine::server::virtuoso::{DRIVER, Server, USER};
use crate::engine::wire::odbc::connect;
use crate::engine::wire::odbc::driver::Connection;
use crate::engine::wire::odbc::failure::{Diagnostic, Meaning};
use crate::engine::{Error, Failure};
use crate::result::Isolation;
use crate::url::{Parts, Password, VIRTUOSO, encoded};

/// The variable with the password, for a URL without one.
pub(super) const PASSWORD_VARIABLE: &str = "GRAYMARK_VIRTUOSO_PASSWORD";
/// The default port.
const PORT: u16 = 1111;
/// Virtuoso's messages about missing privileges.
const FORBIDDEN: [&str; 4] = ["access denied", "Must have", "owner specified is different", "SECURITY: "];

/// Why a query failed.
#[derive(Debug)]
pub(super) enum QueryError {
    /// The server refused it.
    Refused(Diagnostic),
    /// The answer is unreadable.
    Unreadable(Failure),
}

impl From<Diagnostic> for QueryError {
    fn from(diagnostic: Diagnostic) -> Self {
        QueryError::Refused(diagnostic)
    }
}

impl From<Failure> for QueryError {
    fn from(failure: Failure) -> Self {
        QueryError::Unreadable(failure)
    }
}

/// The address, user and password.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    address: String,
    /// The relay to which sessions connect instead, if there is one.
    led: Option<String>,
    user: String,
    password: Password,
    /// Whether it is a private server, whose password is known to be right.
    private: bool,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.url())
    }
}

impl Target {
    /// The target of a private server.
    pub fn of(server: &Server) -> Target {
        Target {
            address: server.address(),
            led: None,
            user: USER.to_owned(),
            password: Password::new(server.password()),
            private: true,
        }
    }

    /// Parses a URL.
    pub fn parse(url: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<Target, Error> {
        let usage =
            || Error::Usage("give virtuoso://USER@HOST:PORT, or virtuoso:local for a private server".to_owned());
        let parts = Parts::of(url, &VIRTUOSO).map_err(|_| usage())?;
        let password = parts.given("password", PASSWORD_VARIABLE, environment).unwrap_or_default();
        let host = parts.last("host").filter(|host| !host.contains(['/', ';', '{', '}'])).ok_or_else(usage)?;
        let host = Parts::one_host(host)?;
        if parts.last("database").is_some() {
            return Err(usage());
        }
        let port = parts.last("port").map_or(Ok(PORT), port)?;
        let user = parts.last("user").unwrap_or(USER).to_owned();
        Ok(Target {
            address: format!("{host}:{port}"),
            led: None,
            user,
            password: Password::new(password),
            private: false,
        })
    }

    /// The URL without the password.
    pub fn url(&self) -> String {
        format!("virtuoso://{}@{}", encoded(&self.user), self.address)
    }

    /// Connects. Names without a catalog are in that of the workload. Queries do not wait for changes that are not
    /// committed, whatever the server's default is: the lock of a load is one.
    pub fn connect(&self, workload: &str) -> Result<Connection, Error> {
        let failed = |diagnostic: Diagnostic| self.explain("cannot connect", &diagnostic);
        let connection = self.open().map_err(failed)?;
        connection.set_isolation(Isolation::ReadCommitted).map_err(failed)?;
        connection.execute(&format!("USE {workload}")).map_err(failed)?;
        Ok(connection)
    }

    /// Connects sessions through a relay.
    ///
    /// # Errors
    /// If the relay cannot listen.
    pub(super) fn lead(&mut self, relay: &Relay) -> Result<(), Error> {
        let (host, port) = self.address.rsplit_once(':').unwrap_or((&self.address, ""));
        let (host, port) = (host.trim_start_matches('[').trim_end_matches(']'), port.parse().unwrap_or(PORT));
        if let (Host::Tcp(host), port) = relay.lead_to(&Host::Tcp(host.to_owned()), port)? {
            self.led = Some(format!("{host}:{port}"));
        }
        Ok(())
    }

    /// Connects for transactions with an isolation level. The driver ignores what is set before connecting.
    pub(super) fn connect_at(&self, workload: &str, isolation: Isolation) -> Result<Connection, Error> {
        let connection = match &self.led {
            Some(entry) => Target { address: entry.clone(), ..self.clone() }.connect(workload)?,
            None => self.connect(workload)?,
        };
        connection
            .set_isolation(isolation)
            .map_err(|diagnostic| self.explain("cannot set the isolation level", &diagnostic))?;
        Ok(connection)
    }

    /// The server's version.
    pub(super) fn version(&self) -> Result<String, Error> {
        let connection = self.open().map_err(|diagnostic| self.explain("cannot connect", &diagnostic))?;
        Ok(connection.capabilities().dbms_version)
    }

    /// The error of a failed query, in a line.
    pub(super) fn explain_query(&self, what: &str, error: QueryError) -> Error {
        match error {
            QueryError::Refused(diagnostic) => self.explain(what, &diagnostic),
            QueryError::Unreadable(failure) => Error::Database(format!("{}: {what}: {failure}", self.url())),
        }
    }

    /// Whether the server answers at all, even by refusing a connection.
    pub(super) fn answers(&self) -> bool {
        self.open().map_or_else(|diagnostic| diagnostic.meaning() != Meaning::Lost, |_| true)
    }

    /// Checks that the server accepts connections, with a timeout.
    ///
    /// # Errors
    /// Why it does not.
    pub(super) fn reachable(&self) -> Result<(), Error> {
        Connection::try_open(&self.address_for_driver())
            .map_err(|diagnostic| self.explain("cannot connect", &diagnostic))
    }

    fn open(&self) -> Result<Connection, Diagnostic> {
        Connection::open(&self.address_for_driver())
    }

    fn address_for_driver(&self) -> connect::Target {
        connect::Target::of(&[
            ("Driver", DRIVER),
            ("HOST", &self.address),
            ("UID", &self.user),
            ("PWD", self.password.reveal()),
        ])
    }

    /// The error of a failed command.
    pub(super) fn explain(&self, what: &str, diagnostic: &Diagnostic) -> Error {
        let advice = match (diagnostic.meaning(), diagnostic.state()) {
            _ if diagnostic.message().contains("open lib") => ": `apt-get install libvirtodbc0`",
            (_, "28000") if self.private => LOCKED_PRIVATE,
            (_, "28000") => LOCKED,
            (_, "42000") if FORBIDDEN.iter().any(|words| diagnostic.message().contains(words)) => {
                ": this user may not do it: connect as dba, or as the user who made the tables"
            }
            (Meaning::Lost, _) => ": see that the server runs and takes connections there",
            _ => "",
        };
        Error::Database(format!("{}: {what}: {diagnostic}{advice}", self.url()))
    }
}

/// Advice if Virtuoso refuses the right password of a private server.
const LOCKED_PRIVATE: &str = ": the password is right, but somebody on this machine gave wrong ones, and after a few \
                              of these Virtuoso refuses every login from there for a while; see who it is, wait some \
                              minutes, or start the command again, which starts the server again";
/// Advice if the password may be wrong.
const LOCKED: &str = ": see user and password, which may stand in GRAYMARK_VIRTUOSO_PASSWORD; after a few wrong \
                      passwords Virtuoso refuses the right one, too, for a while: wait some minutes then";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_and_who() {
        let parse = |url: &str| Target::parse(url, &|name| (name == PASSWORD_VARIABLE).then(|| "fromthere".to_owned()));
        let target = parse("virtuoso://ann:a%40b@host:1234").unwrap();
        assert_eq!(
            (target.address.as_str(), target.user.as_str(), target.password.reveal()),
            ("host:1234", "ann", "a@b")
        );
        assert_eq!((target.url().as_str(), format!("{target:?}")), ("virtuoso://ann@host:1234", target.url()));
        let target = parse("virtuoso://host/").unwrap();
        assert_eq!(
            (target.address.as_str(), target.user.as_str(), target.password.reveal()),
            ("host:1111", "dba", "fromthere")
        );
        for wrong in [
            "virtuoso:host",
            "virtuoso://",
            "virtuoso://a@:1",
            "virtuoso://a@h:port",
            "virtuoso://a@h:1/db",
            "virtuoso://h;PWD=x",
        ] {
            assert!(matches!(parse(wrong), Err(Error::Usage(_))), "{wrong}");
        }
    }
}
