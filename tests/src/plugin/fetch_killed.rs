//! Git ends with the program that started it, however that ends, and whatever the server does.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::environment::{TestEnvironment, program};

/// The longest wait for something that should be there at once.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for git to ask.
fn accept(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    let until = Instant::now() + PATIENCE;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream.set_write_timeout(Some(PATIENCE)).unwrap();
                return stream;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
        assert!(Instant::now() < until, "git does not ask");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_git_whose_program_was_killed_ends() {
    for sends in [false, true] {
        let env = TestEnvironment::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("git://{}/org/repo", listener.local_addr().unwrap());
        let mut child = env.command(program()).args(["plugin", "add", &url, "--no-trust"]).spawn().unwrap();
        let mut stream = accept(&listener);
        // The process has asked, and waits.
        stream.read_exact(&mut [0; 4]).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let until = Instant::now() + PATIENCE;
        let mut branch = 0;
        // The connection is git's own: it is there for as long as git is.
        loop {
            let done = if sends {
                branch += 1;
                let line = format!("{} refs/heads/{branch}\n", "a".repeat(40));
                stream.write_all(format!("{:04x}{line}", line.len() + 4).as_bytes()).map(|()| 1)
            } else {
                stream.read(&mut [0; 4096])
            };
            match done {
                Ok(0) => break,
                Ok(_) => assert!(Instant::now() < until, "git goes on"),
                Err(error) => {
                    let is_closed =
                        matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset);
                    assert!(is_closed, "git goes on: {error}");
                    break;
                }
            }
        }
    }
}
