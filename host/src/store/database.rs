//! The connection to the database: opened when it is needed, and again when the database was set aside.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::entries::SCHEMA;
use super::place::{Identity, Lock, PATIENCE, Place};
use super::{Notices, StoreError};
use crate::text;

/// Marks the database as hookbox's: the letters `hkbx`.
const APPLICATION: i64 = 0x686b_6278;
/// The version of [`SCHEMA`].
const VERSION: i64 = 1;
/// How often one operation starts again because the database was replaced under it.
const ATTEMPTS: usize = 4;

/// For each connection. Closing one leaves the log where it is: after the database was set aside, the log of that name
/// belongs to another. What the log holds is copied over every 1 000 pages.
const SETTINGS: &str = "
    PRAGMA synchronous = NORMAL;
    PRAGMA cell_size_check = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA journal_size_limit = 4194304;
";

/// Why an operation failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// What stands in the file cannot be.
    Corrupt(String),
    /// Anything else.
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
            // The statements are fixed and keep the tables' rules; only a damaged table breaks them.
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

/// The error without a path: SQLite's own text for its code, where it has one.
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
    place: Place,
    identity: Identity,
}

impl Open {
    /// Whether the name still stands for the file that is open.
    fn is_current(&self) -> bool {
        matches!(self.place.look(), Ok(Some((identity, _))) if identity == self.identity)
    }
}

impl Database {
    pub(super) fn at(directory: PathBuf, notices: Notices) -> Self {
        Self { directory, open: None, notices }
    }

    /// Runs a transaction. It runs again on a fresh database when this one turns out corrupt, or when another process
    /// has set it aside meanwhile: what is committed to a file that has been set aside does not count.
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
        let place = Place::open(&self.directory)?;
        {
            let _lock = place.lock_shared()?;
            if let Some((identity, true)) = place.look()?
                && let Some(connection) = ready(&place.database())?
            {
                return Ok(Open { connection, place, identity });
            }
        }
        let lock = place.lock_alone()?;
        let (connection, identity) = self.make(&place, &lock)?;
        drop(lock);
        Ok(Open { connection, place, identity })
    }

    /// Makes the database, where another process has not done so meanwhile. What stands in its place and is none is
    /// set aside.
    fn make(&self, place: &Place, lock: &Lock) -> Result<(Connection, Identity), StoreError> {
        let mut last = String::new();
        for _ in 0..2 {
            let identity = match place.look()? {
                Some((identity, _)) => identity,
                None => {
                    self.move_away(place, lock, "its log stood there without a database")?;
                    place.make(lock)?;
                    made(place)?
                }
            };
            match connect(&place.database()).and_then(initialise) {
                Ok(connection) => return Ok((connection, identity)),
                Err(Failure::Error(error)) => return Err(error),
                Err(Failure::Corrupt(reason)) => {
                    self.move_away(place, lock, &reason)?;
                    last = reason;
                }
            }
        }
        Err(StoreError::Unavailable(last))
    }

    /// Sets the database of this connection aside, unless another process has done so.
    fn set_aside(&self, open: Open, reason: &str) -> Result<(), StoreError> {
        let Open { connection, place, identity } = open;
        let lock = place.lock_alone()?;
        if matches!(place.look()?, Some((current, _)) if current == identity) {
            self.move_away(&place, &lock, reason)?;
        }
        // Only now: while it is open, no other file can have its identity.
        drop(connection);
        Ok(())
    }

    fn move_away(&self, place: &Place, lock: &Lock, reason: &str) -> Result<(), StoreError> {
        if let Some(notice) = place.set_aside(lock, reason)? {
            tracing::warn!("{notice}");
            self.notices.push(notice);
        }
        Ok(())
    }
}

/// Which file was just made.
fn made(place: &Place) -> Result<Identity, StoreError> {
    let made = place.look()?.ok_or_else(|| StoreError::Unavailable("the database vanished".to_owned()))?;
    Ok(made.0)
}

/// A connection to a database that is ready; none where it has to be made or set aside.
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

/// What a database is.
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
        _ => Err(Failure::Corrupt("it is no database of hookbox".to_owned())),
    }
}

/// Makes the tables, where there are none.
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
