//! TLS to a PostgreSQL server, as set by `sslmode`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::engine::Error;

/// libpq's `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No TLS.
    Disable,
    /// TLS if the server offers it; nothing is verified.
    Prefer,
    /// TLS; the certificate is verified as with [`Mode::VerifyCa`] only if there is a file of authorities.
    Require,
    /// TLS with a certificate of a known authority.
    VerifyCa,
    /// The same, and the certificate names the host.
    VerifyFull,
}

impl Mode {
    /// The mode of a name.
    pub fn from_name(name: &str) -> Result<Mode, Error> {
        match name {
            "disable" => Ok(Mode::Disable),
            // libpq tries without TLS first; using TLS if offered is never worse.
            "allow" | "prefer" => Ok(Mode::Prefer),
            "require" => Ok(Mode::Require),
            "verify-ca" => Ok(Mode::VerifyCa),
            "verify-full" => Ok(Mode::VerifyFull),
            _ => {
                Err(Error::Usage(format!("sslmode={name} must be disable, prefer, require, verify-ca or verify-full")))
            }
        }
    }
}

impl Mode {
    /// The name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Disable => "disable",
            Mode::Prefer => "prefer",
            Mode::Require => "require",
            Mode::VerifyCa => "verify-ca",
            Mode::VerifyFull => "verify-full",
        }
    }
}

/// A TLS connector for a mode. `roots` is a PEM file of authorities, or the word `system`; the default is the system's
/// store.
pub fn connector(mode: Mode, roots: Option<&Path>) -> Result<MakeRustlsConnect, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    // As in libpq: with a file of authorities `require` verifies the certificate; with the system's authorities, which
    // sign for anybody, only together with the name.
    let mode = match (mode, roots) {
        (Mode::Require | Mode::VerifyCa, Some(file)) if file == Path::new("system") => Mode::VerifyFull,
        (Mode::Require, Some(_)) => Mode::VerifyCa,
        (mode, _) => mode,
    };
    let verifier: Arc<dyn ServerCertVerifier> = match mode {
        Mode::Disable | Mode::Prefer | Mode::Require => Arc::new(Unverified(provider.clone())),
        Mode::VerifyCa => Arc::new(AnyName(authorities(roots, &provider)?)),
        Mode::VerifyFull => authorities(roots, &provider)?,
    };
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| Error::Database(format!("cannot set up TLS: {error}")))?;
    let config = config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn authorities(roots: Option<&Path>, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, Error> {
    let mut store = RootCertStore::empty();
    match roots {
        Some(file) if file != Path::new("system") => {
            let unusable = |why: String| Error::Usage(format!("sslrootcert {} cannot be used: {why}", file.display()));
            let certificates = CertificateDer::pem_file_iter(file).map_err(|error| unusable(error.to_string()))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
                store.add(certificate).map_err(|error| unusable(error.to_string()))?;
            }
            if store.is_empty() {
                return Err(unusable("it holds no certificate in PEM form".to_owned()));
            }
        }
        _ => {
            let found = rustls_native_certs::load_native_certs();
            store.add_parsable_certificates(found.certs);
            if store.is_empty() {
                return Err(Error::Database(
                    "this system has no certificate authorities to verify the server by: `apt-get install \
                     ca-certificates`, or give \
                     sslrootcert=FILE, or choose another sslmode"
                        .to_owned(),
                ));
            }
        }
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone())
        .build()
        .map_err(|error| Error::Database(format!("cannot set up TLS: {error}")))
}

/// libpq's default file of authorities, if it exists.
pub fn default_roots(home: Option<&Path>) -> Option<PathBuf> {
    home.map(|home| home.join(".postgresql/root.crt")).filter(|file| file.is_file())
}

/// `sslmode=prefer` and `require`: any certificate.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// `sslmode=verify-ca`: any certificate of a known authority, whatever host it names.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        // The name is checked last, so this error means that everything else was right.
        match self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
