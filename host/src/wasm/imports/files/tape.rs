//! `wasi:filesystem`, with the tape of the call in between. A call that is played gets handles that lead nowhere, and
//! each answer about them from the record.

use std::fs::File;
use std::io;

use bytes::Bytes;
use rustix::io::Errno;
use wasmtime::component::{LinkerInstance, Resource};
use wasmtime_wasi::filesystem::{Descriptor, Dir, FsPerms, OpenMode, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DirectoryEntryStream, ErrorCode, HostDescriptor as _, HostDirectoryEntryStream as _,
    NewTimestamp, PathFlags,
};
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, FsResult, InputStream, OutputStream, Pollable, StreamError, StreamResult,
};

use crate::wasm::state::CallState;
use crate::wasm::tape::{Tape, Taped};

type Handle = Resource<Descriptor>;
pub(super) type Refused<T> = Result<T, ErrorCode>;

/// Makes a handle for a call that is played.
pub(super) fn nowhere(state: &mut CallState) -> wasmtime::Result<Handle> {
    let nothing = File::open("/dev/null")?;
    let dir = Dir::new(nothing, FsPerms::ReadOnly, OpenMode::READ, false);
    Ok(state.table.push(Descriptor::Dir(dir))?)
}

/// Returns the answer of the tape, or of wasmtime.
async fn take<T: Taped>(
    tape: &Tape,
    asked: String,
    outside: impl Future<Output = FsResult<T>>,
) -> wasmtime::Result<(Refused<T>,)> {
    let outside = async { refused(outside.await) };
    Ok((tape.take(|| asked, outside).await?,))
}

/// Separates the errors of the guest from those that end its call.
pub(super) fn refused<T>(result: FsResult<T>) -> wasmtime::Result<Refused<T>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => Ok(Err(error.downcast()?)),
    }
}

/// Replaces functions that only return an answer.
macro_rules! answers {
    ($to:ident: $($name:literal ($($arg:ident: $type:ty),*) = $method:ident $(, $shown:ident)?;)*) => {$(
        $to.func_wrap_async($name, |mut store, ($($arg,)*): ($($type,)*)| Box::new(async move {
            let state: &mut CallState = store.data_mut();
            let tape = state.tape.clone();
            #[allow(unused_mut, unused_assignments, reason = "not every function names a path")]
            let mut asked = String::new();
            if tape.is_on() {
                asked = concat!("file.", stringify!($method)).to_owned();
                $(asked = format!("{asked} {:?}", $shown);)?
            }
            take(&tape, asked, state.filesystem().$method($($arg),*)).await
        }))?;
    )*};
}

/// Replaces the functions, after wasmtime's own were linked.
pub(super) fn link(filesystem: &mut LinkerInstance<'_, CallState>) -> wasmtime::Result<()> {
    answers! { filesystem:
        "[method]descriptor.advise" (it: Handle, offset: u64, length: u64, advice: Advice) = advise;
        "[method]descriptor.sync-data" (it: Handle) = sync_data;
        "[method]descriptor.get-flags" (it: Handle) = get_flags;
        "[method]descriptor.get-type" (it: Handle) = get_type;
        "[method]descriptor.set-size" (it: Handle, size: u64) = set_size, size;
        "[method]descriptor.set-times" (it: Handle, access: NewTimestamp, change: NewTimestamp) = set_times;
        "[method]descriptor.read" (it: Handle, length: u64, offset: u64) = read, offset;
        "[method]descriptor.write" (it: Handle, data: Vec<u8>, offset: u64) = write, offset;
        "[method]descriptor.sync" (it: Handle) = sync;
        "[method]descriptor.create-directory-at" (it: Handle, path: String) = create_directory_at, path;
        "[method]descriptor.stat" (it: Handle) = stat;
        "[method]descriptor.stat-at" (it: Handle, follow: PathFlags, path: String) = stat_at, path;
        "[method]descriptor.set-times-at"
            (it: Handle, follow: PathFlags, path: String, access: NewTimestamp, change: NewTimestamp) = set_times_at, path;
        "[method]descriptor.readlink-at" (it: Handle, path: String) = readlink_at, path;
        "[method]descriptor.remove-directory-at" (it: Handle, path: String) = remove_directory_at, path;
        "[method]descriptor.rename-at" (it: Handle, path: String, to: Handle, name: String) = rename_at, path;
        "[method]descriptor.unlink-file-at" (it: Handle, path: String) = unlink_file_at, path;
        "[method]descriptor.metadata-hash" (it: Handle) = metadata_hash;
        "[method]descriptor.metadata-hash-at" (it: Handle, follow: PathFlags, path: String) = metadata_hash_at, path;
        "[method]directory-entry-stream.read-directory-entry" (it: Resource<DirectoryEntryStream>) = read_directory_entry;
    }
    filesystem.func_wrap_async(
        "[method]descriptor.is-same-object",
        |mut store, (one, other): (Handle, Handle)| {
            Box::new(async move {
                let state: &mut CallState = store.data_mut();
                let tape = state.tape.clone();
                let mut files = state.filesystem();
                Ok((tape.take(|| "file.is_same_object".to_owned(), files.is_same_object(one, other)).await?,))
            })
        },
    )?;
    filesystem.func_wrap_async("[method]descriptor.read-directory", |mut store, (it,): (Handle,)| {
        Box::new(async move { Ok((read_directory(store.data_mut(), it).await?,)) })
    })?;
    streams(filesystem)
}

