//! A prepared statement: parameters that are bound once and filled again and again, arrays of them, and rows.
//!
//! All columns of a row are read as text, which every driver gives and none gives wrong; [`OdbcRow`] makes values of
//! it. Numbers go in as the C types that the driver has (see `Quirks`), exact decimals as text.

use std::rc::Rc;
use std::time::Duration;

use odbc_sys::{
    CDataType, FreeStmtOption, NO_TOTAL, NTS, NULL_DATA, ParamType, Pointer, SQLBindParameter, SQLDescribeCol,
    SQLExecDirect, SQLExecute, SQLFetch, SQLFreeStmt, SQLGetData, SQLNumResultCols, SQLPrepare, SQLRowCount,
    SQLSetStmtAttr, StatementAttribute,
};

use super::failure::Diagnostic;
use super::handle::{Dbc, Stmt, terminated};
use super::parameter::{Buffer, Param};
use super::quirks::Quirks;
use super::reply::OdbcRow;

/// The least room for a column's text.
const ROOM: usize = 256;
/// `SQL_PARAM_ERROR`: a set of parameters failed.
const PARAM_ERROR: u16 = 5;
/// `SQL_PARAM_UNUSED`: a set of parameters was not worked, because an earlier one failed.
const PARAM_UNUSED: u16 = 7;

/// All rows of a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<OdbcRow>,
}

/// What the driver writes while it executes: it stays at its place.
#[derive(Debug, Default)]
struct ParameterStatus {
    processed: usize,
    states: Vec<u16>,
}

/// A statement, prepared or executed.
#[derive(Debug)]
pub struct Statement {
    // Freed before the places that it writes to.
    stmt: Stmt,
    quirks: Quirks,
    parameters: Vec<Buffer>,
    parameter_status: Box<ParameterStatus>,
    /// Sets of parameters that the driver expects.
    sets: usize,
    /// Columns of the rows that it returns; none before it was executed.
    width: u16,
    /// Whether the last execution said that there is nothing to fetch.
    empty: bool,
    row: OdbcRow,
}

impl Statement {
    fn new(connection: &Rc<Dbc>, quirks: Quirks) -> Result<Statement, Diagnostic> {
        let stmt = Stmt::new(connection)?;
        Ok(Statement {
            stmt,
            quirks,
            parameters: Vec::new(),
            parameter_status: Box::default(),
            sets: 1,
            width: 0,
            empty: false,
            row: OdbcRow::default(),
        })
    }

    pub(super) fn prepare(connection: &Rc<Dbc>, quirks: Quirks, sql: &str) -> Result<Statement, Diagnostic> {
        let statement = Statement::new(connection, quirks)?;
        let text = terminated(sql)?;
        // SAFETY: the text ends with a zero, as its length says.
        statement.stmt.check(unsafe { SQLPrepare(statement.stmt.raw(), text.as_ptr().cast(), NTS as i32) })?;
        Ok(statement)
    }

    /// Executes a text at once.
    pub(super) fn direct(connection: &Rc<Dbc>, quirks: Quirks, sql: &str) -> Result<Statement, Diagnostic> {
        let mut statement = Statement::new(connection, quirks)?;
        let text = terminated(sql)?;
        // SAFETY: the text ends with a zero, as its length says.
        let code = unsafe { SQLExecDirect(statement.stmt.raw(), text.as_ptr().cast(), NTS as i32) };
        statement.empty = !statement.stmt.check_data(code)?;
        statement.count_columns()?;
        Ok(statement)
    }

    /// Sets parameter `number`, from 0, of set `set`, from 0. Sets are those of an array; a statement that is executed
    /// once has one.
    ///
    /// A parameter keeps the type of its first value that is not null.
    ///
    /// # Errors
    /// If a value has another type than those before it.
    pub fn set(&mut self, set: usize, number: usize, value: Param<'_>) -> Result<(), Diagnostic> {
        while self.parameters.len() <= number {
            self.parameters.push(Buffer::new(self.quirks));
        }
        self.parameters[number].put(set, value).map_err(Diagnostic::of_driver_manager)
    }

