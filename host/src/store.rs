//! The key-value store: state of component hooks that outlives a call and a process.

/// The state of one hook.
#[derive(Clone, Debug)]
pub struct Bucket;
