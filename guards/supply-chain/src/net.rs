//! Code that comes from the net and runs at once.

use hookbox_shell::{Arg, Mode, Reading, Run, Unread, base_name, is_in};

use crate::{Finding, Preset, Step};

const DOWNLOADERS: &str = "curl wget fetch http https xh aria2c lwp-download lynx nc ncat socat dig ftp";

/// Programs that run what they read, by the beginnings of their names.
const INTERPRETERS: &str = "sh csh tcsh bash zsh dash ksh fish ash python node perl ruby php deno bun pwsh \
    powershell lua source osascript";

const RUNS: Finding = Finding {
    rule: "unread-code",
    from: Preset::Relaxed,
    what: "This runs code from the net that nobody has read. Its server can send other code than a browser shows.",
    safer: "curl -fsSL https://example.com/install.sh -o /tmp/install.sh",
    step: Step::Replace,
};

/// Judges a line. `serves` is true if the agent may have started a server on this machine.
pub(crate) fn judge(reading: &Reading, serves: bool) -> Option<Finding> {
    let serves = serves || self::serves(reading);
    let downloads = |run: &Run| is_download(run) && (serves || !is_own(run));
    let substituted = |run: &Run| reading.runs.get(run.inner.clone()).into_iter().flatten();
    let has_download = reading.runs.iter().any(downloads);
    // A shell would run a text that a download prints. A shell that reads a pipe is judged by the commands before it.
    let is_piped = |run: &Run| runs_input(run) && !run.input.is_empty();
    let unread = has_download
        && reading.unread.contains(&Unread::Script)
        && reading.runs.iter().any(|run| is_interpreter(run) && !is_piped(run));
    let is_fed = reading.runs.iter().any(|run| {
        runs_input(run) && sources(reading, run).iter().any(|it| downloads(it))
            || is_interpreter(run) && substituted(run).any(downloads)
            // `source <(curl …)`
            || runs_files(run) && has_download && texts(run).any(|it| it.starts_with("/dev/fd/"))
            || runs_value(run) && sources(reading, run).iter().any(|it| downloads(it))
            // A shell whose input or output is a connection.
            || matches!(run.program(), Some("nc" | "ncat")) && run.texts().iter().any(|it| matches!(*it, "-e" | "-c"))
            || is_interpreter(run) && texts(run).any(|it| it.starts_with("/dev/tcp/"))
            || run.program().is_none() && substituted(run).any(downloads)
    });
    if unread || is_fed || in_code(reading) {
        return Some(RUNS);
    }
    runs_file(reading).map(|from| Finding { from, ..RUNS })
}

/// Returns true if a command prints or writes what a server sends.
fn is_download(run: &Run) -> bool {
    let texts = run.texts();
    let has = |words: &[&str]| words.iter().all(|it| texts.contains(it));
    match run.program() {
        Some("gh") => matches!(texts.get(1), Some(&("gist" | "api"))),
        Some("openssl") => has(&["s_client"]),
        Some("aws") => has(&["s3", "cp", "-"]),
        Some("gsutil" | "gcloud" | "rclone") => has(&["cat"]),
        Some("git") => has(&["archive"]) && texts.iter().any(|it| it.starts_with("--remote")),
        other => other.is_some_and(|it| is_in(DOWNLOADERS, it)),
    }
}

