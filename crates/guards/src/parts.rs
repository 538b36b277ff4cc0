//! The components around a hook in an HTTP service. `guards/service` has their sources.

macro_rules! part {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".wasm"))
    };
}

/// Reads requests, and answers with the answers of a hook.
pub const ADAPTER: &[u8] = part!("adapter");
/// Gives a hook what it imports from hookbox.
pub const PROVIDER: &[u8] = part!("provider");
/// Gives the others what a toolchain imports and a server need not have.
pub const SURROUNDINGS: &[u8] = part!("surroundings");