    /// Makes a parameter an output of up to `room` bytes of text, as a procedure's are: see [`Statement::output`].
    pub fn expect_output(&mut self, number: usize, room: usize) {
        while self.parameters.len() <= number {
            self.parameters.push(Buffer::new(self.quirks));
        }
        self.parameters[number] = Buffer::output(room);
    }

    /// What the execution left in an output parameter; none is the null.
    pub fn output(&self, number: usize) -> Option<&str> {
        self.parameters.get(number).and_then(Buffer::text)
    }

    /// Limits how long the database may work on an execution, in whole seconds.
    ///
    /// # Errors
    /// If the driver has no such limit.
    pub fn limit(&mut self, limit: Duration) -> Result<(), Diagnostic> {
        let seconds = usize::try_from(limit.as_secs()).unwrap_or(usize::MAX);
        let attribute = StatementAttribute::QueryTimeout;
        // SAFETY: the attribute is a number, which stands in the place of a pointer.
        self.stmt.check(unsafe { SQLSetStmtAttr(self.stmt.raw(), attribute, seconds as Pointer, 0) })
    }

    /// Executes with the parameters that are set, of which there are `sets` sets. For all sets together or for none.
    pub fn execute(&mut self, sets: usize) -> Result<(), Diagnostic> {
        self.close()?;
        self.bind()?;
        if sets != self.sets {
            self.expect(sets)?;
        }
        // SAFETY: all parameters are bound to places of this statement, with room for as many sets as were announced.
        let code = unsafe { SQLExecute(self.stmt.raw()) };
        // No data: an UPDATE or DELETE found no row. With RETURNING it has columns all the same, but nothing may be
        // fetched.
        self.empty = !self.stmt.check_data(code)?;
        if sets > 1 {
            self.check_sets(sets)?;
        }
        if self.width == 0 || sets == 1 {
            self.count_columns()?;
        }
        Ok(())
    }

    /// Tells the driver of parameters whose places or types have changed.
    fn bind(&mut self) -> Result<(), Diagnostic> {
        for (number, parameter) in self.parameters.iter_mut().enumerate().filter(|(_, parameter)| !parameter.bound) {
            let binding = parameter.binding();
            let direction = if binding.output { ParamType::Output } else { ParamType::Input };
            // SAFETY: the places are of this statement, stay where they are until they are bound anew, and are as long
            // as is said.
            let code = unsafe {
                SQLBindParameter(
                    self.stmt.raw(),
                    number as u16 + 1,
                    direction,
                    binding.c_type,
                    binding.sql_type,
                    // Some drivers step through an array of texts by this length (Virtuoso's), all others by the last:
                    // they are the same.
                    binding.column_size,
                    binding.digits,
                    binding.values,
                    binding.width,
                    binding.lengths,
                )
            };
            self.stmt.check(code)?;
            parameter.bound = true;
        }
        Ok(())
    }

    /// Announces an array of parameters.
    fn expect(&mut self, sets: usize) -> Result<(), Diagnostic> {
        self.parameter_status.states.resize(sets.max(1), 0);
        let states = self.parameter_status.states.as_mut_ptr().cast();
        let processed = (&raw mut self.parameter_status.processed).cast();
        for (attribute, value) in [
            (StatementAttribute::ParamsetSize, sets as Pointer),
            (StatementAttribute::ParamStatusPtr, states),
            (StatementAttribute::ParamsProcessedPtr, processed),
        ] {
            // SAFETY: the places are of this statement and stay until they are announced anew.
            self.stmt.check(unsafe { SQLSetStmtAttr(self.stmt.raw(), attribute, value, 0) })?;
        }
        self.sets = sets;
        Ok(())
    }

    /// Some drivers report success although single sets of an array failed.
    fn check_sets(&self, sets: usize) -> Result<(), Diagnostic> {
        let states = self.parameter_status.states.get(..sets).unwrap_or_default();
        let failed = states.iter().filter(|state| matches!(**state, PARAM_ERROR | PARAM_UNUSED)).count();
        if failed == 0 {
            return Ok(());
        }
        Err(Diagnostic::of_driver_manager(format!("{failed} of {sets} rows of an array were refused")))
    }

    fn count_columns(&mut self) -> Result<(), Diagnostic> {
        let mut columns = 0_i16;
        // SAFETY: the place lives through the call.
        self.stmt.check(unsafe { SQLNumResultCols(self.stmt.raw(), &mut columns) })?;
        self.width = columns.try_into().unwrap_or_default();
        Ok(())
    }

