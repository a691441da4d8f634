//! A session of YDB's query service: queries, within transactions and on their own.
//!
//! A session lives as long as the stream by which it is attached.

use std::time::Duration;

use tonic::Streaming;
use ydb_grpc::ydb_proto::query::execute_query_request::Query;
use ydb_grpc::ydb_proto::query::transaction_control::TxSelector;
use ydb_grpc::ydb_proto::query::transaction_settings::TxMode;
use ydb_grpc::ydb_proto::query::v1::query_service_client::QueryServiceClient;
use ydb_grpc::ydb_proto::query::{
    AttachSessionRequest, CommitTransactionRequest, CreateSessionRequest, ExecMode, ExecuteQueryRequest,
    ExecuteQueryResponsePart, QueryContent, RollbackTransactionRequest, SchemaInclusionMode, SerializableModeSettings,
    SessionState, SnapshotModeSettings, StatsMode, Syntax, TransactionControl, TransactionSettings,
};

use super::connect::{Channel, LARGEST_ANSWER};
use super::failure::{YdbError, succeeded};
use super::query::Parameters;
use super::reply::Gathered;

/// How often a command's request is sent again, and the pause before the first time, which doubles: 13 s in all.
const REPEATS: u32 = 8;
const PAUSE: Duration = Duration::from_millis(50);

/// How a query is part of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Within {
    /// Of none: a change of the schema.
    Nothing,
    /// Of one of its own, which only reads a snapshot.
    Snapshot,
    /// Of a new one.
    New {
        /// Whether it ends with this query.
        commit: bool,
    },
    /// Of one that is open.
    Open {
        /// Its name.
        id: String,
        /// Whether it ends with this query.
        commit: bool,
    },
}

impl Within {
    fn control(self) -> Option<TransactionControl> {
        let begin = |mode| TxSelector::BeginTx(TransactionSettings { tx_mode: Some(mode) });
        let (selector, commit_tx) = match self {
            Within::Nothing => return None,
            Within::Snapshot => (begin(TxMode::SnapshotReadOnly(SnapshotModeSettings {})), true),
            Within::New { commit } => (begin(TxMode::SerializableReadWrite(SerializableModeSettings {})), commit),
            Within::Open { id, commit } => (TxSelector::TxId(id), commit),
        };
        Some(TransactionControl { commit_tx, tx_selector: Some(selector) })
    }
}

/// A session.
pub struct Session {
    service: QueryServiceClient<Channel>,
    id: String,
    _attached: Streaming<SessionState>,
}

impl Session {
    /// Opens a session.
    pub async fn open(channel: Channel) -> Result<Session, YdbError> {
        let mut service = QueryServiceClient::new(channel).max_decoding_message_size(LARGEST_ANSWER);
        let made = service.create_session(CreateSessionRequest {}).await?.into_inner();
        succeeded(made.status, &made.issues)?;
        let request = AttachSessionRequest { session_id: made.session_id.clone() };
        let mut attached = service.attach_session(request).await?.into_inner();
        let state = attached.message().await?;
        let state = state.ok_or_else(|| YdbError::Unreadable("YDB ended a session as it began".to_owned()))?;
        succeeded(state.status, &state.issues)?;
        Ok(Session { service, id: made.session_id, _attached: attached })
    }

    /// Begins a query, whose answer comes in parts.
    pub async fn begin(
        &mut self,
        text: String,
        parameters: Parameters,
        within: Within,
    ) -> Result<Streaming<ExecuteQueryResponsePart>, YdbError> {
        let request = ExecuteQueryRequest {
            session_id: self.id.clone(),
            exec_mode: ExecMode::Execute.into(),
            tx_control: within.control(),
            parameters,
            stats_mode: StatsMode::None.into(),
            schema_inclusion_mode: SchemaInclusionMode::Always.into(),
            query: Some(Query::QueryContent(QueryContent { syntax: Syntax::YqlV1.into(), text })),
            ..ExecuteQueryRequest::default()
        };
        Ok(self.service.execute_query(request).await?.into_inner())
    }

    /// Executes a query to its end; its sets of rows, and the transaction that it left open, if any.
    pub async fn execute(
        &mut self,
        text: String,
        parameters: Parameters,
        within: Within,
    ) -> Result<(Gathered, Option<String>), YdbError> {
        let mut parts = self.begin(text, parameters, within).await?;
        let (mut gathered, mut transaction, mut answered) = (Gathered::default(), None, false);
        while let Some(part) = parts.message().await? {
            succeeded(part.status, &part.issues)?;
            answered = true;
            if let Some(meta) = &part.tx_meta {
                transaction = Some(meta.id.clone()).filter(|id| !id.is_empty());
            }
            gathered.take(part)?;
        }
        match answered {
            true => Ok((gathered, transaction)),
            false => Err(YdbError::Lost { code: tonic::Code::Unknown, detail: "an answer without an end".to_owned() }),
        }
    }

    /// Commits a transaction.
    pub async fn commit(&mut self, transaction: String) -> Result<(), YdbError> {
        let request = CommitTransactionRequest { session_id: self.id.clone(), tx_id: transaction };
        let answer = self.service.commit_transaction(request).await?.into_inner();
        succeeded(answer.status, &answer.issues)
    }

    /// Rolls a transaction back, if it is still there.
    pub async fn roll_back(&mut self, transaction: String) -> Result<(), YdbError> {
        let request = RollbackTransactionRequest { session_id: self.id.clone(), tx_id: transaction };
        let answer = self.service.rollback_transaction(request).await?.into_inner();
        match succeeded(answer.status, &answer.issues) {
            Err(error) if error.is_absent() => Ok(()),
            done => done,
        }
    }
}

/// Does something that may be done twice, again after errors that pass.
pub async fn persistently<T>(mut work: impl AsyncFnMut() -> Result<T, YdbError>) -> Result<T, YdbError> {
    let mut pause = PAUSE;
    for _ in 0..REPEATS {
        match work().await {
            Err(error) if error.may_repeat() => tracing::debug!("sent again: {error}"),
            done => return done,
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    work().await
}
