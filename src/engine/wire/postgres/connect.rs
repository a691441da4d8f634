//! The address of a PostgreSQL server and the way to connect: URL, environment, password file, TLS.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use socket2::SockRef;
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, SimpleQueryMessage, config};

use super::failure::{self, causes, chain};
use super::handover::{self, Connected, Stream};
use super::pgpass;
use super::schema::{self, Schema};
use super::session::Session;
use super::tls::{self, Mode};
use crate::engine::Error;
use crate::engine::address::{self, Environment, Host, own_name};
use crate::engine::dialect::{Dialect, Wire};
use crate::engine::hosts::{Hosts, Place, Role, no_host_accepted};
use crate::engine::relay::Relay;
use crate::engine::wire::certificate::Refused;
use crate::result::Isolation;
use crate::url::{DatabaseUrl, POSTGRES, Parts, Password, encoded, encoded_path};
use crate::visible::one_line;

/// Timeout of a connection attempt in seconds, from the first packet until the server is ready.
const CONNECT_SECONDS: u64 = 30;
/// Lock timeout of a statement in seconds. Graymark's own locks are much shorter.
const LOCK_SECONDS: u32 = 60;
const DEFAULT_PORT: u16 = 5432;
const APPLICATION_NAME: &str = "graymark";
const SOCKET_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// A database to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The hosts of the URL.
    hosts: Hosts,
    /// Their displayed names, if those are not their addresses.
    names: Vec<String>,
    /// The current one; before one is chosen, the first.
    host: Host,
    port: u16,
    /// The relay to which sessions connect instead, if there is one.
    led: Option<(Host, u16)>,
    user: String,
    database: String,
    password: Option<Password>,
    /// Passwords from the password file, for each of several hosts.
    passwords: Vec<Option<Password>>,
    ssl_mode: Mode,
    ssl_roots: Option<PathBuf>,
    /// The requested authorities, as opposed to the default file.
    given_roots: Option<PathBuf>,
    timeout: Duration,
    application_name: String,
    options: Option<String>,
    /// The schema of the workload's tables; the default is the workload's name.
    schema: Option<String>,
    /// Whether a pooler is in between: nothing may be bound to a server's session.
    pub pooler: bool,
    /// The dialect.
    pub dialect: &'static Dialect,
    /// Warnings for the user, such as an ignored password file.
    pub warnings: Vec<String>,
}

/// A session at the server.
pub struct Started {
    /// The session.
    pub session: Session,
    /// The server's process for it; `None` behind a pooler, where it changes, and on servers that do not say.
    pub process: Option<u64>,
    /// The index of its host in the URL.
    pub host: usize,
}

impl Target {
    /// Parses a `postgres://` URL; missing parts come from the environment and the password file, as with libpq.
    pub fn parse(url: &str, environment: Environment<'_>) -> Result<Target, Error> {
        let parts = Parts::of(url, &POSTGRES)?;
        let given = |name: &str, variable: &str| parts.given(name, variable, environment);
        let ports = given("port", "PGPORT");
        let named = match given("host", "PGHOST") {
            Some(hosts) => Hosts::split(&hosts),
            None => vec![default_host(ports.as_deref().map_or(Ok(DEFAULT_PORT), address::port)?)],
        };
        let hosts = Hosts::of(named, ports.as_deref(), DEFAULT_PORT, &parts)?;
        let Place { host, port } = hosts.first().clone();
        let user = given("user", "PGUSER").or_else(own_name);
        let user =
            user.ok_or_else(|| Error::Usage("who connects? Give a user: postgres://USER@HOST/DATABASE".to_owned()))?;
        let database = given("dbname", "PGDATABASE").unwrap_or_else(|| user.clone());
        let ssl_mode = match given("sslmode", "PGSSLMODE") {
            Some(name) => Mode::from_name(&name)?,
            None => default_ssl_mode(&hosts),
        };
        let home = environment("HOME").map(PathBuf::from);
        let given_roots = given("sslrootcert", "PGSSLROOTCERT").map(PathBuf::from);
        let ssl_roots = given_roots.clone();
        let ssl_roots = match ssl_mode {
            // As in libpq: with a file of authorities, `require` verifies the certificate.
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => {
                ssl_roots.or_else(|| tls::default_roots(home.as_deref()))
            }
            _ => ssl_roots,
        };
        let timeout = match given("connect_timeout", "PGCONNECT_TIMEOUT") {
            Some(text) => match text.parse() {
                Ok(0) => CONNECT_SECONDS,
                Ok(seconds) => seconds,
                Err(_) => return Err(Error::Usage(format!("connect_timeout={text} is not a number of seconds"))),
            },
            None => CONNECT_SECONDS,
        };
        let pooler = match parts.last("pooler") {
            None | Some("off") => false,
            Some("on") => true,
            Some(other) => return Err(Error::Usage(format!("pooler={other} must be on or off"))),
        };
        let mut target = Target {
            hosts,
            names: Vec::new(),
            host,
            port,
            led: None,
            passwords: Vec::new(),
            user,
            database,
            password: given("password", "PGPASSWORD").map(Password::new),
            ssl_mode,
            ssl_roots,
            given_roots,
            timeout: Duration::from_secs(timeout),
            application_name: given("application_name", "PGAPPNAME").unwrap_or_else(|| APPLICATION_NAME.to_owned()),
            options: given("options", "PGOPTIONS"),
            schema: parts.last("schema").map(schema::checked).transpose()?,
            pooler,
            dialect: Dialect::choose(Wire::Postgres, parts.last("dialect"))?,
            warnings: Vec::new(),
        };
        if target.password.is_none() {
            let file = environment("PGPASSFILE").map(PathBuf::from).or_else(|| home.map(|home| home.join(".pgpass")));
            target.look_up_passwords(file.as_deref());
        }
        Ok(target)
    }

