use super::*;

fn judged(line: &str) -> Option<Finding> {
    let roots = [".hookbox".to_owned(), ".kodelet".to_owned()];
    let variables = [("HOME".to_owned(), "/home/ada".to_owned())].into();
    let protection = crate::builtin::protected::tests::protection();
    let look = |_: &_| {
        [vec!["/data/hookbox".into()], vec!["/home/ada/.cargo/bin/git".into(), "/usr/bin/git".into()], vec![]]
    };
    let protected = Protected::new(&roots, variables, &protection, look);
    judge(line, &protected, &["/work/repo".into()])
}

#[test]
fn ordinary_work_passes() {
    for line in [
        "",
        "ls",
        "ls -la ~/.claude",
        "ls .hookbox/hooks && cargo build",
        "cat .hookbox/hookbox.toml",
        "cat .hookbox/hookbox.toml | head -20",
        "cat .claude/settings.json | jq .hooks",
        "cat .claude/settings.json; cargo test | tee out.log",
        "head -n 5 ~/.codex/config.toml",
        "grep -r hookbox .",
        "grep -rn 'hookbox trust' docs",
        "rg -n trust .hookbox",
        "cargo test -p hookbox",
        "cargo run -p hookbox-cli -- list",
        "cargo build --workspace 2>&1 | tail -n 3",
        "git commit -m \"use hookbox trust\"",
        "git commit -m 'document .hookbox/hookbox.toml'",
        "git commit -m \"$(cat <<'EOF'\nDon't forget hookbox trust.\n\nsee (docs\nEOF\n)\"",
        "git add .hookbox/hookbox.toml && git status",
        "git diff .github/hooks",
        "git checkout main",
        "echo hookbox trust",
        "echo 'run hookbox trust x' >> README.md",
        "echo \"see .hookbox/hooks\" > notes.md",
        "printf '%s\\n' hookbox plugin",
        "cat > docs/trust.md <<'EOF'\nRun it:\nhookbox trust guard.wasm\nrm -rf .hookbox/hooks\nIt's fine.\nEOF",
        "hookbox list",
        "hookbox list --json | jq length",
        "hookbox grants",
        "hookbox grants --json | jq .",
        "hookbox guard list --json",
        "hookbox plugin list",
        "hookbox plugin show a/b",
        "hookbox install claude --dry-run",
        "hookbox trust --help",
        "hookbox allow --help",
        "grep -rn 'hookbox allow' docs",
        "git commit -m \"use hookbox allow\"",
        "hookbox plugin add -h",
        "hookbox inspect .hookbox/hooks/guard.wasm",
        ".hookbox/hooks/guard hook",
        "hookbox --help",
        "npm install",
        "pip install hookbox",
        "cargo install --path cli",
        "cargo install --git https://example.com/x",
        "git status && /usr/bin/git log -1",
        "sudo /usr/bin/git pull",
        "GIT_PYTHON_GIT_EXECUTABLE=/usr/bin/git pytest",
        "cat /usr/bin/git",
        "cp /usr/bin/git .",
        "which git; ls -l ~/.cargo/bin ~/.cargo/bin/git",
        "chmod +x ~/.cargo/bin/*",
        "cp tool ~/.cargo/bin/gitk",
        "rm -rf node_modules/.bin/git",
        "make install",
        "rm -rf target node_modules",
        "rm hooks/x plugins/y hookbox.toml.md",
        "mkdir -p .github/workflows && cp ci.yml .github/workflows/",
        "sed -n 1,40p .hookbox/hookbox.toml",
        "sed -i s/a/b/ src/hookbox.rs",
        "find . -name '*.rs' -exec wc -l {} +",
        "find .hookbox -type f",
        "test -f .hookbox/hookbox.toml && echo yes",
        "if [ -d .claude/hooks ]; then echo there; fi",
        "diff .hookbox/hookbox.toml .kodelet/hookbox.toml",
        "wc -l .hookbox/hooks/* 2>/dev/null",
        "for f in src/*.rs; do wc -l $f; done",
        "python3 -c 'print(1)'",
        "python3 - <<'EOF'\nopen('out.txt', 'w').write('x')\nEOF",
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: README.md\n+see .hookbox/hookbox.toml\n*** End Patch\nEOF",
        "docker run -v $PWD:/work image sh -c 'cd /work && make'",
        "cd .hookbox && ls -la",
        "sudo apt-get install -y jq",
        "# hookbox trust x",
        "ps aux | awk '{print $1}' > out",
        "x=$((1 + 2)); echo $x",
        "case $1 in a) ls;; b) make;; esac",
        "tar czf out.tgz src",
        "tar xzf deps.tgz -C vendor",
        "tar xf go.tgz -C /usr/local",
        "unzip -l x.zip -d ~",
        "find . | cpio -o > /tmp/x.cpio",
        "unzip x.zip -d ~/.local/bin",
        "cp target/release/tool ~/.cargo/bin/",
        "rsync -a src/ /srv/site/",
        "rsync -a dist/ ~/site/",
        "cp -r docs/. /tmp/docs",
        "wget -P ~/Downloads https://example.org/hookbox.tgz",
        "make install PREFIX=/tmp/out",
        "pip install --target build evil",
        "nix profile list",
        "npm --prefix web install",
        "sudo -u postgres psql",
        "env -i make",
    ] {
        assert_eq!(judged(line), None, "{line}");
    }
}

