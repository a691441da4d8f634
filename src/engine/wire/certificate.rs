//! Certificates of servers that OpenSSL accepts and rustls refuses. Guides of PostgreSQL and MySQL make such ones.

/// Why rustls refuses a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// X.509 version 1, without extensions, as `openssl x509 -req` signs unless it is told otherwise.
    Version1,
    /// It may sign others (`CA:TRUE`), as `openssl req -x509` makes it. The dates are checked before, so they are right.
    Authority,
}

impl Refused {
    /// The reason behind an error; `None` for all others, which rustls names itself.
    pub fn of(error: &rustls::Error) -> Option<Refused> {
        let rustls::Error::InvalidCertificate(rustls::CertificateError::Other(other)) = error else { return None };
        match other.0.to_string().as_str() {
            "UnsupportedCertVersion" => Some(Refused::Version1),
            "CaUsedAsEndEntity" => Some(Refused::Authority),
            _ => None,
        }
    }

    /// What is wrong, and how to make the certificate again.
    pub fn explain(self) -> &'static str {
        match self {
            Refused::Version1 => {
                "is of X.509 version 1, which Graymark cannot read: sign it with extensions (openssl x509 -req -extfile \
                 FILE, which holds subjectAltName=DNS:HOST)"
            }
            Refused::Authority => {
                "is marked as that of an authority: make it with basicConstraints=CA:FALSE (openssl req -x509 -addext \
                 basicConstraints=critical,CA:FALSE)"
            }
        }
    }
}
