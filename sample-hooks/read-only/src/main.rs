//! The native form of the hook.

fn main() -> std::process::ExitCode {
    hookbox_sdk::native::main::<read_only::ReadOnly>()
}
