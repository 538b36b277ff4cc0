//! Conversations on disk: one private file each.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hookbox::escape;
use serde::{Deserialize, Serialize};

use crate::conversation::Conversation;

/// The version of the format.
const VERSION: u64 = 1;

/// The largest file of a conversation, in bytes: no context window holds as much.
const MAX_BYTES: u64 = 64 << 20;

/// The number of files of the directory that are read.
const MAX_FILES: usize = 65_536;

/// Returns the default directory of conversations: `$XDG_DATA_HOME/hookbox-agent/conversations`, else below
/// `~/.local/share`.
pub fn default_directory(home: Option<&Path>) -> Option<PathBuf> {
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| home.map(|home| home.join(".local/share")))?;
    Some(data.join("hookbox-agent/conversations"))
}

/// The error of a conversation that cannot be saved or continued.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {kind}", path = path.display())]
pub struct SavedError {
    /// The file, or the directory.
    pub path: PathBuf,
    /// The fault.
    pub kind: SavedErrorKind,
}

/// The fault of a saved conversation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedErrorKind {
    /// The conversation does not exist.
    #[error("there is no such conversation; hint: `hookbox-agent list` shows those that are saved")]
    Missing,
    /// The text is not the id of a conversation.
    #[error("expected an id of letters, digits, '-', '_' and '.', found {0:?}")]
    Id(String),
    /// The file has other content.
    #[error("is damaged and was left as it is: {0}")]
    Damaged(String),
    /// The directory is in the repository, whose files may come from somebody else.
    #[error("is in the repository")]
    InRepository,
    /// The system's error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A conversation in the list of those that are saved.
#[derive(Debug)]
pub struct Saved {
    /// The id.
    pub id: String,
    /// The time when it was last saved.
    pub when: SystemTime,
    /// The conversation, or the fault of the file.
    pub conversation: Result<Conversation, SavedError>,
}

/// The on-disk form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire<C> {
    version: u64,
    conversation: C,
}

/// The directory of saved conversations.
#[derive(Clone, Debug)]
pub struct Conversations {
    directory: PathBuf,
}

impl Conversations {
    /// Opens the directory for the user alone, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// If it belongs to another user, or if it is in the repository.
    pub fn open(directory: &Path, repository: Option<&Path>) -> Result<Self, SavedError> {
        let open = || {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
            let found = directory.canonicalize()?;
            if let Some(repository) = repository
                && found.starts_with(repository.canonicalize()?)
            {
                return Err(SavedErrorKind::InRepository);
            }
            // Only the owner may set the mode.
            fs::set_permissions(&found, fs::Permissions::from_mode(0o700))?;
            Ok(found)
        };
        let error = |kind| SavedError { path: directory.to_owned(), kind };
        open().map(|directory| Self { directory }).map_err(error)
    }

    /// Saves a conversation, whole or not at all.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn save(&self, conversation: &Conversation) -> Result<(), SavedError> {
        let path = self.path(&conversation.id)?;
        self.store(&path, conversation).map_err(|error| SavedError { path, kind: error.into() })
    }

    /// Loads the conversation with this id.
    ///
    /// # Errors
    ///
    /// If it does not exist, or its file is damaged.
    pub fn load(&self, id: &str) -> Result<Conversation, SavedError> {
        let path = self.path(id)?;
        read(&path, id).map_err(|kind| SavedError { path, kind })
    }

    /// Loads the conversation that was saved last.
    ///
    /// # Errors
    ///
    /// If there is none, or its file is damaged: an older one would be a different conversation.
    pub fn latest(&self) -> Result<Conversation, SavedError> {
        match self.files()?.into_iter().next() {
            Some((_, id)) => self.load(&id),
            None => Err(SavedError { path: self.directory.clone(), kind: SavedErrorKind::Missing }),
        }
    }

    /// Returns all conversations, the latest first.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read.
    pub fn list(&self) -> Result<Vec<Saved>, SavedError> {
        let files = self.files()?.into_iter();
        Ok(files.map(|(when, id)| Saved { when, conversation: self.load(&id), id }).collect())
    }

    /// Times and ids, the latest first.
    fn files(&self) -> Result<Vec<(SystemTime, String)>, SavedError> {
        let entries = fs::read_dir(&self.directory)
            .map_err(|error| SavedError { path: self.directory.clone(), kind: error.into() })?;
        let files = entries.take(MAX_FILES).filter_map(|entry| {
            let entry = entry.ok()?;
            let id = entry.file_name().to_str()?.strip_suffix(".json")?.to_owned();
            let when = entry.metadata().ok()?.modified().ok()?;
            is_id(&id).then_some((when, id))
        });
        let mut files: Vec<_> = files.collect();
        files.sort_by(|a, b| b.cmp(a));
        Ok(files)
    }

    fn path(&self, id: &str) -> Result<PathBuf, SavedError> {
        if is_id(id) {
            return Ok(self.directory.join(format!("{id}.json")));
        }
        let kind = SavedErrorKind::Id(escape(id, 100));
        Err(SavedError { path: self.directory.clone(), kind })
    }

    fn store(&self, path: &Path, conversation: &Conversation) -> io::Result<()> {
        let mut text = serde_json::to_vec(&Wire { version: VERSION, conversation })?;
        text.push(b'\n');
        // Mode 0600 from the start.
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        file.write_all(&text)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        File::open(&self.directory)?.sync_all()
    }
}

