//! How MariaDB lets one in, and what is said where it does not.

use super::mysql::{manifest, runtime};
use std::fs::Permissions;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::support::certificates::version_1;
use crate::support::{load, mysql_client, open_mysql, options, require_mariadb, small_mariadb};
use graymark::engine::wire::mysql::Mysql;
use graymark::engine::wire::mysql::connect::Target;
use graymark::engine::{Engine, Error};
use graymark::result::Via;
use graymark::workload::tpcc::Tpcc;
use mysql_async::prelude::Queryable;

/// The one line that a user gets when a connection fails.
pub async fn refused(url: &str, environment: &[(&str, &str)]) -> String {
    let environment =
        |name: &str| environment.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
    let target = match Target::parse(url, &environment) {
        Ok(target) => target,
        Err(error) => return error.to_string(),
    };
    let error =
        target.connect(Some("mysql"), &[]).await.err().unwrap_or_else(|| panic!("{url} was let in")).to_string();
    assert!(!error.contains('\n') && !error.contains("secret"), "{error}");
    error
}

#[test]
fn a_refused_connection_says_in_one_line_what_to_do() {
    let Some(()) = require_mariadb() else { return };
    let server = small_mariadb(&[]);
    let home = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let mut user = mysql_client(&server.url(), None).await;
        user.query_drop(
            "CREATE USER ann@'127.0.0.1' IDENTIFIED BY 'open:secret'; GRANT SELECT ON mysql.* TO ann@'127.0.0.1'",
        )
        .await
        .unwrap();
        let url = |user: &str| format!("mysql://{user}@127.0.0.1:{}/", server.port());
        let wrong = refused(&url("ann:secret"), &[]).await;
        assert!(wrong.contains("`ann`") && wrong.contains("MYSQL_PWD"), "{wrong}");
        let missing = refused(&url("ann"), &[]).await;
        assert!(missing.contains("wants a password of user `ann`"), "{missing}");
        let tls = refused(&format!("{}?ssl-mode=REQUIRED", url("ann:secret")), &[]).await;
        assert!(tls.contains("offers no TLS") && tls.contains("ssl-mode"), "{tls}");
        let roots = refused(&format!("{}?ssl-mode=VERIFY_IDENTITY&ssl-ca=/nowhere", url("ann")), &[]).await;
        assert!(roots.contains("ssl-ca /nowhere"), "{roots}");
        let nowhere = Target::parse(&server.url(), &|_| None)
            .unwrap()
            .connect(Some("nowhere"), &[])
            .await
            .err()
            .unwrap()
            .to_string();
        assert!(nowhere.contains("CREATE DATABASE nowhere"), "{nowhere}");
        // A port that no other test can be given.
        let port = refused("mysql://ann:secret@127.0.0.1:1/shop", &[]).await;
        assert!(port.contains("127.0.0.1:1 refuses connections"), "{port}");
        let socket = refused("mysql://ann@localhost/shop?socket=/nowhere", &[]).await;
        assert!(socket.contains("socket /nowhere"), "{socket}");
        let ann = open_mysql(&url("ann:open%3Asecret"), Via::Procedures).await.unwrap();
        assert!(!format!("{ann:?}").contains("secret") && !Engine::<Tpcc>::identity(&ann).url.contains("secret"));
        let unseen = Engine::<Tpcc>::database_state(&ann).await.unwrap_err().to_string();
        assert!(unseen.contains("may not see what the database tpcc holds"), "{unseen}");
        let denied = load(&ann, &manifest(false).0).await.unwrap_err().to_string();
        assert!(denied.contains("GRANT ALL") && !denied.contains('\n'), "{denied}");
        let settings = graymark::engine::ConnectOptions {
            settings: [("sync_binlog".to_owned(), "0".to_owned())].into(),
            ..options(&server.url(), Via::Procedures)
        };
        assert!(matches!(Mysql::open(settings).await, Err(Error::Usage(_))));

        // The password of the environment, and of the option file unless anyone may write it.
        let by_variable = |name: &str| (name == "MYSQL_PWD").then(|| "open:secret".to_owned());
        Target::parse(&url("ann"), &by_variable).unwrap().connect(None, &[]).await.unwrap();
        let file = home.path().join(".my.cnf");
        std::fs::write(&file, "[client]\nuser = ann\npassword = \"open:secret\"\n").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let place = home.path().to_str().unwrap();
        let by_file = |name: &str| (name == "HOME").then(|| place.to_owned());
        let nobody = format!("mysql://127.0.0.1:{}/", server.port());
        Target::parse(&nobody, &by_file).unwrap().connect(None, &[]).await.unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        let ignored = refused(&url("ann"), &[("HOME", place)]).await;
        assert!(ignored.contains("chmod 600"), "{ignored}");

        // Something else answers, or nothing does.
        let web = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = web.local_addr().unwrap().port();
        let answer =
            std::thread::spawn(move || web.accept().unwrap().0.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap());
        let other = refused(&format!("mysql://ann:secret@127.0.0.1:{port}/shop?connect_timeout=60"), &[]).await;
        assert!(other.contains("MySQL"), "{other}");
        answer.join().unwrap();
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let silence = refused(&format!("mysql://ann:secret@127.0.0.1:{port}/shop?connect_timeout=1"), &[]).await;
        assert!(silence.contains("does not answer within 1 s"), "{silence}");
    });
}

