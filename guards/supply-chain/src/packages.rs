//! Packages from registries and hosts that are not well known, and switched off checks.

use hookbox_shell::{Reading, Run, assignment, is_in};

use crate::{Finding, Preset, Step};

/// Hosts of packages that many people watch.
const HOSTS: &str = "pypi.org files.pythonhosted.org test.pypi.org download.pytorch.org registry.npmjs.org \
    registry.yarnpkg.com npm.pkg.github.com jsr.io deno.land esm.sh github.com gitlab.com bitbucket.org \
    codeberg.org crates.io index.crates.io static.crates.io proxy.golang.org sum.golang.org rubygems.org \
    packagist.org repo.maven.apache.org repo1.maven.org api.nuget.org conda.anaconda.org localhost";

/// Programs that install packages.
const MANAGERS: &str = "pip pip3 pipx uv uvx poetry pdm npm npx pnpm yarn bun bunx deno gem bundle cargo go \
    composer mvn gradle dotnet nuget brew apt apt-get dnf yum zypper rpm dpkg add-apt-repository \
    yum-config-manager conda code snap flatpak apk";

/// Options and words that switch a check off.
const UNCHECKED: &str = "--allow-unauthenticated --nogpgcheck --no-gpg-check --no-gpg-checks --trusted-host \
    --allow-untrusted --force-yes strict-ssl -insecure --dangerous Acquire::AllowInsecureRepositories=true \
    disable-tls";

/// Variables that switch a check off, or name a registry.
const VARIABLES: &str = "PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST UV_INDEX_URL UV_DEFAULT_INDEX \
    npm_config_registry NPM_CONFIG_REGISTRY GOPROXY GOSUMDB GONOSUMDB GONOSUMCHECK GOINSECURE GOFLAGS \
    NODE_TLS_REJECT_UNAUTHORIZED PYTHONHTTPSVERIFY GIT_SSL_NO_VERIFY";

/// Keys of git with which it runs a program, or checks less.
const OF_GIT: &str = "core.hooksPath core.fsmonitor core.sshCommand http.sslVerify protocol.ext.allow \
    core.editor";

const UNKNOWN: Finding = Finding {
    rule: "unknown-host",
    from: Preset::Standard,
    what: "This takes code from a host of packages that is not well known. Who owns the host can send anything.",
    safer: "",
    step: Step::Look,
};

const CHECKS: Finding = Finding {
    rule: "unchecked",
    from: Preset::Standard,
    what: "This switches a check of downloaded code off, or lets a tool run another program.",
    safer: "",
    step: Step::Look,
};

/// Judges a command.
pub(crate) fn judge(run: &Run, hosts: &[String]) -> Option<Finding> {
    let texts = run.texts();
    let mut program = run.program().unwrap_or_default();
    let mut args = texts.get(1..).unwrap_or_default();
    if let ("python" | "python3", ["-m", module, rest @ ..]) = (program, args) {
        (program, args) = (module, rest);
    }
    let set = run.assignments.iter().map(|(name, value)| (name.as_str(), value.text.as_str()));
    let stated = matches!(program, "export" | "declare" | "env" | "go" | "typeset");
    let stated = args.iter().filter(|_| stated).filter_map(|word| assignment(word));
    if set.chain(stated).any(|(name, value)| weakens(name, value, hosts)) {
        return Some(CHECKS);
    }
    let is_unknown = |word: &&str| url(word).is_some_and(|it| !is_known(it, hosts));
    // `npx PACKAGE` runs a program of a package, which may be a URL.
    let is_started = run
        .via
        .iter()
        .any(|it| matches!(it.as_str(), "npx" | "bunx" | "npm" | "pnpm" | "yarn" | "uvx" | "uv" | "pipx"));
    // The options of the program that starts it name its source: `uvx --from git+https://…`.
    let options = run.whole.len().checked_sub(texts.len()).and_then(|end| run.whole.get(..end));
    let names_source = || options.into_iter().flatten().any(|it| is_unknown(&it.text.as_str()));
    let is_foreign = |it: &&str| it.starts_with("github:") || is_unknown(it);
    if is_started && (texts.first().is_some_and(is_foreign) || names_source()) {
        return Some(UNKNOWN);
    }
    match program {
        "git" => of_git(args),
        "apt-key" if args.iter().any(|it| matches!(*it, "add" | "adv")) => Some(UNKNOWN),
        "helm" | "kubectl" => args.iter().any(|it| it.starts_with("http://")).then_some(UNKNOWN),
        // A path of a repository is not enough to know its owner.
        "npx" | "bunx" if args.iter().any(|it| it.starts_with("github:")) => Some(UNKNOWN),
        _ if !is_in(MANAGERS, program) => None,
        _ if args.iter().any(|it| is_in(UNCHECKED, it)) && !args.starts_with(&["config", "get"]) => {
            Some(CHECKS)
        }
        "cargo" if args.windows(2).any(|it| matches!(it, ["--registry", name] if *name != "crates-io")) => {
            Some(UNKNOWN)
        }
        "npm" if of_script(args) => Some(CHECKS),
        _ => args.iter().any(is_unknown).then_some(UNKNOWN),
    }
}

