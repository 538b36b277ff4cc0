//! One event through a chain.