#[test]
fn tls_is_verified_against_the_given_authority() {
    let Some(()) = require_mariadb() else { return };
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
    std::fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    let write = |name: &str, text: String| {
        let file = place.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let (good, unknown) = (write("good", good.pem()), write("unknown", unknown.pem()));
    let (certificate, key) = (write("server.crt", certificate.pem()), write("server.key", key.serialize_pem()));
    let server = small_mariadb(&[("ssl_cert", &certificate), ("ssl_key", &key)]);
    assert_ne!(std::fs::metadata(server.data()).unwrap().uid(), 0, "no server runs as root");
    runtime().block_on(async {
        let url = |host: &str, more: &str| server.tcp_url().replace("127.0.0.1", host) + more;
        for (url, expected) in [
            (url("localhost", &format!("?ssl-mode=VERIFY_IDENTITY&ssl-ca={good}")), true),
            (url("127.0.0.1", "?ssl-mode=REQUIRED"), true),
            (server.tcp_url(), true),
            (server.tcp_url() + "?ssl-mode=DISABLED", false),
            (server.url(), false),
        ] {
            let cipher: Option<(String, String)> =
                mysql_client(&url, None).await.query_first("SHOW SESSION STATUS LIKE 'Ssl_cipher'").await.unwrap();
            assert_eq!(!cipher.unwrap().1.is_empty(), expected, "{url}");
        }
        let error = refused(&url("localhost", &format!("?ssl-mode=VERIFY_IDENTITY&ssl-ca={unknown}")), &[]).await;
        assert!(error.contains("ssl-ca=FILE"), "{error}");
        let name = refused(&url("127.0.0.1", &format!("?ssl-mode=VERIFY_IDENTITY&ssl-ca={good}")), &[]).await;
        assert!(name.contains("names another host"), "{name}");
    });
}

/// A certificate of version 1, as MySQL's guide makes it: `PREFERRED` goes without TLS, the others name the fault.
#[test]
fn a_certificate_of_version_1_is_named() {
    let Some(()) = require_mariadb() else { return };
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    let Some(old) = version_1(place.path()) else { return };
    let write = |name: &str, text: &str| {
        let file = place.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let (certificate, key) = (write("server.crt", &old.certificate), write("server.key", &old.key));
    let server = small_mariadb(&[("ssl_cert", &certificate), ("ssl_key", &key)]);
    runtime().block_on(async {
        let cipher: Option<(String, String)> = mysql_client(&server.tcp_url(), None)
            .await
            .query_first("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
            .await
            .unwrap();
        assert_eq!(cipher.unwrap().1, "");
        let verified = format!("VERIFY_IDENTITY&ssl-ca={certificate}");
        for mode in ["REQUIRED", &verified] {
            let error = refused(&format!("{}?ssl-mode={mode}", server.tcp_url()), &[]).await;
            assert!(error.contains("X.509 version 1") && error.contains("ssl-mode=PREFERRED"), "{error}");
        }
    });
}
