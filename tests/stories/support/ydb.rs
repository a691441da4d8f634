//! A stand-in for YDB: its gRPC services as far as Graymark uses them, with rows in SQLite.
//!
//! It does not parse YQL. The statements of transactions are known by their texts, and SQLite's dialect has a statement
//! of the same name; conditions, counts and changes of the schema are plain enough to be SQL of SQLite after a few
//! words are replaced (`yql.rs`). What it does check is the protocol: types of parameters and of rows, the begin and
//! the end of transactions, headers.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::{Code, Request, Response, Status};
use tonic_prost::ProstCodec;
use ydb_grpc::google_proto_workaround::protobuf::Any;
use ydb_grpc::ydb_proto as proto;
use ydb_grpc::ydb_proto::query::execute_query_request::Query;
use ydb_grpc::ydb_proto::query::transaction_control::TxSelector;
use ydb_grpc::ydb_proto::status_ids::StatusCode;

use super::yql::{self, Asked, Statements};

/// The database.
pub const DATABASE: &str = "/local";

/// When a planted fault comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At a query that commits, or at a commit on its own.
    Commit,
    /// At another query of a transaction.
    Statement,
    /// At a bulk upsert.
    Bulk,
    /// At a query that is none of a transaction, such as a condition.
    Query,
}

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub when: When,
    pub what: What,
    /// Whether what was asked for is carried out all the same.
    pub done: bool,
}

impl Fault {
    fn leaves_open(self) -> bool {
        matches!(self.what, What::LeftOpen(_))
    }
}

/// How a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Not at all: the next fault comes the next time.
    Nothing,
    Status(StatusCode),
    /// With a status, after which the transaction is still open.
    LeftOpen(StatusCode),
    Grpc(Code),
    /// With a success that has no set of rows.
    NoSets,
}

#[derive(Default)]
struct State {
    directories: BTreeMap<String, rusqlite::Connection>,
    /// Open transactions by name: the directory, the session, and the right to work on the rows.
    open: HashMap<String, (String, String, OwnedSemaphorePermit)>,
    faults: VecDeque<Fault>,
    log: Vec<String>,
    login: Option<(String, String)>,
    /// The token of whoever has logged in.
    token: String,
    next: u64,
}

/// The server. It ends with the test's process.
#[derive(Clone)]
pub struct YdbServer {
    pub port: u16,
    state: Arc<Mutex<State>>,
    /// One transaction at a time.
    right: Arc<Semaphore>,
    statements: Arc<Statements>,
}

/// The first token of whoever logs in.
pub const TOKEN: &str = "tok3n-of-the-stand-in";

impl YdbServer {
    /// Starts one, which lets anyone in.
    pub fn start() -> YdbServer {
        YdbServer::with_login(None)
    }

