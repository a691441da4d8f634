//! Certificates of servers, as guides make them.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ServerConfig, ServerConnection};

use super::found;

/// A certificate and its key, in PEM form.
pub struct Made {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

/// A certificate of X.509 version 1, signed by its own key, as `openssl x509 -req` does it without extensions.
pub fn version_1(place: &Path) -> Option<Made> {
    let openssl = |arguments: &str| {
        let output = Command::new("openssl").args(arguments.split(' ')).current_dir(place).output();
        let output = output.map_err(|error| format!("the program openssl cannot be run: {error}"))?;
        assert!(output.status.success(), "{output:?}");
        Ok(String::from_utf8(output.stdout).unwrap())
    };
    let made = openssl("req -new -newkey rsa:2048 -nodes -subj /CN=localhost -keyout v1.key -out v1.csr");
    found(made.and_then(|_| openssl("x509 -req -in v1.csr -days 30 -signkey v1.key -out v1.crt")))?;
    assert!(openssl("x509 -in v1.crt -noout -text").unwrap().contains("Version: 1 "));
    let read = |name: &str| std::fs::read_to_string(place.join(name)).unwrap();
    Some(Made { certificate: read("v1.crt"), key: read("v1.key") })
}

/// A certificate for `localhost` that is signed by its own key and may sign others, as `openssl req -x509` makes it,
/// valid until the end of a year.
pub fn own_authority(until: i32) -> Made {
    let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    parameters.not_after = rcgen::date_time_ymd(until, 12, 31);
    let key = rcgen::KeyPair::generate().unwrap();
    Made { certificate: parameters.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
}

/// A port of a server that offers TLS as PostgreSQL does, presents the certificate of another one, and signs with a key
/// of its own. It serves one connection.
pub fn relay(other: &Made) -> u16 {
    let certificates = CertificateDer::pem_slice_iter(other.certificate.as_bytes()).map(Result::unwrap).collect();
    let own = rcgen::KeyPair::generate().unwrap().serialize_der();
    let own = any_supported_type(&PrivatePkcs8KeyDer::from(own).into()).unwrap();
    let presented = SingleCertAndKey::from(CertifiedKey::new(certificates, own));
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(config.with_cert_resolver(Arc::new(presented)));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 8]).unwrap();
        stream.write_all(b"S").unwrap();
        let mut connection = ServerConnection::new(config).unwrap();
        // Its end is an error of one kind or another: the client goes.
        while connection.complete_io(&mut stream).is_ok() && connection.is_handshaking() {}
    });
    port
}
