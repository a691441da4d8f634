//! TLS to a PostgreSQL server, as set by `sslmode`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::engine::Error;
use crate::engine::wire::certificate::Refused;

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
        Mode::VerifyCa => Arc::new(Verified::by(roots, &provider, true)?),
        Mode::VerifyFull => Arc::new(Verified::by(roots, &provider, false)?),
    };
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| Error::Database(format!("cannot set up TLS: {error}")))?;
    let config = config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
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

    // The signature shows that the other side has the key of its certificate. SCRAM with channel binding rests on that:
    // it tells the server which certificate was seen. A certificate that rustls cannot read has no key to check by.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match ParsedCertificate::try_from(cert) {
            Ok(_) => verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms),
            Err(_) => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match ParsedCertificate::try_from(cert) {
            Ok(_) => verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms),
            Err(_) => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// `sslmode=verify-ca` and `verify-full`: a certificate of a known authority.
#[derive(Debug)]
struct Verified {
    authorities: Arc<WebPkiServerVerifier>,
    /// The certificates of the file; none for the system's store.
    listed: Vec<CertificateDer<'static>>,
    /// Whether the certificate may name another host.
    any_name: bool,
}

impl Verified {
    fn by(roots: Option<&Path>, provider: &Arc<CryptoProvider>, any_name: bool) -> Result<Verified, Error> {
        let mut store = RootCertStore::empty();
        let mut listed = Vec::new();
        match roots {
            Some(file) if file != Path::new("system") => {
                let unusable =
                    |why: String| Error::Usage(format!("sslrootcert {} cannot be used: {why}", file.display()));
                let certificates = CertificateDer::pem_file_iter(file).map_err(|error| unusable(error.to_string()))?;
                for certificate in certificates {
                    let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
                    store.add(certificate.clone()).map_err(|error| unusable(error.to_string()))?;
                    listed.push(certificate);
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
                         ca-certificates`, or give sslrootcert=FILE, or choose another sslmode"
                            .to_owned(),
                    ));
                }
            }
        }
        let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider.clone())
            .build()
            .map_err(|error| Error::Database(format!("cannot set up TLS: {error}")))?;
        Ok(Verified { authorities, listed, any_name })
    }
}

impl ServerCertVerifier for Verified {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is checked last, so this error means that everything else was right.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.any_name => Ok(ServerCertVerified::assertion()),
            // As in OpenSSL, a certificate that is in the file itself needs no other authority.
            Err(error) if Refused::of(&error) == Some(Refused::Authority) && self.listed.contains(end_entity) => {
                if !self.any_name {
                    verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                }
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}
