//! The entries of one bucket, in SQL. A write is one transaction, which also keeps the count of what the bucket holds.

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::database::Failure;
use super::{Entry, OVERHEAD, PAGE, StoreError};

const GET: &str = "SELECT value FROM entry
    WHERE bucket = (SELECT id FROM bucket WHERE identity = ?1) AND key = ?2";

/// The entries of a bucket.
pub(super) struct Entries<'c> {
    pub(super) connection: &'c mut Connection,
    /// The identity of the bucket.
    pub(super) bucket: &'c [u8],
    pub(super) quota: u64,
}

impl Entries<'_> {
    pub(super) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Failure> {
        value(self.connection, self.bucket, key)
    }

    pub(super) fn exists(&self, key: &str) -> Result<bool, Failure> {
        let found = self.connection.query_row(
            "SELECT 1 FROM entry WHERE bucket = (SELECT id FROM bucket WHERE identity = ?1) AND key = ?2",
            params![self.bucket, key],
            |_| Ok(()),
        );
        Ok(found.optional()?.is_some())
    }

    pub(super) fn list_keys(&self, cursor: Option<u64>) -> Result<(Vec<String>, Option<u64>), Failure> {
        let after = i64::try_from(cursor.unwrap_or(0)).unwrap_or(i64::MAX);
        let mut statement = self.connection.prepare(
            "SELECT key, number FROM entry
                WHERE bucket = (SELECT id FROM bucket WHERE identity = ?1) AND number > ?2
                ORDER BY number LIMIT ?3",
        )?;
        // One more than a page has, to see whether there is another page.
        let mut rows = statement.query(params![self.bucket, after, signed(PAGE as u64 + 1)])?;
        let mut keys = Vec::new();
        let mut last = after;
        while let Some(row) = rows.next()? {
            if keys.len() == PAGE {
                return Ok((keys, Some(last.unsigned_abs())));
            }
            keys.push(row.get(0)?);
            last = row.get(1)?;
        }
        Ok((keys, None))
    }

    /// Returns the values of these keys, which have no more bytes together than a bucket may have.
    pub(super) fn get_many(&mut self, keys: &[String]) -> Result<Vec<Option<Entry>>, Failure> {
        let transaction = self.connection.transaction()?;
        let mut statement = transaction.prepare(GET)?;
        let mut read: u64 = 0;
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let value: Option<Vec<u8>> =
                statement.query_row(params![self.bucket, key], |row| row.get(0)).optional()?;
            read = read.saturating_add(value.as_ref().map_or(0, |value| value.len() as u64));
            if read > self.quota {
                return Err(StoreError::TooMuch(self.quota).into());
            }
            found.push(value.map(|value| (key.clone(), value)));
        }
        Ok(found)
    }

    pub(super) fn set_many(&mut self, pairs: &[Entry]) -> Result<(), Failure> {
        let mut writer = Writer::begin(self.connection, self.bucket)?;
        for (key, value) in pairs {
            writer.set(key, value)?;
        }
        writer.commit(self.quota)
    }

    pub(super) fn delete_many(&mut self, keys: &[String]) -> Result<(), Failure> {
        let mut writer = Writer::begin(self.connection, self.bucket)?;
        for key in keys {
            writer.delete(key)?;
        }
        writer.commit(self.quota)
    }

    pub(super) fn increment(&mut self, key: &str, delta: u64) -> Result<u64, Failure> {
        let mut writer = Writer::begin(self.connection, self.bucket)?;
        let number = match value(&writer.transaction, self.bucket, key)? {
            Some(value) => number(&value).ok_or(StoreError::NotANumber)?,
            None => 0,
        };
        let sum = number.checked_add(delta).ok_or(StoreError::Overflow)?;
        writer.set(key, sum.to_string().as_bytes())?;
        writer.commit(self.quota)?;
        Ok(sum)
    }

    pub(super) fn update<T>(
        &mut self,
        key: &str,
        change: &impl Fn(Option<Vec<u8>>) -> (Vec<u8>, T),
    ) -> Result<T, Failure> {
        let mut writer = Writer::begin(self.connection, self.bucket)?;
        let (value, result) = change(value(&writer.transaction, self.bucket, key)?);
        writer.set(key, &value)?;
        writer.commit(self.quota)?;
        Ok(result)
    }
}

/// Returns the value of a key.
fn value(connection: &Connection, bucket: &[u8], key: &str) -> Result<Option<Vec<u8>>, Failure> {
    Ok(connection.query_row(GET, params![bucket, key], |row| row.get(0)).optional()?)
}

/// Parses decimal digits and nothing else.
fn number(value: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(value).ok()?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// A transaction that changes one bucket. It has the write lock from the start, so that its reads stay valid. Without
/// [`Writer::commit`] it changes nothing.
struct Writer<'a> {
    transaction: Transaction<'a>,
    bucket: i64,
    /// The size of the bucket at the start, and now.
    before: i64,
    used: i64,
    next: i64,
}

impl<'a> Writer<'a> {
    fn begin(connection: &'a mut Connection, identity: &[u8]) -> Result<Self, Failure> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute(
            "INSERT INTO bucket (identity, used, next) VALUES (?1, 0, 1) ON CONFLICT (identity) DO NOTHING",
            params![identity],
        )?;
        let (bucket, used, next) = transaction.query_row(
            "SELECT id, used, next FROM bucket WHERE identity = ?1",
            params![identity],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        Ok(Self { transaction, bucket, before: used, used, next })
    }

    /// Returns the entry of a key, and its size.
    fn find(&self, key: &str) -> Result<Option<(i64, i64)>, Failure> {
        let sql = "SELECT id, length(value) FROM entry WHERE bucket = ?1 AND key = ?2";
        let entry = self
            .transaction
            .query_row(sql, params![self.bucket, key], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)));
        Ok(entry.optional()?.map(|(id, length)| (id, size(key, length))))
    }

    fn set(&mut self, key: &str, value: &[u8]) -> Result<(), Failure> {
        let replaced = match self.find(key)? {
            Some((id, size)) => {
                self.transaction.execute("UPDATE entry SET value = ?2 WHERE id = ?1", params![id, value])?;
                size
            }
            None => {
                self.transaction.execute(
                    "INSERT INTO entry (bucket, number, key, value) VALUES (?1, ?2, ?3, ?4)",
                    params![self.bucket, self.next, key, value],
                )?;
                self.next = self.next.saturating_add(1);
                0
            }
        };
        let added = size(key, signed(value.len() as u64));
        self.used = self.used.saturating_add(added).saturating_sub(replaced);
        Ok(())
    }

    fn delete(&mut self, key: &str) -> Result<(), Failure> {
        if let Some((id, size)) = self.find(key)? {
            self.transaction.execute("DELETE FROM entry WHERE id = ?1", params![id])?;
            self.used = self.used.saturating_sub(size);
        }
        Ok(())
    }

    /// Keeps the changes if the bucket is within its quota, or smaller than before.
    fn commit(self, quota: u64) -> Result<(), Failure> {
        if self.used > signed(quota) && self.used > self.before {
            return Err(StoreError::Quota { limit: quota, wanted: self.used.unsigned_abs() }.into());
        }
        self.transaction.execute(
            "UPDATE bucket SET used = ?2, next = ?3 WHERE id = ?1",
            params![self.bucket, self.used, self.next],
        )?;
        Ok(self.transaction.commit()?)
    }
}

/// Returns the size of an entry.
fn size(key: &str, value: i64) -> i64 {
    signed(key.len() as u64 + OVERHEAD).saturating_add(value)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
