//! Commands that run in other places, or as texts in the words of other programs.

use super::machine::{Feed, Machine};
use super::programs::is_command;
use super::wrappers::{Options, is_in, quoted};
use super::{Arg, Mode, Place, Redirection, Run, Sort};

/// The options of `docker run` and of its kin that have a value.
const RUN_LONG: &str = "--add-host --annotation --cap-add --cap-drop --cidfile --cpus --device --dns --entrypoint --env \
    --env-file --expose --gpus --group-add --health-cmd --hostname --ip --ipc --label --log-driver --log-opt --memory \
    --mount --name --net --network --pid --platform --publish --pull --restart --runtime --security-opt --shm-size \
    --stop-signal --sysctl --tmpfs --ulimit --user --userns --volume --volumes-from --workdir";

/// Those with which a container has files, processes or devices of this machine.
const SHARES: &str = "--volume --mount --volumes-from --privileged --pid --device";

/// Programs that work by themselves, and start the command in the value of an option too: in the next word, or joined.
const COMMAND_OPTIONS: [(&str, &str); 8] = [
    (
        "tar",
        "-I -F --checkpoint-action --to-command --use-compress-program --info-script --new-volume-script \
        --rsh-command --rmt-command",
    ),
    ("zip", "-TT --unzip-command"),
    ("rsync", "-e --rsh"),
    ("ssh scp", "ProxyCommand LocalCommand KnownHostsCommand"),
    ("sftp", "ProxyCommand"),
    ("sort", "--compress-program"),
    ("go", "-exec -toolexec -vettool"),
    (
        "git",
        "-O -u -x --open-files-in-pager --upload-pack --receive-pack --exec --extcmd --smtp-server --httpd",
    ),
];

/// Settings of git whose value is a command.
const GIT_SETTINGS: &str = "core.pager= core.editor= core.sshcommand= core.fsmonitor= core.askpass= sequence.editor= \
    diff.external= credential.helper=! gpg.program=";

/// Programs with an option whose value is a script.
const SCRIPT_OPTIONS: [(&str, char, &str); 9] = [
    ("fly flyctl", 'C', "--command"),
    ("xonsh elvish su runuser sg script vagrant newgrp", 'c', "--command"),
    ("nu", 'c', "--commands"),
    ("gcloud", '\0', "--command"),
    ("nix-shell", '\0', "--run"),
    ("nodemon", 'x', "--exec"),
    ("fc", 'e', "-e"),
    ("complete compgen", 'C', "-C"),
    ("bind", 'x', "-x"),
];

