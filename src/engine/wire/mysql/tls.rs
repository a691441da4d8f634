//! TLS to a MySQL or MariaDB server, as far as `ssl-mode` asks for it.

use std::path::Path;

use mysql_async::SslOpts;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::engine::Error;

/// `ssl-mode` of MySQL's own clients, but for `VERIFY_CA`.
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
    /// The mode of a name, in capitals or not.
    pub fn from_name(name: &str) -> Result<Mode, Error> {
        match name.to_ascii_uppercase().replace('-', "_").as_str() {
            "DISABLED" => Ok(Mode::Disabled),
            "PREFERRED" => Ok(Mode::Preferred),
            "REQUIRED" => Ok(Mode::Required),
            "VERIFY_IDENTITY" => Ok(Mode::VerifyIdentity),
            _ => {
                Err(Error::Usage(format!("ssl-mode={name} is none of DISABLED, PREFERRED, REQUIRED, VERIFY_IDENTITY")))
            }
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

/// What the driver needs to know for a mode; none without TLS. `authorities` is a PEM file; the system's own if none.
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

/// The system's authorities, but for such as cannot be used.
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
