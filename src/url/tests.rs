use proptest::prelude::*;

use super::*;

fn shown(url: &str) -> String {
    let url = DatabaseUrl::from(url);
    let text = url.to_string();
    assert_eq!(format!("{url:?}"), format!("{text:?}"));
    assert_eq!(serde_json::to_value(&url).unwrap(), serde_json::json!(text));
    // A redacted URL does not change when it is redacted again.
    assert_eq!(url.redacted().to_string(), text);
    text
}

#[test]
fn a_url_without_secrets_is_shown_as_it_is() {
    for url in [
        "sqlite:a b.db",
        "sqlite:///tmp/x@y.db?cache=64&journal=wal",
        "postgres:local",
        "postgres:local?data=/x%20y&shared_buffers=64MB",
        "mysql:local?cpus=0,2-3",
        "virtuoso:local?data=/x",
        "simulated:service=5ms&stall=1s",
        "postgres://me@host:1/db",
        "postgres://me@[::1]:1/db?sslmode=require&pooler=on&options=-c%20jit%3Doff",
        "postgres://me@a:1,b,[::1]:3/db?target_session_attrs=primary&load_balance_hosts=random",
        "mysql://me@a,b:1/db?load_balance_hosts=random",
        "mysql://me@host/?ssl-ca=/a/b.pem",
        "virtuoso://dba@host:1111",
        "odbc:Driver=PostgreSQL Unicode;Server=h;UID=me;SSLKey=/k;",
    ] {
        assert_eq!(shown(url), url);
    }
}

#[test]
fn only_the_password_is_removed() {
    for (url, expected) in [
        ("postgres://me:s@cret@host/db?password=secret&sslmode=require", "postgres://me@host/db?sslmode=require"),
        ("postgres://me@host/db?p%61ssword=secret", "postgres://me@host/db"),
        ("postgres://me:secret@a:1,b:2/db", "postgres://me@a:1,b:2/db"),
        ("mysql://me:@host/db", "mysql://me@host/db"),
        ("mariadb://:secret@host/db", "mariadb://host/db"),
        ("virtuoso://dba:secret@host", "virtuoso://dba@host"),
        ("odbc:DSN=x;PWD={a;b}}c};Port=1;Trace=0", "odbc:DSN=x;Port=1;Trace=0;"),
        ("odbc:DSN=x;PWD=a;b=c;Port=1", "odbc:DSN=x;Port=1;"),
        ("odbc:DSN=x;JWT={a};Authorization={b};AuthString={c};Pin={d};Port=1;", "odbc:DSN=x;Port=1;"),
        ("odbc:DSN=x;InitStmt={SET a};ConnSettings={SET b};A6={SET c};SSL-Mode=d", "odbc:DSN=x;SSL-Mode=d;"),
        ("odbc:DSN=x;Client_Secret={a};pqopt={password=b};AccessToken=c", "odbc:DSN=x;"),
    ] {
        assert_eq!(shown(url), expected);
    }
}

#[test]
fn a_url_that_cannot_be_read_is_shown_by_its_scheme_only() {
    for (url, expected) in [
        ("postgres://u:sec?ret@127.0.0.1:1/x", "postgres:…"),
        ("postgres://u:sec/ret@127.0.0.1:1/x", "postgres:…"),
        ("postgres://u:secret", "postgres:…"),
        ("postgres://u:sec?user=ret@h/x", "postgres:…"),
        ("postgres://u@h/x?password=a&secret", "postgres:…"),
        ("postgres://u@h/x?pasword=secret", "postgres:…"),
        ("postgresql:u:secret@h/x", "postgresql:…"),
        ("postgres:local?primary_conninfo=secret", "postgres:…"),
        ("mysql:local:secret", "mysql:…"),
        ("virtuoso://u:p@h/secret?x=secret", "virtuoso:…"),
        ("sqlite://u:secret@h/x", "sqlite:…"),
        ("sqlite:x?key=secret", "sqlite:…"),
        ("simulated:password=secret", "simulated:…"),
        ("odbc:DSN=x;Pwd={secret", "odbc:…"),
        ("odbc:DSN=x;PWD={a}secret;", "odbc:…"),
        ("jdbc:postgresql://h/x?password=secret", "jdbc:…"),
        ("u@h:secret", "…"),
        ("secret", "…"),
        ("", "…"),
    ] {
        assert_eq!(shown(url), expected, "{url}");
    }
}

