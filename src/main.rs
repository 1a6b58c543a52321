//! The binary: allocator, arguments, exit code.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    rhai_operator::cli::main(rhai_operator::host::toolchain())
}