#[test]
fn what_ends_hookbox_or_installs_it_under_another_name_is_found() {
    for (line, want) in [
        ("pkill hookbox", Some(Finding::Ends)),
        ("sudo killall -9 hookbox", Some(Finding::Ends)),
        ("kill $(pgrep hookbox)", Some(Finding::Ends)),
        ("pgrep -f hookbox | xargs kill -9", Some(Finding::Ends)),
        ("bash -c 'pkill -f hookbox'", Some(Finding::Ends)),
        ("(while :; do pkill -9 -f '[b]ridge claude'; done) &", Some(Finding::Ends)),
        ("pkill hook", Some(Finding::Ends)),
        ("pkill -f 'br.dge|node'", Some(Finding::Ends)),
        ("pkill -f \"$PATTERN\"", Some(Finding::Ends)),
        ("pkill -u ada", Some(Finding::Ends)),
        ("kill $(pgrep -f 'bridge claude')", Some(Finding::Ends)),
        ("ps aux | grep '[b]ridge' | awk '{print $2}' | xargs kill", Some(Finding::Ends)),
        ("kill -9 -1", Some(Finding::Ends)),
        ("kill -- -1", Some(Finding::Ends)),
        ("kill -1 12", None),
        ("pkill -f 'node server.js'", None),
        ("pkill -f \"python $SCRIPT\"", None),
        ("ps aux | grep node | awk '{print $2}' | xargs kill", None),
        ("pgrep -f bridge", None),
        ("killall node", None),
        ("pkill -f -- '--deadline'", Some(Finding::Ends)),
        ("pkill -v -f node", Some(Finding::Ends)),
        ("ps aux | grep -m 9 '[b]ridge' | awk '{print $2}' | xargs kill", Some(Finding::Ends)),
        ("ps aux | awk '/[b]ridge/{print $2}' | xargs kill", Some(Finding::Ends)),
        ("killall -o 1s -u ada", Some(Finding::Ends)),
        ("kill $PID; grep -rn event src/", None),
        ("npm test; grep -n 'event' out.txt; pkill node", None),
        ("timeout 5 server & sleep 1; kill $!; grep -c . out.log", None),
        ("make dev & sleep 3; grep -E 'ready|strict' dev.log; kill %1", None),
        ("grep -A 5 error log; kill $PID", None),
        ("pkill -u ada node", None),
        ("for p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done", Some(Finding::Ends)),
        ("ls /proc | xargs kill", Some(Finding::Ends)),
        ("for p in $(pgrep -f \"$(echo YnJpZGdl | base64 -d)\"); do kill $p; done", Some(Finding::Ends)),
        ("while read p; do kill $p; done < <(pgrep -f \"$X\")", Some(Finding::Ends)),
        ("for p in $(pgrep -f 'node server.js'); do kill $p; done", None),
        ("kill 12; cat /proc/13/status", None),
        ("pwsh -c 'Get-Process hookbox | Stop-Process'", Some(Finding::Ends)),
        ("cargo uninstall hookbox", Some(Finding::Changes("hookbox".into()))),
        ("sudo apt-get remove -y hookbox", Some(Finding::Changes("hookbox".into()))),
        ("npm rm -g hookbox", Some(Finding::Changes("hookbox".into()))),
        ("brew uninstall hookbox", Some(Finding::Changes("hookbox".into()))),
        ("pacman -Rns hookbox", Some(Finding::Changes("hookbox".into()))),
        ("cargo uninstall ripgrep", None),
        ("dpkg -P hookbox", Some(Finding::Changes("hookbox".into()))),
        ("apt purge 'hookbox*'", Some(Finding::Changes("hookbox".into()))),
        ("uv tool uninstall hookbox", Some(Finding::Changes("hookbox".into()))),
        ("pip install -e ./hookbox", None),
        ("python3 -m pip uninstall -y hookbox", Some(Finding::Changes("hookbox".into()))),
        ("zypper rm -y hookbox", Some(Finding::Changes("hookbox".into()))),
        ("pacman -Rdd hookbox", Some(Finding::Changes("hookbox".into()))),
        ("nix profile remove hookbox", Some(Finding::Changes("hookbox".into()))),
        ("npm uninstall --location=global @hookbox/cli", Some(Finding::Changes("hookbox".into()))),
        ("cargo install --path ./hookbox --force", Some(Finding::Changes("hookbox".into()))),
        ("cargo binstall -y hookbox@0.0.1", Some(Finding::Changes("hookbox".into()))),
        ("brew install hookbox/tap/hookbox", Some(Finding::Changes("hookbox".into()))),
        ("mise rm cargo:hookbox", Some(Finding::Changes("hookbox".into()))),
        ("GOBIN=~/bin go install ./cmd/hookbox", Some(Finding::Changes("hookbox".into()))),
        ("npm install -g hook", None),
        ("cargo build -p hookbox", None),
        ("pacman -Qi hookbox", None),
        ("cargo remove hookbox", None),
        ("npm remove hookbox-client", None),
        ("pytest tests/hookbox -k run", None),
        ("echo '{}' | hookbox bridge claude", Some(Finding::Runs("bridge"))),
        ("hookbox run before_tool_call < event.json", Some(Finding::Runs("run"))),
        ("hookbox mcp", Some(Finding::Runs("mcp"))),
        ("hookbox remove --all --yes", Some(Finding::Runs("remove"))),
        ("uvx hookbox setup --yes --preset relaxed", Some(Finding::Runs("setup"))),
        ("npx hookbox upgrade --yes", Some(Finding::Runs("upgrade"))),
        ("hookbox setup --dry-run", None),
        ("hookbox run --help", None),
        ("kill 12", None),
        ("pgrep hookbox", None),
        ("/tmp/hb uninstall claude", Some(Finding::Runs("uninstall"))),
        ("./box install --project codex", Some(Finding::Runs("install"))),
        ("npm install codex", None),
        ("brew uninstall opencode", None),
        ("./setup install", None),
        ("echo uninstall claude", None),
    ] {
        assert_eq!(judged(line), want, "{line}");
    }
}

