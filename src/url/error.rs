//! Why a URL is refused. No message shows anything that could be part of a password.

/// Why the URL of a database, or a connection string, cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It has no known form.
    #[error("the database URL {shown} cannot be read{meant}")]
    Form {
        /// The part of it that may be shown.
        shown: String,
        /// What may have been meant, in parentheses after a space; empty if nothing is near.
        meant: String,
    },
    /// It is not the URL of a server.
    #[error("the database URL is not {scheme}://USER@HOST:PORT/DATABASE: {fault}")]
    Server {
        /// The scheme that it should have.
        scheme: &'static str,
        /// What is wrong.
        fault: ServerFault,
    },
    /// Its percent-encoding is not UTF-8.
    #[error("the percent-encoded characters of the database URL are not UTF-8")]
    NotUtf8,
    /// It has an unknown parameter.
    #[error("the database URL has an unknown parameter{shown}; known are {known}")]
    UnknownParameter {
        /// The parameter's name in quotes after a space; empty if it may be part of a password.
        shown: String,
        /// All known parameters.
        known: &'static str,
    },
    /// It names several hosts.
    #[error("`{host}` names several hosts: give only the one to be measured")]
    SeveralHosts {
        /// The hosts.
        host: String,
    },
    /// It is not a connection string.
    #[error("{0}")]
    ConnectionString(ConnectionStringFault),
}

/// What is wrong with the URL of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServerFault {
    /// It has another scheme.
    #[error("it does not begin with {0}://")]
    Scheme(&'static str),
    /// An `@` after the host would be part of a password that contains a slash or a question mark.
    #[error("there is an `@` after the host; in a password write / as %2F and ? as %3F, elsewhere @ as %40")]
    AtBehindHost,
    /// The closing bracket of an address is missing.
    #[error("a `]` is missing")]
    NoBracket,
    /// There is text between bracket and port.
    #[error("there is text between `]` and the port")]
    BehindBracket,
    /// The port is invalid.
    #[error("the port is not a number from 1 to 65535")]
    Port,
    /// A parameter has no value.
    #[error("a parameter has no `=`")]
    Parameter,
}

/// What is wrong with a connection string.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionStringFault {
    /// It is empty.
    #[error("the connection string is empty")]
    Empty,
    /// A part has no keyword.
    #[error("the connection string has a part without Keyword=")]
    NoKeyword,
    /// A value in braces is not closed.
    #[error("a value of the connection string has no closing brace")]
    NoBrace,
    /// There is text after a value in braces.
    #[error("a closing brace of the connection string is not followed by a semicolon; double a }} within a value")]
    BehindBrace,
}

impl From<ConnectionStringFault> for Error {
    fn from(fault: ConnectionStringFault) -> Error {
        Error::ConnectionString(fault)
    }
}
