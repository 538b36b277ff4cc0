//! The pages of the book about other agents: `cargo test --doc` compiles their examples.

#![cfg(doctest)]

#[doc = include_str!("../../../docs/src/foreign-hooks.md")]
struct ForeignHooks;