async fn read_directory(
    state: &mut CallState,
    directory: Handle,
) -> wasmtime::Result<Refused<Resource<DirectoryEntryStream>>> {
    let tape = state.tape.clone();
    if !tape.is_played() {
        let entries = refused(state.filesystem().read_directory(directory).await)?;
        note(&tape, "file.read_directory", &entries);
        return Ok(entries);
    }
    if let Err(error) = tape.play::<Refused<()>>("file.read_directory")? {
        return Ok(Err(error));
    }
    // Only wasmtime makes such a handle, of a directory.
    let empty = tempfile::tempdir()?;
    let dir = Dir::new(File::open(empty.path())?, FsPerms::ReadOnly, OpenMode::READ, false);
    let dir = state.table.push(Descriptor::Dir(dir))?;
    let entries = refused(state.filesystem().read_directory(Resource::new_borrow(dir.rep())).await)?;
    state.table.delete(dir)?;
    Ok(entries)
}

/// Records whether a function gave a handle.
pub(super) fn note<T>(tape: &Tape, asked: &str, answer: &Refused<T>) {
    if tape.is_on() {
        tape.record(asked.to_owned(), answer.as_ref().map(drop).map_err(|error| *error).write());
    }
}

fn streams(filesystem: &mut LinkerInstance<'_, CallState>) -> wasmtime::Result<()> {
    filesystem.func_wrap(
        "[method]descriptor.read-via-stream",
        |mut store, (it, offset): (Handle, u64)| {
            let open = |state: &mut CallState| state.filesystem().read_via_stream(it, offset);
            opened(store.data_mut(), "file.read_via_stream", open, |inner, tape| -> DynInputStream {
                Box::new(TapedStream { inner, tape })
            })
        },
    )?;
    filesystem.func_wrap(
        "[method]descriptor.write-via-stream",
        |mut store, (it, offset): (Handle, u64)| {
            let open = |state: &mut CallState| state.filesystem().write_via_stream(it, offset);
            opened(store.data_mut(), "file.write_via_stream", open, output)
        },
    )?;
    filesystem.func_wrap("[method]descriptor.append-via-stream", |mut store, (it,): (Handle,)| {
        let open = |state: &mut CallState| state.filesystem().append_via_stream(it);
        opened(store.data_mut(), "file.append_via_stream", open, output)
    })?;
    Ok(())
}

fn output(inner: Option<DynOutputStream>, tape: Tape) -> DynOutputStream {
    Box::new(TapedStream { inner, tape })
}