#[test]
fn an_agent_without_its_hooks_is_found() {
    for (line, agent) in [
        ("claude --settings '{\"disableAllHooks\":true}' -p x", Some("claude")),
        ("npx -y @anthropic-ai/claude-code@latest --settings '{\"disableAllHooks\":true}'", Some("claude")),
        ("CODEX_HOME=/tmp/c npx @openai/codex exec x", Some("codex")),
        ("npm view @anthropic-ai/claude-code; grep -r disableAllHooks docs", None),
        ("CODEX_HOME=/tmp/c codex exec x", Some("codex")),
        ("export CODEX_HOME=/tmp/c; codex exec x", Some("codex")),
        ("echo 'export CODEX_HOME=/tmp/c' >> ~/.bashrc", Some("codex")),
        ("printf 'CODEX_HOME=/tmp/c\\n' | tee -a ~/.profile", Some("codex")),
        ("claude -p x", None),
        ("HOME=/tmp/x claude -p hi", Some("claude")),
        ("echo \"alias claude='claude --settings /tmp/s.json'\" >> ~/.zshrc", Some("claude")),
        ("echo 'alias hookbox=true' >> ~/.bashrc", Some("hookbox")),
        ("echo 'alias ll=\"ls -l\"' >> ~/.bashrc", None),
        ("grep disableAllHooks x; claude --version", None),
        ("echo $CODEX_HOME; codex --version", None),
        ("echo 'alias x=\"grep disableAllHooks\"' >> ~/.bashrc", None),
        ("echo 'alias c=\"claude --settings {disableAllHooks:true}\"' >> ~/.bashrc", Some("claude")),
        ("CODEX_HOME=/tmp/c claude --version", None),
        ("grep -r disableAllHooks docs", None),
        ("echo 'set CODEX_HOME' >> notes.md", None),
        ("export HOME=/tmp; claude", Some("claude")),
        ("unset HOME && claude -p x", Some("claude")),
        ("env -i claude -p x", Some("claude")),
        ("sudo claude -p x", Some("claude")),
        ("echo 'claude() { command claude --settings x; }' >> ~/.bashrc", Some("claude")),
        ("echo 'set -gx CODEX_HOME /tmp' >> ~/.config/fish/conf.d/x.fish", Some("codex")),
        ("echo CODEX_HOME=/tmp | sudo tee /etc/profile.d/x.sh", Some("codex")),
        ("export HOME=/tmp; npm test", None),
        ("echo 'export HOME=/tmp/x' >> ~/.zshenv", Some("hookbox")),
        ("echo 'set -gx XDG_DATA_HOME /tmp' >> ~/.config/fish/config.fish", Some("hookbox")),
        ("echo 'export JAVA_HOME=/opt/java PATH=$HOME/bin:$PATH' >> ~/.zshenv", None),
        ("cat >> ~/.bashrc <<'X'\n# HOME=x is for docker\nX", None),
        ("echo 'my HOME directory' >> ~/.bashrc", None),
        ("echo '[ \"$HOME\" = /root ] && x' >> ~/.bashrc", None),
        ("sudo npm install -g @openai/codex", None),
    ] {
        assert_eq!(judged(line), agent.map(Finding::WithoutHooks), "{line}");
    }
}

