//! Collects the `.sql` files of all dialects, so that a new one needs no line of code.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const FOLDER: &str = "src/engine/dialect";
/// Workloads that only tests know.
const OF_TESTS: [&str; 1] = ["counter"];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={FOLDER}");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join(FOLDER);
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    let name = |file: PathBuf| {
        let name = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        (name, file)
    };
    // In the order of their names, by which they are looked up.
    let mut files: Vec<(String, PathBuf)> = files.into_iter().map(name).collect();
    files.sort();
    let mut list = String::from("&[\n");
    for (name, file) in files {
        if name.split('/').any(|part| OF_TESTS.contains(&part)) {
            list.push_str("    #[cfg(test)]\n");
        }
        writeln!(list, "    ({name:?}, include_str!({file:?})),").map_err(io::Error::other)?;
    }
    list.push(']');
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("texts.rs"), list)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "sql") {
            files.push(path);
        }
    }
    Ok(())
}
