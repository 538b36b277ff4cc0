//! The pages of the book with examples in Rust: `cargo test --doc` compiles them.

#![cfg(doctest)]

#[doc = include_str!("../../docs/src/component-hooks.md")]
struct ComponentHooks;

#[doc = include_str!("../../docs/src/event-examples.md")]
struct EventExamples;

#[doc = include_str!("../README.md")]
struct Readme;
