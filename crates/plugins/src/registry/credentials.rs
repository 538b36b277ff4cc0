//! The credentials of `docker login`, read when a registry requires them. They are neither kept nor shown.

use std::path::{Path, PathBuf};
use std::time::Duration;

use docker_credential::{CredentialRetrievalError, DockerCredential};

use super::address;
use crate::{PluginError, PluginErrorKind};
use hookbox::escape;

/// The time limit of a credential helper. Some ask the user.
const HELPER: Duration = Duration::from_secs(60);

/// Credentials.
pub(super) enum Login {
    /// A user name and a password.
    Password(String, String),
    /// A token that is exchanged for others.
    Identity(String),
}

/// Finds docker's credentials for this registry. `config` is the directory of docker's configuration; the
/// default is `DOCKER_CONFIG` or `~/.docker`. This may run a credential helper, which is a program of the
/// user.
///
/// # Errors
///
/// An error if docker's configuration cannot be read, or a credential helper fails.
pub(super) async fn find(registry: &str, config: Option<PathBuf>) -> Result<Option<Login>, PluginError> {
    let directory = config.or_else(|| std::env::var_os("DOCKER_CONFIG").map(PathBuf::from));
    let directory = directory.or_else(|| std::env::home_dir().map(|home| home.join(".docker")));
    let Some(path) = directory.map(|directory| directory.join("config.json")) else { return Ok(None) };
    let server = address::login(registry).to_owned();
    let at = path.clone();
    let looked = tokio::task::spawn_blocking(move || look(&at, &server));
    match tokio::time::timeout(HELPER, looked).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => Err(failed(&path, &error.to_string())),
        Err(_) => Err(failed(&path, &format!("the credential helper took longer than {HELPER:?}"))),
    }
}

fn look(path: &Path, server: &str) -> Result<Option<Login>, PluginError> {
    let config = match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        config => config.map_err(|error| failed(path, &error.to_string()))?,
    };
    // The output of a helper may contain a secret, so no error repeats it.
    match docker_credential::get_credential_from_reader(config.as_slice(), server) {
        Ok(DockerCredential::UsernamePassword(user, password)) => Ok(Some(Login::Password(user, password))),
        Ok(DockerCredential::IdentityToken(token)) => Ok(Some(Login::Identity(token))),
        Err(CredentialRetrievalError::NoCredentialConfigured) => Ok(None),
        // Helpers have no other way to report missing credentials.
        Err(CredentialRetrievalError::HelperFailure { stdout, .. })
            if stdout.contains("credentials not found") =>
        {
            Ok(None)
        }
        Err(CredentialRetrievalError::HelperFailure { helper, .. }) => {
            Err(failed(path, &format!("the credential helper {} failed", escape(&helper, 80))))
        }
        Err(CredentialRetrievalError::ConfigReadError) => {
            Err(failed(path, "it is not a configuration of docker"))
        }
        Err(error) => Err(failed(path, &escape(&error.to_string(), 200))),
    }
}

fn failed(path: &Path, why: &str) -> PluginError {
    let what = format!("expected credentials for registries, but {why}");
    PluginError::new(path.to_string_lossy(), PluginErrorKind::Fetch(what)).hint("see `docker login --help`")
}