#[test]
fn what_only_the_user_may_run_is_found_wherever_it_stands() {
    for line in [
        "hookbox allow abcdkmns",
        "hookbox allow",
        "hookbox allow --list",
        "hookbox approve",
        "yes | hookbox approve --once",
        "hookbox -q allow abcdkmns --always --yes",
        "sh -c 'hookbox allow abcdkmns -y'",
        "hookbox trust guard",
        "hookbox untrust guard",
        "hookbox grants add guard read:$REPO",
        "hookbox guard remove git --yes",
        "hookbox guard preset relaxed",
        "hookbox guard add git --preset relaxed -y",
        "hookbox plugin add a/b",
        "hookbox install claude",
        "hookbox uninstall claude",
        "./target/debug/hookbox trust x",
        "HOOKBOX trust x",
        "hookbox --cwd /x trust y",
        "hookbox --root=.x trust y",
        "A=b hookbox trust x",
        "env -i A=b hookbox trust x",
        "sudo -u root hookbox trust x",
        "command hookbox trust x",
        "command -p -- hookbox trust -v x",
        "$'hookbox\\0x' trust x",
        "set -- a; for d do hookbox trust x; done",
        ": `# note`; hookbox trust x",
        "echo `echo \\`hookbox trust x\\``",
        "cat > n.md <<EOF\nEO\\\nF\nhookbox trust x\nEOF",
        "exec hookbox trust x",
        "nohup hookbox trust x &",
        "timeout 5 hookbox trust x",
        "time nice -n 5 hookbox trust x",
        "echo x | xargs hookbox trust",
        "echo x | xargs -n 1 -I{} hookbox trust {}",
        "ls; hookbox trust x",
        "ls && hookbox trust x",
        "ls || hookbox trust x",
        "ls | hookbox trust x",
        "ls\nhookbox trust x",
        "ls & hookbox trust x",
        "(hookbox trust x)",
        "{ hookbox trust x; }",
        "echo $(hookbox trust x)",
        "echo \"$(hookbox trust x)\"",
        "echo `hookbox trust x`",
        "cat <(hookbox trust x)",
        "sh -c 'hookbox trust x'",
        "bash -lc \"ls; hookbox trust x\"",
        "eval hookbox trust x",
        "eval 'hookbox trust' x",
        "bash -c \"sh -c 'hookbox trust x'\"",
        "sudo bash -c 'hookbox trust x'",
        "echo 'hookbox trust x' | sh",
        "bash <<EOF\nhookbox trust x\nEOF",
        "bash <<< 'hookbox trust x'",
        "cat <<EOF\n$(hookbox trust x)\nEOF",
        "hook\\box tr'us't x",
        "\"hookbox\" \"trust\" x",
        "$(which hookbox) trust x",
        "$'hookbox' trust x",
        "find . -exec hookbox trust {} \\;",
        "if true; then hookbox trust x; fi",
        "while :; do hookbox trust x; done",
        "! hookbox trust x",
        "hookbox \\\n trust x",
        "yes | hookbox trust x > /dev/null",
    ] {
        assert!(matches!(judged(line), Some(Finding::Runs(_))), "{line:?}: {:?}", judged(line));
    }
}

