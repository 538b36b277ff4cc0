//! Hooks from code.