fn joined(words: &[Arg]) -> String {
    words.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// Returns the commands in the values of options.
fn option_scripts(name: &str, args: &[Arg]) -> Vec<String> {
    let Some((_, options)) = COMMAND_OPTIONS.iter().find(|(names, _)| is_in(names, name)) else {
        return Vec::new();
    };
    let value = |(at, arg): (usize, &Arg)| {
        let text = arg.text.strip_prefix("-o").filter(|_| name.starts_with('s')).unwrap_or(&arg.text);
        if is_in(options, text) {
            return args.get(at + 1).map(|it| it.text.clone());
        }
        let joined = options.split_ascii_whitespace().find_map(|option| {
            let rest = text.strip_prefix(option)?;
            rest.strip_prefix('=').or_else(|| (option.len() == 2).then_some(rest))
        });
        joined.map(str::to_owned)
    };
    let scripts = args.iter().enumerate().filter_map(value);
    let scripts = scripts.map(|it| it.strip_prefix("exec=").map(str::to_owned).unwrap_or(it));
    // `git push -u origin`
    scripts.filter(|it| !matches!(name, "git" | "go") || is_command(it)).collect()
}

/// Returns the commands that a script of sed runs: those behind its letter `e`, and texts that `s///e` puts in.
fn sed_commands(script: &str) -> Vec<String> {
    let is_address = |it: char| it.is_ascii_digit() || "$,~+! \t{".contains(it);
    let of = |line: &str| {
        let mut rest = line.trim_start_matches(is_address);
        // `/x/e`, and `/x/,/y/e`
        while let Some((_, after)) = rest.strip_prefix('/').and_then(|it| it.split_once('/')) {
            rest = after.trim_start_matches(is_address);
        }
        let put_in = rest.strip_prefix('s').and_then(|it| {
            let mut parts = it.split(it.chars().next()?).skip(2);
            let (text, flags) = (parts.next()?, parts.next()?);
            flags.contains('e').then_some(text)
        });
        let command = put_in.or_else(|| rest.strip_prefix('e')?.strip_prefix([' ', '\t']))?;
        Some(command.trim().to_owned()).filter(|it| !it.is_empty())
    };
    script.split(['\n', ';']).filter_map(of).collect()
}

/// Returns the commands in a text of make: recipes, those behind the `;` of a rule, and those of `$(shell …)`.
fn recipes(text: &str) -> String {
    let mut found = String::new();
    for line in text.lines() {
        let of_rule = || line.split_once(':').and_then(|(_, rest)| Some(rest.split_once(';')?.1));
        let recipe = line.strip_prefix('\t').or_else(of_rule).unwrap_or_default();
        let called = line.split("$(shell ").skip(1).map(|it| it.rsplit_once(')').map_or(it, |(it, _)| it));
        for command in [recipe.trim_start().trim_start_matches(['@', '-'])].into_iter().chain(called) {
            found.push_str(command);
            found.push('\n');
        }
    }
    found
}

/// Returns the words behind `--`.
fn behind_dashes(args: &[Arg]) -> Option<&[Arg]> {
    let at = args.iter().position(|it| it.text == "--")?;
    args.get(at + 1..).filter(|it| !it.is_empty())
}

impl Machine<'_> {
    /// Follows the commands in the words of a program. Returns `None` if the program is not one of those.
    pub(crate) fn inside(&mut self, name: &str, run: &Run, feed: &Feed) -> Option<Option<String>> {
        let args = run.args();
        self.scripts(name, option_scripts(name, args));
        match name {
            "ssh" | "autossh" | "mosh" => {
                let rest = Options::of(args, "BbcDEeFIiJLlmOoPpQRSWwM", "").rest;
                self.push(run.clone(), feed);
                let words = Options::of(rest.get(1..).unwrap_or_default(), "BbcDEeFIiJLlmOoPpQRSWw", "").rest;
                let script = match (words.is_empty(), &feed.text) {
                    (false, _) => joined(words),
                    (true, Some(text)) => text.to_string(),
                    (true, None) => return Some(None),
                };
                self.via(name, |it| it.at(Place::Remote, |it| it.script_fed(&script, feed)));
                Some(None)
            }
            "docker" | "podman" | "nerdctl" | "docker-compose" => self.container(name, run, feed),
            "kubectl" | "oc" | "lxc" | "incus" | "distrobox" | "toolbox" | "flatpak-spawn" | "nomad" => {
                let is_exec = args.iter().any(|it| is_in("exec enter run debug --host", &it.text));
                self.push(run.clone(), feed);
                let words = behind_dashes(args).filter(|_| is_exec)?.to_vec();
                let inner = Run { words, ..Run::default() };
                self.via(name, |it| it.at(Place::Container, |it| it.call(inner, feed)));
                Some(None)
            }
            "watch" | "hyperfine" => {
                let rest =
                    Options::of(args, "nqwmrMp", "--interval --warmup --runs --prepare --export-markdown")
                        .rest;
                let script = if name == "watch" {
                    joined(rest)
                } else {
                    rest.iter().map(|it| it.text.clone() + "\n").collect()
                };
                Some(self.in_shell(name, &script, None, feed))
            }
            "parallel" => {
                let rest = Options::of(
                    args,
                    "jJLNnSPaIdC",
                    "--jobs --joblog --max-args --colsep --arg-file --delay",
                )
                .rest;
                let end = rest.iter().position(|it| it.text.starts_with(":::")).unwrap_or(rest.len());
                let (words, given) = rest.split_at_checked(end).unwrap_or((rest, &[]));
                let script = joined(words);
                let has_place = script.contains("{}");
                let values: Vec<Arg> =
                    given.iter().filter(|it| !it.text.starts_with(":::")).cloned().collect();
                let values = match &feed.text {
                    _ if !values.is_empty() => values,
                    Some(text) => text.lines().map(Arg::plain).collect(),
                    None => vec![Arg { text: "{}".to_owned(), sort: Sort::Input }],
                };
                for value in values.into_iter().take(8) {
                    // A name that no line has.
                    self.variables().insert("parallel input".to_owned(), vec![value.clone()]);
                    let text = quoted(&value.text);
                    let script = match (script.is_empty(), has_place) {
                        (true, _) => value.text,
                        (_, true) => self.replaced(&script, "{}", &text)?,
                        (_, false) => format!("{script} {text}"),
                    };
                    self.in_shell(name, &script, None, &Feed { text: None, ..feed.clone() });
                }
                Some(None)
            }
            "make" => {
                let at = self.push(run.clone(), feed);
                let file = args.windows(2).find_map(|it| match it {
                    [option, file] if matches!(option.text.as_str(), "-f" | "--file" | "--makefile") => {
                        Some(file)
                    }
                    _ => None,
                });
                let names = ["GNUmakefile", "makefile", "Makefile"];
                let text = match file {
                    Some(file) if file.text == "-" => feed.text.clone(),
                    Some(file) => self.file(&file.text),
                    None => names.iter().find_map(|it| self.file(it)),
                };
                let given = args.iter().enumerate().filter_map(|(at, it)| match it.text.split_once('=') {
                    Some(("--eval", text)) => Some(text.to_owned()),
                    _ if it.text == "--eval" || it.text == "-E" => Some(args.get(at + 1)?.text.clone()),
                    _ => None,
                });
                let given: String = given.map(|it| recipes(&it)).collect();
                let script = given + &text.map(|it| recipes(&it)).unwrap_or_default();
                self.guesses(name, &run.words, at, feed);
                Some(self.in_shell(name, &script, None, &Feed::default()))
            }
            "runuser" if behind_dashes(args).is_some() => self.program_of(name, behind_dashes(args)?, feed),
            "sed" => {
                self.scripts(name, args.iter().flat_map(|it| sed_commands(&it.text)));
                None
            }
            "concurrently" => {
                self.push(run.clone(), feed);
                let words = Options::of(args, "nck", "--names --prefix-colors --kill-others").rest;
                self.scripts(name, words.iter().map(|it| &it.text));
                Some(None)
            }
            // Behind the five fields of a time, or a name such as `@daily`.
            "crontab" => {
                self.push(run.clone(), feed);
                let lines = feed.text.as_deref().unwrap_or_default().lines().map(|line| {
                    let fields = if line.starts_with('@') { 1 } else { 5 };
                    line.split_ascii_whitespace().skip(fields).collect::<Vec<_>>().join(" ")
                });
                self.scripts(name, lines);
                Some(None)
            }
            "ed" | "red" | "ex" | "vi" | "vim" | "nvim" | "less" => {
                let words = args.iter().filter_map(|it| it.text.strip_prefix('+'));
                self.scripts(name, words.filter_map(|it| it.trim_start_matches(':').strip_prefix('!')));
                let is_address = |it: char| it.is_ascii_digit() || " ,$.%:".contains(it);
                let command = |line: &'_ str| {
                    let line = line.trim_start_matches(is_address);
                    Some(line.trim_start_matches(['r', 'e', 'w', ' ']).strip_prefix('!')?.to_owned())
                };
                self.scripts(name, feed.text.as_deref().unwrap_or_default().lines().filter_map(command));
                None
            }
            "man" => {
                let pager = Options::of(args, "P", "--pager").value('P', "--pager")?;
                self.scripts(name, [pager]);
                None
            }
            "at" | "batch" => {
                self.push(run.clone(), feed);
                let script = feed.text.as_deref()?.to_owned();
                Some(self.in_shell(name, &script, None, &Feed::default()))
            }
            "tmux" | "screen" => {
                let at = self.push(run.clone(), feed);
                if let Some(session) = args.iter().position(|it| name == "screen" && it.text.ends_with('S')) {
                    self.program_of(name, args.get(session + 2..).unwrap_or_default(), &Feed::default());
                }
                let keys = |it: &&Arg| !matches!(it.text.as_str(), "Enter" | "C-m" | "KPEnter");
                let words = args.iter().filter(keys).filter(|it| it.text.contains(char::is_whitespace));
                self.scripts(name, words.map(|it| &it.text));
                self.guesses(name, &run.words, at, feed);
                Some(None)
            }
            "gdb" | "lldb" => {
                let values = args.windows(2).filter_map(|it| match it {
                    [option, value] if is_in("-ex --eval-command -iex -o --one-line", &option.text) => {
                        Some(value.text.trim_start())
                    }
                    _ => None,
                });
                let given = feed.text.as_deref().unwrap_or_default();
                let scripts = values.chain(given.lines().map(str::trim_start)).filter_map(|it| {
                    ["!", "shell ", "platform shell "].iter().find_map(|head| it.strip_prefix(head))
                });
                self.scripts(name, scripts);
                None
            }
            "cargo" => {
                let set = args.iter().filter_map(|it| it.text.split_once("runner=").map(|(_, value)| value));
                self.scripts(name, set.map(|it| it.trim_matches(['"', '\'', '[', ']'])));
                None
            }
            "git" => {
                self.git_runs(run, feed);
                None
            }
            "just" => {
                let at = args.iter().position(|it| it.text == "--command")?;
                self.program_of(name, args.get(at + 1..)?, feed)
            }
            "nix" | "direnv" => {
                let at =
                    args.iter().position(|it| matches!(it.text.as_str(), "-c" | "--command" | "exec"))?;
                self.program_of(name, args.get(at + 1 + usize::from(name == "direnv")..)?, feed)
            }
            _ => {
                let (_, letter, long) = SCRIPT_OPTIONS.iter().find(|(names, ..)| is_in(names, name))?;
                let at = args.iter().position(|it| {
                    let letters = it.text.strip_prefix('-').filter(|it| !it.starts_with('-'));
                    it.text == *long || letters.is_some_and(|it| it.ends_with(*letter))
                });
                let text = match at {
                    Some(at) => args.get(at + 1)?.text.clone(),
                    None => {
                        args.iter().find_map(|it| it.text.strip_prefix(long)?.strip_prefix('='))?.to_owned()
                    }
                };
                // `bind -x '"KEY":COMMAND'`
                let text = match text.split_once("\":") {
                    Some((_, text)) if name == "bind" => text.to_owned(),
                    _ => text,
                };
                // `script -c COMMAND FILE`
                let file = at.and_then(|at| args.get(at + 2)).filter(|_| name == "script");
                if let Some(file) = file.filter(|it| !it.text.starts_with('-')) {
                    let redirection = Redirection { descriptor: 1, mode: Mode::Write, target: file.clone() };
                    self.push(Run { redirections: vec![redirection], ..Run::default() }, feed);
                }
                Some(self.in_shell(name, &text, None, feed))
            }
        }
    }

    /// Follows scripts, each in a shell of its own.
    pub(crate) fn scripts(&mut self, name: &str, scripts: impl IntoIterator<Item = impl AsRef<str>>) {
        for script in scripts {
            self.in_shell(name, script.as_ref(), None, &Feed::default());
        }
    }

    /// Follows the program in these words, if there are any.
    fn program_of(&mut self, name: &str, words: &[Arg], feed: &Feed) -> Option<Option<String>> {
        let inner = Run { words: words.to_vec(), ..Run::default() };
        (!words.is_empty()).then(|| self.via(name, |it| it.call(inner, feed)))
    }

    /// Follows the commands that git starts.
    fn git_runs(&mut self, run: &Run, feed: &Feed) {
        let args = run.args();
        let texts: Vec<&str> = args.iter().map(|it| it.text.as_str()).collect();
        if let Some(at) = texts.iter().position(|it| *it == "foreach")
            && texts.contains(&"submodule")
        {
            let rest = Options::of(args.get(at + 1..).unwrap_or_default(), "", "").rest;
            self.in_shell("git", &joined(rest), None, feed);
        }
        if texts.contains(&"rebase") {
            let values = texts
                .windows(2)
                .filter_map(|it| matches!(it, ["-x" | "--exec", _]).then(|| it.last()).flatten());
            let joined = texts.iter().filter_map(|it| it.strip_prefix("--exec="));
            for text in values.copied().chain(joined) {
                self.in_shell("git", text, None, feed);
            }
        }
        if let Some(at) = texts.windows(2).position(|it| matches!(it, ["bisect", "run"])) {
            self.program_of("git", args.get(at + 2..).unwrap_or_default(), feed);
        }
        // `git config alias.x '!…'`, and `-c alias.x='!…'`, give a name to a script.
        if let Some(at) = texts.iter().position(|it| *it == "config") {
            let rest = texts.get(at + 1..).unwrap_or_default();
            let script = rest.windows(2).find_map(|it| match it {
                [name, value] if name.to_ascii_lowercase().starts_with("alias.") => value.strip_prefix('!'),
                [name, value] => Some(*value).filter(|it| name.contains('.') && is_command(it)),
                _ => None,
            });
            if let Some(script) = script {
                self.in_shell("git", script, None, feed);
            }
        }
        for text in texts.windows(2).filter_map(|it| it.first().filter(|it| **it == "-c").and(it.last())) {
            if let Some((name, script)) = text.split_once("=!")
                && name.starts_with("alias.")
            {
                self.in_shell("git", script, None, feed);
            }
            let begin = |it: &&str| text.get(..it.len()).is_some_and(|key| key.eq_ignore_ascii_case(it));
            let value = || text.split_once('=').map(|(_, value)| value).filter(|it| is_command(it));
            let known = GIT_SETTINGS.split(' ').find(begin).and_then(|it| text.get(it.len()..));
            if let Some(script) = known.or_else(value) {
                self.in_shell("git", script, None, &Feed::default());
            }
        }
    }

    fn container(&mut self, name: &str, run: &Run, feed: &Feed) -> Option<Option<String>> {
        let mut args =
            Options::of(run.args(), "Hclf", "--context --host --config --log-level --file --project-name -p")
                .rest;
        let is_sub = |it: &Arg| matches!(it.text.as_str(), "compose" | "container");
        let mut is_compose = name == "docker-compose";
        if let Some((sub, rest)) = args.split_first().filter(|(it, _)| is_sub(it)) {
            is_compose = sub.text == "compose";
            args = Options::of(rest, "fp", "--file --project-name --profile --env-file --project-directory")
                .rest;
        }
        let (sub, rest) = args.split_first()?;
        let letters = match sub.text.as_str() {
            "exec" => "euw",
            "run" => "aceehlmpuvw",
            _ => return None,
        };
        let options = Options::of(rest, letters, RUN_LONG);
        let (_, words) = options.rest.split_first()?;
        // Such a container has something of this machine.
        let shares =
            |(it, _): &(&str, _)| it.starts_with("-v") || is_in(SHARES, it.split('=').next().unwrap_or(it));
        let is_new = sub.text == "run" && !is_compose && !options.read.iter().any(shares);
        let mut words = words.to_vec();
        if let Some(entry) = options.value('\0', "--entrypoint").filter(|it| !it.is_empty()) {
            words.insert(0, Arg::plain(entry));
        }
        self.push(run.clone(), feed);
        if !words.is_empty() {
            let place = if is_new { Place::NewContainer } else { Place::Container };
            let inner = Run { words, ..Run::default() };
            self.via(name, |it| it.at(place, |it| it.call(inner, feed)));
        }
        Some(None)
    }
}