#[test]
fn a_line_that_may_change_a_protected_file_is_found() {
    for line in [
        "cp x ~/.cargo/bin/git",
        "cd ~/.cargo/bin && cp /tmp/x git",
        "printf x > ~/.cargo/bin/git",
        "ln -sf /tmp/x /home/ada/.cargo/bin/git",
        "sudo tee /usr/bin/git < x",
        "mv ~/.cargo/bin/git /tmp",
        "echo x > .hookbox/hookbox.toml",
        "echo x>>.hookbox/hookbox.toml",
        "echo x >| ~/.claude/settings.json",
        "make &> .hookbox/hookbox.toml",
        "echo x | tee .hookbox/hooks/x",
        "rm .hookbox/hooks/guard.wasm",
        "rm -rf .hookbox",
        "rm -rf .hookbox/*",
        "rm -rf ~/.claude",
        "mv .hookbox /tmp/x",
        "cp x .hookbox/hooks/",
        "ln -sf /dev/null .hookbox/hookbox.toml",
        "chmod -x .hookbox/hooks/guard",
        "sed -i s/block/pass/ .hookbox/hookbox.toml",
        "sed -n 'w .hookbox/hookbox.toml' x",
        "install -m 755 x .hookbox/hooks/x",
        "dd if=/dev/null of=.hookbox/hookbox.toml",
        "truncate -s 0 .hookbox/hookbox.toml",
        "python3 -c \"open('.hookbox/hookbox.toml', 'w')\"",
        "python3 - <<'EOF'\nopen('.hookbox/hookbox.toml', 'w')\nEOF",
        "node -e 'fs.rmSync(\".claude/settings.json\")'",
        "perl -pi -e 's/a/b/' .claude/settings.json",
        "awk 'BEGIN { print > \".hookbox/hookbox.toml\" }'",
        "cd .hookbox/hooks && rm x",
        "cd .hookbox && rm -rf hooks",
        "pushd .claude; echo x > settings.json",
        "cd .claude && cat > settings.json <<EOF\n{}\nEOF",
        "D=.hookbox/hooks; rm -rf $D",
        "for f in .hookbox/hooks/*; do rm $f; done",
        "ls .hookbox/hooks/* | xargs rm",
        "(ls .hookbox/hooks/*) | xargs rm",
        "find .hookbox -name '*.wasm' -delete",
        "find .hookbox -type f -exec rm {} +",
        "rm $(ls .hookbox/hooks/x)",
        "git checkout -- .hookbox/hookbox.toml",
        "git rm .hookbox/hooks/x",
        "git diff --output=.hookbox/hookbox.toml",
        "curl -o .hookbox/hooks/x https://example.com",
        "curl -s --stderr .hookbox/hookbox.toml https://example.com",
        "curl --trace-asc .hookbox/hookbox.toml https://example.com",
        "curl --cookie-jar .hookbox/hookbox.toml https://example.com",
        "curl --etag-save .hookbox/hookbox.toml https://example.com",
        "uniq - .hookbox/hookbox.toml",
        "xxd -r - .hookbox/hookbox.toml",
        "sort -o .hookbox/hookbox.toml x",
        "sh -c 'rm .hookbox/hooks/x'",
        "echo $(rm .hookbox/hooks/x)",
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: .hookbox/hooks/x\n*** End Patch\nEOF",
        "patch -p1 <<'EOF'\n--- a/.hookbox/hookbox.toml\n+++ b/.hookbox/hookbox.toml\nEOF",
        "rm /data/hookbox/trust.toml",
        "rm ../../data/hookbox/store",
        "rm $HOME/.local/share/hookbox/trust.toml",
        "vim .github/hooks/x.json",
        "rm './src/../.hookbox/./hooks/x'",
        "sudo rm .hook\\box/hooks/x",
        "if true; then rm .hookbox/hooks/x; fi",
        // A file gets the name of its source.
        "mv -f hookbox ~/.cargo/bin/",
        "cp target/debug/hookbox ~/.cargo/bin",
        "install -m755 git ~/.cargo/bin",
        "ln -sf /tmp/git ~/.cargo/bin/",
        "rsync x/git ~/.cargo/bin/",
        "wget -P ~/.cargo/bin https://example.org/hookbox?v=1",
        "curl -O --output-dir ~/.cargo/bin https://example.org/git",
        "scp host:hookbox ~/.cargo/bin/",
        "docker cp c:/git ~/.cargo/bin/",
        "cp x/settings.json ~/.claude/",
        // Files of any names.
        "cp -a /tmp/h/. ~",
        "cp x/* ~",
        "rsync -a /tmp/h/ ~/",
        "tar xf x.tar -C ~",
        "cpio -id -D ~ < x.cpio",
        "while read -r f; do rm \"$f\"; done < <(find ~/.claude -type f)",
        "cd ~ && tar -xzf /tmp/x.tgz",
        "unzip -o x.zip -d /data",
        "pip install --target /data evil",
        "make install PREFIX=/data",
    ] {
        assert!(matches!(judged(line), Some(Finding::Changes(_))), "{line:?}: {:?}", judged(line));
    }
}

