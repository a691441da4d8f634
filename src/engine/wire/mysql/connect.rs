//! The address of a MySQL or MariaDB server and the way to connect: URL, environment, option file, TLS.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, DriverError, IoError, OptsBuilder, SslOpts};

use super::failure::{self, UNKNOWN_DATABASE, UNKNOWN_VARIABLE};
use super::option_file;
use super::query::Read;
use super::tls::{self, Mode};
use crate::engine::Error;
use crate::engine::address::{Environment, Host, own_name};
use crate::engine::dialect::{Dialect, Wire};
use crate::engine::hosts::{Hosts, Place, Role, no_host_accepted};
use crate::engine::relay::Relay;
use crate::engine::wire::certificate::Refused;
use crate::url::{MYSQL, Parts, Password, encoded, encoded_path};
use crate::visible::one_line;

/// Timeout of a connection attempt in seconds, from the first packet until the server is ready.
const CONNECT_SECONDS: u64 = 30;
const DEFAULT_PORT: u16 = 3306;
/// The maximum number of statements that the driver caches. It closes further ones although they are in use.
const MOST_STATEMENTS: usize = 1_000;
/// The largest packet, in bytes: the servers' default limit. Rows are sent in far smaller ones.
const LARGEST_PACKET: usize = 16 << 20;
/// Seconds after which the driver assumes that an idle connection is closed: the servers' own default.
const IDLE_SECONDS: usize = 28_800;
/// Graymark's dates are UTC; its SQL needs the servers' default mode, in which rows and texts that do not fit are
/// errors. The timeout for table locks is that of row locks, not the default of a day.
const SESSION: &str = "SET SESSION time_zone = '+00:00', lock_wait_timeout = 60, \
    sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_IN_DATE,NO_ZERO_DATE'";

/// A server to connect to, and perhaps a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The hosts of the URL.
    hosts: Hosts,
    /// The current one; before one is chosen, the first.
    host: Host,
    port: u16,
    /// The relay to which sessions connect instead, if there is one.
    led: Option<(Host, u16)>,
    user: String,
    /// The database of the URL; the default is the workload's name.
    database: Option<String>,
    password: Option<Password>,
    ssl_mode: Mode,
    ssl: Option<SslOpts>,
    ssl_ca: Option<PathBuf>,
    timeout: Duration,
    /// The dialect.
    pub dialect: &'static Dialect,
    /// Warnings for the user, such as an ignored option file.
    pub warnings: Vec<String>,
}

/// System databases of a server.
const OF_THE_SERVER: [&str; 4] = ["mysql", "sys", "information_schema", "performance_schema"];

