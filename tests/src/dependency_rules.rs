//! The rules of the source tree that the compiler does not keep.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Other agents than those whose dialect hooks speak. Cursor is missing: its name is a word of every library.
const AGENTS: [&str; 10] =
    ["auggie", "codex", "copilot", "gemini", "kimi", "opencode", "openhands", "qoder", "qwen", "vibe"];

/// The files of the library that know the shape of Claude Code's `hooks.json`, or the names of its tools.
const CLAUDE: [&str; 5] = [
    "host/src/dialect/",
    "host/src/discovery/",
    "base/calls/src",
    "host/src/internal.rs",
    "cli/src/commands/",
];

/// The modules that load or run hooks.
const LOADING: [&str; 6] = ["load::", "wasm::", "mcp::", "native::process", "store::", "network::"];

/// Returns the directories with code of packages outside of `crates/agents`.
fn code(root: &Path) -> Vec<PathBuf> {
    let floors = ["base", "crates"].map(|floor| fs::read_dir(root.join(floor)).unwrap());
    let crates = floors.into_iter().flatten().map(|it| it.unwrap().path());
    let crates = crates.filter(|it| !it.ends_with("agents")).map(|it| it.join("src"));
    let others = ["host/src", "cli/src", "examples/agent/src", "guest-sdk/src"].map(|it| root.join(it));
    crates.chain(others).collect()
}

/// Calls `each` with the path, relative to the repository, and each line of code: not of a comment, nor of a test.
fn lines_of_code(mut each: impl FnMut(&str, &str)) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut waiting = code(root);
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(path).unwrap().map(|it| it.unwrap().path()));
            continue;
        }
        let shown = path.strip_prefix(root).unwrap().to_str().unwrap();
        if !shown.ends_with(".rs") || shown.ends_with("tests.rs") || shown.contains("/tests/") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let inner_tests =
            text.find("#[cfg(test)]\nmod tests {").or(text.find("#[cfg(test)]\npub(super) mod tests {"));
        for line in text[..inner_tests.unwrap_or(text.len())].lines() {
            each(shown, line.split("//").next().unwrap());
        }
    }
}

#[test]
fn only_the_module_for_components_names_wasmtime() {
    lines_of_code(|path, line| {
        assert!(!line.contains("wasmtime") || path.starts_with("host/src/wasm"), "{path}: {line}");
    });
}

#[test]
fn only_the_crate_for_agents_names_other_agents() {
    lines_of_code(|path, line| {
        let line = line.to_ascii_lowercase();
        assert!(!AGENTS.iter().any(|name| line.contains(name)), "{path}: {line}");
        let knows_claude = CLAUDE.iter().any(|it| path.starts_with(it));
        assert!(knows_claude || !line.contains("claude"), "{path}: {line}");
    });
}

#[test]
fn finding_candidates_names_nothing_that_runs_or_loads_them() {
    lines_of_code(|path, line| {
        // The connection to a server, as its declaration names it, is data.
        let line = line.replace("mcp::Transport", "");
        let is_of_loading = LOADING.iter().any(|name| line.contains(name));
        assert!(!is_of_loading || !path.starts_with("host/src/discovery/find"), "{path}: {line}");
    });
}

/// Each folder stands on those before it; `journal` is below the other crates.
#[test]
fn a_crate_uses_only_the_floors_below_it() {
    const FLOORS: [&[&str]; 5] =
        [&["base/"], &["host", "guest-sdk"], &["crates/journal"], &["crates/"], &["cli"]];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifest = |path: &Path| -> toml::Table {
        toml::from_str(&fs::read_to_string(root.join(path).join("Cargo.toml")).unwrap()).unwrap()
    };
    let directories = &manifest(Path::new(""))["workspace"]["dependencies"];
    let floor = |directory: &str| FLOORS.iter().position(|it| it.iter().any(|it| directory.starts_with(it)));
    let mut seen = 0;
    for package in code(root) {
        let package = package.parent().unwrap().strip_prefix(root).unwrap();
        let Some(own) = floor(package.to_str().unwrap()) else { continue };
        let own_manifest = manifest(package);
        for (name, _) in
            own_manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flatten()
        {
            let Some(directory) = directories.get(name).and_then(|it| it.get("path")) else { continue };
            let other = floor(directory.as_str().unwrap());
            // The crates of the lowest floor use each other.
            assert!(other.is_some_and(|it| it < own || it == 0), "{package:?} uses {directory}");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

/// A crate below hookbox with other features is another crate, and all that uses it is compiled once more.
#[test]
fn the_demo_and_the_tests_compile_wasmtime_and_hookbox_once() {
    let tree = |args: &[&str]| -> BTreeSet<String> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["tree", "--frozen", "--prefix", "none"])
            .args(args);
        let output = cargo.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let lines = String::from_utf8(output.stdout).unwrap();
        lines.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
    };
    let below =
        tree(&["--package", "hookbox", "--all-features", "--edges", "normal,build", "--format", "{p}"]);
    let with = |kinds: &str| -> BTreeSet<String> {
        let all = tree(&["--workspace", "--format", "{p}|{f}", "--edges", kinds]);
        all.into_iter().filter(|it| below.contains(it.split('|').next().unwrap())).collect()
    };
    let (built, tested) = (with("normal,build"), with("normal,build,dev"));
    assert!(!built.is_empty());
    assert_eq!(built, tested);
}