/// Opens a stream, and puts the tape between it and the guest, if there is a tape. A call that is played opens nothing.
fn opened<S: Send + 'static>(
    state: &mut CallState,
    asked: &str,
    open: impl FnOnce(&mut CallState) -> FsResult<Resource<S>>,
    wrap: impl FnOnce(Option<S>, Tape) -> S,
) -> wasmtime::Result<(Refused<Resource<S>>,)> {
    let tape = state.tape.clone();
    let stream = match tape.is_played() {
        true => tape.play::<Refused<()>>(asked)?.map(|()| None),
        false => refused(open(state))?.map(Some),
    };
    note(&tape, asked, &stream);
    Ok((match stream {
        Err(error) => Err(error),
        Ok(Some(stream)) if !tape.is_on() => Ok(stream),
        Ok(stream) => {
            let inner = stream.map(|stream| state.table.delete(stream)).transpose()?;
            Ok(state.table.push(wrap(inner, tape))?)
        }
    },))
}

/// The failure of a stream: the system gave this error, or the stream is closed.
type Failed = Option<i32>;

/// A stream of a file, with the tape in between. A call that is played has no file.
struct TapedStream<S> {
    inner: Option<S>,
    tape: Tape,
}

impl<S> TapedStream<S> {
    fn take<T: Taped>(
        &mut self,
        asked: &str,
        outside: impl FnOnce(&mut S) -> StreamResult<T>,
    ) -> StreamResult<T> {
        let Some(inner) = &mut self.inner else { return self.played(asked) };
        let got = outside(inner);
        self.recorded(asked, got)
    }

    fn played<T: Taped>(&self, asked: &str) -> StreamResult<T> {
        let got = self.tape.play::<Result<T, Failed>>(asked).map_err(StreamError::Trap)?;
        got.map_err(|errno| match errno {
            None => StreamError::Closed,
            Some(errno) => StreamError::LastOperationFailed(io::Error::from_raw_os_error(errno).into()),
        })
    }

    fn recorded<T: Taped>(&self, asked: &str, got: StreamResult<T>) -> StreamResult<T> {
        let written = match &got {
            Ok(got) => got.write(),
            Err(StreamError::Closed) => Err::<(), Failed>(None).write(),
            Err(StreamError::LastOperationFailed(error)) => {
                let errno = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
                Err::<(), Failed>(Some(errno.unwrap_or(Errno::IO.raw_os_error()))).write()
            }
            Err(StreamError::Trap(_)) => return got,
        };
        self.tape.record(asked.to_owned(), written);
        got
    }
}

#[wasmtime_wasi::async_trait]
impl<S: Pollable + ?Sized> Pollable for TapedStream<Box<S>> {
    async fn ready(&mut self) {
        if let Some(inner) = &mut self.inner {
            inner.ready().await;
        }
    }
}

#[wasmtime_wasi::async_trait]
impl InputStream for TapedStream<DynInputStream> {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.take("file.read", |inner| inner.read(size).map(Vec::from)).map(Bytes::from)
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        let got = match &mut self.inner {
            Some(inner) => {
                let got = inner.blocking_read(size).await.map(Vec::from);
                self.recorded("file.read", got)
            }
            None => self.played("file.read"),
        };
        got.map(Bytes::from)
    }

    async fn cancel(&mut self) {
        if let Some(inner) = &mut self.inner {
            inner.cancel().await;
        }
    }
}

#[wasmtime_wasi::async_trait]
impl OutputStream for TapedStream<DynOutputStream> {
    fn write(&mut self, data: Bytes) -> StreamResult<()> {
        self.take("file.write", |inner| inner.write(data))
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.take("file.flush", |inner| inner.flush())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        let room = self.take("file.room", |inner| inner.check_write().map(|it| it as u64))?;
        Ok(usize::try_from(room).unwrap_or(usize::MAX))
    }

    async fn blocking_write_and_flush(&mut self, data: Bytes) -> StreamResult<()> {
        match &mut self.inner {
            Some(inner) => {
                let done = inner.blocking_write_and_flush(data).await;
                self.recorded("file.write", done)
            }
            None => self.played("file.write"),
        }
    }

    async fn cancel(&mut self) {
        if let Some(inner) = &mut self.inner {
            inner.cancel().await;
        }
    }
}
