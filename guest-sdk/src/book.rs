//! The page of the book about component hooks: `cargo test --doc` compiles its examples.

#![cfg(doctest)]

#[doc = include_str!("../../docs/src/component-hooks.md")]
struct ComponentHooks;

#[doc = include_str!("../README.md")]
struct Readme;

/// The repository's README shows the page's first example once more, under another fence: its own examples are
/// compiled with the library, which does not know the SDK.
///
/// ```
/// let read = |path| std::fs::read_to_string(path).unwrap();
/// let first = |text: &str, fence: &str| {
///     let (_, rest) = text.split_once(fence).unwrap();
///     rest.split_once("\n\u{60}\u{60}\u{60}").unwrap().0.to_owned()
/// };
/// let page = first(&read("../docs/src/component-hooks.md"), "\u{60}\u{60}\u{60}rust\n");
/// let readme = first(&read("../README.md"), "\u{60}\u{60}\u{60}rs\n");
/// assert_eq!(readme, page);
/// ```
struct ReadmeExample;
