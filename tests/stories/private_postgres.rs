//! Private PostgreSQL servers: closed to others, gone at their end, or kept with their data.

use std::fs::Permissions;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::postgres::runtime;
use crate::support::stranger;
use crate::support::{client, open, require_postgres, small_server};
use graymark::engine::server::postgres::{PostgresServerOptions, Server};
use graymark::engine::wire::postgres::connect::Target;
use graymark::engine::{Engine, Error};
use graymark::result::Via;
use graymark::workload::tpcc::Tpcc;

/// Neither without a password nor with a wrong one does anyone get in, by the socket or by TCP, and nobody else sees
/// the files.
fn is_closed(server: &Server) {
    let url = server.url();
    let directory = percent_encoding::percent_decode_str(url.split_once("host=").unwrap().1.split('&').next().unwrap());
    let directory = std::path::PathBuf::from(directory.decode_utf8().unwrap().into_owned());
    let port = server.port().to_string();
    let psql = |host: &str, password: &str, words: &[&str]| {
        let arguments = ["-w", "-h", host, "-p", &port, "-U", "postgres", "-c", "SELECT 1", "postgres"];
        let Some(mut command) = stranger::try_it("psql", &arguments) else { return };
        command.env("PGPASSWORD", password);
        stranger::fails(command, words);
    };
    psql(directory.to_str().unwrap(), server.password(), &["Permission denied"]);
    let listens = TcpStream::connect(("127.0.0.1", server.port())).is_ok();
    if listens {
        psql("127.0.0.1", "", &["no password supplied"]);
        psql("127.0.0.1", "postgres", &["password authentication failed"]);
    }
    stranger::sees_nothing(
        &[server.data(), &directory],
        &[&server.data().join("graymark.password"), &server.data().join("PG_VERSION")],
    );
    runtime().block_on(async {
        client(&url).await.batch_execute("SELECT 1").await.unwrap();
        let socket = url.replace(server.password(), "wrong");
        let mut doors = vec![socket.clone(), socket.replace(":wrong@", "@")];
        if listens {
            doors.extend([
                server.tcp_url().replace(server.password(), "wrong"),
                server.tcp_url().replace(server.password(), ""),
            ]);
        }
        for door in doors {
            let refused = Target::parse(&door, &|_| None).unwrap().connect(&[]).await.err().unwrap().to_string();
            assert!(refused.contains("password"), "{door}: {refused}");
        }
    });
}