    /// Starts one that wants a user and a password.
    pub fn with_login(login: Option<(&str, &str)>) -> YdbServer {
        let login = login.map(|(user, password)| (user.to_owned(), password.to_owned()));
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let server = YdbServer {
            port: listener.local_addr().unwrap().port(),
            state: Arc::new(Mutex::new(State { login, token: TOKEN.to_owned(), ..State::default() })),
            right: Arc::new(Semaphore::new(1)),
            statements: Arc::new(Statements::new()),
        };
        let service = server.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let incoming = tonic::transport::server::TcpIncoming::from(listener).with_nodelay(Some(true));
                let serve = tonic::transport::Server::builder().serve_with_incoming(service, incoming);
                serve.await.unwrap();
            });
        });
        server
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("ydb://127.0.0.1:{}{DATABASE}", self.port)
    }

    /// The token that it has given is valid no more.
    pub fn renew_token(&self) {
        self.lock().token.push_str("-again");
    }

    /// Plants faults, each of which comes once, in their order.
    pub fn plant(&self, faults: impl IntoIterator<Item = Fault>) {
        self.lock().faults.extend(faults);
    }

    /// Planted faults that have not come yet.
    pub fn planted(&self) -> usize {
        self.lock().faults.len()
    }

    /// Transactions that are open.
    pub fn open_transactions(&self) -> usize {
        self.lock().open.len()
    }

    /// What was asked for since the last time.
    pub fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().log)
    }

    /// Looks at the rows of a directory, or changes them.
    pub fn with_rows<T>(&self, directory: &str, work: impl FnOnce(&rusqlite::Connection) -> T) -> T {
        let mut state = self.lock();
        work(state.directory(&format!("{DATABASE}/{directory}")))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fault that comes now, unless it is one that lets this time pass.
    fn fault(&self, when: When) -> Option<Fault> {
        let mut state = self.lock();
        let next = state.faults.front().is_some_and(|fault| fault.when == when);
        let fault = next.then(|| state.faults.pop_front()).flatten();
        fault.filter(|fault| fault.what != What::Nothing)
    }

    async fn execute(&self, request: proto::query::ExecuteQueryRequest) -> Result<Answer, Status> {
        let Some(Query::QueryContent(content)) = request.query else {
            return Err(Status::invalid_argument("no text"));
        };
        let asked = yql::read(&content.text, &self.statements);
        let control = request.tx_control;
        let commit = control.as_ref().is_none_or(|control| control.commit_tx);
        let (name, how) = match control.and_then(|control| control.tx_selector) {
            Some(TxSelector::TxId(id)) => (Some(id), "in"),
            Some(TxSelector::BeginTx(_)) => (None, "begin"),
            None => (None, "schema"),
        };
        let names = asked.names(&self.statements).join(" ");
        let of_transaction = matches!(asked.what, Asked::Statements(_));
        if of_transaction {
            self.lock().log.push(format!("{how} {names}{}", if commit { " commit" } else { "" }));
        }
        let name = match name {
            Some(name) if self.lock().open.contains_key(&name) => name,
            Some(name) => return Ok(Answer::refused(StatusCode::NotFound, &format!("no transaction {name}"))),
            None => {
                let permit = Arc::clone(&self.right).acquire_owned().await.unwrap();
                let mut state = self.lock();
                state.next += 1;
                let name = format!("tx-{}", state.next);
                state.directory(&asked.directory).execute_batch("BEGIN").unwrap();
                state.open.insert(name.clone(), (asked.directory.clone(), request.session_id.clone(), permit));
                name
            }
        };
        let fault = self.fault(match of_transaction {
            true if commit => When::Commit,
            true => When::Statement,
            false => When::Query,
        });
        if let Some(fault) = fault.filter(|fault| !fault.done) {
            if !fault.leaves_open() {
                self.end(&name, "ROLLBACK");
            }
            return Answer::faulty(fault);
        }
        let sets = asked.work(self.lock().directory(&asked.directory), &request.parameters, &self.statements);
        match sets {
            Ok(sets) => {
                if commit {
                    self.end(&name, "COMMIT");
                }
                match fault {
                    Some(fault) => Answer::faulty(fault),
                    None => Ok(Answer::Sets(sets, if commit { String::new() } else { name })),
                }
            }
            Err((status, why)) => {
                self.end(&name, "ROLLBACK");
                Ok(Answer::refused(status, &why))
            }
        }
    }

    /// Ends a transaction, if it is there.
    fn end(&self, name: &str, how: &str) -> bool {
        let mut state = self.lock();
        let Some((directory, _, _permit)) = state.open.remove(name) else { return false };
        state.directory(&directory).execute_batch(how).unwrap();
        true
    }

    fn commit(&self, name: &str) -> Result<Answer, Status> {
        self.lock().log.push("commit".to_owned());
        let fault = self.fault(When::Commit);
        let done = fault.is_none_or(|fault| fault.done);
        let there = fault.is_some_and(Fault::leaves_open) || self.end(name, if done { "COMMIT" } else { "ROLLBACK" });
        match fault {
            Some(fault) => Answer::faulty(fault),
            None if there => Ok(Answer::Sets(Vec::new(), String::new())),
            None => Ok(Answer::refused(StatusCode::NotFound, "no such transaction")),
        }
    }

    fn bulk(&self, request: proto::table::BulkUpsertRequest) -> Result<Answer, Status> {
        let (directory, table) = request.table.rsplit_once('/').unwrap();
        let rows = request.rows.unwrap();
        let count = rows.value.as_ref().map_or(0, |rows| rows.items.len());
        self.lock().log.push(format!("bulk {table} {count}"));
        let fault = self.fault(When::Bulk);
        if let Some(fault) = fault.filter(|fault| !fault.done) {
            return Answer::faulty(fault);
        }
        let mut state = self.lock();
        if let Err(why) = yql::upsert(state.directory(directory), table, &rows) {
            return Ok(Answer::refused(StatusCode::SchemeError, &why));
        }
        match fault {
            Some(fault) => Answer::faulty(fault),
            None => Ok(Answer::Sets(Vec::new(), String::new())),
        }
    }

    fn list(&self, path: &str) -> Result<proto::scheme::ListDirectoryResult, Answer> {
        use proto::scheme::entry::Type;
        let entry = |name: String, kind: Type| proto::scheme::Entry { name, r#type: kind.into(), ..Default::default() };
        let state = self.lock();
        let children = match state.directories.get(path) {
            Some(directory) => yql::tables(directory).into_iter().map(|name| entry(name, Type::Table)).collect(),
            None if path == DATABASE => {
                let there = state.directories.iter().filter(|(_, rows)| !yql::tables(rows).is_empty());
                there.map(|(path, _)| entry(path.rsplit_once('/').unwrap().1.to_owned(), Type::Directory)).collect()
            }
            None => return Err(Answer::refused(StatusCode::SchemeError, "Path does not exist")),
        };
        Ok(proto::scheme::ListDirectoryResult { children, ..Default::default() })
    }

    fn let_in(&self, headers: &tonic::metadata::MetadataMap) -> Result<(), Status> {
        if headers.get("x-ydb-database").and_then(|value| value.to_str().ok()) != Some(DATABASE) {
            return Err(Status::not_found("no such database"));
        }
        let token = headers.get("x-ydb-auth-ticket").and_then(|value| value.to_str().ok());
        let state = self.lock();
        match state.login {
            Some(_) if token != Some(&*state.token) => Err(Status::unauthenticated("no valid token")),
            _ => Ok(()),
        }
    }
}

impl State {
    fn directory(&mut self, path: &str) -> &mut rusqlite::Connection {
        let open = || rusqlite::Connection::open_in_memory().unwrap();
        self.directories.entry(path.to_owned()).or_insert_with(open)
    }
}

/// What is answered.
enum Answer {
    Sets(Vec<proto::ResultSet>, String),
    Refused(StatusCode, String),
}

impl Answer {
    fn refused(status: StatusCode, why: &str) -> Answer {
        Answer::Refused(status, why.to_owned())
    }

    fn faulty(fault: Fault) -> Result<Answer, Status> {
        match fault.what {
            What::Nothing => unreachable!("it is no fault"),
            What::Status(status) | What::LeftOpen(status) => Ok(Answer::refused(status, "planted")),
            What::NoSets => Ok(Answer::Sets(Vec::new(), String::new())),
            What::Grpc(code) => Err(Status::new(code, "planted")),
        }
    }

    fn status(&self) -> (i32, Vec<proto::issue::IssueMessage>) {
        match self {
            Answer::Sets(..) => (StatusCode::Success.into(), Vec::new()),
            Answer::Refused(status, why) => {
                let issue = proto::issue::IssueMessage { message: why.clone(), ..Default::default() };
                ((*status).into(), vec![issue])
            }
        }
    }

    /// As an operation, with a result.
    fn operation<T: prost::Message>(&self, result: Option<&T>) -> Option<proto::operations::Operation> {
        let (status, issues) = self.status();
        let any = |result: &T| Any { type_url: String::new(), value: result.encode_to_vec() };
        let result = result.map(any);
        Some(proto::operations::Operation { ready: true, status, issues, result, ..Default::default() })
    }

    /// As the parts of an answer to a query: rows come in parts of at most five.
    fn parts(self) -> Vec<proto::query::ExecuteQueryResponsePart> {
        let (status, issues) = self.status();
        let Answer::Sets(sets, transaction) = self else {
            return vec![proto::query::ExecuteQueryResponsePart { status, issues, ..Default::default() }];
        };
        let tx_meta = Some(proto::query::TransactionMeta { id: transaction });
        let mut parts = vec![proto::query::ExecuteQueryResponsePart { status, tx_meta, ..Default::default() }];
        for (number, set) in (0..).zip(sets) {
            let pieces: Vec<Vec<proto::Value>> = match set.rows.is_empty() {
                true => vec![Vec::new()],
                false => set.rows.chunks(5).map(<[_]>::to_vec).collect(),
            };
            for rows in pieces {
                let piece = proto::ResultSet { columns: set.columns.clone(), rows, ..Default::default() };
                parts.push(proto::query::ExecuteQueryResponsePart {
                    status,
                    result_set_index: number,
                    result_set: Some(piece),
                    ..Default::default()
                });
            }
        }
        parts
    }
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A method with one answer.
struct Unary<F>(F);

impl<M: 'static, R: 'static, F: FnOnce(M) -> Boxed<Result<R, Status>> + Clone> Service<Request<M>> for Unary<F> {
    type Response = Response<R>;
    type Error = Status;
    type Future = Boxed<Result<Response<R>, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<M>) -> Self::Future {
        let answer = (self.0.clone())(request.into_inner());
        Box::pin(async move { answer.await.map(Response::new) })
    }
}

fn unary<M, R, F>(request: http::Request<Body>, work: F) -> Boxed<http::Response<Body>>
where
    M: prost::Message + Default + Send + 'static,
    R: prost::Message + Send + 'static,
    F: FnOnce(M) -> Boxed<Result<R, Status>> + Clone + Send + 'static,
{
    Box::pin(async move {
        let mut grpc = tonic::server::Grpc::new(ProstCodec::<R, M>::default());
        grpc = grpc.apply_max_message_size_config(Some(64 << 20), None);
        grpc.unary(Unary(work), request).await
    })
}

type Stream<R> = Pin<Box<dyn futures_util::Stream<Item = Result<R, Status>> + Send>>;

fn streaming<M, R, F>(request: http::Request<Body>, work: F) -> Boxed<http::Response<Body>>
where
    M: prost::Message + Default + Send + 'static,
    R: prost::Message + Send + 'static,
    F: FnOnce(M) -> Boxed<Result<Stream<R>, Status>> + Clone + Send + 'static,
{
    Box::pin(async move {
        let mut grpc = tonic::server::Grpc::new(ProstCodec::<R, M>::default());
        grpc.server_streaming(Unary(work), request).await
    })
}

/// The end of an attached session rolls back what it has open.
struct Attached(YdbServer, String);

impl Drop for Attached {
    fn drop(&mut self) {
        let open = |(name, (_, session, _)): (&String, &(String, String, OwnedSemaphorePermit))| {
            (*session == self.1).then(|| name.clone())
        };
        let left: Vec<String> = self.0.lock().open.iter().filter_map(open).collect();
        left.iter().for_each(|name| {
            self.0.end(name, "ROLLBACK");
        });
    }
}

impl Service<http::Request<Body>> for YdbServer {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Boxed<Result<http::Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let answer = self.clone().answer(request);
        Box::pin(async move { Ok(answer.await) })
    }
}