/// All forms of URLs that may contain a password, with possible surroundings.
const FORMS: [&str; 26] = [
    "postgres://u:{}@127.0.0.1:1/x",
    "postgresql://:{}@127.0.0.1:1",
    "postgres://u@v:{}@[::1]:1/x?sslmode=disable",
    "postgres://u:{}",
    "postgres://u:{}/x",
    "postgres://u@127.0.0.1:1/x?password={}",
    "postgres://u@127.0.0.1:1/x?sslmode=disable&p%61ssword={}&pooler=on",
    "postgres://u@127.0.0.1:1/x?pasword={}",
    "postgres:u:{}@127.0.0.1/x",
    "postgres:local?u:{}@127.0.0.1",
    "postgres:local?ssl_passphrase_command={}",
    "mysql://u:{}@127.0.0.1:1/x",
    "mariadb://u@127.0.0.1:1/x?password={}&ssl-mode=disabled",
    "mysql://u:{}@/x?socket=/tmp/none",
    "mysql:local?init_connect_password={}",
    "virtuoso://u:{}@127.0.0.1:1",
    "virtuoso://dba@127.0.0.1:1?password={}",
    "virtuoso:local?password={}",
    "odbc:DSN=none;PWD={}",
    "odbc:DSN=none;UID=u;PassWord = {};Port=1",
    "odbc:PWD={};Driver=none;Server=h",
    "odbc:Driver=none;AccessToken={{}};Server=h",
    "odbc:{};DSN=none",
    "sqlite://u:{}@h/x.db",
    "sqlite:x.db?key={}",
    "simulated:service=1ms&password={}",
];

proptest! {
    /// Both ends of the password are characters that occur nowhere else; between them are characters that break URLs.
    #[test]
    fn no_form_of_url_shows_a_password(
        form in 0..FORMS.len(),
        parts in proptest::collection::vec("[a-z0-9:/?#@&=;{}\\[\\]% .+,'\"\\\\\n]{0,4}", 0..4),
    ) {
        // A further parameter of the form is one, even if it was meant as part of a password.
        let password = format!("Q9{}Q9", parts.join("Q9"));
        prop_assume!(!holds_parameter(&password));
        let other_form = match FORMS[form] {
            "postgres://u:{}" | "postgres://u:{}/x" => password.contains('@'),
            "odbc:{};DSN=none" => password.contains('='),
            "odbc:Driver=none;AccessToken={{}};Server=h" => password.contains('}') && password.contains(';'),
            _ => false,
        };
        prop_assume!(!other_form);
        let url = FORMS[form].replacen("{}", &password, 1);
        let text = shown(&url);
        prop_assert!(!text.contains("Q9"), "{} is shown as {}", url, text);
        // The parsers' errors do not contain a part of it either.
        for form in [&POSTGRES, &MYSQL, &VIRTUOSO, &YDB] {
            if let Err(why) = Parts::of(&url, form) {
                prop_assert!(!format!("{why:?} {why}").contains("Q9"), "{}: {}", url, why);
            }
        }
        if let Err(why) = pairs(&url) {
            prop_assert!(!format!("{why:?} {why}").contains("Q9"), "{}: {}", url, why);
        }
    }
}

fn holds_parameter(password: &str) -> bool {
    password.split(['&', ';', '?']).skip(1).any(|part| {
        let name = part.split('=').next().unwrap_or_default().trim();
        [POSTGRES.parameters, MYSQL.parameters, YDB.parameters]
            .iter()
            .any(|known| known.split(", ").any(|known| known == name))
            || ["dsn", "uid"].contains(&name)
    })
}
