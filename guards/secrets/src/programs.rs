//! Programs, by what they do with files and variables.

use hookbox_judge::runs_code;
use hookbox_shell::{base_name, is_in};

/// Programs that send what they are given.
pub(crate) const SENDERS: [&str; 14] = [
    "curl", "wget", "nc", "ncat", "netcat", "socat", "telnet", "http", "https", "xh", "scp", "sftp", "ftp",
    "rsync",
];

/// Programs that show or copy the contents of files.
pub(crate) const READERS: [&str; 60] = [
    "cat", "tac", "less", "more", "most", "bat", "batcat", "head", "tail", "nl", "od", "xxd", "hexdump",
    "strings", "base64", "base32", "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "awk", "gawk",
    "mawk", "sed", "cut", "tr", "sort", "uniq", "rev", "paste", "fold", "column", "diff", "cmp", "comm",
    "jq", "yq", "cp", "tar", "zip", "7z", "gzip", "openssl", "sqlite3", "view", "dd", "pr", "install", "vi",
    "vim", "nvim", "ex", "zcat", "xclip", "mv", "ln", "mapfile",
];

/// Programs that use a file with secrets and show nothing of it. Any other program may show it.
const USERS: &str = "ls test [ [[ stat echo printf cd git pwd mkdir rmdir rm touch chmod chown chgrp chattr setfacl file which \
    readlink realpath basename dirname du df wc md5sum sha1sum sha256sum sha512sum shasum cksum true false : export set \
    unset source . declare typeset local readonly alias eval exec trap read umask env sudo nohup time timeout nice watch \
    ssh ssh-add ssh-keygen ssh-copy-id ssh-agent ssh-keyscan autossh mosh sshfs gpg gpg2 gpg-agent age rage sops pass \
    docker podman docker-compose nerdctl kubectl helm kustomize k9s kubectx oc minikube kind terraform tofu terragrunt \
    pulumi ansible ansible-playbook ansible-vault vagrant packer vault consul nomad aws gcloud az gh glab doctl heroku fly \
    flyctl vercel netlify wrangler firebase supabase node npm npx pnpm yarn bun deno tsx ts-node python python3 pip uv \
    poetry ruby bundle rails rake php composer artisan java mvn gradle go cargo rustc make just task cmake dotnet mix elixir \
    psql pg_dump pg_restore mysql mysqldump redis-cli mongosh mongodump sqlite3 dotenv direnv dotenvx foreman honcho \
    overmind pm2 gunicorn uvicorn flask celery nginx caddy haproxy traefik stunnel certbot mkcert keytool jarsigner \
    apksigner codesign signtool cosign minisign openvpn wg wg-quick systemctl service launchctl crontab code cursor idea \
    subl open xdg-open emacs nano micro hx detect-secrets trufflehog gitleaks git-crypt ggshield talisman pre-commit \
    inotifywait entr fswatch jest vitest mocha pytest tox nox rspec phpunit go-test act actionlint restic borg rclone \
    duplicity cryptsetup mount umount losetup install-key find fd locate xargs perl";

/// Returns true if a program is known to use its files without showing them.
fn is_user(program: &str) -> bool {
    is_in(USERS, program) || runs_code(program)
}

/// Returns true if the use that a program makes of its files is known.
pub(crate) fn is_known(program: &str) -> bool {
    READERS.contains(&program) || is_user(program)
}

/// Returns true if a program shows or copies the files that its words name: a reader, or a program that is not known.
pub(crate) fn shows_files(program: &str) -> bool {
    READERS.contains(&program) || !is_user(program)
}

/// Returns true if a program prints what is in its standard input.
pub(crate) fn prints_input(program: &str) -> bool {
    program == "tee" || READERS.contains(&program) && !matches!(program, "openssl" | "sqlite3")
}

/// Returns true for a program that copies files into a container.
pub(crate) fn copies_to_container(program: &str, words: &[&str]) -> bool {
    matches!(program, "docker" | "podman" | "nerdctl" | "kubectl" | "oc") && words.contains(&"cp")
}

/// Returns true if a program that mostly uses its files shows or copies them with these words.
pub(crate) fn shows_with(program: &str, words: &[&str]) -> bool {
    let has = |option, value| words.windows(2).any(|it| it == [option, value]);
    match program {
        "gpg" | "gpg2" | "age" => words.contains(&"-o-") || has("-o", "-") || has("--output", "-"),
        _ if program.starts_with("python") => has("-m", "json.tool") || has("-m", "base64"),
        _ => copies_to_container(program, words),
    }
}

/// Returns true if a program writes its words into a file: an edit, or a setting.
pub(crate) fn keeps_words(program: &str, words: &[&str]) -> bool {
    let is_in_place = |it: &&str| it.starts_with('-') && it.len() < 6 && it.contains('i');
    match program {
        "git" => {
            let kept = ["remote", "config", "clone", "submodule", "tag", "notes"];
            words.iter().any(|it| kept.contains(it))
        }
        "perl" | "ruby" => words.iter().any(is_in_place),
        "npm" | "pnpm" | "yarn" | "pip" | "composer" => words.contains(&"config"),
        _ => is_edit(program, words),
    }
}

