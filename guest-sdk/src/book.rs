//! The pages of the book and the files with examples in Rust: `cargo test --doc` compiles them.

#![cfg(doctest)]

#[doc = include_str!("../../docs/src/component-hooks.md")]
struct ComponentHooks;

#[doc = concat!("```\n", include_str!("../../examples/every-event/hook.rs"), "```\n")]
struct EveryEvent;

#[doc = include_str!("../README.md")]
struct Readme;
