//! The files and variables that hold secrets, by their names.

use hookbox_sdk::text::Secrets;

/// Endings of paths to files with secrets, with commas between them. The first component must match as a whole.
const FILES: &str = ".claude/.credentials.json, id_rsa, id_dsa, id_ecdsa, id_ed25519, .netrc, ~/.npmrc, \
    $HOME/.npmrc, .pypirc, .pgpass, .git-credentials, .aws/credentials, .kube/config, .docker/config.json, \
    .config/gh/hosts.yml, .config/op/config, .cargo/credentials, .cargo/credentials.toml, \
    .config/gcloud/credentials.db, application_default_credentials.json, config/master.key, etc/shadow, \
    etc/gshadow, rclone/rclone.conf, .s3cfg, .config/hub, doctl/config.yaml, \
    .terraform.d/credentials.tfrc.json, sops/age/keys.txt, config/secrets.yml, secrets.json, \
    serviceAccountKey.json, .boto, etc/master.passwd, kubernetes/admin.conf, System.keychain, \
    .azure/accessTokens.json, .azure/msal_token_cache.json, ~/.age/key.txt, login.keychain-db, \
    login.keychain, logins.json, key4.db, Login Data, .vault-token, .htpasswd, .my.cnf, master.key, \
    .terraformrc, .dockercfg, .gem/credentials, service-account.json, service_account.json, \
    serviceAccount.json, cookies.sqlite, Cookies, .codex/auth.json, .gemini/oauth_creds.json, \
    huggingface/token, .huggingface/token, .config/github-copilot/hosts.json, \
    .config/github-copilot/apps.json, .config/glab-cli/config.yml, .config/stripe/config.toml, \
    .config/configstore/firebase-tools.json, .config/netlify/config.json, com.vercel.cli/auth.json, \
    .fly/config.yml, .railway/config.json, .supabase/access-token, .kaggle/kaggle.json, .databrickscfg, \
    .snowsql/config, .composer/auth.json, .config/composer/auth.json, .config/gcloud/access_tokens.db, \
    .vault_pass, .dev.vars, rancher/k3s/k3s.yaml, kubeconfig, kubeconfig.yaml, kubeconfig.yml, fish_history, \
    fish/fish_variables, login.keyring";

fn files() -> impl Iterator<Item = &'static str> {
    FILES.split(", ")
}

fn directories() -> impl Iterator<Item = &'static str> {
    DIRECTORIES.split(' ')
}

/// Directories in which every file is a secret, but for those in [`PUBLIC`].
const DIRECTORIES: &str = ".ssh .gnupg .aws .password-store run/secrets etc/wireguard";

/// Files in these directories that are not secret.
const PUBLIC: [&str; 6] = ["config", "known_hosts", "authorized_keys", "environment", "pubring.kbx", "agent"];

/// Ends of the names of `.env` files that only show which names there are, and of those with harmless values.
const EXAMPLES: [&str; 8] = ["example", "sample", "template", "dist", "tpl", "defaults", "schema", "test"];

/// Parts of the names of certificates, which are public.
const CERTIFICATES: [&str; 6] = ["cert", "chain", "fullchain", "ca", "pub", "public"];

/// Returns true if a path names a file or directory with secrets. `*` stands for any file in a directory.
pub(crate) fn is_secret_path(path: &str) -> bool {
    if path.contains(['*', '?', '[']) && may_be_secret(path.trim_end_matches('/')) {
        return true;
    }
    let path = path.trim_end_matches(['/', '*']);
    // The end of a path whose beginning is a variable of a program.
    if path == "/.npmrc" {
        return true;
    }
    let path = [".gz", ".backup"].iter().find_map(|end| path.strip_suffix(end)).unwrap_or(path);
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    if name.is_empty() || name.contains(char::is_whitespace) && !files().any(|file| path.ends_with(file)) {
        return false;
    }
    let is_example = matches!(name.rsplit_once('.'), Some((_, "example" | "sample" | "template")));
    if is_example {
        return false;
    }
    is_env(name)
        || FILES.contains(name) && files().any(|file| ends_with(path, file))
        || is_key(name)
        || name.starts_with('.') && name.ends_with("_history")
        || name.starts_with("ssh_host_") && name.ends_with("_key")
        || name.starts_with("client_secret") && name.ends_with(".json")
        || directories().any(|it| ends_with(path, it))
        || is_below(directory) && !PUBLIC.contains(&name) && !name.ends_with(".pub")
        || name == "environ" && path.starts_with("/proc/")
}

