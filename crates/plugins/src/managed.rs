//! The administrator's plugins: each in exactly the state that the policy pins, and none that does not work.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use super::{
    KnownPlugin, Locked, Observer, PluginError, PluginErrorKind, Plugins, Preview, Replace, Request, Source,
    digest, install, installed,
};
use hookbox::discovery::{EntryStatus, ManagedDir};
use hookbox::hook::Digest;
use hookbox::manager::Manager;
use hookbox::{Runtime, Status, ToolCall, escape};
use hookbox_system::files::{FileAccess, SystemFiles};

/// A line that no guard may block.
const HARMLESS: &str = "true";

impl Request {
    /// Brings this plugin, whose source names its exact state, into the administrator's directory: fetches and checks it,
    /// tries its hooks on a call by the settings of this directory, and then replaces the old one. `None` if it is installed
    /// in this state; then nothing is fetched.
    ///
    /// # Errors
    ///
    /// [`PluginErrorKind::Source`] if the source names no exact state; [`PluginErrorKind::Unexpected`] if a hook does not
    /// load, fails or blocks a harmless call; those of [`Request::prepare`] and [`install()`]. The old plugin stays then.
    pub async fn sync(
        mut self,
        plugins: &Plugins,
        managed: &ManagedDir,
        runtime: &Runtime,
        observer: &dyn Observer,
    ) -> Result<Option<KnownPlugin>, PluginError> {
        let Some(state) = state(&self.source) else {
            let what =
                "expected its exact state: a commit behind @, or in a registry @sha256:DIGEST".to_owned();
            return Err(PluginError::new(self.source.shown(), PluginErrorKind::Source(what)));
        };
        // The hooks below a directory that others may write would not run.
        let directory = plugins.path();
        match managed.access().check_owner(&directory) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(PluginError::io(&directory, error));
            }
            _ => {}
        }
        let lock = plugins.lock()?;
        if let Some(locked) = lock.get(&self.name)
            && locked.source == self.source.text(plugins.base())
            && revision(locked) == Some(state)
            && locked.key == self.fingerprint()
            && let Some(known) = installed(plugins)?.into_iter().find(|it| it.id.as_ref() == Some(&self.name))
            && digest(&known.path, None)? == locked.tree
        {
            return Ok(None);
        }
        self.replace = Replace::Yes;
        let replace = self.replace;
        let preview = self.prepare(plugins, runtime, observer).await?;
        preview.canary(managed, runtime).await?;
        let Preview { locked, staged, .. } = preview;
        install(&plugins.lock_exclusively()?, staged, locked, replace, observer).map(Some)
    }
}

/// Returns the exact state that a source names: the commit, or the digest of the manifest.
fn state(source: &Source) -> Option<String> {
    match source {
        Source::Git { reference, .. } => {
            let is_commit =
                |it: &&String| matches!(it.len(), 40 | 64) && it.bytes().all(|it| it.is_ascii_hexdigit());
            reference.as_ref().filter(is_commit).map(|it| it.to_ascii_lowercase())
        }
        Source::Oci(reference) => reference.digest.as_ref().map(ToString::to_string),
        Source::Directory { .. } => None,
    }
}

fn revision(locked: &Locked) -> Option<String> {
    locked.manifest.as_ref().map(Digest::to_string).or_else(|| locked.commit.clone())
}

impl Preview<'_> {
    /// Tries the plugin in a directory of its own, as the administrator's directory would run it.
    async fn canary(&self, managed: &ManagedDir, runtime: &Runtime) -> Result<(), PluginError> {
        let name = self.name().to_string();
        let wrong = |path: &Path, error| PluginError::io(path, error);
        let tree = self.staged.path();
        let Some(top) = tree.parent() else { return Ok(()) };
        let (path, data) = (top.join("canary"), top.join("data"));
        let plugins = path.join("plugins");
        let place = plugins.join(self.name().dir());
        fs::create_dir_all(&plugins).map_err(|error| wrong(&plugins, error))?;
        let (from, to) = (managed.settings_file(), ManagedDir { path, ..managed.clone() }.settings_file());
        let settings = own_settings(&managed.access(), &from, &format!("{name}/"))
            .map_err(|error| wrong(&from, error))?;
        fs::write(&to, settings).map_err(|error| wrong(&to, error))?;
        fs::rename(&tree, &place).map_err(|error| wrong(&place, error))?;
        let files = Arc::new(SystemFiles { top: top.to_owned(), owner: managed.files.owner });
        let canary = ManagedDir { path: top.join("canary"), files };
        let builder = Manager::builder().managed(Some(canary)).builtins(false).runtime(runtime.clone());
        let builder = builder.cwd("/").home(top).roots(Vec::<String>::new()).cache(None).data(Some(data));
        let tried = try_hooks(&builder.build().await, &name).await;
        fs::rename(&place, &tree).map_err(|error| wrong(&tree, error))?;
        tried.map_err(|what| {
            PluginError::new(name, PluginErrorKind::Unexpected(what)).hint("the old one stays in force")
        })
    }
}

/// Returns the settings of the hooks whose names begin so.
fn own_settings(access: &FileAccess, file: &Path, name: &str) -> std::io::Result<String> {
    let text = access.read(file, 1 << 20)?;
    let mut all: toml::Table =
        toml::from_str(&String::from_utf8_lossy(&text)).map_err(std::io::Error::other)?;
    all.retain(|key, _| key == "hooks");
    if let Some(hooks) = all.get_mut("hooks").and_then(toml::Value::as_table_mut) {
        hooks.retain(|hook, _| hook.starts_with(name));
    }
    Ok(all.to_string())
}

/// Makes each hook of the plugin judge a harmless call. The error is the reason why one is no use.
async fn try_hooks(manager: &Manager, plugin: &str) -> Result<(), String> {
    if let Some(entry) = manager.entries().iter().find(|it| it.status == EntryStatus::Invalid) {
        let why = entry.problem.as_deref().unwrap_or("cannot be used");
        return Err(format!("its hook {} does not load: {why}", escape(&entry.name, 200)));
    }
    if let Some(problem) = manager.problems().iter().find(|it| it.hides) {
        return Err(format!("cannot be used as a plugin of {plugin}: {problem}"));
    }
    let call = ToolCall::new("bash", serde_json::json!({ "command": HARMLESS }));
    let verdict = manager.session("canary").before_tool_call(call).await;
    let is_wrong = |status: Status| matches!(status, Status::Failed | Status::Blocked | Status::Untrusted);
    match verdict.report.hooks.iter().find(|it| is_wrong(it.status) || it.cause.is_some()) {
        None => Ok(()),
        Some(hook) => Err(format!(
            "its hook {} does not let a harmless call through: {}",
            escape(&hook.name, 200),
            hook.message.as_deref().unwrap_or("it gives no reason")
        )),
    }
}