    /// Each of several hosts may have its own password.
    fn look_up_passwords(&mut self, file: Option<&Path>) {
        let mut passwords = Vec::new();
        for place in self.hosts.clone().places().skip(1) {
            let mut other = Target { host: place.host.clone(), port: place.port, ..self.clone() };
            other.look_up_password(file);
            passwords.push(other.password);
        }
        self.look_up_password(file);
        self.passwords = std::iter::once(self.password.clone()).chain(passwords).collect();
    }

    fn look_up_password(&mut self, file: Option<&Path>) {
        let Some(file) = file else { return };
        let directory;
        let hosts: &[&str] = match &self.host {
            Host::Tcp(host) => &[host.as_str()],
            Host::Socket(path) => {
                directory = path.to_string_lossy();
                // libpq treats sockets in the default directory as `localhost`.
                if SOCKET_DIRECTORIES.contains(&directory.as_ref()) {
                    &[&directory, "localhost"]
                } else {
                    &[&directory]
                }
            }
        };
        let key = pgpass::Key { hosts, port: self.port, database: &self.database, user: &self.user };
        let found = pgpass::look_up(file, key);
        self.password = found.password;
        self.warnings.extend(found.warning);
    }

    /// The URL without password, with everything else that is needed to connect again.
    pub fn url(&self) -> String {
        let (user, database) = (encoded(&self.user), encoded(&self.database));
        let (mut place, mut more) = (String::new(), Vec::new());
        let sockets = self.hosts.places().any(|place| matches!(place.host, Host::Socket(_)));
        if sockets {
            let path = |place: &Place| match &place.host {
                Host::Tcp(host) => encoded(host),
                Host::Socket(path) => encoded_path(&path.to_string_lossy()),
            };
            more.push(format!("host={}", self.hosts.places().map(path).collect::<Vec<_>>().join(",")));
            let port = |place: &Place| place.port.to_string();
            more.push(format!("port={}", self.hosts.places().map(port).collect::<Vec<_>>().join(",")));
        } else {
            place = self.hosts.addresses();
        }
        more.extend(self.schema.iter().map(|schema| format!("schema={}", encoded(schema))));
        more.extend(self.hosts.parameters());
        if self.ssl_mode != default_ssl_mode(&self.hosts) {
            more.push(format!("sslmode={}", self.ssl_mode.name()));
        }
        if let Some(roots) = &self.given_roots {
            more.push(format!("sslrootcert={}", encoded_path(&roots.to_string_lossy())));
        }
        if self.timeout != Duration::from_secs(CONNECT_SECONDS) {
            more.push(format!("connect_timeout={}", self.timeout.as_secs()));
        }
        if self.application_name != APPLICATION_NAME {
            more.push(format!("application_name={}", encoded(&self.application_name)));
        }
        more.extend(self.options.iter().map(|options| format!("options={}", encoded(options))));
        if self.pooler {
            more.push("pooler=on".to_owned());
        }
        more.extend(self.dialect.in_url().map(|name| format!("dialect={name}")));
        let query = if more.is_empty() { String::new() } else { format!("?{}", more.join("&")) };
        DatabaseUrl::from(format!("postgres://{user}@{place}/{database}{query}")).to_string()
    }