/// Returns true if a word is the value of a long option, as in `--tls-key server.key`. One with a single dash must say what
/// it is for, as in `-key server.key`: `-dump` has no value.
pub(crate) fn is_value(words: &[&str], word: &str) -> bool {
    let says = ["key", "cert", "cred", "env", "conf", "file", "secret", "auth", "token", "tls", "ident"];
    let is_long = |it: &str| {
        it.starts_with("--")
            || it.starts_with('-') && it.len() > 2 && says.iter().any(|part| it.contains(part))
    };
    words.windows(2).any(|it| matches!(it, [option, value] if is_long(option) && std::ptr::eq(*value, word)))
}

/// Readers whose first operand is a pattern or a program.
const WITH_PATTERN: [&str; 13] =
    ["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "awk", "gawk", "mawk", "sed", "jq", "yq"];

/// Returns true if a program prints every variable.
pub(crate) fn is_dump(program: &str, rest: &[&str]) -> bool {
    match program {
        "env" | "printenv" | "set" | "history" => rest.is_empty(),
        "export" | "declare" => matches!(rest, [] | ["-p" | "-x" | "-px" | "-xp"]),
        _ => false,
    }
}

pub(crate) fn is_about_secrets(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    ["token", "secret", "passw", "key", "credential"].iter().any(|it| word.contains(it))
}

/// Returns true if `find` runs a program that shows files.
pub(crate) fn starts_reader(words: &[&str]) -> bool {
    let starts = |word: &&str| matches!(*word, "-exec" | "-execdir" | "-x" | "-X" | "--exec");
    words.iter().any(starts) && words.iter().any(|it| READERS.contains(&base_name(it)))
}

/// Returns true if a program changes its files and shows nothing.
pub(crate) fn is_edit(program: &str, words: &[&str]) -> bool {
    program == "sed" && words.iter().any(|it| it.starts_with("-i") || it.starts_with("--in-place"))
}

/// Returns the words of a program that may be files that it reads.
pub(crate) fn operands<'a, 'w>(
    program: &str,
    words: &'a [&'w str],
) -> impl Iterator<Item = &'a &'w str> + use<'a, 'w> {
    let operand = |word: &&&str| !word.starts_with('-');
    let with_pattern = WITH_PATTERN.contains(&program) && !words.iter().any(|it| matches!(*it, "-e" | "-f"));
    let first = words.iter().filter(operand).count();
    // The last operand is where a copy goes.
    let is_copy = (matches!(program, "cp" | "mv" | "ln" | "install") || copies_to_container(program, words))
        && first > 1;
    let certificates =
        program == "openssl" && matches!(words.first(), Some(&("x509" | "req" | "s_client" | "verify")));
    let count = if certificates { 0 } else { first - usize::from(is_copy) };
    words.iter().filter(move |word| !word.starts_with('-')).take(count).skip(usize::from(with_pattern))
}

/// Returns true if a program with many subcommands sends, or serves, the files that these words name.
pub(crate) fn is_upload(program: &str, words: &[&str]) -> bool {
    match program {
        "aws" | "gsutil" | "gcloud" | "rclone" | "mc" | "s3cmd" => {
            words.iter().any(|it| matches!(*it, "cp" | "copy" | "sync" | "mv" | "put" | "rsync"))
        }
        "gh" | "glab" => words.iter().any(|it| matches!(*it, "gist" | "snippet" | "upload")),
        "az" => words.contains(&"upload"),
        "kubectl" => words.contains(&"configmap"),
        "mail" | "mailx" | "mutt" | "sendmail" | "magic-wormhole" | "wormhole" | "croc" => true,
        "php" => words.contains(&"-S"),
        _ => program.starts_with("python") && words.contains(&"http.server"),
    }
}

/// Returns true if a subcommand of git shows the contents of files.
pub(crate) fn shows_contents(words: &[&str]) -> bool {
    let names_only = words.iter().any(|it| it.starts_with("--stat") || it.starts_with("--name-"));
    let sub = words.iter().find(|it| !it.starts_with('-'));
    let shows = match sub {
        Some(&("show" | "diff" | "blame" | "cat-file" | "annotate")) => true,
        // Git tracks few secrets, but this reads any file.
        Some(&"grep") => words.contains(&"--no-index"),
        Some(&"log") => words.iter().any(|it| matches!(*it, "-p" | "-u" | "--patch")),
        _ => false,
    };
    shows && !names_only
}

/// Returns true if Perl or Ruby print the lines of their files, and do not edit them.
pub(crate) fn is_filter(words: &[&str]) -> bool {
    let short = || words.iter().filter(|it| it.starts_with('-') && !it.starts_with("--") && it.len() < 6);
    short().any(|it| it.contains(['n', 'p'])) && !short().any(|it| it.contains('i'))
}