impl Target {
    /// Parses a `mysql://` URL; missing parts come from the environment and the option file.
    pub fn parse(url: &str, environment: Environment<'_>) -> Result<Target, Error> {
        let parts = Parts::of(url, &MYSQL)?;
        if let Some(database) = parts.last("database").filter(|name| name.contains('`') || name.contains('\0')) {
            return Err(Error::Usage(format!("`{database}` is no name for a database")));
        }
        let of_server = |name: &&str| OF_THE_SERVER.iter().any(|own| own.eq_ignore_ascii_case(name));
        if let Some(database) = parts.last("database").filter(of_server) {
            return Err(Error::Usage(format!(
                "the database `{database}` is the server's own: name another one in the URL, or none"
            )));
        }
        let given = |name: &str, variable: &str| parts.given(name, variable, environment);
        let named = match (parts.last("socket"), parts.last("host")) {
            (Some(socket), _) => vec![Host::Socket(PathBuf::from(socket))],
            (None, hosts) => Hosts::split(hosts.unwrap_or("localhost")),
        };
        let hosts = Hosts::of(named, given("port", "MYSQL_TCP_PORT").as_deref(), DEFAULT_PORT, &parts)?;
        let Place { host, port } = hosts.first().clone();
        let file =
            environment("HOME").map(|home| option_file::read(&PathBuf::from(home).join(".my.cnf"))).unwrap_or_default();
        // A password of the file belongs to the file's user.
        let user = parts.last("user").map(str::to_owned).or_else(|| file.user.clone()).or_else(own_name);
        let user =
            user.ok_or_else(|| Error::Usage("who connects? Give a user: mysql://USER@HOST/DATABASE".to_owned()))?;
        let of_file = file.password.filter(|_| file.user.is_none_or(|name| name == user));
        let ssl_mode = match parts.last("ssl-mode") {
            Some(name) => Mode::from_name(name)?,
            None => default_ssl_mode(&hosts),
        };
        let ssl_ca = parts.last("ssl-ca").map(PathBuf::from);
        let timeout = match parts.last("connect_timeout").map(|text| (text, text.parse())) {
            None | Some((_, Ok(0))) => CONNECT_SECONDS,
            Some((_, Ok(seconds))) => seconds,
            Some((text, Err(_))) => {
                return Err(Error::Usage(format!("connect_timeout={text} is not a number of seconds")));
            }
        };
        Ok(Target {
            port,
            led: None,
            user,
            database: parts.last("database").map(str::to_owned),
            password: given("password", "MYSQL_PWD").map(Password::new).or(of_file),
            ssl_mode,
            ssl: tls::options(ssl_mode, ssl_ca.as_deref())?,
            ssl_ca,
            timeout: Duration::from_secs(timeout),
            dialect: Dialect::choose(Wire::Mysql, parts.last("dialect"))?,
            warnings: file.warning.into_iter().collect(),
            hosts,
            host,
        })
    }

    /// The URL without password, with everything else that is needed to connect again.
    pub fn url(&self) -> String {
        let (user, database) = (encoded(&self.user), self.database.as_deref().map(encoded).unwrap_or_default());
        let mut more = Vec::new();
        let place = match &self.host {
            Host::Tcp(_) => self.hosts.addresses(),
            Host::Socket(path) => {
                more.push(format!("socket={}", encoded_path(&path.to_string_lossy())));
                "localhost".to_owned()
            }
        };
        more.extend(self.hosts.parameters());
        if self.ssl_mode != default_ssl_mode(&self.hosts) {
            more.push(format!("ssl-mode={}", self.ssl_mode.name()));
        }
        more.extend(self.ssl_ca.iter().map(|file| format!("ssl-ca={}", encoded_path(&file.to_string_lossy()))));
        if self.timeout != Duration::from_secs(CONNECT_SECONDS) {
            more.push(format!("connect_timeout={}", self.timeout.as_secs()));
        }
        more.extend(self.dialect.in_url().map(|name| format!("dialect={name}")));
        let query = if more.is_empty() { String::new() } else { format!("?{}", more.join("&")) };
        format!("mysql://{user}@{place}/{database}{query}")
    }

    /// The database of a workload.
    pub fn database<'a>(&'a self, workload: &'a str) -> &'a str {
        self.database.as_deref().unwrap_or(workload)
    }

    /// Whether the database has the workload's name because the URL names none: then Graymark creates and drops it.
    pub fn own_database(&self) -> bool {
        self.database.is_none()
    }

    /// Whether the server's address is one of this machine.
    pub fn is_local(&self) -> bool {
        self.hosts.are_local() && !self.hosts.several()
    }

    /// The names of several hosts; empty for a single one.
    pub fn several(&self) -> Vec<String> {
        let name = |place: &Place| self.at(place).place();
        if self.hosts.several() { self.hosts.places().map(name).collect() } else { Vec::new() }
    }

    /// The same target for each of its hosts alone.
    pub fn each(&self) -> impl Iterator<Item = Target> {
        self.hosts.places().map(|place| Target { hosts: Hosts::one(place.clone()), ..self.at(place) })
    }

    /// The same target at one of its hosts.
    fn at(&self, place: &Place) -> Target {
        Target { host: place.host.clone(), port: place.port, ..self.clone() }
    }

    fn place(&self) -> String {
        match &self.host {
            Host::Tcp(host) => format!("{host}:{}", self.port),
            Host::Socket(path) => path.display().to_string(),
        }
    }