    /// The schema of a workload's tables.
    pub fn schema(&self, workload: &'static str) -> Schema {
        Schema::of(self.schema.as_deref(), workload)
    }

    /// The same server, with the workload's tables in a schema with this name.
    pub fn in_schema(self, schema: Option<String>) -> Target {
        Target { schema, ..self }
    }

    /// The standbys among its hosts, used in turn.
    ///
    /// # Errors
    /// If there is only one host, or standbys do not support this isolation level.
    pub fn standbys(&self, isolation: Isolation) -> Result<Target, Error> {
        if !self.hosts.several() {
            return Err(Error::Usage(
                "--read-only-on standby needs several hosts: give \
                 postgres://USER@h1,h2/DB?target_session_attrs=primary, or postgres:local?standbys=2"
                    .to_owned(),
            ));
        }
        if isolation == Isolation::Serializable {
            return Err(Error::Usage(
                "--read-only-on standby: standbys do not know SERIALIZABLE: leave --isolation out, or give \
                 repeatable-read"
                    .to_owned(),
            ));
        }
        let mut hosts = self.hosts.clone();
        (hosts.wanted, hosts.spread) = (Role::Standby, true);
        Ok(Target { hosts, ..self.clone() })
    }

    /// The same servers, with these displayed names.
    pub fn named(self, names: Vec<String>) -> Target {
        Target { names, ..self }
    }

    /// Whether the server's address is one of this machine.
    pub fn is_local(&self) -> bool {
        self.hosts.are_local() && !self.hosts.several()
    }

    /// The names of several hosts; empty for a single one.
    pub fn several(&self) -> Vec<String> {
        let name = |(number, _)| self.names.get(number).cloned().unwrap_or_else(|| self.at(number).place());
        if self.hosts.several() { self.hosts.places().enumerate().map(name).collect() } else { Vec::new() }
    }

    /// The same target at one of its hosts.
    fn at(&self, number: usize) -> Target {
        let place = self.hosts.places().nth(number).unwrap_or_else(|| self.hosts.first()).clone();
        let password = self.passwords.get(number).cloned().unwrap_or_else(|| self.password.clone());
        Target { host: place.host, port: place.port, password, ..self.clone() }
    }

    fn place(&self) -> String {
        match &self.host {
            Host::Tcp(host) => format!("{host}:{}", self.port),
            Host::Socket(path) => format!("{}/.s.PGSQL.{}", path.display(), self.port),
        }
    }

    /// Connects sessions through a relay, if the URL names a single server.
    ///
    /// # Errors
    /// If the relay cannot listen.
    pub fn lead(&mut self, relay: &Relay) -> Result<(), Error> {
        if self.hosts.several() {
            return Ok(());
        }
        let server = match &self.host {
            Host::Tcp(host) => Host::Tcp(host.clone()),
            Host::Socket(directory) => Host::Socket(directory.join(format!(".s.PGSQL.{}", self.port))),
        };
        let (host, port) = relay.lead_to(&server, self.port)?;
        // As in libpq: the host is the directory, and the port is part of the file name.
        let host = match host {
            Host::Socket(path) => Host::Socket(path.parent().unwrap_or(&path).to_owned()),
            host => host,
        };
        self.led = Some((host, port));
        Ok(())
    }

    fn config(&self) -> Config {
        let mut config = Config::new();
        config.user(&self.user).dbname(&self.database).application_name(&self.application_name);
        config.ssl_mode(match self.ssl_mode {
            Mode::Disable => config::SslMode::Disable,
            Mode::Prefer => config::SslMode::Prefer,
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => config::SslMode::Require,
        });
        if let Some(password) = &self.password {
            config.password(password.reveal());
        }
        config
    }

