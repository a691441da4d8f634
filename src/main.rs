//! The `graymark` command: parses, dispatches, and exits with the code of the result.

fn main() -> std::process::ExitCode {
    graymark::cli::main()
}
