use super::*;

/// Files of two other programs.
pub(in crate::builtin) fn protection() -> Protection {
    Protection {
        command_files: Vec::new(),
        without_hooks: vec![("claude", "disableAllHooks"), ("codex", "CODEX_HOME")],
        paths: vec![
            ".claude/settings.json",
            ".claude/hooks",
            ".claude.json",
            ".codex/config.toml",
            ".github/hooks",
            ".github/copilot/settings.json",
            ".config/agent/plugins",
            "agent.json",
        ],
        shared_directories: vec![".github", ".github/copilot"],
        places: Vec::new(),
        targets: vec!["claude", "codex"],
        unseen_input: Vec::new(),
    }
}

fn protected() -> Protected {
    let roots = [".hookbox".to_owned(), ".kodelet".to_owned()];
    let variables = [("HOME".to_owned(), "/home/ada".to_owned())].into();
    let places = ["/srv/codex/hooks.json", "/dot/hookbox", "/", "relative"];
    Protected::new(&roots, variables, &protection(), move |_| {
        [places.map(Into::into).into(), vec!["/home/ada/bin/git".into()], vec!["/home/ada/.hookbox".into()]]
    })
}

#[test]
fn what_decides_on_hooks_is_protected_and_its_neighbours_are_not() {
    let protected = protected();
    for path in [
        "/p/.hookbox",
        "/p/.hookbox/",
        "/p/.hookbox/hookbox.toml",
        "/p/.HookBox/HOOKBOX.toml",
        "/p/.hookbox/hooks",
        "/p/.hookbox/hooks/guard.wasm",
        "/p/.hookbox/hooks/guard.rules.toml",
        "/p/.hookbox/hooks.json",
        "/p/.hookbox/mcp.json",
        "/p/.hookbox/plugins/a@b/hooks/x",
        "/p/.hookbox/plugins.lock",
        "/home/ada/.kodelet/hooks/x",
        "/p/.claude/settings.json",
        "/p/.claude/hooks/x.sh",
        "/p/.codex/config.toml",
        "/p/.github/hooks/x.json",
        "/p/.github/copilot/settings.json",
        "/home/ada/.config/agent/Plugins/x.js",
        "/home/ada/.claude.json",
        "/srv/shop/agent.json",
        "/home/ada/.local/share/hookbox/trust.toml",
        "/home/ada/.cache/hookbox/code/x",
        "/srv/codex/hooks.json",
        "/dot/hookbox/hooks/x",
        "/home/ada/bin/git",
        "/home/ada/bin/Git",
    ] {
        assert!(protected.holds(Path::new(path)), "{path}");
    }
    for path in [
        "",
        "/",
        "/p",
        "/p/.hookbox/README.md",
        "/p/hookbox.toml",
        "/p/hooks/x",
        "/p/.claude/commands/x.md",
        "/p/.claude/settings.json.md",
        "/p/CLAUDE.md",
        "/p/.github/workflows/ci.yml",
        "/p/.github",
        "/home/ada/.cache/pip",
        "/srv/shop/config.json",
        "/srv/shop/claude.json",
        "/home/ada/.config/agent/theme.json",
        "/home/ada/.cache",
        "/srv/codex/notes",
        "/dot/hookbox2",
        "/home/ada/bin",
        "/home/ada/bin/*",
        "/home/ada/bin/gitk",
        "/home/ada/git",
    ] {
        assert!(!protected.holds(Path::new(path)), "{path}");
    }
}

#[test]
fn a_word_of_a_shell_line_is_read_as_the_path_that_it_becomes() {
    let protected = protected();
    let holds = |word: &str, cwd: &str| protected.holds(&protected.path(word, Path::new(cwd)));
    for (word, cwd) in [
        (".hookbox/*", "/p"),
        (".h?okbox", "/p"),
        (".hook[a-c]ox/hooks", "/p"),
        ("/srv/co*/hooks.json", "/p"),
        ("~/.codex/config.toml", "/p"),
        ("~ada/.codex/config.toml", "/p"),
        ("./src/../.hookbox/./hooks//x", "/p"),
        ("settings.json", "/p/.claude"),
        ("hookbox/x", "/dot"),
        ("../dot/hookbox", "/p"),
    ] {
        assert!(holds(word, cwd), "{word}");
    }
    for (word, cwd) in [
        (".github/*", "/p"),
        ("*", "/p"),
        ("*box", "/p"),
        ("hookbox", "/p"),
        ("~", "/p"),
        ("--", "/p"),
        (".hookbox/hooks/../notes.md", "/p"),
    ] {
        assert!(!holds(word, cwd), "{word}");
    }
}

#[test]
fn what_is_above_a_path_that_is_there_takes_it_with_it() {
    let protected = protected();
    let takes = |path: &str| protected.beneath(&protected.path(path, Path::new("/srv"))).next().is_some();
    for path in ["/", "~", "~/", "/home/*", "~/.hookbox", "codex", ".", "c*"] {
        assert!(takes(path), "{path}");
    }
    for path in ["~/.kodelet", "/srv/shop", "*.json", "~/*", "~/bin"] {
        assert!(!takes(path), "{path}");
    }
}
