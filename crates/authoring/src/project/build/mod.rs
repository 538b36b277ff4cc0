//! Building a hook with the tools of its language, and checking the result.

mod python;
mod rust;
mod settings;
mod typescript;

use std::path::PathBuf;
use std::time::Duration;

use hookbox::native;
use hookbox::rules::{self, Rules};
use hookbox::{Component, MAX_COMPONENT};
use hookbox::{EventName, HookError, Runtime};
use hookbox_system::files::FileAccess;

use super::error::BuildError;
use super::language::Language;
use super::recognize::Project;
use super::watch::WORK;

/// The time in which a script answers for its event.
const ASK: Duration = Duration::from_secs(5);

/// A hook that was built.
#[derive(Debug)]
pub struct Built {
    /// The file.
    pub path: PathBuf,
    /// The hook in it.
    pub hook: Hook,
}

/// The hook in a file.
#[derive(Debug)]
pub enum Hook {
    /// A component: its digest, size, events and rights.
    Component(Box<Component>),
    /// Rules whose examples hold.
    Rules(Box<Rules>),
    /// A script, with its event.
    Script(EventName),
}

impl Project {
    /// Builds the hook, and leaves it at [`output`](Self::output). A component is also compiled, so that no event waits
    /// for it. Rules and scripts are only checked.
    ///
    /// # Errors
    ///
    /// A tool is missing or fails, or its result is not a hook. An older result is unchanged then.
    pub async fn build(&self, runtime: &Runtime) -> Result<Built, BuildError> {
        let path = self.output();
        let not_a_hook = |source: HookError| BuildError::NotAHook { path: path.clone(), source };
        if self.language == Language::Script {
            let event = native::query(&path, None, &[], ASK).await.map_err(not_a_hook)?;
            return Ok(Built { hook: Hook::Script(event), path });
        }
        let fail = |source| BuildError::File { path: path.clone(), source };
        if self.language == Language::Rules {
            let bytes = FileAccess::Anywhere.read(&path, rules::MAX_FILE).map_err(fail)?;
            let rules = Rules::read(&bytes);
            return match rules {
                Ok(rules) => Ok(Built { hook: Hook::Rules(Box::new(rules)), path }),
                Err(source) => Err(BuildError::Rules { path, source }),
            };
        }
        // Beside the result, so that it can be renamed; the tools of a project may write below its directory.
        let temporary = tempfile::Builder::new().prefix(WORK).tempdir_in(&self.dir).map_err(fail)?;
        let (made, schema) = match self.language {
            // The linker has put the schema into it.
            Language::Rust => (rust::build(self).await?, Vec::new()),
            Language::Python => python::build(self, temporary.path()).await?,
            _ => typescript::build(self, temporary.path()).await?,
        };
        let mut bytes = FileAccess::Anywhere.read(&made, MAX_COMPONENT).map_err(fail)?;
        settings::append(&mut bytes, &schema);
        let new = temporary.path().join("hook.wasm.new");
        std::fs::write(&new, &bytes).map_err(fail)?;
        let component = runtime.load(bytes).await.map_err(not_a_hook)?;
        std::fs::rename(&new, &path).map_err(fail)?;
        Ok(Built { hook: Hook::Component(Box::new(component)), path })
    }
}
