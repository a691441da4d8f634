//! A user watches a run in a browser, and by Prometheus.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support;
use crate::support::command::{graymark, run, start};
use crate::support::ports::free_ports;
use crate::support::wire::Wire;
use serde_json::Value;
use tempfile::TempDir;

/// What a request is answered, as far as it comes before `enough` is in it.
fn get(port: u16, path: &str, enough: &str) -> String {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    write!(connection, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let (mut text, mut piece) = (String::new(), [0_u8; 4096]);
    while !text.contains(enough) {
        match connection.read(&mut piece).unwrap() {
            0 => break,
            length => text.push_str(&String::from_utf8_lossy(&piece[..length])),
        }
    }
    text
}

#[test]
fn a_run_is_shown_while_it_goes_on() {
    let place = TempDir::new().unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().port().to_string();
    // A port that is taken is told before anything is run.
    let listens = ["run", "--db", "simulated:service=1ms", "--listen"];
    run(place.path(), &[&listens[..], &[&taken]].concat()).refused(2, &["cannot listen", "--listen"]);
    // Any port that is free.
    let arguments = ["--duration", "1h", "--ramp-up", "0s", "--check", "none", "--name", "seen", "--out", "record"];
    let mut working = start(graymark(place.path(), &[&listens[..], &["0"], &arguments].concat()));
    let reported = working.wait_for("listen: http://127.0.0.1:");
    let port = reported.split(['/', ':']).find_map(|part| part.parse::<u16>().ok()).expect("a port");
    working.wait_for("run: measurement");
    // The stream tells of a second when it is over; then the metrics know it, too.
    let events = get(port, "/events", "\"second\":1");
    assert!(events.contains("text/event-stream") && events.contains("\"workload\":\"tpcc\""), "{events}");
    // Nothing need have completed in the first seconds on a machine that stood still.
    let limit = Instant::now() + Duration::from_secs(300);
    let (metrics, completed) = loop {
        let metrics = get(port, "/metrics", "# EOF");
        let of_tpcc = |line: &&str| line.starts_with("graymark_transactions_total{workload=\"tpcc\"");
        let completed = metrics.lines().find(of_tpcc).unwrap().to_owned();
        if !completed.ends_with(" 0") {
            break (metrics, completed);
        }
        assert!(working.at_work() && Instant::now() < limit, "{metrics}");
        std::thread::sleep(Duration::from_millis(200));
    };
    assert!(completed.contains("type=\"new_order\",run=\"seen\""), "{completed}");
    assert!(metrics.contains("graymark_response_seconds_bucket") && metrics.contains("application/openmetrics-text"));
    assert!(get(port, "/", "</html>").contains("new EventSource"));
    assert!(get(port, "/secret", "/metrics").starts_with("HTTP/1.1 404"));
    // Over a wire that knows when the page has come, and the first seconds.
    let wire = Wire::to(port);
    let browser = browser(place.path(), wire.port);
    if browser.is_some() {
        wire.wait_for_replies(12);
    }
    if let Some(prometheus) = Prometheus::start(place.path(), port) {
        prometheus.knows_the_run();
    }
    working.signal(nix::sys::signal::Signal::SIGINT);
    let (_, done) = working.end();
    assert_eq!(done.code, Some(130), "{done:?}");
    if let Some(browser) = browser {
        let shown = String::from_utf8(browser.wait_with_output().unwrap().stdout).unwrap();
        let shown = shown.split("<script>").next().unwrap();
        for text in ["tpcc on simulated", "New-Orders/min", "sessions in a transaction", "The run has ended."] {
            assert!(shown.contains(text), "{text}: {shown}");
        }
    }
}

/// A browser that prints the page as it is when the run has ended; it speaks to nobody but the loopback.
fn browser(place: &Path, port: u16) -> Option<Child> {
    let shell = ["chromium-headless-shell", "chromium"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok())
        .ok_or_else(|| "there is no browser (apt-get install chromium-headless-shell)".to_owned());
    let child = Command::new(support::found(shell)?)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--virtual-time-budget=4000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", place.join("browser").display()))
        .arg(format!("http://127.0.0.1:{port}/"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Some(child)
}

/// A Prometheus that reads a run's figures, as examples/prometheus.yml has it. It ends with the test.
struct Prometheus {
    child: Child,
    port: u16,
    said: PathBuf,
}

impl Prometheus {
    fn start(place: &Path, metrics: u16) -> Option<Prometheus> {
        let found = Command::new("prometheus").arg("--version").output();
        support::found(found.map_err(|_| "there is no prometheus (apt-get install prometheus)".to_owned()))?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let config = fs::read_to_string(root.join("examples/prometheus.yml")).unwrap();
        let config = config.replace("127.0.0.1:9464", &format!("127.0.0.1:{metrics}"));
        fs::write(place.join("prometheus.yml"), config).unwrap();
        let port = free_ports(1);
        let said = place.join("prometheus.log");
        let child = Command::new("prometheus")
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .current_dir(place)
            .stdout(Stdio::null())
            .stderr(fs::File::create(&said).unwrap())
            .spawn()
            .unwrap();
        Some(Prometheus { child, port, said })
    }

    /// What it answers a query, as soon as `enough` is in it.
    fn answer(&self, query: &str, enough: &str) -> String {
        let query = percent_encoding::utf8_percent_encode(query, percent_encoding::NON_ALPHANUMERIC).to_string();
        let end = Instant::now() + Duration::from_secs(300);
        loop {
            let there = TcpStream::connect(("127.0.0.1", self.port)).is_ok();
            let answer =
                if there { get(self.port, &format!("/api/v1/query?query={query}"), "\n\n\n") } else { String::new() };
            if answer.contains(enough) {
                return answer;
            }
            let said = || fs::read_to_string(&self.said).unwrap_or_default();
            assert!(Instant::now() < end, "{query} is answered {answer:?}; prometheus said {}", said());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// It reads the run, and understands whatever the dashboard asks of it.
    fn knows_the_run(&self) {
        let rate = "rate(graymark_transactions_total{run=\"seen\",type=\"new_order\"}[10s]) > 0";
        self.answer(rate, "\"type\":\"new_order\"");
        let dashboard = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/grafana.json");
        let dashboard: Value = serde_json::from_str(&fs::read_to_string(dashboard).unwrap()).unwrap();
        let panels = dashboard["panels"].as_array().unwrap().iter();
        let targets = panels.filter_map(|panel| panel["targets"].as_array()).flatten();
        let queries: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
        assert!(queries.len() >= 8, "{queries:?}");
        for query in queries {
            self.answer(&query.replace("$run", "seen"), "\"run\":\"seen\"");
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