/// Returns the URL in a word, also behind `OPTION=` and `git+`.
fn url(word: &str) -> Option<&str> {
    let at = word.find("://")?;
    let before = word.get(..at)?;
    let start = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '+').map_or(0, |it| it + 1);
    word.get(start..)
}

/// Returns true if a URL is encrypted, and its host is known.
fn is_known(url: &str, hosts: &[String]) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().split(':').next().unwrap_or_default();
    let is_local = matches!(host, "localhost" | "127.0.0.1") || scheme.ends_with("file");
    let is_plain = scheme == "http" || scheme.ends_with("+http");
    is_local || !is_plain && (is_in(HOSTS, host) || hosts.iter().any(|it| it == host))
}

/// Judges the variables that a line exports.
pub(crate) fn exported(reading: &Reading, hosts: &[String]) -> Option<Finding> {
    let exports = reading.runs.iter().filter(|it| it.program() == Some("export"));
    let words = exports.flat_map(Run::args).filter_map(|it| assignment(&it.text));
    let mut weak = words.filter(|(name, value)| weakens(name, value, hosts));
    weak.next().map(|_| CHECKS)
}

fn weakens(name: &str, value: &str, hosts: &[String]) -> bool {
    match name {
        "NODE_TLS_REJECT_UNAUTHORIZED" | "PYTHONHTTPSVERIFY" => value == "0",
        "GIT_SSL_NO_VERIFY" => !matches!(value, "" | "0" | "false"),
        "GOSUMDB" => value == "off",
        "GOFLAGS" => value.contains("insecure"),
        "GOPROXY" => value.split([',', '|']).any(|it| url(it).is_some_and(|it| !is_known(it, hosts))),
        _ if !is_in(VARIABLES, name) => false,
        _ => url(value).is_none_or(|it| !is_known(it, hosts)),
    }
}

/// Judges the words of git: a value for a key that runs a program.
fn of_git(args: &[&str]) -> Option<Finding> {
    let is_key = |word: &str| OF_GIT.split(' ').any(|it| it.eq_ignore_ascii_case(word));
    let sets = args.iter().enumerate().any(|(at, word)| match word.split_once('=') {
        Some((key, _)) => is_key(key) && at > 0,
        None => {
            let value = args.get(at + 1);
            // The directory of a project's own hooks, which are in its repository.
            let is_own = word.eq_ignore_ascii_case("core.hooksPath")
                && value.is_some_and(|it| {
                    let it = it.trim_start_matches("./").trim_end_matches('/');
                    matches!(it, ".husky" | ".husky/_" | ".githooks")
                });
            is_key(word) && args.contains(&"config") && value.is_some() && !is_own
        }
    });
    let aliases = args.iter().any(|it| it.starts_with('!') && it.contains('|') && it.contains("curl"));
    (sets || aliases || args.iter().any(|it| it.starts_with("ext::"))).then_some(CHECKS)
}

/// Returns true if `npm pkg set` writes a script that an installation runs.
fn of_script(args: &[&str]) -> bool {
    args.starts_with(&["pkg", "set"])
        && args.iter().any(|it| {
            ["scripts.preinstall=", "scripts.install=", "scripts.postinstall=", "scripts.prepare="]
                .iter()
                .any(|start| it.starts_with(start))
        })
}
