//! Commands that print secrets.

/// A command that prints a secret.
pub(crate) struct Printer {
    /// The program, and words that must follow in this order, with others between them.
    words: &'static str,
    /// The secrets that the command shows.
    pub(crate) shows: &'static str,
    /// A command for what people usually want to know; empty if there is none.
    pub(crate) safer: &'static str,
}

const fn printer(words: &'static str, shows: &'static str, safer: &'static str) -> Printer {
    Printer { words, shows, safer }
}

/// The commands. A word with `*` at its end is a beginning.
const PRINTERS: [Printer; 85] = [
    printer("glab config get token", "the token of GitLab", "glab auth status"),
    printer("glab auth status --show-token", "the token of GitLab", "glab auth status"),
    printer(
        "docker inspect *.Config.Env}}",
        "variables of a container",
        "docker inspect --format '{{.State.Status}}'",
    ),
    printer("podman inspect *.Config.Env}}", "variables of a container", "podman ps"),
    printer("gh auth token", "the token of GitHub", "gh auth status"),
    printer("gh auth status --show-token", "the token of GitHub", "gh auth status"),
    printer("gcloud auth print-access-token", "an access token", "gcloud auth list"),
    printer("gcloud auth print-identity-token", "an identity token", "gcloud auth list"),
    printer("gcloud auth application-default print-access-token", "an access token", "gcloud auth list"),
    printer("gcloud secrets versions access", "a secret", "gcloud secrets list"),
    printer("az account get-access-token", "an access token", "az account show"),
    printer("az keyvault secret show", "a secret", "az keyvault secret list"),
    printer("aws configure get aws_secret*", "a secret key", "aws configure list"),
    printer("aws configure export-credentials", "a secret key", "aws configure list"),
    printer("aws sts get-session-token", "a session's keys", "aws sts get-caller-identity"),
    printer("aws secretsmanager get-secret-value", "a secret", "aws secretsmanager list-secrets"),
    printer("aws ssm get-parameter* --with-decryption", "a secret", "aws ssm describe-parameters"),
    printer("vault kv get", "a secret", "vault kv list secret/"),
    printer("vault read", "a secret", "vault status"),
    printer("vault print token", "a token", "vault status"),
    printer("op read", "a secret", "op whoami"),
    printer("op item get", "a secret", "op whoami"),
    printer("pass show", "a password", "pass ls"),
    printer("bw get password", "a password", "bw status"),
    printer("bw get item", "a password", "bw status"),
    printer("lpass show", "a password", "lpass status"),
    printer("doppler secrets", "secrets", ""),
    printer("infisical secrets", "secrets", ""),
    printer("heroku config", "secrets of an app", "heroku ps"),
    printer("heroku auth:token", "a token", "heroku whoami"),
    printer("security find-generic-password -w", "a password", "security find-identity -v"),
    printer("security find-internet-password -w", "a password", "security find-identity -v"),
    printer("security dump-keychain", "a keychain", "security list-keychains"),
    printer("secret-tool lookup", "a secret", ""),
    printer("secret-tool search", "a secret", ""),
    printer("gpg --export-secret*", "a private key", "gpg --list-secret-keys"),
    printer("gpg2 --export-secret*", "a private key", "gpg --list-secret-keys"),
    printer("openssl rsa -text", "a private key", ""),
    printer("openssl pkey -text", "a private key", ""),
    printer("kubectl get secret* -o*", "secrets of a cluster", "kubectl get secrets"),
    printer("kubectl get secret* --output*", "secrets of a cluster", "kubectl get secrets"),
    printer("kubectl config view --raw", "keys of a cluster", "kubectl config view"),
    printer("oc get secret* -o*", "secrets of a cluster", "oc get secrets"),
    printer("oc whoami -t", "a token", "oc whoami"),
    printer("git credential fill", "a password", "git config credential.helper"),
    printer("git config http.extraheader", "a token", "git remote -v"),
    printer("git config --get-all http.extraheader", "a token", "git remote -v"),
    printer("npm config get *_authToken", "a token", "npm whoami"),
    printer("npm token list", "tokens", "npm whoami"),
    printer("npm token create", "a token", "npm whoami"),
    printer("sops decrypt", "secrets", ""),
    printer("sops --decrypt", "secrets", ""),
    printer("age -d", "a secret", ""),
    printer("age --decrypt", "a secret", ""),
    printer("rbw get", "a password", "rbw unlocked"),
    printer("gopass show", "a password", "gopass ls"),
    printer("terraform state pull", "secrets of the state", "terraform state list"),
    printer("pulumi config --show-secrets", "secrets", "pulumi config"),
    printer("pulumi stack output --show-secrets", "secrets", "pulumi stack ls"),
    printer("aws ecr get-login-password", "a password", "aws sts get-caller-identity"),
    printer("rails credentials:show", "secrets of the app", ""),
    printer("getent shadow", "hashes of passwords", "getent passwd"),
    printer("sops -d", "secrets", ""),
    printer("ansible-vault view", "secrets", ""),
    printer("az acr credential show", "a password", "az acr list"),
    printer("az webapp config appsettings list", "settings with secrets", "az webapp list"),
    printer("aws iam create-access-key", "a secret key", "aws iam list-access-keys"),
    printer("aws rds generate-db-auth-token", "a token", "aws rds describe-db-instances"),
    printer("kubectl create token", "a token", "kubectl get serviceaccounts"),
    printer("kubectl get secret* --template*", "secrets of a cluster", "kubectl get secrets"),
    printer("kubectl view-secret", "a secret", "kubectl get secrets"),
    printer("vault token create", "a token", "vault status"),
    printer("gh auth status -t", "the token of GitHub", "gh auth status"),
    printer("git config *.extraheader", "a token", "git remote -v"),
    printer("terraform output *password", "a password", "terraform output"),
    printer("terraform output *secret", "a secret", "terraform output"),
    printer("terraform output *token", "a token", "terraform output"),
    printer(
        "docker inspect *.Config}}",
        "variables of a container",
        "docker inspect --format '{{.State.Status}}'",
    ),
    printer("rclone config show", "passwords", "rclone listremotes"),
    printer("rclone config dump", "passwords", "rclone listremotes"),
    printer("firebase functions:config:get", "secrets of an app", "firebase projects:list"),
    printer("infisical export", "secrets", ""),
    printer("keyring get", "a password", ""),
    printer("bw export", "passwords", "bw status"),
    printer("wg showconf", "a private key", "wg show"),
];