impl YdbServer {
    fn answer(self, request: http::Request<Body>) -> Boxed<http::Response<Body>> {
        let refused = |status: Status| Box::pin(std::future::ready(status.into_http())) as Boxed<_>;
        let path = request.uri().path().trim_start_matches("/Ydb.").to_owned();
        let headers = tonic::metadata::MetadataMap::from_headers(request.headers().clone());
        let open = path.starts_with("Auth.");
        if let Err(status) = if open { Ok(()) } else { self.let_in(&headers) } {
            return refused(status);
        }
        match path.as_str() {
            "Auth.V1.AuthService/Login" => unary(request, move |asked: proto::auth::LoginRequest| {
                let right = self.lock().login == Some((asked.user, asked.password));
                let answer = match right {
                    true => Answer::Sets(Vec::new(), String::new()),
                    false => Answer::refused(StatusCode::Unauthorized, "Invalid password"),
                };
                let result = proto::auth::LoginResult { token: self.lock().token.clone() };
                let operation = answer.operation(right.then_some(&result));
                Box::pin(async move { Ok(proto::auth::LoginResponse { operation }) })
            }),
            "Discovery.V1.DiscoveryService/ListEndpoints" => {
                unary(request, move |_: proto::discovery::ListEndpointsRequest| {
                    // Two names of this node, and one that takes TLS only.
                    let node = |address: &str, ssl| proto::discovery::EndpointInfo {
                        address: address.to_owned(),
                        port: self.port.into(),
                        ssl,
                        ..Default::default()
                    };
                    let endpoints = vec![node("127.0.0.1", false), node("localhost", false), node("secure", true)];
                    let result = proto::discovery::ListEndpointsResult { endpoints, ..Default::default() };
                    let operation = Answer::Sets(Vec::new(), String::new()).operation(Some(&result));
                    Box::pin(async move { Ok(proto::discovery::ListEndpointsResponse { operation }) })
                })
            }
            "Query.V1.QueryService/CreateSession" => unary(request, move |_: proto::query::CreateSessionRequest| {
                let mut state = self.lock();
                state.next += 1;
                let session_id = format!("session-{}", state.next);
                let status = StatusCode::Success.into();
                let answer = proto::query::CreateSessionResponse { status, session_id, ..Default::default() };
                Box::pin(async move { Ok(answer) })
            }),
            "Query.V1.QueryService/AttachSession" => {
                streaming(request, move |asked: proto::query::AttachSessionRequest| {
                    let attached = Attached(self, asked.session_id);
                    let first = proto::query::SessionState { status: StatusCode::Success.into(), ..Default::default() };
                    let states =
                        futures_util::stream::unfold((attached, Some(first)), async |(attached, first)| match first {
                            Some(first) => Some((Ok(first), (attached, None))),
                            None => std::future::pending().await,
                        });
                    Box::pin(async move { Ok(Box::pin(states) as Stream<_>) })
                })
            }
            "Query.V1.QueryService/ExecuteQuery" => {
                streaming(request, move |asked: proto::query::ExecuteQueryRequest| {
                    Box::pin(async move {
                        let parts = self.execute(asked).await?.parts();
                        Ok(Box::pin(futures_util::stream::iter(parts.into_iter().map(Ok))) as Stream<_>)
                    })
                })
            }
            "Query.V1.QueryService/CommitTransaction" => {
                unary(request, move |asked: proto::query::CommitTransactionRequest| {
                    let answer = self.commit(&asked.tx_id).map(|answer| answer.status());
                    let answer =
                        answer.map(|(status, issues)| proto::query::CommitTransactionResponse { status, issues });
                    Box::pin(async move { answer })
                })
            }
            "Query.V1.QueryService/RollbackTransaction" => {
                unary(request, move |asked: proto::query::RollbackTransactionRequest| {
                    self.lock().log.push("rollback".to_owned());
                    let answer = match self.end(&asked.tx_id, "ROLLBACK") {
                        true => Answer::Sets(Vec::new(), String::new()),
                        false => Answer::refused(StatusCode::NotFound, "no such transaction"),
                    };
                    let (status, issues) = answer.status();
                    Box::pin(async move { Ok(proto::query::RollbackTransactionResponse { status, issues }) })
                })
            }
            "Table.V1.TableService/BulkUpsert" => unary(request, move |asked: proto::table::BulkUpsertRequest| {
                let answer = self.bulk(asked).map(|answer| {
                    let operation = answer.operation::<proto::table::BulkUpsertResult>(None);
                    proto::table::BulkUpsertResponse { operation }
                });
                Box::pin(async move { answer })
            }),
            "Scheme.V1.SchemeService/ListDirectory" => {
                unary(request, move |asked: proto::scheme::ListDirectoryRequest| {
                    let operation = match self.list(&asked.path) {
                        Ok(result) => Answer::Sets(Vec::new(), String::new()).operation(Some(&result)),
                        Err(answer) => answer.operation::<proto::scheme::ListDirectoryResult>(None),
                    };
                    Box::pin(async move { Ok(proto::scheme::ListDirectoryResponse { operation }) })
                })
            }
            "Scheme.V1.SchemeService/RemoveDirectory" => {
                unary(request, move |asked: proto::scheme::RemoveDirectoryRequest| {
                    let gone = self.lock().directories.remove(&asked.path);
                    assert!(gone.is_none_or(|rows| yql::tables(&rows).is_empty()), "{} is not empty", asked.path);
                    let operation = Answer::Sets(Vec::new(), String::new());
                    let operation = operation.operation::<proto::scheme::ListDirectoryResult>(None);
                    Box::pin(async move { Ok(proto::scheme::RemoveDirectoryResponse { operation }) })
                })
            }
            other => refused(Status::unimplemented(other.to_owned())),
        }
    }
}