#[test]
fn in_a_protected_directory_only_reading_passes() {
    let look = |_: &_| Default::default();
    let protected = Protected::new(&[".hookbox".to_owned()], Default::default(), &Default::default(), look);
    let judged = |line| judge(line, &protected, &["/p/.hookbox/hooks".into()]);
    assert_eq!(judged("ls -la && cat guard"), None);
    assert!(judged("rm guard").is_some());
    assert!(judged("echo x > guard").is_some());
}

/// Returns a script in scripts.
fn deep(script: &str, times: usize) -> String {
    format!("{}\"{script}\"", "eval ".repeat(times))
}

#[test]
fn what_is_too_long_or_too_odd_passes_only_if_it_mentions_nothing() {
    let long = "a".repeat(MAX_LINE);
    for (line, passes) in [
        (format!("echo {long}"), true),
        (format!("echo {long} .hookbox/hooks/x"), false),
        (format!("echo {long} .hook'b'ox/hooks/x"), false),
        (format!("echo {long}; hookbox --yes trust x"), false),
        ("echo 'never closed".to_owned(), true),
        ("cat .hookbox/hookbox.toml 'never closed".to_owned(), false),
        ("((i=1<<2))\nhookbox trust x".to_owned(), false),
        (format!("echo {long}; $'\\x68ookbox' trust x"), false),
        (format!("{}; $'\\x68ookbox' trust x", "sh -c 'echo a'; ".repeat(MAX_LINE / 20)), false),
        (deep("$'\\x68ookbox' trust x", 5) + " 'never closed", false),
        // What is too deep may do anything.
        ("ls ".to_owned() + &"$(echo ".repeat(12) + "$(date)" + &")".repeat(12), true),
        ("$(".repeat(100), false),
        (deep("date", 6), true),
        (deep("date", 20), false),
        (format!("{} rm .hookbox/hooks/x", "$(".repeat(100)), false),
    ] {
        assert_eq!(judged(&line).is_none(), passes, "{}", &line[..line.len().min(60)]);
    }
}

#[test]
fn a_hostile_line_is_judged_to_its_end_and_panics_nowhere() {
    for piece in [
        "$(",
        "`",
        "\"",
        "'",
        "\\",
        "((",
        "<<a\n",
        "<<<",
        "sudo ",
        "sh -c ",
        ";",
        "{ ",
        "é",
        "\0",
        "$(a)",
        "a|",
        "a;}|{ ",
        "a|{ ",
        ".hookbox/",
        "../",
    ] {
        for length in [1_000, MAX_LINE, MAX_LINE + 10] {
            judged(&piece.repeat(length / piece.len()));
        }
    }
}

#[test]
fn a_line_with_many_patterns_is_judged_in_time_and_to_its_end() {
    let many = |part: &str, times: usize| format!("{}hookbox trust evil --yes", part.repeat(times));
    for (line, part) in [
        (many("kill 1; pkill -f '(\\w){9}q|zz'; ", 40), "one pattern"),
        (many("kill 1; grep zzz f; ", 300), "a search"),
        (
            (0..400).map(|n| format!("pkill z{n}; ")).collect::<String>() + "hookbox trust evil --yes",
            "many patterns",
        ),
    ] {
        assert!(judged(&line).is_some(), "{part}");
    }
    // Each pattern is compared once.
    let mut lines = CommandLines::new(&["claude"]);
    let word = |text: &str| hookbox_shell::Arg { text: text.to_owned(), sort: hookbox_shell::Sort::Plain };
    for n in 0..100 {
        assert_eq!(lines.has(&[word("pkill"), word(&format!("z{n}"))]), n >= 32, "{n}");
    }
}