/// Returns whether this is a valid id.
fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=100).contains(&id.len()) && !id.starts_with('.') && id.bytes().all(plain)
}

fn read(path: &Path, id: &str) -> Result<Conversation, SavedErrorKind> {
    use SavedErrorKind::{Damaged, Missing};
    let about = fs::symlink_metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Missing,
        _ => error.into(),
    })?;
    if !about.is_file() {
        return Err(Damaged("expected a file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Damaged(format!("it has more than {MAX_BYTES} bytes")));
    }
    let garbage = |error: serde_json::Error| Damaged(escape(&error.to_string(), 200));
    let wire: Wire<serde_json::Value> = serde_json::from_slice(&bytes).map_err(garbage)?;
    if wire.version != VERSION {
        return Err(Damaged(format!("expected version {VERSION}, found {}", wire.version)));
    }
    let conversation: Conversation = serde_json::from_value(wire.conversation).map_err(garbage)?;
    if conversation.id != id {
        return Err(Damaged(format!("it contains the conversation {:?}", escape(&conversation.id, 100))));
    }
    if let Some(at) = conversation.messages.iter().position(|message| !message["role"].is_string()) {
        return Err(Damaged(format!("messages[{at}]: expected an object with a string as role")));
    }
    if conversation.messages.first().is_none_or(|first| first["role"] != "system") {
        return Err(Damaged("expected the system prompt first".to_owned()));
    }
    Ok(conversation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn kept() -> (tempfile::TempDir, Conversations) {
        let dir = tempfile::tempdir().unwrap();
        let conversations = Conversations::open(&dir.path().join("agent/conversations"), None).unwrap();
        (dir, conversations)
    }

    #[test]
    fn a_conversation_comes_back_as_it_was_saved_and_is_the_users_alone() {
        let (_dir, kept) = kept();
        let mut conversation = Conversation::new();
        conversation.push("user", "hello");
        kept.save(&conversation).unwrap();
        conversation.push("assistant", "hi");
        kept.save(&conversation).unwrap();
        assert_eq!(kept.load(&conversation.id).unwrap(), conversation);
        let file = fs::metadata(kept.path(&conversation.id).unwrap()).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&kept.directory).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(&kept.directory).unwrap().count(), 1, "nothing temporary is left");
    }

    #[test]
    fn the_latest_conversation_is_the_one_that_was_saved_last() {
        let (_dir, kept) = kept();
        assert!(matches!(kept.latest().unwrap_err().kind, SavedErrorKind::Missing));
        let (first, second) = (Conversation::new(), Conversation::new());
        for (conversation, seconds) in [(&first, 2_000_000_000), (&second, 1_000_000_000)] {
            kept.save(conversation).unwrap();
            let file = File::options().write(true).open(kept.path(&conversation.id).unwrap()).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        }
        assert_eq!(kept.latest().unwrap().id, first.id);
        let ids: Vec<String> = kept.list().unwrap().into_iter().map(|it| it.id).collect();
        assert_eq!(ids, [first.id, second.id]);
    }

    #[test]
    fn a_file_without_a_conversation_is_an_error_and_stays_as_it_is() {
        let (_dir, kept) = kept();
        let whole = |version: u64, id: &str, messages: &str| {
            format!(
                r#"{{"version":{version},"conversation":{{"id":"{id}","messages":{messages},"usage":{{}}}}}}"#
            )
        };
        for (text, want) in [
            (String::new(), "EOF"),
            ("[]".to_owned(), "damaged"),
            (whole(1, "x", "[]"), "system prompt"),
            (whole(1, "y", r#"[{"role":"system"}]"#), "contains the conversation \"y\""),
            (whole(2, "x", r#"[{"role":"system"}]"#), "expected version 1, found 2"),
            (whole(1, "x", "{}"), "damaged"),
            (whole(1, "x", r#"[{"role":"system"},"str"]"#), "messages[1]: expected an object"),
            (whole(1, "x", r#"[{"role":"system"},{"content":"x"}]"#), "messages[1]"),
            (whole(1, "x", r#"[{"role":"system"},{"role":"user"},{"role":5}]"#), "messages[2]"),
        ] {
            let path = kept.path("x").unwrap();
            fs::write(&path, &text).unwrap();
            let error = kept.load("x").unwrap_err().to_string();
            assert!(error.contains(want) && error.contains("x.json"), "{text}: {error}");
            assert_eq!(fs::read_to_string(path).unwrap(), text);
        }
        fs::remove_file(kept.path("x").unwrap()).unwrap();
        fs::create_dir(kept.path("x").unwrap()).unwrap();
        assert!(kept.load("x").unwrap_err().to_string().contains("expected a file"));
        assert!(kept.list().unwrap()[0].conversation.is_err(), "it is listed all the same");
    }

    #[test]
    fn an_id_leads_nowhere_else() {
        let (_dir, kept) = kept();
        for id in ["", "..", "../x", "a/b", ".hidden", "a\nb", &"x".repeat(101)] {
            assert!(matches!(kept.load(id).unwrap_err().kind, SavedErrorKind::Id(_)), "{id:?}");
        }
    }
}
