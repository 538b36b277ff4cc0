//! The connection to the database. It is opened by the first operation, and again after the database was set aside.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::db_files::{DbFiles, Identity, PATIENCE};
use super::{Notices, StoreError};
use hookbox_system::files::FileLock;
use hookbox_system::text;

/// The application id of hookbox's databases: the letters `hkbx`.
const APPLICATION: i64 = 0x686b_6278;
/// The version of [`SCHEMA`].
const VERSION: i64 = 1;
/// The tables. `used` is what the entries of a bucket count together; `next` numbers them within their bucket, so that
/// a cursor says nothing about other hooks.
const SCHEMA: &str = "
    CREATE TABLE bucket (
        id INTEGER PRIMARY KEY,
        identity BLOB NOT NULL UNIQUE,
        used INTEGER NOT NULL CHECK (used >= 0),
        next INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY,
        bucket INTEGER NOT NULL,
        number INTEGER NOT NULL,
        key TEXT NOT NULL,
        value BLOB NOT NULL,
        UNIQUE (bucket, key),
        UNIQUE (bucket, number)
    ) STRICT;
";

/// The number of attempts of one operation while other processes replace the database.
const ATTEMPTS: usize = 4;

/// The settings of a connection. Closing it leaves the log in place, because after the database was set aside, the log of
/// that name belongs to another database. The log is copied into the database every 1 000 pages.
const SETTINGS: &str = "
    PRAGMA synchronous = NORMAL;
    PRAGMA cell_size_check = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA journal_size_limit = 4194304;
";

/// The reason why an operation failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The file is damaged.
    Corrupt(String),
    /// Any other error.
    Error(StoreError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Error(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error as E;
        match (&error, error.sqlite_error_code()) {
            // The statements keep the tables' constraints; only a damaged table breaks one.
            (
                _,
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation),
            )
            | (E::FromSqlConversionFailure(..) | E::InvalidColumnType(..) | E::Utf8Error(..), _)
            | (E::IntegralValueOutOfRange(..) | E::QueryReturnedNoRows, _) => Self::Corrupt(reason(&error)),
            _ => Self::Error(StoreError::Unavailable(reason(&error))),
        }
    }
}

/// Describes an error without a path: by SQLite's own text for its code, if it has one.
fn reason(error: &rusqlite::Error) -> String {
    let shown = error.sqlite_error().map_or_else(|| error.to_string(), ToString::to_string);
    text::escape(&shown, 200)
}

/// The database in a directory.
#[derive(Debug)]
pub(super) struct Database {
    directory: PathBuf,
    open: Option<Open>,
    notices: Notices,
}

#[derive(Debug)]
struct Open {
    connection: Connection,
    files: DbFiles,
    identity: Identity,
}

impl Open {
    /// Returns true if the database's name still belongs to the open file.
    fn is_current(&self) -> bool {
        matches!(self.files.look(), Ok(Some((identity, _))) if identity == self.identity)
    }
}

impl Database {
    pub(super) fn at(directory: PathBuf, notices: Notices) -> Self {
        Self { directory, open: None, notices }
    }

    /// Runs a transaction. It runs again on a new database if this one is corrupt, or if another process has set it aside
    /// meanwhile, because a commit to a file that was set aside is lost.
    pub(super) fn run<T>(
        &mut self,
        work: impl Fn(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        for _ in 0..ATTEMPTS {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => self.open()?,
            };
            match work(&mut open.connection) {
                Err(Failure::Corrupt(reason)) => self.set_aside(open, &reason)?,
                answer if open.is_current() => {
                    self.open = Some(open);
                    return answer.map_err(|failure| match failure {
                        Failure::Error(error) => error,
                        Failure::Corrupt(reason) => StoreError::Unavailable(reason),
                    });
                }
                _ => tracing::debug!("the database was replaced, opening the new one"),
            }
        }
        Err(StoreError::Unavailable("the database is replaced again and again".to_owned()))
    }

