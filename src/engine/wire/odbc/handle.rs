//! ODBC handles that free themselves: the only place that calls the driver manager for handles, attributes and
//! diagnostics.
//!
//! This is the C interface by way of `odbc-sys`. Two things that a run must survive speak against a layer above it: a
//! connection to a server that is gone has to be dropped without a panic, and the isolation level has to be set after
//! connecting.

use std::ffi::CString;
use std::ptr::null_mut;
use std::rc::Rc;
use std::sync::OnceLock;

use odbc_sys::{
    AttrOdbcVersion, CompletionType, ConnectionAttribute, DriverConnectOption, EnvironmentAttribute, HDbc, HEnv, HStmt,
    Handle, HandleType, InfoType, NTS, Pointer, SQLAllocHandle, SQLDisconnect, SQLDriverConnect, SQLEndTran,
    SQLFreeHandle, SQLGetDiagRec, SQLGetInfo, SQLSetConnectAttr, SQLSetEnvAttr, SqlReturn,
};

use super::failure::Diagnostic;

/// The most of a message that is read.
const MESSAGE: usize = 2_048;
/// Text that a driver tells of itself is short.
const INFORMATION: usize = 256;

/// The environment of the process. The driver manager protects it against use by several threads.
struct Environment(HEnv);

// SAFETY: an environment may be used by any thread (ODBC, "Multithreading").
unsafe impl Send for Environment {}
// SAFETY: as above.
unsafe impl Sync for Environment {}

fn environment() -> Result<HEnv, Diagnostic> {
    static ENVIRONMENT: OnceLock<Result<Environment, Diagnostic>> = OnceLock::new();
    let made = ENVIRONMENT.get_or_init(|| {
        let mut handle = Handle::null();
        // SAFETY: a new environment has no parent, and the place for it lives through the call.
        let code = unsafe { SQLAllocHandle(HandleType::Env, Handle::null(), &mut handle) };
        succeeded(code)
            .map_err(|code| Diagnostic::of_driver_manager(format!("no ODBC environment (return code {code})")))?;
        let version = Pointer::from(AttrOdbcVersion::Odbc3);
        // SAFETY: the environment is new, and the value is a number, not a place.
        let code = unsafe { SQLSetEnvAttr(handle.as_henv(), EnvironmentAttribute::OdbcVersion, version, 0) };
        succeeded(code).map_err(|_| diagnose(HandleType::Env, handle))?;
        Ok(Environment(handle.as_henv()))
    });
    made.as_ref().map(|environment| environment.0).map_err(Clone::clone)
}

fn succeeded(code: SqlReturn) -> Result<(), i16> {
    match code {
        SqlReturn::SUCCESS | SqlReturn::SUCCESS_WITH_INFO => Ok(()),
        SqlReturn(code) => Err(code),
    }
}

/// What a handle says of the last call on it that failed.
fn diagnose(kind: HandleType, handle: Handle) -> Diagnostic {
    let mut first: Option<Diagnostic> = None;
    for number in 1..=4 {
        let (mut state, mut native, mut length) = ([0_u8; 6], 0, 0_i16);
        let mut message = [0_u8; MESSAGE];
        // SAFETY: the handle is allocated, all places live through the call, and the message's is as long as is said.
        let code = unsafe {
            SQLGetDiagRec(
                kind,
                handle,
                number,
                state.as_mut_ptr(),
                &mut native,
                message.as_mut_ptr(),
                MESSAGE as i16,
                &mut length,
            )
        };
        if succeeded(code).is_err() {
            break;
        }
        let message = message.split(|byte| *byte == 0).next().unwrap_or_default();
        let record = Diagnostic::new(&state[..5], native, &String::from_utf8_lossy(message));
        match &mut first {
            None => first = Some(record),
            Some(first) => first.append(&record),
        }
    }
    first.unwrap_or_else(|| {
        Diagnostic::of_driver_manager("an ODBC call failed, and the driver does not say why".to_owned())
    })
}

/// A connection's handle. It stays until the last statement on it is gone.
#[derive(Debug)]
pub(super) struct Dbc {
    handle: HDbc,
    connected: bool,
}

impl Dbc {
    /// Connects.
    pub(super) fn connect(text: &str) -> Result<Rc<Dbc>, Diagnostic> {
        let environment = environment()?;
        let mut handle = Handle::null();
        // SAFETY: the environment lives as long as the process.
        let code = unsafe { SQLAllocHandle(HandleType::Dbc, environment.as_handle(), &mut handle) };
        succeeded(code).map_err(|_| diagnose(HandleType::Env, environment.as_handle()))?;
        let mut dbc = Dbc { handle: handle.as_hdbc(), connected: false };
        let text = terminated(text)?;
        // SAFETY: the text ends with a zero, as its length says; no completed text is wanted.
        let code = unsafe {
            let (text, length) = (text.as_ptr().cast(), NTS as i16);
            SQLDriverConnect(
                dbc.handle,
                null_mut(),
                text,
                length,
                null_mut(),
                0,
                null_mut(),
                DriverConnectOption::NoPrompt,
            )
        };
        dbc.check(code)?;
        dbc.connected = true;
        Ok(Rc::new(dbc))
    }

