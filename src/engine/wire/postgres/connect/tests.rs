//! URLs of PostgreSQL are parsed, and displayed so that they can be parsed again.

use super::*;

fn parsed(url: &str) -> Target {
    Target::parse(url, &|_| None).unwrap()
}

#[test]
fn a_url_is_read_and_shown_without_its_password() {
    let full = parsed("postgres://ann:s%40cret@db.example:6000/bench?application_name=x");
    assert_eq!(full.host, Host::Tcp("db.example".to_owned()));
    assert_eq!(full.password, Some(Password::new("s@cret")));
    assert_eq!(full.url(), "postgres://ann@db.example:6000/bench?application_name=x");
    assert!(!format!("{full:?}").contains("cret"));
    let query = parsed("postgresql://ann@db.example/bench?password=secret");
    assert_eq!(query.url(), "postgres://ann@db.example:5432/bench");
    assert!(!format!("{query:?}").contains("secret"));
    assert_eq!(parsed("postgres://ann@[::1]:6000/b").url(), "postgres://ann@[::1]:6000/b");
}

#[test]
fn a_socket_is_named_in_either_place() {
    for url in ["postgres://ann@/bench?host=/run/pg&port=6000", "postgres://ann@%2Frun%2Fpg:6000/bench"] {
        let target = parsed(url);
        assert_eq!(target.host, Host::Socket(PathBuf::from("/run/pg")));
        assert_eq!(target.url(), "postgres://ann@/bench?host=/run/pg&port=6000");
        assert_eq!(parsed(&target.url()), target);
        assert!(target.is_local());
    }
}

#[test]
fn the_environment_fills_what_the_url_leaves_open() {
    let environment = |name: &str| match name {
        "PGHOST" => Some("db.example".to_owned()),
        "PGUSER" => Some("ann".to_owned()),
        "PGPASSWORD" => Some("secret".to_owned()),
        _ => None,
    };
    let target = Target::parse("postgres:///bench", &environment).unwrap();
    assert_eq!(target.url(), "postgres://ann@db.example:5432/bench");
    assert_eq!(target.password, Some(Password::new("secret")));
    let target = Target::parse("postgres://bob@other.example", &environment).unwrap();
    assert_eq!(target.url(), "postgres://bob@other.example:5432/bob");
}

#[test]
fn a_url_that_is_shown_connects_in_the_same_way_again() {
    for url in [
        "postgres://ann@localhost:6000/b?sslmode=require&sslrootcert=/a%20b/c.pem&connect_timeout=3&pooler=on",
        "postgres://ann@/b?host=/run/p%26q&port=6000&options=-c%20jit%3Doff%20-c%20work_mem%3D64MB",
        "postgres://ann@h:5432,[::1]:6000/b?target_session_attrs=read-write&load_balance_hosts=random",
        "postgres://ann@/b?host=/run/p,h&port=6000,7000",
        "postgres://a%40b@db.example:5432/b?sslmode=disable&application_name=x%20y",
    ] {
        let target = parsed(url);
        assert_eq!(target.url(), url);
        assert_eq!(parsed(&target.url()), target);
    }
    // A password in a server setting is a secret, too.
    let target = parsed("postgres://ann@db.example/b?options=-c%20my.password%3Dsecret&pooler=on");
    assert_eq!(target.url(), "postgres://ann@db.example:5432/b?pooler=on");
}

#[test]
fn require_verifies_by_a_file_of_authorities_that_is_there() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().to_str().unwrap().to_owned();
    let parse = |url: &str| Target::parse(url, &|name| (name == "HOME").then(|| place.clone())).unwrap();
    assert_eq!(parse("postgres://a@h/b?sslmode=require").ssl_roots, None);
    std::fs::create_dir(home.path().join(".postgresql")).unwrap();
    let file = home.path().join(".postgresql/root.crt");
    std::fs::write(&file, "").unwrap();
    let target = parse("postgres://a@h/b?sslmode=require");
    assert_eq!(
        (target.ssl_roots.as_ref(), target.url().as_str()),
        (Some(&file), "postgres://a@h:5432/b?sslmode=require")
    );
    assert_eq!(parse("postgres://a@h/b?sslmode=prefer").ssl_roots, None);
    assert_eq!(parse("postgres://a@h/b?sslmode=require&sslrootcert=/x").ssl_roots, Some(PathBuf::from("/x")));
}

#[test]
fn tls_is_verified_wherever_a_network_lies_between() {
    assert_eq!(parsed("postgres://a@db.example/b").ssl_mode, Mode::VerifyFull);
    assert_eq!(parsed("postgres://a@10.0.0.1/b").ssl_mode, Mode::VerifyFull);
    assert_eq!(parsed("postgres://a@localhost/b").ssl_mode, Mode::Prefer);
    assert_eq!(parsed("postgres://a@127.0.0.2/b").ssl_mode, Mode::Prefer);
    assert_eq!(parsed("postgres://a@/b?host=/run").ssl_mode, Mode::Disable);
    assert_eq!(parsed("postgres://a@db.example/b?sslmode=require").ssl_mode, Mode::Require);
}

#[test]
fn a_wrong_url_is_refused_without_showing_its_password() {
    for url in [
        "mysql://a:secret@h/b",
        "postgres://a:secret@h:port/b",
        "postgres://a:secret@h/b?sslmode=maybe",
        "postgres://a:secret@h/b?unknown=1",
        "postgres://a:secret@h/b?pooler=perhaps",
        "postgres://a:secret@h,i/b?target_session_attrs=leader",
        "postgres://a:secret@[::1/b",
        "postgres://a:secret@h/b?connect_timeout=soon",
    ] {
        let Err(Error::Usage(text)) = Target::parse(url, &|_| None) else { panic!("{url} was taken") };
        assert!(!text.contains("secret") && !text.contains('\n'), "{text}");
    }
}
