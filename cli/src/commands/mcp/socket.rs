//! `hookbox mcp --socket`: a connection for each agent of one user.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use hookbox::manager::Manager;
use hookbox_system::text;
use serde_json::Value;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::messages::{BUSY, failure};
use super::server::{Client, Server};
use crate::error::{InputError, warn};

/// The number of connections at the same time. Each watches the hooks, and may have as many calls as a process.
const MAX_CONNECTIONS: usize = 64;

/// A socket, which is removed with this value.
pub(super) struct Bound {
    listener: UnixListener,
    path: PathBuf,
}

impl Drop for Bound {
    fn drop(&mut self) {
        // A socket that is left is replaced by the next process.
        let _ = fs::remove_file(&self.path);
    }
}

/// Makes the socket, readable and writable for the user alone. It replaces one that a killed process has left.
pub(super) fn bind(path: &Path) -> Result<Bound, InputError> {
    let failed = |error: io::Error| {
        let what = format!("cannot serve on {}: {error}", text::shown_path(path));
        InputError::new(what, "give a new file in a directory of yours, such as $XDG_RUNTIME_DIR/hookbox")
    };
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_left(path) => {
            fs::remove_file(path).and_then(|()| UnixListener::bind(path))
        }
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            Err(io::Error::other("the file exists, and is not a socket that a process of yours has left"))
        }
        bound => bound,
    };
    let bound = Bound { listener: listener.map_err(failed)?, path: path.to_owned() };
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(bound)
}

/// Returns true if a file is a socket that no process serves.
fn is_left(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
    let connected = std::os::unix::net::UnixStream::connect(path);
    is_socket && connected.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

impl Bound {
    /// Answers each connection until the process ends, with hooks of its own that `find` finds. A connection that breaks
    /// ends its own hooks only.
    pub(super) async fn serve<F>(self, find: impl Fn() -> F) -> anyhow::Result<()>
    where
        F: Future<Output = anyhow::Result<Manager>> + Send + 'static,
    {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    let (stream, _) = accepted?;
                    // The mode of the file is set only after it was made.
                    let user = stream.peer_cred().map(|it| it.uid());
                    if user.is_ok_and(|it| it == rustix::process::geteuid().as_raw()) {
                        connections.spawn(connection(stream, find(), connections.len()));
                    } else {
                        warn("refused a connection of another user");
                    }
                }
                Some(ended) = connections.join_next() => {
                    if let Ok(Err(error)) = ended {
                        warn(format_args!("a connection has ended: {error:#}"));
                    }
                }
            }
        }
    }
}

async fn connection(
    stream: UnixStream,
    manager: impl Future<Output = anyhow::Result<Manager>>,
    others: usize,
) -> anyhow::Result<()> {
    let (input, output) = stream.into_split();
    let mut client = Client::Socket(output);
    if others >= MAX_CONNECTIONS {
        let message = format!("{MAX_CONNECTIONS} connections are open: connect again later");
        return client.say(&failure(&Value::Null, BUSY, &message)).await;
    }
    let (send, lines) = mpsc::channel(1);
    let serve = async { Server::new(client, manager.await?).serve(lines).await };
    let forward = async {
        super::forward(input, send).await;
        std::future::pending().await
    };
    tokio::select! {
        served = serve => served,
        never = forward => never,
    }
}
