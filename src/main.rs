//! The `graymark` command.

fn main() -> std::process::ExitCode {
    graymark::cli::main()
}
