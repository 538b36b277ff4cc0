//! Programs of every day about which guards have no rule, so that a guard need not see a line that runs nothing else.
//!
//! A program that is missing costs time and no safety.

/// Programs that only read and print.
pub const READERS: &str = "[ basename cat cd cmp column comm cut date df diff dirname du echo egrep false fgrep file grep \
    head hostname id jq less ls nl paste printf ps pwd readlink realpath rg seq sleep sort stat tail test time timeout tr \
    tree true type uname uniq wc which whoami xargs";

/// Programs that build, check and format.
pub const BUILDERS: &str = "black cargo clang clang++ cmake ctest eslint flake8 g++ gcc go gofmt isort javac jest make mvn \
    mypy ninja npm pip pip3 prettier pytest ruff rustc rustfmt rustup tsc uv vitest";

/// Returns the pattern of a subscription to shell calls that do more than to run programs of these lists.
pub fn shell_except(lists: &[&str]) -> String {
    format!("kind:shell except {}", lists.join(" "))
}