    /// Whether the last execution returned rows, if only none.
    pub fn has_rows(&self) -> bool {
        self.width > 0
    }

    /// Rows that the last execution affected; 0 where the driver does not know.
    pub fn affected(&mut self) -> Result<u64, Diagnostic> {
        let mut rows = 0;
        // SAFETY: the place lives through the call.
        self.stmt.check(unsafe { SQLRowCount(self.stmt.raw(), &mut rows) })?;
        Ok(u64::try_from(rows).unwrap_or_default())
    }

    /// The next row of the reply.
    pub fn fetch(&mut self) -> Result<Option<&OdbcRow>, Diagnostic> {
        if self.width == 0 || self.empty {
            return Ok(None);
        }
        // SAFETY: no columns are bound.
        if !self.stmt.check_data(unsafe { SQLFetch(self.stmt.raw()) })? {
            return Ok(None);
        }
        self.row.clear();
        for column in 1..=self.width {
            self.read(column)?;
        }
        Ok(Some(&self.row))
    }

    /// Reads a column of the current row, in pieces where it is long.
    fn read(&mut self, column: u16) -> Result<(), Diagnostic> {
        let start = self.row.bytes.len();
        loop {
            let at = self.row.bytes.len();
            self.row.bytes.resize(at + ROOM, 0);
            let mut length = 0;
            // SAFETY: there is as much room as is said, and the place of the length lives through the call.
            let code = unsafe {
                let place = self.row.bytes.as_mut_ptr().add(at).cast();
                SQLGetData(self.stmt.raw(), column, CDataType::Char, place, ROOM as isize, &mut length)
            };
            if !self.stmt.check_data(code)? {
                // The piece before was the last, although the driver had not said so.
                self.row.bytes.truncate(at);
                break;
            }
            match usize::try_from(length) {
                Ok(length) if length < ROOM => {
                    self.row.bytes.truncate(at + length);
                    break;
                }
                // More is to come: the piece ends with a zero.
                Ok(_) => self.row.bytes.truncate(at + ROOM - 1),
                Err(_) if length == NO_TOTAL => self.row.bytes.truncate(at + ROOM - 1),
                Err(_) if length == NULL_DATA => {
                    self.row.bytes.truncate(start);
                    self.row.end_null();
                    return Ok(());
                }
                Err(_) => {
                    return Err(Diagnostic::of_driver_manager(format!(
                        "a driver gave {length} as the length of a column"
                    )));
                }
            }
        }
        self.row.end_column();
        Ok(())
    }

    /// The names of the columns.
    pub fn columns(&mut self) -> Result<Vec<String>, Diagnostic> {
        (1..=self.width).map(|number| self.column_name(number)).collect()
    }

    fn column_name(&self, number: u16) -> Result<String, Diagnostic> {
        let (mut name, mut length, mut kind, mut size, mut digits) =
            ([0_u8; 256], 0_i16, odbc_sys::SqlDataType(0), 0, 0);
        // SAFETY: all places live through the call, and the name's is as long as is said; whether it may be null is not
        // asked.
        let code = unsafe {
            let name = (name.as_mut_ptr(), name.len() as i16);
            let nullable = std::ptr::null_mut();
            SQLDescribeCol(
                self.stmt.raw(),
                number,
                name.0,
                name.1,
                &mut length,
                &mut kind,
                &mut size,
                &mut digits,
                nullable,
            )
        };
        self.stmt.check(code)?;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(name).into_owned())
    }

    /// All rows that are left, and no more of this execution.
    pub fn reply(&mut self) -> Result<Reply, Diagnostic> {
        let columns = self.columns()?;
        let mut rows = Vec::new();
        while let Some(row) = self.fetch()? {
            rows.push(row.clone());
        }
        self.close()?;
        Ok(Reply { columns, rows })
    }

    /// Ends the reading of rows, so that the statement can be executed again.
    pub fn close(&mut self) -> Result<(), Diagnostic> {
        // SAFETY: the statement is allocated.
        self.stmt.check(unsafe { SQLFreeStmt(self.stmt.raw(), FreeStmtOption::Close) })
    }
}