/// Returns true if a pattern of the files that a search shows fits those with secrets: `**/credentials`, `*.{env,pem}`.
pub(crate) fn is_secret_glob(glob: &str) -> bool {
    let braced = glob.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let all: Vec<String> = match braced {
        Some((before, (choices, after))) => {
            choices.split(',').map(|it| format!("{before}{it}{after}")).collect()
        }
        None => vec![glob.to_owned()],
    };
    let is_secret = |it: &str| {
        let is_env = it.contains("env") && fits_name(it, ".env");
        it == "credentials" || is_env || is_secret_path(it)
    };
    all.iter().any(|it| is_secret(it.rsplit("**/").next().unwrap_or(it)))
}

/// Returns true if a pattern for names of files fits a file or directory with secrets. A component of a few letters fits
/// too much: `*.json` and `s*`. Below a hidden directory it does not: `.*/credentials` and `.config/*/hosts.yml`.
fn may_be_secret(pattern: &str) -> bool {
    let wanted: Vec<&str> = pattern.split('/').collect();
    let letters = |it: &str| {
        let stem = it.rsplit_once('.').map_or(it, |(stem, _)| if stem.is_empty() { it } else { stem });
        stem.chars().filter(|it| !"*?[]!^-".contains(*it)).count()
    };
    let fits = |name: &str| {
        let parts: Vec<&str> = name.split('/').filter(|it| !matches!(*it, "~" | "$HOME")).collect();
        let ends = (0..wanted.len()).filter_map(|at| wanted.get(at..at + parts.len()));
        ends.into_iter().any(|some| {
            let is_hidden = some.len() > 1
                && some.first().is_some_and(|it| it.starts_with('.'))
                && some.last().is_some_and(|it| letters(it) > 3);
            some.iter().any(|it| it.contains(['*', '?', '[']))
                && some
                    .iter()
                    .zip(&parts)
                    .all(|(pattern, part)| (is_hidden || letters(pattern) > 1) && fits_name(pattern, part))
        })
    };
    let is_public = |it: &str| it.ends_with(".pub") || EXAMPLES.iter().any(|end| it.ends_with(end));
    !wanted.last().is_some_and(|it| is_public(it) || PUBLIC.contains(it))
        && files().chain(directories()).chain([".env"]).any(fits)
}

/// Returns true if a name fits a pattern of a shell.
fn fits_name(pattern: &str, name: &str) -> bool {
    hookbox_shell::fits(pattern.as_bytes(), name.as_bytes())
}

/// Returns true if the last components of a path are these.
fn ends_with(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

fn is_below(directory: &str) -> bool {
    let directory = format!("{directory}/");
    directories().any(|it| {
        let inside = format!("{it}/");
        directory.starts_with(&inside) || directory.contains(&format!("/{inside}"))
    })
}

/// Returns true for a file of variables, such as `.env.local`.
pub(crate) fn is_env_file(path: &str) -> bool {
    is_env(path.rsplit('/').next().unwrap_or(path))
}

fn is_env(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(".env") else { return false };
    let last = rest.rsplit('.').next().unwrap_or_default();
    rest.is_empty() || rest == "rc" || rest.starts_with('.') && !EXAMPLES.contains(&last)
}

/// Returns true for private keys, such as `server.key` and `deploy.pem`.
fn is_key(name: &str) -> bool {
    match name.rsplit_once('.') {
        Some((stem, "pem" | "p12" | "pfx" | "jks" | "keystore")) => {
            let mut parts = stem.split(['-', '_', '.']);
            !parts.any(|part| CERTIFICATES.contains(&part.to_ascii_lowercase().as_str()))
        }
        // `.key` alone is a path in a document.
        Some(("", _)) => false,
        Some((stem, "key")) => !stem.ends_with("pub") && !stem.ends_with("public"),
        Some((_, "kdbx" | "ppk" | "tfstate" | "nmconnection")) => true,
        _ => false,
    }
}

/// Returns the name of a secret variable whose value is in a text: `$GH_TOKEN`, `${GH_TOKEN}`.
pub(crate) fn variable(text: &str) -> Option<&str> {
    text.split('$').skip(1).find_map(|rest| {
        let inner = rest.strip_prefix('{');
        let rest = inner.unwrap_or(rest);
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end)?;
        // `${NAME:+set}` and the like do not show the value.
        // A part of it is enough to use it elsewhere: `${NAME:0:9}`.
        let shows = inner.is_none()
            || after.starts_with(['}', '#', '%', '/', '^', ',', '@', '-'])
            || after.starts_with(":-")
            || after
                .strip_prefix(':')
                .is_some_and(|it| it.trim_start().starts_with(|it: char| it.is_ascii_digit()));
        (shows && is_secret_name(name)).then_some(name)
    })
}

