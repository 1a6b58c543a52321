//! The binary: arguments, exit code.

fn main() -> std::process::ExitCode {
    rhai_operator::cli::main(rhai_operator::host::toolchain())
}