/// Returns the entry for a command, whose program is without a directory.
pub(crate) fn find(program: &str, words: &[&str]) -> Option<&'static Printer> {
    // Help, and the names of what there is.
    let names = "--help -h name wide -oname -owide -o=name -o=wide --output=name --output=wide";
    if words.iter().any(|word| hookbox_shell::is_in(names, word) || is_of_names(word)) {
        return None;
    }
    PRINTERS.iter().find(|printer| {
        let mut wanted = printer.words.split(' ');
        let mut rest = words.iter();
        // `secrets` alone prints them; `secrets list` does, too; `run` does not.
        wanted.next() == Some(program) && wanted.all(|wanted| rest.any(|word| is(wanted, word)))
    })
}

/// Returns true for a form of the output with nothing but names, times and the like: `jsonpath={.metadata.name}`.
fn is_of_names(word: &str) -> bool {
    let fields =
        ".metadata.name .metadata.namespace .metadata.creationTimestamp .metadata.uid .type .kind .items";
    let value = word.trim_start_matches("--output=").trim_start_matches("-o=").trim_start_matches("-o");
    let Some(form) = value.strip_prefix("jsonpath=").map(|it| it.replace("[*]", "")) else { return false };
    let mut named =
        form.split(|it: char| !it.is_ascii_alphanumeric() && it != '.').filter(|it| it.starts_with('.'));
    let is_one = |it: &str| {
        hookbox_shell::is_in(fields, it)
            || it.strip_prefix(".items").is_some_and(|it| hookbox_shell::is_in(fields, it))
    };
    form.contains(".metadata.") && named.all(is_one) && !form.contains(['[', '\'', '@', '$', '*'])
}

fn is(wanted: &str, word: &str) -> bool {
    match (wanted.strip_suffix('*'), wanted.strip_prefix('*')) {
        (Some(beginning), _) => word.starts_with(beginning),
        (_, Some(end)) => word.ends_with(end),
        _ => word == wanted,
    }
}

/// Every safer command.
#[cfg(test)]
pub(crate) fn safer() -> impl Iterator<Item = &'static str> {
    PRINTERS.iter().map(|printer| printer.safer)
}