    /// Connects to the first suitable host. `settings` are set for the session, except with a pooler.
    ///
    /// The connection's own task runs on the current runtime and ends with the client.
    pub async fn connect(&self, settings: &[(&str, &str)]) -> Result<Client, Error> {
        self.reach(settings, false).await.map(|(connected, _)| connected.client)
    }

    /// Connects a session that executes transactions.
    pub async fn connect_session(&self, settings: &[(&str, &str)]) -> Result<Started, Error> {
        let (connected, host) = self.reach(settings, true).await?;
        let process = if self.pooler { None } else { process(&connected.client).await };
        Ok(Started { session: Session::new(connected.stream().await), process, host })
    }

    async fn reach(&self, settings: &[(&str, &str)], session: bool) -> Result<(Connected, usize), Error> {
        if !self.hosts.several() && self.hosts.wanted == Role::Any {
            return self.connect_here(settings, session).await.map(|connected| (connected, 0));
        }
        let mut reasons = Vec::new();
        for (number, _) in self.hosts.order(session) {
            let here = self.at(number);
            let reached = async {
                let connected = here.connect_here(settings, session).await?;
                let mismatch = here.in_time(here.mismatch(&connected.client)).await?;
                Ok::<_, Error>(mismatch.map_or(Ok(connected), Err))
            };
            match reached.await {
                Ok(Ok(connected)) => return Ok((connected, number)),
                Ok(Err(why)) => reasons.push(format!("{} {why}", here.place())),
                Err(error @ Error::Usage(_)) => return Err(error),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(no_host_accepted(&reasons))
    }

    /// A connection to each host that has the required role, with its name; hosts that cannot be reached are left out.
    pub async fn connect_each(&self) -> Vec<(String, Client)> {
        let mut all = Vec::new();
        for (number, name) in self.several().into_iter().enumerate() {
            let here = self.at(number);
            let reached = async {
                let client = here.connect_here(&[], false).await?.client;
                let mismatch = here.in_time(here.mismatch(&client)).await?;
                Ok::<_, Error>(mismatch.is_none().then_some(client))
            };
            match reached.await {
                Ok(client) => all.extend(client.map(|client| (name, client))),
                Err(error) => tracing::info!("{name}: {error}"),
            }
        }
        all
    }

    /// Why a host does not have the required role; `None` if it has.
    async fn mismatch(&self, client: &Client) -> Result<Option<&'static str>, Error> {
        if self.hosts.wanted == Role::Any {
            return Ok(None);
        }
        let sql = "SELECT pg_is_in_recovery()::text, current_setting('transaction_read_only')";
        let failed = |error| failure::of_command("cannot ask whether the server is a standby", &error);
        let messages = client.simple_query(sql).await.map_err(failed)?;
        let said = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                let is = |at, word| row.try_get(at).ok().flatten() == Some(word);
                Some((is(0, "true"), is(1, "on")))
            }
            _ => None,
        });
        let (standby, read_only) = said.unwrap_or_default();
        Ok(self.hosts.wanted.mismatch(standby, read_only))
    }

    /// Connects to the current host.
    async fn connect_here(&self, settings: &[(&str, &str)], session: bool) -> Result<Connected, Error> {
        let mut config = self.config();
        let mut options = String::new();
        if !self.pooler {
            options.push_str(&format!(" -c lock_timeout={LOCK_SECONDS}s"));
        }
        // Options of the URL come later, and override these.
        if let Some(given) = &self.options {
            options.push(' ');
            options.push_str(given);
        }
        for (name, value) in settings.iter().filter(|_| !self.pooler) {
            let value = value.replace('\\', "\\\\").replace(' ', "\\ ");
            options.push_str(&format!(" -c {name}={value}"));
        }
        if !options.is_empty() {
            config.options(options.trim_start());
        }
        let tls = tls::connector(self.ssl_mode, self.ssl_roots.as_deref())?;
        let connected = self.in_time(async {
            let stream = self.stream(session).await.map_err(|error| Error::Database(self.explain_io(&error)))?;
            handover::log_in(&config, stream, tls, self.tls_name()).await.map_err(|error| self.explain(&error))
        });
        let connected = connected.await?;
        self.settle(&connected.client).await.map(|()| connected)
    }

    /// What a certificate has to name, also behind a relay.
    fn tls_name(&self) -> &str {
        match &self.host {
            Host::Tcp(host) => host,
            Host::Socket(_) => "",
        }
    }

    /// Opens a stream to the current host; that of a session may lead to a relay.
    async fn stream(&self, session: bool) -> io::Result<Box<dyn Stream>> {
        let (host, port) = match &self.led {
            Some((host, port)) if session => (host, *port),
            _ => (&self.host, self.port),
        };
        match host {
            Host::Tcp(host) => {
                let stream = TcpStream::connect((host.as_str(), port)).await?;
                stream.set_nodelay(true)?;
                // A server that vanished is noticed at last, also by a command that only waits.
                SockRef::from(&stream).set_keepalive(true)?;
                Ok(Box::new(stream))
            }
            Host::Socket(path) => Ok(Box::new(UnixStream::connect(path.join(format!(".s.PGSQL.{port}"))).await?)),
        }
    }

    /// Sets the dialect's session settings, except those unknown to the server.
    async fn settle(&self, client: &Client) -> Result<(), Error> {
        for (name, value) in self.dialect.session.iter().filter(|_| !self.pooler) {
            match client.batch_execute(&format!("SET {name} = {value}")).await {
                Err(error) if error.code() == Some(&SqlState::UNDEFINED_OBJECT) => {}
                set => set.map_err(|error| failure::of_command(&format!("cannot set {name}"), &error))?,
            }
        }
        Ok(())
    }

    /// Waits for the first answer on a new connection, with a timeout.
    pub async fn in_time<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        tokio::time::timeout(self.timeout, work).await.unwrap_or_else(|_| Err(self.silent()))
    }

    /// Whether the server answers at all, even by refusing a connection.
    pub async fn answers(&self) -> bool {
        for (number, _) in self.hosts.places().enumerate() {
            if self.at(number).answers_here().await {
                return true;
            }
        }
        false
    }

    async fn answers_here(&self) -> bool {
        let Ok(tls) = tls::connector(self.ssl_mode, self.ssl_roots.as_deref()) else { return false };
        let answer = async {
            let stream = self.stream(false).await.ok()?;
            Some(handover::log_in(&self.config(), stream, tls, self.tls_name()).await)
        };
        match tokio::time::timeout(self.timeout, answer).await {
            Ok(Some(Ok(_))) => true,
            Ok(Some(Err(error))) => error.as_db_error().is_some(),
            Ok(None) | Err(_) => false,
        }
    }

    fn silent(&self) -> Error {
        let (place, seconds) = (self.place(), self.timeout.as_secs());
        Error::Database(format!(
            "{place} does not answer within {seconds} s: is it a PostgreSQL? (connect_timeout=SECONDS sets a longer \
             limit)"
        ))
    }

    /// Why connecting failed and what to do, in one line.
    fn explain(&self, error: &tokio_postgres::Error) -> Error {
        let place = self.place();
        let text = if let Some(refusal) = error.as_db_error() {
            self.explain_refusal(refusal)
        } else if let Some(tls) = tls_error(error) {
            self.explain_tls(&tls)
        } else if let Some(io) = cause::<io::Error>(error) {
            self.explain_io(io)
        } else {
            let chain = chain(error);
            match chain.as_str() {
                text if text.contains("password missing") => format!(
                    "{place} asks for the password of user `{}`: give it in PGPASSWORD or ~/.pgpass{}",
                    self.user,
                    self.warned()
                ),
                text if text.contains("server does not support TLS") => {
                    format!(
                        "{place} offers no TLS, which sslmode asks for: turn it on there, or trust the network with \
                         sslmode=disable"
                    )
                }
                text if text.contains("unexpected message")
                    || text.contains("parsing response")
                    || text.contains("closed") =>
                {
                    format!("{place} does not speak PostgreSQL's protocol: check host and port")
                }
                text => format!("cannot connect to {place}: {text}"),
            }
        };
        Error::Database(text)
    }

    fn explain_io(&self, io: &io::Error) -> String {
        let place = self.place();
        match (io.kind(), &self.host) {
            (io::ErrorKind::ConnectionRefused, Host::Tcp(_)) => {
                format!("{place} refuses connections: check host and port, and that PostgreSQL runs and listens there")
            }
            (io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused, Host::Socket(_)) => {
                format!("no PostgreSQL answers at the socket {place}: check directory and port, and that it runs")
            }
            (io::ErrorKind::TimedOut, _) => format!("{place} does not answer: check host, port and firewall"),
            _ if io.to_string().contains("lookup address") => format!("no host is called {place}: check the URL"),
            // Either the other side closes first, or its bytes are not a valid message.
            (
                io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::InvalidInput
                | io::ErrorKind::Other,
                _,
            ) => {
                format!("{place} does not speak PostgreSQL's protocol ({io}): check host and port")
            }
            _ => format!("cannot connect to {place}: {io}"),
        }
    }

    fn explain_refusal(&self, refusal: &tokio_postgres::error::DbError) -> String {
        let place = self.place();
        let (user, database, message) = (&self.user, &self.database, one_line(refusal.message()));
        match refusal.code() {
            code if *code == SqlState::INVALID_PASSWORD => {
                let warned = self.warned();
                format!(
                    "{place} refuses the password of user `{user}`: give the right one in PGPASSWORD or \
                     ~/.pgpass{warned}"
                )
            }
            code if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                format!(
                    "{place} refuses user `{user}`: {message}; check the user, sslmode and the server's pg_hba.conf"
                )
            }
            code if *code == SqlState::INVALID_CATALOG_NAME => {
                format!("{place} has no database `{database}`: `createdb {database}`, or name another one in the URL")
            }
            code if *code == SqlState::TOO_MANY_CONNECTIONS => {
                format!("{place} has no connection left ({message}): use fewer clients, or raise max_connections")
            }
            code if *code == SqlState::CANNOT_CONNECT_NOW => {
                format!("{place} does not take connections now: {message}")
            }
            _ => format!("{place} refuses the connection: {message}"),
        }
    }

    fn explain_tls(&self, error: &rustls::Error) -> String {
        use rustls::CertificateError as Certificate;
        let place = self.place();
        match error {
            rustls::Error::InvalidCertificate(Certificate::UnknownIssuer) => format!(
                "the certificate of {place} is not of an authority that sslmode accepts: name its authority with \
                 sslrootcert=FILE, or \
                 go without verification with sslmode=require and without ~/.postgresql/root.crt"
            ),
            rustls::Error::InvalidCertificate(
                Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
            ) => {
                format!(
                    "the certificate of {place} names another host: connect by the name that it has, or leave the name \
                     out with \
                 sslmode=verify-ca"
                )
            }
            error => match Refused::of(error) {
                Some(refused) => {
                    let itself = match refused {
                        Refused::Version1 => "",
                        Refused::Authority => "or name the certificate itself with sslrootcert=FILE, ",
                    };
                    format!(
                        "the certificate of {place} {}, {itself}or go without verification with sslmode=prefer",
                        refused.explain()
                    )
                }
                None => {
                    format!("TLS with {place} failed: {}; see sslmode and sslrootcert", one_line(&error.to_string()))
                }
            },
        }
    }

    fn warned(&self) -> String {
        self.warnings.iter().map(|warning| format!(" ({warning})")).collect()
    }
}