#[test]
fn no_one_else_gets_into_a_private_server() {
    let Some(()) = require_postgres() else { return };
    let place = stranger::Plant::new();
    let start = |tcp| Server::start(&PostgresServerOptions { data: Some(place.data()), tcp, ..Default::default() });
    let first = start(false).unwrap();
    assert!(TcpStream::connect(("127.0.0.1", first.port())).is_err(), "nobody asked for TCP");
    is_closed(&first);
    let password = first.password().to_owned();
    runtime().block_on(async {
        client(&first.url())
            .await
            .batch_execute("CREATE TABLE kept (); ALTER ROLE postgres PASSWORD NULL")
            .await
            .unwrap();
    });
    let mode = std::fs::metadata(first.data()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    drop(first);

    // As an earlier version made it: everyone was trusted, there is no password, and the directory is open.
    let file = |name: &str| place.data().join(name);
    std::fs::write(file("pg_hba.conf"), "local all all trust\nhost all all 0.0.0.0/0 trust\n").unwrap();
    std::fs::remove_file(file("graymark.password")).unwrap();
    std::fs::set_permissions(place.data(), Permissions::from_mode(0o750)).unwrap();
    let second = start(true).unwrap();
    assert_ne!(second.password(), password);
    is_closed(&second);
    runtime().block_on(async { client(&second.url()).await.batch_execute("SELECT FROM kept").await.unwrap() });
    // The password is in its file, and in no other.
    let password = second.password().to_owned();
    second.restart().unwrap();
    runtime().block_on(async { client(&second.tcp_url()).await.batch_execute("SELECT FROM kept").await.unwrap() });
    let log = std::fs::read_to_string(file("graymark.log")).unwrap();
    assert!(!log.contains(&password) && !format!("{second:?}").contains(&password), "{log}");
    let commands = Command::new("ps").args(["-eo", "args"]).output().unwrap().stdout;
    let commands = String::from_utf8_lossy(&commands).into_owned();
    assert!(commands.contains(place.data().to_str().unwrap()) && !commands.contains(&password), "{commands}");
    drop(second);
    assert_eq!(std::fs::read_to_string(file("graymark.password")).unwrap().trim_end(), password);
    place.is_never_followed(&["graymark.log", "graymark.password"], |data| {
        Server::start(&PostgresServerOptions { data: Some(data.to_owned()), ..Default::default() })
    });
}

#[test]
fn a_private_server_leaves_nothing_behind() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let (pid, data) = (server.pid().unwrap(), server.data().to_owned());
    assert!(data.join("PG_VERSION").is_file());
    runtime().block_on(async {
        client(&server.url())
            .await
            .batch_execute("CREATE TABLE kept (x integer); INSERT INTO kept VALUES (7)")
            .await
            .unwrap();
        // CPU time is counted in hundredths of a second: this takes a good many of them.
        client(&server.url()).await.batch_execute("SELECT count(*) FROM generate_series(1, 2000000)").await.unwrap();
        assert!(server.cpu_seconds().is_none_or(|seconds| seconds > 0.0));
        // A crash of the postmaster loses nothing that was committed.
        server.kill().unwrap();
        assert_eq!(server.pid(), None);
        server.restart().unwrap();
        let row = client(&server.tcp_url()).await.query_one("SELECT x FROM kept", &[]).await.unwrap();
        assert_eq!(row.get::<_, i32>(0), 7);
    });
    let again = server.pid().unwrap();
    assert_ne!(again, pid);
    drop(server);
    assert!(!data.parent().unwrap().exists());
    for pid in [pid, again] {
        assert!(
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid as i32), None).is_err(),
            "process {pid} is still there"
        );
    }
}

#[test]
fn a_data_directory_is_kept_and_used_again() {
    let Some(()) = require_postgres() else { return };
    let place = tempfile::tempdir().unwrap();
    // The server's user has to get through.
    std::fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    let data = place.path().join("data");
    let url = format!("postgres:local?data={}&shared_buffers=32MB&fsync=off", data.display());
    runtime().block_on(async {
        let first = open(&url, Via::Procedures).await.unwrap();
        client(&first.server().unwrap().url()).await.batch_execute("CREATE TABLE kept ()").await.unwrap();
        let settings = Engine::<Tpcc>::settings(&first).await.unwrap();
        assert_eq!(settings["shared_buffers"], "32MB");
        assert_eq!(settings["default_transaction_isolation"], "read committed");
        assert_eq!(Engine::<Tpcc>::identity(&first).url, url);
        drop(first);
        let second = open(&url, Via::Procedures).await.unwrap();
        client(&second.server().unwrap().url()).await.batch_execute("SELECT FROM kept").await.unwrap();
        let version = std::fs::read_to_string(data.join("PG_VERSION")).unwrap();
        drop(second);
        let wrong = open(&format!("{url}&version=9"), Via::Procedures).await.unwrap_err();
        assert!(wrong.to_string().contains(&format!("version={}", version.trim())), "{wrong}");
    });
    std::fs::write(place.path().join("something"), "else").unwrap();
    let occupied = PostgresServerOptions { data: Some(place.path().to_owned()), ..Default::default() };
    assert!(matches!(Server::start(&occupied), Err(Error::Usage(_))));
    let broken = PostgresServerOptions {
        settings: vec![("shared_buffers".to_owned(), "little".to_owned())],
        ..Default::default()
    };
    let error = Server::start(&broken).unwrap_err().to_string();
    assert!(error.contains("shared_buffers") && !error.contains('\n'), "{error}");
}