    /// Connects sessions through a relay, if the URL names a single server, whatever its role.
    ///
    /// # Errors
    /// If the relay cannot listen.
    pub fn lead(&mut self, relay: &Relay) -> Result<(), Error> {
        if !self.hosts.several() && self.hosts.wanted == Role::Any {
            self.led = Some(relay.lead_to(&self.host, self.port)?);
        }
        Ok(())
    }

    /// The same target at the address of the relay, if there is one. A certificate still has to name the server.
    fn through_relay(&self) -> Target {
        let Some((host, port)) = self.led.clone() else { return self.clone() };
        let ssl = match &self.host {
            Host::Tcp(name) => self.ssl.clone().map(|ssl| ssl.with_danger_tls_hostname_override(Some(name.clone()))),
            Host::Socket(_) => self.ssl.clone(),
        };
        Target { host, port, ssl, ..self.clone() }
    }

    fn options(&self, database: Option<&str>, ssl: Option<SslOpts>) -> OptsBuilder {
        let options = OptsBuilder::default()
            .user(Some(&self.user))
            .pass(self.password.as_ref().map(Password::reveal))
            .db_name(database)
            .prefer_socket(false)
            .tcp_nodelay(true)
            .stmt_cache_size(MOST_STATEMENTS)
            // Otherwise the driver queries these from the server, and panics if the answer is not a number.
            .max_allowed_packet(Some(LARGEST_PACKET))
            .wait_timeout(Some(IDLE_SECONDS))
            // An update counts matched rows, even if it changes nothing.
            .client_found_rows(true)
            .setup(vec![SESSION])
            .ssl_opts(ssl);
        match &self.host {
            Host::Tcp(host) => options.ip_or_hostname(host).tcp_port(self.port),
            Host::Socket(path) => options.socket(Some(path.to_string_lossy())),
        }
    }

    /// Connects to the first suitable host, to a database if one is given. `settings` are further assignments for the
    /// session.
    pub async fn connect(&self, database: Option<&str>, settings: &[&str]) -> Result<Conn, Error> {
        self.reach(database, settings, false).await.map(|(conn, _)| conn)
    }

    /// The same for a session that executes transactions; also returns the index of its host.
    pub async fn connect_session(&self, database: Option<&str>, settings: &[&str]) -> Result<(Conn, usize), Error> {
        self.reach(database, settings, true).await
    }

    async fn reach(&self, database: Option<&str>, settings: &[&str], session: bool) -> Result<(Conn, usize), Error> {
        if !self.hosts.several() && self.hosts.wanted == Role::Any {
            let conn = match session {
                true => self.through_relay().connect_here(database, settings).await,
                false => self.connect_here(database, settings).await,
            };
            return conn.map(|conn| (conn, 0));
        }
        let mut reasons = Vec::new();
        for (number, place) in self.hosts.order(session) {
            let here = self.at(place);
            let reached = async {
                let mut conn = here.connect_here(database, settings).await?;
                let mismatch = here.in_time(here.mismatch(&mut conn)).await?;
                Ok::<_, Error>(mismatch.map_or(Ok(conn), Err))
            };
            match reached.await {
                Ok(Ok(conn)) => return Ok((conn, number)),
                Ok(Err(why)) => reasons.push(format!("{} {why}", here.place())),
                Err(error @ Error::Usage(_)) => return Err(error),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(no_host_accepted(&reasons))
    }

    /// Why a host does not have the required role; `None` if it has. Replicas are configured as read-only.
    async fn mismatch(&self, conn: &mut Conn) -> Result<Option<&'static str>, Error> {
        if self.hosts.wanted == Role::Any {
            return Ok(None);
        }
        let read_only: Result<Option<i64>, _> = conn.first("SELECT CAST(@@global.read_only AS SIGNED)").await;
        let failed = |error| failure::of_command("cannot ask whether the server is read-only", &error);
        let read_only = read_only.map_err(failed)?.is_some_and(|read_only| read_only > 0);
        Ok(self.hosts.wanted.mismatch(read_only, read_only))
    }

    /// Connects to the current host.
    async fn connect_here(&self, database: Option<&str>, settings: &[&str]) -> Result<Conn, Error> {
        let connecting = async {
            match Conn::new(self.options(database, self.ssl.clone())).await {
                Err(error) if self.ssl_mode == Mode::Preferred && tls::is_not_to_be_had(&error) => {
                    Conn::new(self.options(database, None)).await
                }
                done => done,
            }
        };
        let mut conn = match tokio::time::timeout(self.timeout, connecting).await {
            Ok(done) => done.map_err(|error| self.explain(&error, database))?,
            Err(_) => return Err(self.silent()),
        };
        for (name, value) in self.dialect.session {
            match conn.query_drop(format!("SET SESSION {name} = {value}")).await {
                Err(error) if failure::code(&error) == Some(UNKNOWN_VARIABLE) => {}
                set => set.map_err(|error| failure::of_command(&format!("cannot set {name}"), &error))?,
            }
        }
        for setting in settings {
            let set = conn.query_drop(format!("SET SESSION {setting}")).await;
            set.map_err(|error| failure::of_command(&format!("cannot set {setting}"), &error))?;
        }
        Ok(conn)
    }

    /// Waits for the first answer on a new connection, with a timeout.
    pub async fn in_time<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        tokio::time::timeout(self.timeout, work).await.unwrap_or_else(|_| Err(self.silent()))
    }