/// Returns true if a line starts a program that serves files.
pub(crate) fn serves(reading: &Reading) -> bool {
    reading.runs.iter().any(|run| {
        let has = |words: &[&str]| run.args().iter().any(|it| words.contains(&it.text.as_str()));
        match run.program() {
            Some(
                "serve" | "http-server" | "live-server" | "httpd" | "darkhttpd" | "miniserve" | "webfsd",
            ) => true,
            Some("npx" | "bunx" | "pnpm") => has(&["serve", "http-server", "live-server", "dev", "start"]),
            Some("php") => has(&["-S"]),
            Some("busybox" | "ruby") => has(&["httpd", "-run"]),
            Some("caddy") => has(&["file-server", "run"]),
            Some("uvicorn" | "gunicorn" | "flask" | "hypercorn" | "waitress-serve") => true,
            Some("kubectl") => has(&["port-forward"]),
            Some("docker" | "podman") => has(&["-p", "--publish"]),
            Some("ssh") => {
                run.args().iter().any(|it| it.text.starts_with('-') && it.text.contains(['L', 'R']))
            }
            Some("npm" | "yarn" | "bun") => has(&["dev", "start", "serve"]),
            Some("node" | "deno") => run.args().iter().any(|it| it.text.contains("serve")),
            Some("nc" | "ncat") => {
                run.args().iter().any(|it| it.text.starts_with('-') && it.text.contains('l'))
            }
            Some("socat") => run.args().iter().any(|it| it.text.to_ascii_uppercase().contains("LISTEN")),
            Some(name) if name.starts_with("python") => {
                let is_server = |it: &str| {
                    ["http.server", "HTTPServer", "runserver", "serve"].iter().any(|part| it.contains(part))
                };
                run.args().iter().any(|it| is_server(&it.text))
            }
            Some(_) => false,
            None => false,
        }
    })
}

/// Returns true if `curl` or `wget` only asks a server on this machine, and follows it nowhere else.
fn is_own(run: &Run) -> bool {
    // Options that neither name another server nor follow one.
    let is_harmless = |it: &str| {
        matches!(it, "--silent" | "--fail" | "--show-error" | "--quiet" | "-q" | "-qO-" | "-O-")
            || it
                .strip_prefix('-')
                .is_some_and(|it| !it.is_empty() && it.chars().all(|it| "sSf".contains(it)))
    };
    let is_local = |it: &str| {
        let rest = it.strip_prefix("http://").or_else(|| it.strip_prefix("https://")).unwrap_or(it);
        let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        let (name, port) = host.rsplit_once(':').unwrap_or((host, "0"));
        matches!(name, "localhost" | "127.0.0.1") && port.bytes().all(|it| it.is_ascii_digit())
    };
    let (options, places): (Vec<_>, Vec<_>) = run.args().iter().partition(|it| it.text.starts_with('-'));
    let has_proxy = run.assignments.iter().any(|(name, _)| name.to_ascii_lowercase().ends_with("_proxy"));
    matches!(run.program(), Some("curl" | "wget"))
        && !has_proxy
        && !places.is_empty()
        && places.iter().all(|it| is_local(&it.text))
        && options.iter().all(|it| is_harmless(&it.text))
        && (run.program() == Some("curl") || options.iter().any(|it| it.text.ends_with("O-")))
}

fn is_interpreter(run: &Run) -> bool {
    let Some(program) = run.program() else { return false };
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    is_in(INTERPRETERS, name) || matches!(program, "." | "eval")
}

/// Returns true if a program runs a file that it is given, or what is in it.
fn runs_files(run: &Run) -> bool {
    is_interpreter(run) || matches!(run.program(), Some("make" | "dpkg" | "rpm"))
}

/// Returns true if a program runs the value of a variable: `while read l; do eval "$l"; done`.
fn runs_value(run: &Run) -> bool {
    let is_value = |it: &Arg| !it.is_plain() && it.text.starts_with(['$', '{']);
    let is_code = |it: &[Arg]| matches!(it, [option, code] if option.text == "-c" && is_value(code));
    match run.program() {
        Some("eval") => run.args().iter().any(is_value),
        _ => is_interpreter(run) && run.args().windows(2).any(is_code),
    }
}

/// Returns true if a program runs what it reads from its standard input, now or later.
fn runs_input(run: &Run) -> bool {
    let texts = run.texts();
    let args = texts.get(1..).unwrap_or_default();
    match run.program() {
        Some("crontab") => return args.contains(&"-"),
        Some("at" | "batch") => {
            return !args.iter().any(|it| matches!(*it, "-f" | "-l" | "-r" | "-d" | "-c"));
        }
        _ if !is_interpreter(run) => return false,
        _ => {}
    }
    match args.iter().find(|it| !it.starts_with('-') || **it == "-") {
        _ if args
            .iter()
            .any(|it| matches!(*it, "-n" | "-c" | "-e" | "-m" | "-p" | "--eval" | "-ne" | "-pe")) =>
        {
            false
        }
        None | Some(&"-") => true,
        // The words behind `-s` are for the script.
        Some(_) => args.iter().any(|it| it.starts_with("-s")),
    }
}

