//! Why a URL is refused. No text shows what could be a part of a password.

/// Why the URL of a database, or a connection string, cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It has none of the known forms.
    #[error("the database URL {shown} cannot be read")]
    Form {
        /// As much of it as may be shown.
        shown: String,
    },
    /// It is not the URL of a server.
    #[error("the database URL is not {scheme}://USER@HOST:PORT/DATABASE: {fault}")]
    Server {
        /// The scheme that it should have.
        scheme: &'static str,
        /// What is wrong.
        fault: ServerFault,
    },
    /// Its percent signs do not stand for UTF-8.
    #[error("the database URL is not UTF-8 behind its percent signs")]
    NotUtf8,
    /// It has a parameter that its form does not know.
    #[error("the database URL has an unknown parameter{shown}; known are {known}")]
    UnknownParameter {
        /// Its name in quotes after a space; empty where it may be a part of a password.
        shown: String,
        /// The parameters that there are.
        known: &'static str,
    },
    /// It names several hosts.
    #[error("`{host}` names several hosts: give the one that is to be measured")]
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
    /// Behind the host an `@` would be a part of a password that holds a slash or a question mark.
    #[error("there is an `@` behind the host; in a password write / as %2F and ? as %3F, elsewhere @ as %40")]
    AtBehindHost,
    /// An address in brackets has no end.
    #[error("a `]` is missing")]
    NoBracket,
    /// Something follows the brackets that is no port.
    #[error("there is something between `]` and the port")]
    BehindBracket,
    /// The port is none.
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
    /// There is nothing in it.
    #[error("the connection string is empty")]
    Empty,
    /// A part has no keyword.
    #[error("the connection string has a part without Keyword=")]
    NoKeyword,
    /// A value in braces has no end.
    #[error("a value of the connection string has no closing brace")]
    NoBrace,
    /// Something follows a value in braces.
    #[error("a closing brace of the connection string has no semicolon behind it; double a }} within a value")]
    BehindBrace,
}

impl From<ConnectionStringFault> for Error {
    fn from(fault: ConnectionStringFault) -> Error {
        Error::ConnectionString(fault)
    }
}
