//! Where a YDB is and how to get in: `ydb://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE`, or `grpcs://…` for TLS.
//!
//! The nodes of the database are asked for (discovery), and sessions are spread over them. A user logs in with a
//! password for a token; without a user, a token of the environment counts, or none.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use prost::Message;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{self, Certificate, ClientTlsConfig, Endpoint};
use ydb_grpc::google_proto_workaround::protobuf::Any;
use ydb_grpc::ydb_proto::auth::v1::auth_service_client::AuthServiceClient;
use ydb_grpc::ydb_proto::auth::{LoginRequest, LoginResult};
use ydb_grpc::ydb_proto::discovery::v1::discovery_service_client::DiscoveryServiceClient;
use ydb_grpc::ydb_proto::discovery::{EndpointInfo, ListEndpointsRequest, ListEndpointsResult};
use ydb_grpc::ydb_proto::operations::Operation;

use super::failure::{YdbError, succeeded};
use crate::engine::Error;
use crate::engine::address::{Environment, Host, port};
use crate::engine::relay::Relay;
use crate::url::{Parts, Password, YDB, encoded, encoded_host, encoded_path};

/// The password of a user whose URL has none, as YDB's own client has it.
const PASSWORD: &str = "YDB_PASSWORD";
/// A token, as YDB's own client and its libraries have it.
const TOKENS: [&str; 2] = ["YDB_TOKEN", "YDB_ACCESS_TOKEN_CREDENTIALS"];
/// Default ports of a server.
const PORT: u16 = 2136;
const SECURE_PORT: u16 = 2135;
/// How long a connection may take, unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A token that a login gave is used for so long; YDB's are valid for twelve hours.
const TOKEN_AGE: Duration = Duration::from_secs(3_600);
/// The largest answer that is read: parts of a reply are at most a few MiB.
pub(super) const LARGEST_ANSWER: usize = 64 << 20;

/// A connection to a node, whose requests name the database and carry the token.
pub type Channel = InterceptedService<transport::Channel, Headers>;

/// What every request carries (<https://ydb.tech/docs/en/reference/ydb-sdk/grpc-headers>).
#[derive(Clone)]
pub struct Headers {
    database: MetadataValue<Ascii>,
    token: Option<MetadataValue<Ascii>>,
}

impl Interceptor for Headers {
    fn call(&mut self, mut request: tonic::Request<()>) -> Result<tonic::Request<()>, tonic::Status> {
        let headers = request.metadata_mut();
        headers.insert("x-ydb-database", self.database.clone());
        headers.insert("x-ydb-application-name", MetadataValue::from_static("graymark"));
        if let Some(token) = &self.token {
            headers.insert("x-ydb-auth-ticket", token.clone());
        }
        Ok(request)
    }
}

/// A node of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    host: String,
    port: u16,
    /// The name in its certificate, if that is not its host.
    certified: Option<String>,
}

impl Node {
    /// As it stands in a URL.
    pub fn address(&self) -> String {
        format!("{}:{}", encoded_host(&self.host), self.port)
    }
}

/// How whoever connects is known.
#[derive(Clone)]
enum Identity {
    Nobody,
    Token(Password),
    User(String, Password),
}

/// Where to connect, and as whom.
#[derive(Clone)]
pub struct Target {
    scheme: &'static str,
    node: Node,
    secure: bool,
    authority: Option<Certificate>,
    /// With its slash.
    database: String,
    identity: Identity,
    connect_timeout: Duration,
    /// Partitions of each table, if the URL says how many.
    pub partitions: Option<u32>,
    discovers: bool,
    /// Where sessions connect to instead, if they are led through a relay.
    led: Option<Node>,
    nodes: Arc<OnceLock<Vec<Node>>>,
    next: Arc<AtomicUsize>,
    token: Arc<Mutex<Option<(Instant, Password)>>>,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.url())
    }
}

