//! Finding hooks.
