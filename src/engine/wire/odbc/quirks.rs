//! Where drivers differ from what ODBC says.

/// How a driver differs from what ODBC says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// A C integer of "32 bits" is read as a C `long` of eight bytes.
    pub wide_integers: bool,
    /// It knows no C integers of 64 bits.
    pub no_big_integers: bool,
    /// It sends an array of rows one by one; but its database takes the values of a column as one, in PostgreSQL's
    /// notation of arrays.
    pub row_by_row: bool,
}

impl Quirks {
    /// Of the driver of a database management system, by the name that this tells.
    pub fn of(dbms: &str) -> Quirks {
        let virtuoso = dbms.contains("Virtuoso");
        Quirks {
            wide_integers: virtuoso,
            // Oracle's driver has no SQL_C_SBIGINT.
            no_big_integers: virtuoso || dbms.starts_with("Oracle"),
            row_by_row: dbms.starts_with("PostgreSQL"),
        }
    }
}