impl Target {
    /// Reads a URL.
    ///
    /// # Errors
    /// What is wrong with it, or that its certificate cannot be read.
    pub fn parse(url: &str, environment: Environment<'_>) -> Result<Target, Error> {
        let usage = |why: &str| Error::Usage(format!("{why}: give ydb://USER@HOST:PORT/DATABASE, or grpcs:// for TLS"));
        let parts = Parts::of(url, &YDB)?;
        let scheme = YDB.schemes.iter().find(|scheme| url.split("://").next() == Some(scheme)).copied();
        let (scheme, secure) = (scheme.unwrap_or("ydb"), scheme == Some("grpcs"));
        let host = Parts::one_host(parts.last("host").ok_or_else(|| usage("the URL names no host"))?)?.to_owned();
        let port = parts.last("port").map_or(Ok(if secure { SECURE_PORT } else { PORT }), port)?;
        let database = parts.last("database").ok_or_else(|| usage("the URL names no database"))?;
        if database.contains(['"', '`', '\\']) {
            return Err(usage("the database's name has a quote in it"));
        }
        let number = |name: &str| match parts.last(name).map(str::parse::<u32>) {
            None => Ok(None),
            Some(Ok(number)) if number > 0 => Ok(Some(number)),
            Some(_) => Err(usage(&format!("{name} is not a number above 0"))),
        };
        let discovers = match parts.last("discovery") {
            None | Some("on") => true,
            Some("off") => false,
            Some(_) => return Err(usage("discovery is on or off")),
        };
        let authority = match parts.last("sslrootcert") {
            Some(_) if !secure => return Err(usage("a certificate is for grpcs:// only")),
            Some(file) => Some(Certificate::from_pem(
                std::fs::read(file)
                    .map_err(|error| Error::Usage(format!("cannot read the certificate {file}: {error}")))?,
            )),
            None => None,
        };
        let identity = match parts.last("user") {
            Some(user) => {
                let password = parts.given("password", PASSWORD, environment).unwrap_or_default();
                Identity::User(user.to_owned(), Password::new(password))
            }
            None => match TOKENS.iter().find_map(|name| environment(name)).filter(|token| !token.is_empty()) {
                Some(token) => Identity::Token(Password::new(token)),
                None => Identity::Nobody,
            },
        };
        let timeout = number("connect_timeout")?.map(|seconds| Duration::from_secs(seconds.into()));
        Ok(Target {
            scheme,
            node: Node { host, port, certified: None },
            secure,
            authority,
            database: format!("/{}", database.trim_matches('/')),
            identity,
            connect_timeout: timeout.unwrap_or(CONNECT_TIMEOUT),
            partitions: number("partitions")?,
            discovers,
            led: None,
            nodes: Arc::default(),
            next: Arc::default(),
            token: Arc::default(),
        })
    }

    /// Without the password.
    pub fn url(&self) -> String {
        let user = match &self.identity {
            Identity::User(user, _) => format!("{}@", encoded(user)),
            _ => String::new(),
        };
        format!("{}://{user}{}{}", self.scheme, self.node.address(), encoded_path(&self.database))
    }

    /// The directory of a workload's tables.
    pub fn directory(&self, workload: &str) -> String {
        format!("{}/{workload}", self.database)
    }

    /// The database, as a path.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// Leads sessions through a relay, all to the host of the URL.
    ///
    /// # Errors
    /// If the relay cannot be had.
    pub(super) fn lead(&mut self, relay: &Relay) -> Result<(), Error> {
        if let (Host::Tcp(host), port) = relay.lead_to(&Host::Tcp(self.node.host.clone()), self.node.port)? {
            self.led = Some(Node { host, port, certified: Some(self.node.host.clone()) });
        }
        Ok(())
    }

    /// The nodes that sessions are spread over, once they have been asked for.
    pub fn nodes(&self) -> &[Node] {
        self.nodes.get().map_or(&[], Vec::as_slice)
    }