    /// Whether the server answers at all, even by refusing a connection.
    pub async fn answers(&self) -> bool {
        for place in self.hosts.places() {
            if self.at(place).answers_here().await {
                return true;
            }
        }
        false
    }

    async fn answers_here(&self) -> bool {
        match tokio::time::timeout(self.timeout, Conn::new(self.options(None, self.ssl.clone()))).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => {
                matches!(
                    error,
                    mysql_async::Error::Server(_) | mysql_async::Error::Driver(DriverError::NoClientSslFlagFromServer)
                )
            }
            Err(_) => false,
        }
    }

    fn silent(&self) -> Error {
        let (place, seconds) = (self.place(), self.timeout.as_secs());
        Error::Database(format!(
            "{place} does not answer within {seconds} s: is it a MySQL or MariaDB server? (connect_timeout=SECONDS \
             waits longer)"
        ))
    }

    /// Why connecting failed and what to do, in one line.
    fn explain(&self, error: &mysql_async::Error, database: Option<&str>) -> Error {
        let (place, user) = (self.place(), &self.user);
        let text = match error {
            mysql_async::Error::Server(refusal) => {
                let message = one_line(&refusal.message);
                match refusal.code {
                    1045 | 1698 | 1862 if self.password.is_none() => {
                        format!(
                            "{place} wants a password of user `{user}`: give it in MYSQL_PWD or ~/.my.cnf{} \
                             ({message})",
                            self.warned()
                        )
                    }
                    1045 | 1698 | 1862 => {
                        format!(
                            "{place} refuses the password of user `{user}`: give the right one in MYSQL_PWD or \
                             ~/.my.cnf{} ({message})",
                            self.warned()
                        )
                    }
                    1130 => {
                        format!("{place} takes no connections from this host: {message}; see the hosts of its users")
                    }
                    UNKNOWN_DATABASE => {
                        let database = database.unwrap_or_default();
                        format!(
                            "{place} has no database `{database}`: CREATE DATABASE {database}, or name another one in \
                             the URL"
                        )
                    }
                    1044 => format!("{place} does not let user `{user}` into the database: {message}"),
                    1040 | 1203 | 1226 => {
                        format!(
                            "{place} has no connection left ({message}): use fewer clients, or raise max_connections"
                        )
                    }
                    3159 => format!("{place} wants TLS: give ssl-mode=REQUIRED or VERIFY_IDENTITY ({message})"),
                    _ => format!("{place} refuses the connection: {}", failure::message(error)),
                }
            }
            mysql_async::Error::Driver(DriverError::NoClientSslFlagFromServer) => {
                format!(
                    "{place} offers no TLS, which ssl-mode asks for: turn it on there, or trust the network with \
                     ssl-mode=DISABLED"
                )
            }
            mysql_async::Error::Driver(DriverError::UnknownAuthPlugin { name }) => format!(
                "{place} asks user `{user}` for an authentication that Graymark does not have ({name}): use a user \
                 with \
                 mysql_native_password or caching_sha2_password"
            ),
            mysql_async::Error::Io(IoError::Tls(error)) => self.explain_tls(&one_line(&error.to_string())),
            mysql_async::Error::Io(IoError::Io(error)) => {
                match error.get_ref().and_then(|inner| inner.downcast_ref()) {
                    Some(tls) if tls::has_no_common_cipher(tls) => self.explain_cipher(),
                    Some(tls) => self.explain_certificate(tls),
                    None => self.explain_io(error),
                }
            }
            error => {
                format!("{place} does not speak MySQL's protocol ({}): check host and port", failure::message(error))
            }
        };
        Error::Database(text)
    }

    fn explain_io(&self, error: &io::Error) -> String {
        let place = self.place();
        match (error.kind(), &self.host) {
            (io::ErrorKind::ConnectionRefused, Host::Tcp(_)) => {
                format!("{place} refuses connections: check host and port, and that the server runs and listens there")
            }
            (io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused, Host::Socket(_)) => {
                format!("no server answers at the socket {place}: check its path, and that the server runs")
            }
            (io::ErrorKind::TimedOut, _) => format!("{place} does not answer: check host, port and firewall"),
            _ if error.to_string().contains("lookup address") => format!("no host is called {place}: check the URL"),
            (
                io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::InvalidInput
                | io::ErrorKind::InvalidData
                | io::ErrorKind::Other,
                _,
            ) => format!(
                "{place} does not speak MySQL's protocol ({}): check host and port",
                one_line(&error.to_string())
            ),
            _ => format!("cannot connect to {place}: {error}"),
        }
    }

    fn explain_certificate(&self, error: &rustls::Error) -> String {
        use rustls::CertificateError as Certificate;
        let place = self.place();
        match error {
            rustls::Error::InvalidCertificate(Certificate::UnknownIssuer) => format!(
                "the certificate of {place} is not of an authority that ssl-mode accepts: name its authority with \
                 ssl-ca=FILE, or go \
                 without verification with ssl-mode=REQUIRED"
            ),
            rustls::Error::InvalidCertificate(
                Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
            ) => {
                format!(
                    "the certificate of {place} names another host: connect by the name that it has, or go without \
                     verification with \
                     ssl-mode=REQUIRED"
                )
            }
            error => match Refused::of(error) {
                Some(refused) => {
                    let otherwise = match refused {
                        Refused::Version1 => "trust the network with ssl-mode=PREFERRED, which then goes without TLS",
                        Refused::Authority => "go without verification with ssl-mode=REQUIRED",
                    };
                    format!("the certificate of {place} {}, or {otherwise}", refused.explain())
                }
                None => self.explain_tls(&one_line(&error.to_string())),
            },
        }
    }

    fn explain_cipher(&self) -> String {
        format!(
            "{} has no TLS that Graymark has, too (TLS 1.3, or 1.2 with ECDHE): MySQL before 8.0.16 offers DHE only; \
             use \
             a later server, or trust the network with ssl-mode=DISABLED",
            self.place()
        )
    }

    fn explain_tls(&self, why: &str) -> String {
        format!("TLS with {} failed: {why}; see ssl-mode and ssl-ca", self.place())
    }

    fn warned(&self) -> String {
        self.warnings.iter().map(|warning| format!(" ({warning})")).collect()
    }
}