/// Returns true if a variable of this name holds a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let is_variable = name.len() > 1 && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    is_variable && (Secrets::default().is_secret(name) || name.ends_with("_KEY") || name == "DATABASE_URL")
}

/// Returns true if a text has a token of a known form, or a private key. Values of names do not count, because code is full
/// of them.
pub(crate) fn has_token(text: &str) -> bool {
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----") {
        return true;
    }
    let pieces = text.split(|c: char| c.is_whitespace() || "=:\"'`,;()<>[]{}|&@/".contains(c));
    let secrets = Secrets::default();
    pieces.filter(|piece| piece.len() >= 16).any(|piece| secrets.redact(piece).is_some())
}

/// Every name.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    files().chain(directories())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_secrets_are_known_by_their_names() {
        for path in [
            ".env",
            "app/.env.production",
            "~/.ssh/id_rsa",
            "/home/dev/.ssh/deploy",
            "~/.ssh",
            "~/.ssh/*",
            "credentials/../.aws/credentials",
            "server.key",
            "certs/private.pem",
            "/proc/self/environ",
            "/run/secrets/db",
            "/etc/shadow",
            ".envrc",
            "~/.a*/cred*",
            "~/.ss?/id*",
            "service-acc*",
            "~/.*/credentials",
            "~/.config/*/hosts.yml",
            "*.tfstate",
            "terraform.tfstate.backup",
            "~/.codex/auth.json",
            "client_secret_123.apps.googleusercontent.com.json",
            "~/.zsh_history",
            "kubeconfig",
        ] {
            assert!(is_secret_path(path), "{path}");
        }
        for path in [
            ".env.example",
            "src/env.ts",
            "~/.ssh/id_rsa.pub",
            "~/.ssh/config",
            "~/.ssh/authorized_keys.example",
            "cert.pem",
            "fullchain.pem",
            "src/credentials/mod.rs",
            "keyboard.rs",
            "",
            "/",
            "*",
            "/proc/cpuinfo",
            "docs/.env reference",
            "src/*.json",
            "~/.*",
            "s*/*",
            ".key",
            "config/*",
            "*/config.yaml",
            "~/.*/*",
            ".github/*.yml",
            "docs/kubeconfig.md",
            "src/auth.json",
        ] {
            assert!(!is_secret_path(path), "{path}");
        }
    }

    #[test]
    fn a_search_in_files_with_secrets_is_known_by_its_pattern() {
        for glob in [
            "**/credentials",
            "**/.env",
            "**/.env*",
            "*.pem",
            "**/.aws/*",
            "{id_rsa,config}",
            "*.{key,pem}",
            "*.env",
            "[.]env",
        ] {
            assert!(is_secret_glob(glob), "{glob}");
        }
        for glob in ["*.rs", "**/*.json", "src/**", "**/credentials/*.rs", "*.{ts,tsx}"] {
            assert!(!is_secret_glob(glob), "{glob}");
        }
    }

    #[test]
    fn only_the_value_of_a_secret_variable_counts() {
        for (text, name) in [
            ("$GITHUB_TOKEN", Some("GITHUB_TOKEN")),
            ("a=${DB_PASSWORD}!", Some("DB_PASSWORD")),
            ("$AWS_SECRET_ACCESS_KEY", Some("AWS_SECRET_ACCESS_KEY")),
            ("${TOKEN:0:4}", Some("TOKEN")),
            ("${TOKEN:-none}", Some("TOKEN")),
            ("${TOKEN:+set}", None),
            ("${TOKEN+set}", None),
            ("$HOME $PATH", None),
            ("$", None),
            ("${", None),
            ("$(cat x)", None),
        ] {
            assert_eq!(variable(text), name, "{text}");
        }
    }

    #[test]
    fn tokens_of_a_known_form_are_found_and_values_of_names_are_not() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        assert!(has_token(&format!("TOKEN={token}")));
        assert!(has_token(&format!("https://{token}@github.com")));
        assert!(!has_token("password = change-me-please-now"));
        assert!(!has_token("let token = parser.next_token_of_the_line();"));
    }
}
