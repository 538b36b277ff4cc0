//! The paths whose contents are not to be read without a question.

use hookbox_sdk::Value;
use hookbox_shell::is_in;

/// Names of files with secrets, in lower case.
const FILES: &str = ".netrc .npmrc .pypirc .pgpass .my.cnf .git-credentials .htpasswd .vault-token \
    .dockercfg .terraformrc .s3cfg .boto shadow gshadow master.passwd sudoers kcore mem";

/// Directories whose files are not to be read, in lower case.
const DIRECTORIES: &str = ".ssh .gnupg .aws .azure .kube .docker .password-store .gcloud gcloud keychains \
    secrets .terraform.d";

/// Endings of the names of keys, in lower case.
const ENDINGS: &str = "pem key p12 pfx jks keystore kdbx ppk gpg asc tfstate";

/// Parts of the names of files with secrets, in lower case.
const PARTS: &str = ".env id_rsa id_dsa id_ecdsa id_ed25519 credential secret password passwd token private \
    cookie serviceaccount";

/// Returns true if a path may name a secret, or a device or a state of the kernel that is one.
pub(crate) fn is_private(path: &str) -> bool {
    let path = path.trim_end_matches('/').to_ascii_lowercase();
    let mut parts = path.split('/');
    let name = parts.next_back().unwrap_or_default();
    let is_dir = |part: &str| is_in(DIRECTORIES, part);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_device = path.starts_with("/dev/")
        && !matches!(path.as_str(), "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr")
        && !path.starts_with("/dev/fd/");
    let is_process =
        path.starts_with("/proc/") && (name == "environ" || name == "cmdline" || path.contains("/fd"));
    is_device
        || is_process
        || parts.any(is_dir)
        || is_dir(name)
        || is_in(FILES, name)
        || (is_in(ENDINGS, ending) && name.len() > ending.len() + 1)
        || PARTS.split(' ').any(|part| name.contains(part))
        || path.ends_with(".git/config")
}

/// Returns true if a pattern for names may match a secret. It has to name an ending, such as `*.rs`.
pub(crate) fn may_match_private(pattern: &str) -> bool {
    let name = pattern.rsplit('/').next().unwrap_or_default();
    let directory = pattern.strip_suffix(name).unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_ending = !ending.is_empty() && ending.bytes().all(|it| it.is_ascii_alphanumeric());
    let has_no_pattern = |text: &str| !text.contains(['*', '?', '[', '{']);
    // `.*` and `[.]env`
    !(is_ending || has_no_pattern(name))
        || name.starts_with(['.', '['])
        || directory.contains("/.")
        || directory.starts_with('.') && !directory.starts_with("./") && !directory.starts_with("../")
        || is_private(&pattern.replace(['*', '?'], "x"))
}

/// Returns true if no text of a tool's input leads out of the working directory or to a secret.
pub(crate) fn stays_inside(input: &Value, cwd: &str) -> bool {
    match input {
        Value::String(text) => {
            let is_outside = text.starts_with(['/', '~', '$', '\\']) && !is_below(text, cwd);
            let climbs = text.split(['/', '\\']).any(|part| part == "..");
            !is_outside && !climbs && !text.split(['{', '}', ',']).any(is_private)
        }
        Value::Array(items) => items.iter().all(|it| stays_inside(it, cwd)),
        Value::Object(fields) => fields.values().all(|it| stays_inside(it, cwd)),
        _ => true,
    }
}

/// Returns true if a path is below the working directory, or it.
pub(crate) fn is_below(path: &str, cwd: &str) -> bool {
    let rest = path.strip_prefix(cwd.trim_end_matches('/')).filter(|_| cwd.starts_with('/'));
    rest.is_some_and(|it| it.is_empty() || it.starts_with('/'))
}

/// Returns true if a working directory has more than a project: a home directory, or a directory above one.
pub(crate) fn is_home(cwd: &str) -> bool {
    let parts: Vec<&str> = cwd.split('/').filter(|it| !it.is_empty()).collect();
    matches!(parts.as_slice(), [] | [_] | ["home" | "Users", _])
}

#[cfg(test)]
mod tests {
    use hookbox_sdk::json;

    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        for path in [
            ".env",
            "app/.env.local",
            "~/.ssh/config",
            "/home/me/.aws/config",
            "server.key",
            "certs/site.PEM",
            "/etc/shadow",
            "/proc/1/environ",
            "/proc/self/fd/3",
            "/dev/sda",
            "/dev/tcp/host/80",
            "config/secrets.yml",
            ".git/config",
            "~/.netrc",
            "k8s/secrets/a.yml",
        ] {
            assert!(is_private(path), "{path}");
        }
        for path in
            ["src/main.rs", "/dev/null", "Cargo.lock", ".key", "docs/", "environment.ts", "/proc/cpuinfo", ""]
        {
            assert!(!is_private(path), "{path}");
        }
    }

    #[test]
    fn a_pattern_has_to_name_an_ending() {
        for pattern in [
            "*",
            ".*",
            "[.]env",
            ".e*",
            "src/*",
            "~/.*/config.d",
            "*.pem",
            "id_*",
            "*.env",
            "a.*",
            ".*/a.txt",
        ] {
            assert!(may_match_private(pattern), "{pattern}");
        }
        for pattern in ["*.rs", "src/*.ts", "src/*/mod.rs", "./*.md", "../*/a.md"] {
            assert!(!may_match_private(pattern), "{pattern}");
        }
    }

    #[test]
    fn a_tool_stays_in_the_working_directory() {
        for input in [
            json!({"file_path": "/w/a/b.rs", "limit": 5}),
            json!({"pattern": "**/*.rs", "path": "src"}),
            json!({"paths": ["a", "b/c"]}),
            json!({"path": "/w"}),
        ] {
            assert!(stays_inside(&input, "/w"), "{input}");
        }
        for input in [
            json!({"pattern": "/etc/*"}),
            json!({"pattern": "../*"}),
            json!({"pattern": "~/x"}),
            json!({"path": "/ww"}),
            json!({"glob": "*.{rs,pem,x.pem}"}),
            json!({"paths": ["a", {"of": ".env"}]}),
        ] {
            assert!(!stays_inside(&input, "/w"), "{input}");
        }
    }

    #[test]
    fn a_home_directory_is_more_than_a_project() {
        for cwd in ["/", "/root", "/home/me", "/home/me/", "/Users/me", "/etc", ""] {
            assert!(is_home(cwd), "{cwd}");
        }
        for cwd in ["/home/me/app", "/srv/app"] {
            assert!(!is_home(cwd) && is_below(&format!("{cwd}/a"), cwd), "{cwd}");
        }
        assert!(!is_below("/srv/apples", "/srv/app") && !is_below("~/a", "/srv/app"));
    }
}
