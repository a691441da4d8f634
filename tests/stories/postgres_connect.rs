//! How PostgreSQL lets one in, and what is said where it does not.

use super::postgres::runtime;
use crate::support;
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::support::certificates::{Made, own_authority, relay, version_1};
use crate::support::{client, guarded, require_postgres, small_server};
use graymark::engine::wire::postgres::connect::Target;

/// The one line that a user gets when a connection fails.
async fn refused(url: &str, environment: &[(&str, &str)]) -> String {
    let environment =
        |name: &str| environment.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
    let target = match Target::parse(url, &environment) {
        Ok(target) => target,
        Err(error) => return error.to_string(),
    };
    let error = target.connect(&[]).await.err().unwrap_or_else(|| panic!("{url} was let in")).to_string();
    assert!(!error.contains('\n') && !error.contains("secret"), "{error}");
    error
}

#[test]
fn a_refused_connection_says_in_one_line_what_to_do() {
    let Some(()) = require_postgres() else { return };
    runtime().block_on(async {
        let server = guarded().await;
        let url = |user: &str, database: &str| format!("postgres://{user}@127.0.0.1:{}/{database}", server.port());
        let wrong = refused(&url("ann:secret", "postgres"), &[]).await;
        assert!(wrong.contains("`ann`") && wrong.contains("PGPASSWORD"), "{wrong}");
        let missing = refused(&url("ann", "postgres"), &[]).await;
        assert!(missing.contains("asks for the password of user `ann`"), "{missing}");
        let database = refused(&support::with_database(&server.tcp_url(), "nowhere"), &[]).await;
        assert!(database.contains("createdb nowhere"), "{database}");
        // A port that no other test can be given.
        let port = refused("postgres://ann:secret@127.0.0.1:1/postgres", &[]).await;
        assert!(port.contains("127.0.0.1:1 refuses connections"), "{port}");
        let socket = refused("postgres://ann@/postgres?host=/nowhere", &[]).await;
        assert!(socket.contains("/nowhere/.s.PGSQL.5432"), "{socket}");
        let tls = refused(&format!("{}?sslmode=require", url("ann:secret", "postgres")), &[]).await;
        assert!(tls.contains("offers no TLS") && tls.contains("sslmode"), "{tls}");
        let roots = refused(&format!("{}?sslmode=verify-full&sslrootcert=/nowhere", url("ann", "postgres")), &[]).await;
        assert!(roots.contains("sslrootcert /nowhere"), "{roots}");

        // Something else answers.
        let web = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = web.local_addr().unwrap().port();
        let answer = std::thread::spawn(move || {
            let mut socket = web.accept().unwrap().0;
            let _ = socket.read(&mut [0; 100]);
            socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        });
        let other = refused(&format!("postgres://ann:secret@127.0.0.1:{port}/postgres"), &[]).await;
        assert!(other.contains("does not speak PostgreSQL's protocol"), "{other}");
        answer.join().unwrap();
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let silence = refused(&format!("postgres://ann:secret@127.0.0.1:{port}/postgres?connect_timeout=1"), &[]).await;
        assert!(silence.contains("does not answer within 1 s"), "{silence}");
    });
}

#[test]
fn a_password_file_lets_in_unless_others_can_read_it() {
    let Some(()) = require_postgres() else { return };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("passwords");
    runtime().block_on(async {
        let server = guarded().await;
        std::fs::write(&file, format!("127.0.0.1:{}:*:ann:open\\:secret\n", server.port())).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let url = format!("postgres://ann@127.0.0.1:{}/postgres", server.port());
        let environment = |name: &str| (name == "PGPASSFILE").then(|| file.to_str().unwrap().to_owned());
        Target::parse(&url, &environment).unwrap().connect(&[]).await.unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        let ignored = refused(&url, &[("PGPASSFILE", file.to_str().unwrap())]).await;
        assert!(ignored.contains("chmod 600"), "{ignored}");
        let by_variable = |name: &str| (name == "PGPASSWORD").then(|| "open:secret".to_owned());
        Target::parse(&url, &by_variable).unwrap().connect(&[]).await.unwrap();
    });
}