/// The server's process for a client; `None` if unknown, for example on compatible servers.
async fn process(client: &Client) -> Option<u64> {
    let messages = client.simple_query("SELECT pg_backend_pid()").await.ok()?;
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.try_get(0).ok()??.parse().ok(),
        _ => None,
    })
}

/// The first cause of a type, however deep.
fn cause<T: std::error::Error + 'static>(error: &tokio_postgres::Error) -> Option<&T> {
    causes(error).find_map(|error| error.downcast_ref())
}

fn tls_error(error: &tokio_postgres::Error) -> Option<rustls::Error> {
    let io = cause::<io::Error>(error)?;
    io.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()).cloned()
}

fn default_host(port: u16) -> Host {
    let socket = SOCKET_DIRECTORIES.iter().map(Path::new).find(|path| path.join(format!(".s.PGSQL.{port}")).exists());
    socket.map_or_else(|| Host::Tcp("localhost".to_owned()), |path| Host::Socket(path.to_owned()))
}

/// The strictest default of several hosts.
fn default_ssl_mode(hosts: &Hosts) -> Mode {
    if !hosts.are_local() {
        Mode::VerifyFull
    } else if hosts.places().any(|place| matches!(place.host, Host::Tcp(_))) {
        Mode::Prefer
    } else {
        Mode::Disable
    }
}

#[cfg(test)]
mod tests;
