//! The page of the book about component hooks: `cargo test --doc` compiles its examples.

#![cfg(doctest)]

#[doc = include_str!("../../docs/src/component-hooks.md")]
struct ComponentHooks;

#[doc = include_str!("../README.md")]
struct Readme;
