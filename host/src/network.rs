//! HTTP requests of component hooks.

/// What sends requests.
#[derive(Clone, Debug)]
pub struct Network;
