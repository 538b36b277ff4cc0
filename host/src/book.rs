//! The pages of the book and the README: `cargo test --doc` compiles their examples.

#![cfg(doctest)]

macro_rules! pages {
    ($($page:ident: $path:literal,)*) => {
        $(
            #[doc = include_str!($path)]
            struct $page;
        )*
    };
}

pages! {
    Readme: "../../README.md",
    Contributing: "../../CONTRIBUTING.md",
    Introduction: "../../docs/src/introduction.md",
    Hooks: "../../docs/src/hooks.md",
    NativeHooks: "../../docs/src/native-hooks.md",
    Events: "../../docs/src/events.md",
    FindingHooks: "../../docs/src/finding-hooks.md",
    DeclaredHooks: "../../docs/src/declared-hooks.md",
    Settings: "../../docs/src/settings.md",
    Chains: "../../docs/src/chains.md",
    Trust: "../../docs/src/trust.md",
    Program: "../../docs/src/program.md",
    Json: "../../docs/src/json.md",
    Embedding: "../../docs/src/embedding.md",
    ReferenceAgent: "../../docs/src/reference-agent.md",
    Security: "../../docs/src/security.md",
}
