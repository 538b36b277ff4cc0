# Recipes for what the README, CONTRIBUTING and CI do; each is a plain cargo command, so `just` is a convenience.
# Install it with `pip install rust-just` or `cargo install just --locked`.

_default:
    @just --list

# What a fresh clone needs once: the target that components are built for.
setup:
    rustup target add wasm32-wasip2

# Every sample component into target/hooks/<name>.wasm, and the sample plugin into target/plugin.
hooks:
    cargo hooks

# An agent session with native and component hooks at work.
demo: setup
    cargo demo

# All tests.
test: setup
    cargo test --workspace

# Real agents (Codex and Gemini CLI; `--all` for all) against a mock model on this machine; installs them from npm.
test-clients *args: setup
    cargo test-clients {{args}}

# What CI checks before the tests.
lint:
    cargo fmt --all --check
    cargo fmt --all --check --manifest-path sample-hooks/Cargo.toml
    cargo fmt --all --check --manifest-path tests/guests/Cargo.toml
    cargo clippy --workspace --all-targets -- -D warnings
    cargo clippy -p hookbox --no-default-features --all-targets -- -D warnings
    cargo clippy -p hookbox-plugins --no-default-features --all-targets -- -D warnings

# The features of the library, alone and in pairs (`cargo install cargo-hack --locked`).
features:
    cargo hack check -p hookbox --feature-powerset --depth 2 --no-dev-deps

# The public API against the last tag (`cargo install cargo-semver-checks --locked`).
semver:
    cargo semver-checks -p hookbox -p hookbox-sdk --baseline-rev "$(git describe --tags --abbrev=0)"

# The packages of the published crates compile together.
package:
    cargo run -p xtask -- package

# The program as packages have it, in target/dist/hookbox.
dist: setup
    cargo xtask dist

# hookbox beside what people would use instead, in one run (`--quick`: in two minutes, without the network).
bench *args: setup
    cargo xtask bench {{args}}

# The API documentation of the library and the SDK.
doc:
    cargo doc --no-deps -p hookbox -p hookbox-sdk --open

# Licences, duplicate crates and sources (the advisory database needs the network: `cargo deny check advisories`).
deny:
    cargo deny check bans licenses sources