/// Returns the commands that feed this one, directly or through others.
pub(crate) fn sources<'a>(reading: &'a Reading, run: &Run) -> Vec<&'a Run> {
    let feeding = reading.feeding(run);
    reading.runs.iter().zip(feeding).filter_map(|(it, feeds)| feeds.then_some(it)).collect()
}

/// Returns the texts of a command: its arguments and redirections.
pub(crate) fn texts(run: &Run) -> impl Iterator<Item = &str> {
    let targets = run.redirections.iter().map(|it| it.target.text.as_str());
    run.args().iter().map(|it| it.text.as_str()).chain(targets)
}

/// Returns the loosest preset that stops a line which runs a file that it downloads, or a file of an archive.
fn runs_file(reading: &Reading) -> Option<Preset> {
    let mut files: Vec<String> = Vec::new();
    let mut has_unpacked = false;
    for run in &reading.runs {
        let texts = run.texts();
        let program = run.program().unwrap_or_default();
        let is_started = |word: &&&str| files.iter().any(|it| it == base_name(word));
        let installs = matches!(program, "dpkg" | "rpm" | "apt" | "apt-get" | "dnf" | "yum");
        // An interpreter runs its first operand; the others are data.
        let script = texts.iter().skip(1).find(|it| !it.starts_with('-')).filter(|_| is_interpreter(run));
        let words = if installs { texts.as_slice() } else { texts.get(..1).unwrap_or_default() };
        let mut fed = if runs_input(run) { sources(reading, run) } else { Vec::new() };
        // The words of a download are not its files.
        fed.retain(|it| it.program().is_some_and(|it| !is_in(DOWNLOADERS, it)));
        let read = run.redirections.iter().filter(|it| it.mode == Mode::Read && runs_input(run));
        let read: Vec<&str> =
            fed.iter().flat_map(|it| it.texts()).chain(read.map(|it| it.target.text.as_str())).collect();
        if words.iter().chain(script).chain(&read).any(|it| is_started(&it)) && !texts.contains(&"-n") {
            return Some(Preset::Relaxed);
        }
        // The archive may be data for a script that was there before, which is rarely one of a shell.
        let of_shell = script.filter(|_| program.ends_with("sh") || matches!(program, "." | "source"));
        let mut own = words.iter().filter(|it| it.contains('/')).chain(of_shell);
        if has_unpacked && own.any(|it| !["/bin/", "/usr/"].iter().any(|dir| it.starts_with(dir))) {
            return Some(Preset::Standard);
        }
        let is_fed = || {
            let all = sources(reading, run);
            all.into_iter().filter_map(Run::program).any(|it| is_in(DOWNLOADERS, it))
        };
        if is_in(DOWNLOADERS, program) || program == "tee" && is_fed() {
            let written = run.redirections.iter().filter(|it| it.mode != Mode::Read);
            files.extend(written.map(|it| base_name(&it.target.text).to_owned()));
            files.extend(texts.iter().skip(1).map(|it| base_name(it).to_owned()));
        }
        has_unpacked |= matches!(program, "tar" | "unzip" | "cpio" | "7z")
            && (is_fed() || texts.iter().skip(1).any(|it| files.iter().any(|file| file == base_name(it))));
    }
    None
}

/// Returns true if code in another language downloads code, and runs it.
fn in_code(reading: &Reading) -> bool {
    let loads = [
        "urlopen(",
        "requests.get(",
        "fetch(",
        "DownloadString",
        "httpx.get(",
        "get(\"http",
        "get('http",
        "URI.open(\"http",
        "URI.open('http",
        "file_get_contents(\"http",
        "file_get_contents('http",
    ];
    let runs = ["exec(", "eval", "iex"];
    let is_one = |text: &str| {
        let text = text.to_ascii_lowercase();
        let has = |it: &&str| text.contains(&it.to_ascii_lowercase());
        loads.iter().any(has) && runs.iter().any(has)
    };
    reading.code.iter().any(|it| is_one(&it.text))
}