    /// Asks for the nodes of the database. A server that knows no discovery is the only one.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub async fn discover(&self) -> Result<(), Error> {
        let channel = self.connect().await?;
        let found = match self.discovers && self.led.is_none() {
            true => self.in_time(self.endpoints(channel)).await,
            false => Ok(Vec::new()),
        };
        let found = match found {
            Ok(found) if !found.is_empty() => found,
            Ok(_) | Err(YdbError::Lost { code: tonic::Code::Unimplemented, .. }) => vec![self.node.clone()],
            Err(error) => return Err(error.of_command(&format!("cannot ask {} for its nodes", self.url()))),
        };
        // Whoever asked first got the same answer.
        let _ = self.nodes.set(found);
        Ok(())
    }

    /// Whether the server answers at all, even by refusing: a server that hangs still accepts connections.
    pub async fn answers(&self) -> bool {
        let Ok(channel) = self.reach(&self.node).await else { return false };
        let Ok(channel) = self.with_headers(channel, None) else { return false };
        let asked = self.in_time(self.endpoints(channel)).await;
        let lost = [tonic::Code::Unavailable, tonic::Code::DeadlineExceeded];
        !matches!(asked, Err(YdbError::Lost { code, .. }) if lost.contains(&code))
    }

    async fn endpoints(&self, channel: Channel) -> Result<Vec<Node>, YdbError> {
        let request = ListEndpointsRequest { database: self.database.clone(), service: Vec::new() };
        let answer = DiscoveryServiceClient::new(channel).list_endpoints(request).await?.into_inner();
        let found: ListEndpointsResult = result(answer.operation)?;
        let node = |endpoint: EndpointInfo| {
            let port = u16::try_from(endpoint.port).ok().filter(|_| endpoint.ssl == self.secure)?;
            let certified = Some(endpoint.ssl_target_name_override).filter(|name| !name.is_empty());
            Some(Node { host: endpoint.address, port, certified })
        };
        let mut nodes: Vec<Node> = found.endpoints.into_iter().filter_map(node).collect();
        nodes.sort_by(|a, b| (&a.host, a.port).cmp(&(&b.host, b.port)));
        nodes.dedup();
        Ok(nodes)
    }

    /// Connects to the host of the URL.
    ///
    /// # Errors
    /// If it cannot be reached, or refuses the user.
    pub async fn connect(&self) -> Result<Channel, Error> {
        self.to(&self.node).await
    }

    /// Connects to the next node, or to the relay before it; its place among several nodes.
    ///
    /// # Errors
    /// If it cannot be reached, or refuses the user.
    pub async fn connect_next(&self) -> Result<(Channel, Option<usize>), Error> {
        if let Some(entry) = &self.led {
            return Ok((self.to(entry).await?, None));
        }
        let nodes = self.nodes();
        let Some(place) = self.next.fetch_add(1, Ordering::Relaxed).checked_rem(nodes.len()) else {
            return Ok((self.connect().await?, None));
        };
        let channel = self.to(nodes.get(place).unwrap_or(&self.node)).await?;
        Ok((channel, (nodes.len() > 1).then_some(place)))
    }

    async fn to(&self, node: &Node) -> Result<Channel, Error> {
        let channel = self.reach(node).await?;
        let token = self.token(&channel).await?;
        self.with_headers(channel, token.as_ref())
    }

    fn with_headers(&self, channel: transport::Channel, token: Option<&Password>) -> Result<Channel, Error> {
        let database = MetadataValue::try_from(self.database.as_str())
            .map_err(|_| Error::Usage("the database's name has a letter that gRPC does not carry".to_owned()))?;
        let token = token.map(|token| {
            let mut value = MetadataValue::try_from(token.reveal())
                .map_err(|_| Error::Usage("the token has a letter that gRPC does not carry".to_owned()))?;
            value.set_sensitive(true);
            Ok::<_, Error>(value)
        });
        Ok(InterceptedService::new(channel, Headers { database, token: token.transpose()? }))
    }

    async fn reach(&self, node: &Node) -> Result<transport::Channel, Error> {
        let cannot = |error: &dyn std::error::Error| {
            let mut detail = error.to_string();
            let mut cause = error.source();
            while let Some(error) = cause {
                detail = format!("{detail}: {error}");
                cause = error.source();
            }
            let what = format!("cannot connect to {} at {}", self.url(), node.address());
            YdbError::Lost { code: tonic::Code::Unavailable, detail }.of_command(&what)
        };
        let scheme = if self.secure { "https" } else { "http" };
        let endpoint =
            Endpoint::from_shared(format!("{scheme}://{}", node.address())).map_err(|error| cannot(&error))?;
        let mut endpoint = endpoint.connect_timeout(self.connect_timeout).tcp_nodelay(true);
        if self.secure {
            let name = node.certified.as_deref().unwrap_or(&node.host);
            let tls = ClientTlsConfig::new().domain_name(name);
            let tls = match &self.authority {
                Some(authority) => tls.ca_certificate(authority.clone()),
                None => tls.with_native_roots(),
            };
            endpoint = endpoint.tls_config(tls).map_err(|error| cannot(&error))?;
        }
        // The connector's timeout does not count what comes after the connection of TCP.
        match tokio::time::timeout(self.connect_timeout, endpoint.connect()).await {
            Ok(connected) => connected.map_err(|error| cannot(&error)),
            Err(late) => Err(cannot(&late)),
        }
    }

    /// Waits for the first answers on a new connection, with a timeout: what accepts connections may be no YDB.
    ///
    /// # Errors
    /// Those of the work, or that it took too long.
    pub async fn in_time<T>(&self, work: impl Future<Output = Result<T, YdbError>>) -> Result<T, YdbError> {
        let seconds = self.connect_timeout.as_secs();
        tokio::time::timeout(self.connect_timeout, work).await.unwrap_or_else(|_| {
            let detail = format!("no answer within {seconds} s (connect_timeout=SECONDS sets a longer limit)");
            Err(YdbError::Lost { code: tonic::Code::DeadlineExceeded, detail })
        })
    }

    /// Why no session could be opened. The next one does not use a token that was refused.
    pub fn without_session(&self, error: &YdbError) -> Error {
        if error.refuses_token() {
            *self.token.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        error.of_command("cannot open a session")
    }

    /// The token of whoever connects; none if nobody has to be known. That of a user is asked for over the connection.
    async fn token(&self, channel: &transport::Channel) -> Result<Option<Password>, Error> {
        let (user, password) = match &self.identity {
            Identity::Nobody => return Ok(None),
            Identity::Token(token) => return Ok(Some(token.clone())),
            Identity::User(user, password) => (user, password),
        };
        let kept = self.token.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, token)) = kept.filter(|(given, _)| given.elapsed() < TOKEN_AGE) {
            return Ok(Some(token));
        }
        let request =
            LoginRequest { operation_params: None, user: user.clone(), password: password.reveal().to_owned() };
        let login = async {
            let channel =
                self.with_headers(channel.clone(), None).map_err(|why| YdbError::Unreadable(why.to_string()))?;
            let answer = AuthServiceClient::new(channel).login(request).await?.into_inner();
            result::<LoginResult>(answer.operation)
        };
        let given = self.in_time(login).await;
        let given = given.map_err(|error| error.of_command(&format!("cannot log in at {}", self.url())))?;
        let token = Password::new(given.token);
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), token.clone()));
        Ok(Some(token))
    }
}

