//! The lists of planted faults name tests that exist.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Pages that name tests.
const PAGES: [&str; 3] = ["tests/README.md", "docs/acid.md", "docs/durability.md"];

/// All source files below a directory, with their text.
fn sources(directory: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
}

/// The names of modules and of functions on the path to a file: `src/acid/crash.rs` is of `acid` and `crash`.
fn modules(path: &Path) -> Vec<String> {
    path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect()
}

/// The names of tests on a page, in backticks: `module::test`, of which a part may be left out as `…` or `*`.
fn named(page: &str) -> Vec<&str> {
    let quoted = page.split('`').skip(1).step_by(2);
    let plain = |name: &&str| {
        let mut parts = name.split("::");
        name.contains("::")
            && parts.all(|part| part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'))
    };
    quoted.filter(plain).collect()
}

#[test]
fn every_fault_names_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    sources(&root.join("tests"), &mut files);
    let mut functions: BTreeMap<&str, Vec<Vec<String>>> = BTreeMap::new();
    for (path, text) in &files {
        for function in text.lines().filter_map(|line| line.trim_start().split_once("fn ")) {
            let name = function.1.split(['(', '<']).next().unwrap_or_default();
            functions.entry(name).or_default().push(modules(path.strip_prefix(root).unwrap()));
        }
    }
    let folders: Vec<Vec<String>> = files.iter().map(|(path, _)| modules(path)).collect();
    let exists = |name: &str| {
        let parts: Vec<&str> = name.split("::").filter(|part| *part != "tests").collect();
        let lies_in = |path: &Vec<String>, parts: &[&str]| parts.iter().all(|part| path.iter().any(|at| at == part));
        let (last, modules) = parts.split_last().unwrap();
        functions.get(last).is_some_and(|paths| paths.iter().any(|path| lies_in(path, modules)))
            || folders.iter().any(|path| lies_in(path, &parts))
    };
    let mut tests = 0;
    for page in PAGES {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        for name in named(&text) {
            tests += 1;
            assert!(exists(name), "{page} names {name}, which is no test");
        }
    }
    assert!(tests > 100, "{tests} tests are named");
    assert!(!exists("outage::a_test_that_nobody_wrote"));
}
