//! TLS to a MySQL or MariaDB server, as set by `ssl-mode`.

use std::path::Path;

use mysql_async::{DriverError, IoError, SslOpts, TlsError};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::engine::Error;
use crate::engine::wire::certificate::Refused;

/// `ssl-mode` of MySQL's own clients, except `VERIFY_CA`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No TLS.
    Disabled,
    /// TLS if the server offers it; nothing is verified.
    Preferred,
    /// TLS; nothing is verified.
    Required,
    /// TLS with a certificate of a known authority that names the host.
    VerifyIdentity,
}

impl Mode {
    /// The mode with a name, in upper or lower case.
    pub fn from_name(name: &str) -> Result<Mode, Error> {
        match name.to_ascii_uppercase().replace('-', "_").as_str() {
            "DISABLED" => Ok(Mode::Disabled),
            "PREFERRED" => Ok(Mode::Preferred),
            "REQUIRED" => Ok(Mode::Required),
            "VERIFY_IDENTITY" => Ok(Mode::VerifyIdentity),
            _ => Err(Error::Usage(format!("ssl-mode={name} must be DISABLED, PREFERRED, REQUIRED or VERIFY_IDENTITY"))),
        }
    }
}

impl Mode {
    /// The name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Disabled => "DISABLED",
            Mode::Preferred => "PREFERRED",
            Mode::Required => "REQUIRED",
            Mode::VerifyIdentity => "VERIFY_IDENTITY",
        }
    }
}

/// Whether a server has no TLS, no version in common with Graymark, or a certificate that the driver cannot read.
pub fn is_not_to_be_had(error: &mysql_async::Error) -> bool {
    match error {
        mysql_async::Error::Driver(DriverError::NoClientSslFlagFromServer) => true,
        mysql_async::Error::Io(IoError::Io(error)) => {
            error.get_ref().and_then(|inner| inner.downcast_ref()).is_some_and(is_without_use)
        }
        mysql_async::Error::Io(IoError::Tls(TlsError::Tls(error))) => is_without_use(error),
        _ => false,
    }
}

fn is_without_use(error: &rustls::Error) -> bool {
    has_no_common_cipher(error) || Refused::of(error) == Some(Refused::Version1)
}

/// Whether a server refused all offered versions and ciphers.
pub fn has_no_common_cipher(error: &rustls::Error) -> bool {
    use rustls::AlertDescription as Alert;
    matches!(error, rustls::Error::AlertReceived(Alert::HandshakeFailure | Alert::ProtocolVersion))
}

/// The driver's options for a mode; `None` without TLS. `authorities` is a PEM file; the default is the system's store.
pub fn options(mode: Mode, authorities: Option<&Path>) -> Result<Option<SslOpts>, Error> {
    Ok(match mode {
        Mode::Disabled => None,
        Mode::Preferred | Mode::Required => Some(SslOpts::default().with_danger_accept_invalid_certs(true)),
        Mode::VerifyIdentity => {
            let roots = match authorities {
                Some(file) => of_file(file)?,
                None => of_system()?,
            };
            let roots = roots.into_iter().map(|root| root.to_vec().into()).collect();
            Some(SslOpts::default().with_disable_built_in_roots(true).with_root_certs(roots))
        }
    })
}

fn of_file(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let unusable = |why: String| Error::Usage(format!("ssl-ca {} cannot be used: {why}", file.display()));
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| unusable(error.to_string()))?;
    let certificates: Vec<_> = certificates.collect::<Result<_, _>>().map_err(|error| unusable(error.to_string()))?;
    match certificates.iter().map(|certificate| RootCertStore::empty().add(certificate.clone())).find_map(Result::err) {
        Some(error) => Err(unusable(error.to_string())),
        None if certificates.is_empty() => Err(unusable("it holds no certificate in PEM form".to_owned())),
        None => Ok(certificates),
    }
}

/// The system's certificate authorities, without unusable ones.
fn of_system() -> Result<Vec<CertificateDer<'static>>, Error> {
    let found = rustls_native_certs::load_native_certs().certs;
    let usable: Vec<_> = found.into_iter().filter(|root| RootCertStore::empty().add(root.clone()).is_ok()).collect();
    if usable.is_empty() {
        return Err(Error::Database(
            "this system has no certificate authorities to verify the server by: `apt-get install ca-certificates`, or \
             give \
             ssl-ca=FILE, or choose another ssl-mode"
                .to_owned(),
        ));
    }
    Ok(usable)
}