/// An operation has succeeded.
pub fn done(operation: Option<Operation>) -> Result<Option<Any>, YdbError> {
    let operation = operation.ok_or_else(|| YdbError::Unreadable("YDB answered without an operation".to_owned()))?;
    succeeded(operation.status, &operation.issues)?;
    Ok(operation.result)
}

/// The result of an operation that has succeeded.
pub fn result<T: Message + Default>(operation: Option<Operation>) -> Result<T, YdbError> {
    let any = done(operation)?.ok_or_else(|| YdbError::Unreadable("YDB answered without a result".to_owned()))?;
    T::decode(any.value.as_slice()).map_err(|error| YdbError::Unreadable(format!("a result of YDB's: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Target {
        Target::parse(url, &|name| (name == PASSWORD || name == TOKENS[1]).then(|| format!("of {name}"))).unwrap()
    }

    #[test]
    fn a_url_says_where_and_as_whom() {
        let plain = parsed("ydb://db.example/local");
        assert_eq!((plain.node.address().as_str(), plain.secure), ("db.example:2136", false));
        assert_eq!((plain.database(), plain.directory("tpcc").as_str()), ("/local", "/local/tpcc"));
        assert!(
            matches!(&plain.identity, Identity::Token(token) if token.reveal() == "of YDB_ACCESS_TOKEN_CREDENTIALS")
        );
        let secure =
            parsed("grpcs://ann:wonderland@[::1]:2137/Root/bench?partitions=7&connect_timeout=3&discovery=off");
        assert_eq!((secure.url().as_str(), secure.secure), ("grpcs://ann@[::1]:2137/Root/bench", true));
        assert_eq!((secure.partitions, secure.connect_timeout), (Some(7), Duration::from_secs(3)));
        assert!(!format!("{secure:?}").contains("wonderland"));
        let Identity::User(_, password) = &secure.identity else { panic!("no user") };
        assert_eq!(password.reveal(), "wonderland");
        let Identity::User(_, password) = parsed("grpcs://ann@h/d").identity else { panic!("no user") };
        assert_eq!(password.reveal(), "of YDB_PASSWORD");
        assert!(parsed("grpcs://h/d").node.address().ends_with(":2135"));
    }

    #[test]
    fn a_url_that_says_too_little_is_refused() {
        for url in [
            "ydb://db.example",
            "ydb:///local",
            "ydb://a,b/local",
            "ydb://h/local?partitions=0",
            "ydb://h/local?discovery=perhaps",
            "ydb://h/lo\"cal",
            "ydb://h/local?sslrootcert=x",
            "ydb://h/local?token=secret",
        ] {
            let why = Target::parse(url, &|_| None).unwrap_err();
            assert!(matches!(why, Error::Usage(_)) && !why.to_string().contains("secret"), "{url}: {why}");
        }
    }
}