/// The strictest default of several hosts.
fn default_ssl_mode(hosts: &Hosts) -> Mode {
    if !hosts.are_local() {
        Mode::VerifyIdentity
    } else if hosts.places().any(|place| matches!(place.host, Host::Tcp(_))) {
        Mode::Preferred
    } else {
        Mode::Disabled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Target {
        Target::parse(url, &|_| None).unwrap()
    }

    #[test]
    fn a_url_is_read_and_shown_without_its_password() {
        let full = target("mysql://ann:s%40cret@localhost:6000/bench?connect_timeout=3");
        assert_eq!((full.password.clone(), full.timeout), (Some(Password::new("s@cret")), Duration::from_secs(3)));
        assert_eq!(full.url(), "mysql://ann@localhost:6000/bench?connect_timeout=3");
        assert!(!format!("{full:?}").contains("cret"));
        assert_eq!(target("mariadb://ann@127.0.0.1?password=secret").url(), "mysql://ann@127.0.0.1:3306/");
        assert_eq!(target("mysql://ann@[::1]:6000/b").url(), "mysql://ann@[::1]:6000/b");
        let socket = target("mysql://ann@localhost/b?socket=/run/my.sock");
        assert_eq!(socket.url(), "mysql://ann@localhost/b?socket=/run/my.sock");
        assert!(socket.is_local() && target(&socket.url()) == socket);
        let url = "mysql://ann@db.example:3306/b?ssl-mode=REQUIRED&ssl-ca=/a%20b/c.pem&connect_timeout=3";
        assert_eq!(target(url).url(), url);
    }

    #[test]
    fn the_workloads_name_serves_where_no_database_is_given() {
        assert_eq!(target("mysql://ann@localhost").database("tpcc"), "tpcc");
        assert_eq!(target("mysql://ann@localhost/bench").database("tpcc"), "bench");
    }

    #[test]
    fn environment_and_option_file_fill_what_the_url_leaves_open() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(".my.cnf"), "[client]\nuser=ann\npassword=of-file\n").unwrap();
        let place = home.path().to_str().unwrap().to_owned();
        let environment = |name: &str| match name {
            "HOME" => Some(place.clone()),
            "MYSQL_TCP_PORT" => Some("6000".to_owned()),
            _ => None,
        };
        let password =
            |url: &str| Target::parse(url, &environment).unwrap().password.map(|password| password.reveal().to_owned());
        assert_eq!(Target::parse("mysql://localhost/b", &environment).unwrap().url(), "mysql://ann@localhost:6000/b");
        assert_eq!(password("mysql://localhost/b").as_deref(), Some("of-file"));
        assert_eq!(password("mysql://bob@localhost/b"), None);
        let with_password =
            |name: &str| if name == "MYSQL_PWD" { Some("of-env".to_owned()) } else { environment(name) };
        let target = Target::parse("mysql://localhost/b", &with_password).unwrap();
        assert_eq!(target.password, Some(Password::new("of-env")));
    }

    #[test]
    fn tls_is_verified_wherever_a_network_lies_between() {
        let mode = |url| Target::parse(url, &|_| None).map(|target| target.ssl_mode);
        let parts = Parts::of("mysql://a@h/b", &MYSQL).unwrap();
        let far = Hosts::of(Hosts::split("localhost,db.example"), None, DEFAULT_PORT, &parts).unwrap();
        assert_eq!(default_ssl_mode(&far), Mode::VerifyIdentity);
        assert_eq!(mode("mysql://a@localhost/b"), Ok(Mode::Preferred));
        assert_eq!(mode("mysql://a@localhost/b?socket=/run/x"), Ok(Mode::Disabled));
        assert_eq!(mode("mysql://a@db.example/b?ssl-mode=required"), Ok(Mode::Required));
    }

    #[test]
    fn a_wrong_url_is_refused_without_showing_its_password() {
        for url in [
            "postgres://a:secret@h/b",
            "mysql://a:secret@h:port/b",
            "mysql://a:secret@h/b?ssl-mode=verify_ca",
            "mysql://a:secret@h/b?unknown=1",
            "mysql://a:secret@h,i/b?target_session_attrs=leader",
            "mysql://a:secret@[::1/b",
            "mysql://a:secret@h/b%60",
            "mysql://a:secret@localhost/b?connect_timeout=soon",
        ] {
            let Err(Error::Usage(text)) = Target::parse(url, &|_| None) else { panic!("{url} was taken") };
            assert!(!text.contains("secret") && !text.contains('\n'), "{text}");
        }
    }
}
