//! What limits a run: planted causes are named, and what is not known is said.

use std::process::{Child, Command, Stdio};

use crate::support::command::{loaded, run, succeed};
use serde_json::Value;

/// A process that takes a CPU for itself. It is killed at the end of the test.
struct Hog(Child);

impl Hog {
    fn start() -> Hog {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
        Hog(command.spawn().expect("a shell"))
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_stranger_on_the_machine_is_named_and_nothing_of_it_changes_the_exit_code_unasked() {
    let place = loaded();
    // More than the CPUs, so that neither this test's neighbours nor a large machine hide it.
    let hogs: Vec<Hog> =
        (0..std::thread::available_parallelism().map_or(2, usize::from)).map(|_| Hog::start()).collect();
    let arguments = ["run", "--db", "sqlite:loaded.db", "--ramp-up", "1s", "--duration", "12s", "--check", "none"];
    let done = succeed(place.path(), &[&arguments[..], &["--json", "--out", "noisy"]].concat());
    let summary = done.json();
    let strangers = &summary["strangers"];
    assert!(strangers["cpu"].as_f64() > Some(10.0), "{strangers}");
    let named: Vec<u64> =
        strangers["processes"].as_array().unwrap().iter().filter_map(|process| process["pid"].as_u64()).collect();
    assert!(hogs.iter().any(|hog| named.contains(&u64::from(hog.0.id()))), "{strangers}");
    assert!(done.err.contains("Not alone on the machine") && done.err.contains("% of a CPU"), "{}", done.err);
    let rule = &summary["verdict"]["own"][0];
    assert_eq!((&rule["id"], &rule["state"]), (&Value::from("quiet"), &Value::from("broken")), "{rule}");
    let clauses = summary["verdict"]["clauses"].as_array().unwrap();
    assert!(clauses.iter().all(|clause| clause["id"] != "quiet"), "{clauses:?}");

    let text = succeed(place.path(), &["report", "noisy"]).out;
    assert!(text.lines().take(6).any(|line| line.starts_with("! Not alone on the machine")), "{text}");
    let compared = succeed(place.path(), &["compare", "noisy", "noisy"]);
    assert!(compared.err.contains("was not alone on its machine"), "{}", compared.err);
    let events = std::fs::read_to_string(place.path().join("noisy/events.jsonl")).unwrap();
    assert!(events.contains("\"event\":\"strangers\""), "{events}");

    let refused = run(
        place.path(),
        &[
            "run",
            "--db",
            "sqlite:loaded.db",
            "--ramp-up",
            "0s",
            "--duration",
            "3s",
            "--check",
            "none",
            "--require-quiet",
        ],
    );
    assert_eq!(refused.code, Some(1), "{refused:?}");
}