    fn open(&self) -> Result<Open, StoreError> {
        let files = DbFiles::open(&self.directory)?;
        {
            let _lock = files.lock_shared()?;
            if let Some((identity, true)) = files.look()?
                && let Some(connection) = ready(&files.database())?
            {
                return Ok(Open { connection, files, identity });
            }
        }
        let lock = files.lock_alone()?;
        let (connection, identity) = self.make(&files, &lock)?;
        drop(lock);
        Ok(Open { connection, files, identity })
    }

    /// Creates the database, unless another process has done so meanwhile. A file of its name that is not a database is
    /// set aside.
    fn make(&self, files: &DbFiles, lock: &FileLock) -> Result<(Connection, Identity), StoreError> {
        let mut last = String::new();
        for _ in 0..2 {
            let identity = match files.look()? {
                Some((identity, _)) => identity,
                None => {
                    self.move_away(files, lock, "its log had no database")?;
                    files.create(lock)?;
                    made(files)?
                }
            };
            match connect(&files.database()).and_then(initialise) {
                Ok(connection) => return Ok((connection, identity)),
                Err(Failure::Error(error)) => return Err(error),
                Err(Failure::Corrupt(reason)) => {
                    self.move_away(files, lock, &reason)?;
                    last = reason;
                }
            }
        }
        Err(StoreError::Unavailable(last))
    }

    /// Sets the database of this connection aside, unless another process has done so.
    fn set_aside(&self, open: Open, reason: &str) -> Result<(), StoreError> {
        let Open { connection, files, identity } = open;
        let lock = files.lock_alone()?;
        if matches!(files.look()?, Some((current, _)) if current == identity) {
            self.move_away(&files, &lock, reason)?;
        }
        // Last, because no other file can have the identity of an open one.
        drop(connection);
        Ok(())
    }

    fn move_away(&self, files: &DbFiles, lock: &FileLock, reason: &str) -> Result<(), StoreError> {
        if let Some(notice) = files.set_aside(lock, reason)? {
            tracing::warn!("{notice}");
            self.notices.push(notice);
        }
        Ok(())
    }
}

/// Returns the identity of the new file.
fn made(files: &DbFiles) -> Result<Identity, StoreError> {
    let made = files.look()?.ok_or_else(|| StoreError::Unavailable("the database vanished".to_owned()))?;
    Ok(made.0)
}

/// Connects to a database that is ready. Returns none for one that must be created or set aside.
fn ready(path: &Path) -> Result<Option<Connection>, StoreError> {
    let connection = connect(path).and_then(|connection| Ok((state(&connection)?, connection)));
    match connection {
        Ok((State::Ready, connection)) => Ok(Some(connection)),
        Ok((State::Fresh, _)) | Err(Failure::Corrupt(_)) => Ok(None),
        Err(Failure::Error(error)) => Err(error),
    }
}

fn connect(path: &Path) -> Result<Connection, Failure> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.execute_batch(SETTINGS)?;
    Ok(connection)
}

/// The state of a database.
enum State {
    Fresh,
    Ready,
}

fn state(connection: &Connection) -> Result<State, Failure> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    let tables = number("SELECT count(*) FROM sqlite_schema WHERE type = 'table'")?;
    match (application, version, tables) {
        (0, 0, 0) => Ok(State::Fresh),
        (APPLICATION, VERSION, 2) => Ok(State::Ready),
        (APPLICATION, newer, _) if newer > VERSION => {
            Err(StoreError::Unavailable(format!("its database is of a newer hookbox (version {newer})"))
                .into())
        }
        _ => Err(Failure::Corrupt("it is not a database of hookbox".to_owned())),
    }
}

/// Creates the tables, if there are none.
fn initialise(mut connection: Connection) -> Result<Connection, Failure> {
    if matches!(state(&connection)?, State::Ready) {
        return Ok(connection);
    }
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        let what = format!("the file system supports no write-ahead log (mode {mode})");
        return Err(StoreError::Unavailable(what).into());
    }
    let transaction = connection.transaction()?;
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(connection)
}