    fn check(&self, code: SqlReturn) -> Result<(), Diagnostic> {
        succeeded(code).map_err(|_| diagnose(HandleType::Dbc, self.handle.as_handle()))
    }

    /// Sets an attribute whose value is a number.
    pub(super) fn set(&self, attribute: ConnectionAttribute, value: u32) -> Result<(), Diagnostic> {
        // SAFETY: the connection is open; a number goes in the place of the pointer, as ODBC has it.
        self.check(unsafe { SQLSetConnectAttr(self.handle, attribute, value as usize as Pointer, 0) })
    }

    /// Ends the transaction.
    pub(super) fn end(&self, how: CompletionType) -> Result<(), Diagnostic> {
        // SAFETY: the connection is open.
        self.check(unsafe { SQLEndTran(HandleType::Dbc, self.handle.as_handle(), how) })
    }

    /// A text that the driver tells of itself or of its database.
    pub(super) fn text(&self, what: InfoType) -> Result<String, Diagnostic> {
        let (mut text, mut length) = ([0_u8; INFORMATION], 0_i16);
        // SAFETY: both places live through the call, and the text's is as long as is said.
        let code = unsafe { SQLGetInfo(self.handle, what, text.as_mut_ptr().cast(), INFORMATION as i16, &mut length) };
        self.check(code)?;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// A number that the driver tells of itself: a bit mask of 32 bits, or less.
    pub(super) fn number(&self, what: InfoType) -> Result<u32, Diagnostic> {
        let (mut number, mut length) = (0_u32, 0_i16);
        // SAFETY: both places live through the call; a number takes four bytes at most.
        let code = unsafe { SQLGetInfo(self.handle, what, (&raw mut number).cast(), 4, &mut length) };
        self.check(code).map(|()| number)
    }
}

impl Drop for Dbc {
    fn drop(&mut self) {
        if self.connected {
            // SAFETY: nothing uses the connection any more. A transaction that is open keeps some drivers from
            // disconnecting; that it cannot be ended, because the server is gone, is no matter.
            let closed = unsafe {
                let _ = SQLEndTran(HandleType::Dbc, self.handle.as_handle(), CompletionType::Rollback);
                SQLDisconnect(self.handle)
            };
            if succeeded(closed).is_err() {
                // The handle must not be freed then: it stays until the process ends.
                return;
            }
        }
        // SAFETY: the connection is closed and has no statements.
        let _ = unsafe { SQLFreeHandle(HandleType::Dbc, self.handle.as_handle()) };
    }
}

/// A statement's handle.
#[derive(Debug)]
pub(super) struct Stmt {
    handle: HStmt,
    /// Freed after the statement.
    _connection: Rc<Dbc>,
}

impl Stmt {
    pub(super) fn new(connection: &Rc<Dbc>) -> Result<Stmt, Diagnostic> {
        let mut handle = Handle::null();
        // SAFETY: the connection is open.
        let code = unsafe { SQLAllocHandle(HandleType::Stmt, connection.handle.as_handle(), &mut handle) };
        connection.check(code)?;
        Ok(Stmt { handle: handle.as_hstmt(), _connection: Rc::clone(connection) })
    }

    /// For calls on the statement.
    pub(super) fn raw(&self) -> HStmt {
        self.handle
    }

    pub(super) fn check(&self, code: SqlReturn) -> Result<(), Diagnostic> {
        succeeded(code).map_err(|_| diagnose(HandleType::Stmt, self.handle.as_handle()))
    }

    /// As [`Stmt::check`]; whether there was anything.
    pub(super) fn check_data(&self, code: SqlReturn) -> Result<bool, Diagnostic> {
        if code == SqlReturn::NO_DATA { Ok(false) } else { self.check(code).map(|()| true) }
    }
}

impl Drop for Stmt {
    fn drop(&mut self) {
        // SAFETY: the statement is allocated, and nothing uses it any more.
        let _ = unsafe { SQLFreeHandle(HandleType::Stmt, self.handle.as_handle()) };
    }
}

/// A text for C: some drivers read to the zero, whatever length they are given (Virtuoso's does).
pub(super) fn terminated(text: &str) -> Result<CString, Diagnostic> {
    CString::new(text)
        .map_err(|_| Diagnostic::of_driver_manager("a text for the database holds a zero byte".to_owned()))
}