#[test]
fn tls_is_verified_against_the_given_authority() {
    let Some(()) = require_postgres() else { return };
    let authority = |name: &str| {
        let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
        rcgen::CertifiedIssuer::self_signed(parameters, rcgen::KeyPair::generate().unwrap()).unwrap()
    };
    let (good, unknown) = (authority("good"), authority("unknown"));
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate =
        rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &good).unwrap();
    let place = tempfile::tempdir().unwrap();
    let root = |name: &str, authority: &rcgen::CertifiedIssuer<'_, rcgen::KeyPair>| {
        let file = place.path().join(name);
        std::fs::write(&file, authority.pem()).unwrap();
        file.display().to_string()
    };
    let (good, unknown) = (root("good", &good), root("unknown", &unknown));
    let server = small_server();
    let owner = std::fs::metadata(server.data()).unwrap();
    for (name, text) in [("server.crt", certificate.pem()), ("server.key", key.serialize_pem())] {
        let file = server.data().join(name);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::chown(&file, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    runtime().block_on(async {
        client(&server.url()).await.batch_execute("ALTER SYSTEM SET ssl = on").await.unwrap();
        server.restart().unwrap();
        let url = |host: &str, mode: &str, root: &str| {
            server.tcp_url().replace("127.0.0.1", host) + &format!("?sslmode={mode}&sslrootcert={root}")
        };
        let encrypted = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        for (url, expected) in [
            (url("localhost", "verify-full", &good), true),
            (url("127.0.0.1", "verify-ca", &good), true),
            (url("localhost", "require", &good), true),
            (server.tcp_url() + "?sslmode=require", true),
            (server.tcp_url(), true),
            (server.tcp_url() + "?sslmode=disable", false),
            (server.url(), false),
        ] {
            let ssl: bool = client(&url).await.query_one(encrypted, &[]).await.unwrap().get(0);
            assert_eq!(ssl, expected, "{url}");
        }
        for mode in ["verify-full", "verify-ca", "require"] {
            let error = refused(&url("localhost", mode, &unknown), &[]).await;
            assert!(error.contains("sslrootcert=FILE"), "{error}");
        }
        // As psql: where ~/.postgresql/root.crt is, `require` verifies by it.
        let home = tempfile::tempdir().unwrap();
        let environment = [("HOME", home.path().to_str().unwrap())];
        let require = server.tcp_url() + "?sslmode=require";
        std::fs::create_dir(home.path().join(".postgresql")).unwrap();
        std::fs::copy(&unknown, home.path().join(".postgresql/root.crt")).unwrap();
        let error = refused(&require, &environment).await;
        assert!(error.contains("not of an authority"), "{error}");
        std::fs::copy(&good, home.path().join(".postgresql/root.crt")).unwrap();
        let look_up =
            |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Target::parse(&require, &look_up).unwrap().connect(&[]).await.unwrap();

        let name = refused(&url("127.0.0.1", "verify-full", &good), &[]).await;
        assert!(name.contains("names another host"), "{name}");
    });
}

#[test]
fn a_relay_with_a_certificate_that_is_not_its_own_is_refused() {
    let own = own_authority(4000);
    runtime().block_on(async {
        for mode in ["prefer", "require"] {
            let port = relay(&own);
            let error = refused(&format!("postgres://ann@127.0.0.1:{port}/postgres?sslmode={mode}"), &[]).await;
            assert!(error.contains("BadSignature"), "{mode}: {error}");
        }
    });
}

/// The first guides to TLS make certificates that OpenSSL takes and rustls does not: of version 1, and such that are
/// their own authority.
#[test]
fn certificates_as_guides_make_them_are_taken_or_named() {
    let Some(()) = require_postgres() else { return };
    let place = tempfile::tempdir().unwrap();
    let Some(old) = version_1(place.path()) else { return };
    let server = small_server();
    let owner = std::fs::metadata(server.data()).unwrap();
    let present = |made: &Made| {
        for (name, text) in [("server.crt", &made.certificate), ("server.key", &made.key)] {
            let file = server.data().join(name);
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
            std::os::unix::fs::chown(&file, Some(owner.uid()), Some(owner.gid())).unwrap();
        }
        server.restart().unwrap();
    };
    let root = |made: &Made| {
        let file = place.path().join("root.crt");
        std::fs::write(&file, &made.certificate).unwrap();
        file.display().to_string()
    };
    let url = |host: &str, more: &str| format!("{}?{more}", server.tcp_url().replace("127.0.0.1", host));
    let encrypted = async |url: &str| {
        let client = Target::parse(url, &|_| None).unwrap().connect(&[]).await.unwrap();
        let ssl = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        assert!(client.query_one(ssl, &[]).await.unwrap().get::<_, bool>(0), "{url}");
    };
    runtime().block_on(async {
        client(&server.url()).await.batch_execute("ALTER SYSTEM SET ssl = on").await.unwrap();
        present(&old);
        // Nothing is verified.
        encrypted(&url("localhost", "sslmode=prefer")).await;
        encrypted(&url("localhost", "sslmode=require")).await;
        for mode in ["require", "verify-ca", "verify-full"] {
            let error = refused(&url("localhost", &format!("sslmode={mode}&sslrootcert={}", root(&old))), &[]).await;
            assert!(error.contains("X.509 version 1") && error.contains("sslmode=prefer"), "{error}");
        }

        let own = own_authority(4000);
        present(&own);
        for (host, mode) in [("127.0.0.1", "require"), ("127.0.0.1", "verify-ca"), ("localhost", "verify-full")] {
            encrypted(&url(host, &format!("sslmode={mode}&sslrootcert={}", root(&own)))).await;
        }
        let full = url("127.0.0.1", &format!("sslmode=verify-full&sslrootcert={}", root(&own)));
        let name = refused(&full, &[]).await;
        assert!(name.contains("names another host"), "{name}");
        // It is the certificate itself that is trusted, not its name.
        for mode in ["require", "verify-ca", "verify-full"] {
            let other = format!("sslmode={mode}&sslrootcert={}", root(&own_authority(4000)));
            let error = refused(&url("localhost", &other), &[]).await;
            assert!(error.contains("marked as that of an authority"), "{error}");
        }

        let expired = own_authority(2020);
        present(&expired);
        let error = refused(&url("localhost", &format!("sslmode=require&sslrootcert={}", root(&expired))), &[]).await;
        assert!(error.contains("xpired"), "{error}");
    });
}
