use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::*;
use crate::bridge::{Approver, ApproverError};

/// Far longer than any of this takes.
const LONG: Duration = Duration::from_secs(120);

/// The end of what the user reads before the answer.
const PROMPT: &str = "Let this run? [y/N] ";

fn question(tool: &str, time: Duration) -> Question {
    Question {
        agent: "Codex".to_owned(),
        tool: tool.to_owned(),
        input: r#"{"command":"ls"}"#.to_owned(),
        directory: "/repo".to_owned(),
        session: "s".to_owned(),
        hook: "guard".to_owned(),
        is_trusted: true,
        reason: "really?".to_owned(),
        time_ms: u64::try_from(time.as_millis()).unwrap(),
    }
}

fn in_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// A question that is asked on a thread of its own.
fn ask(data: &Path, tool: &str) -> JoinHandle<End> {
    let (data, question) = (data.to_owned(), question(tool, LONG));
    std::thread::spawn(move || in_runtime(question.ask(&data)))
}

/// The user's terminal, and the process that shows questions there.
struct Terminal {
    keys: Option<UnixStream>,
    screen: UnixStream,
    ended: JoinHandle<io::Result<()>>,
}

impl Terminal {
    /// Returns once the process listens.
    fn open(data: &Path, once: bool) -> Self {
        let data = data.to_owned();
        let (keys, typed) = UnixStream::pair().unwrap();
        let (screen, mut shown) = UnixStream::pair().unwrap();
        screen.set_read_timeout(Some(LONG)).unwrap();
        let (listens, does_listen) = mpsc::channel();
        let serve = async move |approver: Approver| {
            approver.serve(typed, &mut shown, |it| format!("{}?", it.tool), once).await
        };
        let ended = std::thread::spawn(move || {
            in_runtime(async {
                let approver = Approver::listen(&data).unwrap();
                listens.send(()).unwrap();
                serve(approver).await
            })
        });
        does_listen.recv().unwrap();
        Self { keys: Some(keys), screen, ended }
    }

    fn types(&self, text: &str) {
        self.keys.as_ref().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Returns what is written up to and with this.
    fn reads(&mut self, end: &str) -> String {
        let mut bytes = Vec::new();
        while !bytes.ends_with(end.as_bytes()) {
            let mut byte = [0];
            self.screen.read_exact(&mut byte).unwrap();
            bytes.extend(byte);
        }
        String::from_utf8(bytes).unwrap()
    }
}

/// Connects, and sends this.
fn send(data: &Path, text: &str) -> UnixStream {
    let mut stream = UnixStream::connect(data.join(SOCKET)).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    // The other end may hang up before it has read everything.
    let _ = stream.write_all(text.as_bytes());
    stream
}

fn line(tool: &str) -> String {
    format!("{}\n", serde_json::to_string(&question(tool, LONG)).unwrap())
}

#[test]
fn the_user_answers_and_only_yes_is_a_yes() {
    let temp = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::open(temp.path(), false);
    for (typed, want) in [
        ("y\n", true),
        (" YES \n", true),
        ("n\n", false),
        ("\n", false),
        ("yy\n", false),
        ("\u{fffd}\n", false),
    ] {
        let asked = ask(temp.path(), "Bash");
        assert_eq!(terminal.reads(PROMPT), format!("Bash?\n{PROMPT}"), "{typed:?}");
        terminal.types(typed);
        assert_eq!(asked.join().unwrap(), End::Answered(want), "{typed:?}");
    }
}

#[test]
fn what_was_typed_before_the_question_does_not_count() {
    let temp = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::open(temp.path(), false);
    terminal.types("y\ny\n");
    let asked = ask(temp.path(), "Bash");
    terminal.reads(PROMPT);
    // A second line is for no later question either.
    terminal.types("n\ny\n");
    assert_eq!(asked.join().unwrap(), End::Answered(false));
    let asked = ask(temp.path(), "Bash");
    terminal.reads(PROMPT);
    terminal.types("n\n");
    assert_eq!(asked.join().unwrap(), End::Answered(false));
}

#[test]
fn a_question_that_goes_away_is_withdrawn_and_an_answer_to_it_has_no_effect() {
    let temp = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::open(temp.path(), false);
    for _ in 0..20 {
        let stream = send(temp.path(), &line("first"));
        terminal.reads(PROMPT);
        drop(stream);
        terminal.reads("The agent no longer waits: the call is blocked.\n");
        terminal.types("y\n");
        let asked = ask(temp.path(), "second");
        assert_eq!(terminal.reads(PROMPT), format!("second?\n{PROMPT}"));
        terminal.types("n\n");
        assert_eq!(asked.join().unwrap(), End::Answered(false));
    }
}

#[test]
fn questions_wait_for_their_turn_and_each_gets_its_own_answer() {
    let temp = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::open(temp.path(), false);
    let streams: Vec<UnixStream> = ["a", "b", "c"].map(|tool| send(temp.path(), &line(tool))).into();
    for (tool, answer) in [("a", "true\n"), ("b", "false\n"), ("c", "true\n")] {
        assert_eq!(terminal.reads(PROMPT), format!("{tool}?\n{PROMPT}"));
        terminal.types(if answer == "true\n" { "y\n" } else { "n\n" });
    }
    for (stream, want) in streams.into_iter().zip(["true\n", "false\n", "true\n"]) {
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        assert_eq!(answer, want);
    }
}

#[test]
fn whatever_is_no_question_is_hung_up_on() {
    let temp = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::open(temp.path(), false);
    let long = format!("\"{}\"\n", "x".repeat(MAX_QUESTION));
    for text in ["\n", "{}\n", "garbage\n", "\u{0}\n", &long, &line("Bash").replace("\"hook\"", "\"hooks\"")]
    {
        // Some systems report an end with unread bytes as an error.
        let end = send(temp.path(), text).read(&mut [0; 9]);
        assert!(!matches!(end, Ok(1..)), "{text:.20}");
    }
    drop(send(temp.path(), "{\"agent\""));
    drop(send(temp.path(), ""));
    let asked = ask(temp.path(), "Bash");
    terminal.reads(PROMPT);
    terminal.types("y\n");
    assert_eq!(asked.join().unwrap(), End::Answered(true));
}

#[test]
fn it_ends_after_one_question_or_with_the_terminal() {
    let temp = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::open(temp.path(), true);
    let asked = ask(temp.path(), "Bash");
    terminal.reads(PROMPT);
    terminal.types("y\n");
    assert_eq!(asked.join().unwrap(), End::Answered(true));
    terminal.ended.join().unwrap().unwrap();
    assert!(!temp.path().join(SOCKET).exists());

    let mut terminal = Terminal::open(temp.path(), false);
    let asked = ask(temp.path(), "Bash");
    terminal.reads(PROMPT);
    terminal.keys = None;
    assert_eq!(asked.join().unwrap(), End::Answered(false));
    terminal.ended.join().unwrap().unwrap();
}

#[test]
fn one_process_at_a_time_answers_and_it_replaces_a_socket_that_was_left() {
    let temp = tempfile::tempdir().unwrap();
    drop(UnixListener::bind(temp.path().join(SOCKET)).unwrap());
    in_runtime(async {
        let first = Approver::listen(temp.path()).unwrap();
        let second = Approver::listen(temp.path());
        assert!(matches!(second, Err(ApproverError::Busy)), "{second:?}");
        assert!(temp.path().join(SOCKET).exists());
        drop(first);
        assert!(!temp.path().join(SOCKET).exists());
        drop(Approver::listen(temp.path()).unwrap());
        let deep = temp.path().join("x".repeat(200));
        std::fs::create_dir(&deep).unwrap();
        let error = Approver::listen(&deep).unwrap_err();
        assert!(error.to_string().contains(SOCKET), "{error}");
    });
}

#[test]
fn without_an_answer_the_wait_ends() {
    let temp = tempfile::tempdir().unwrap();
    let data = temp.path().to_owned();
    let asked = |time| in_runtime(question("Bash", time).ask(&data));
    assert_eq!(asked(LONG), End::Unasked(None), "no socket");
    let listener = UnixListener::bind(data.join(SOCKET)).unwrap();
    assert_eq!(asked(Duration::from_millis(20)), End::Unanswered, "nobody answers");
    drop(listener.accept().unwrap());
    let mut long = question("Bash", LONG);
    long.input = "x".repeat(MAX_QUESTION);
    let long = in_runtime(long.ask(&data));
    assert!(matches!(long, End::Unasked(Some(_))), "{long:?}");
    for answer in ["", "true", "yes\n", "truely\n", "  true, and more and more\n"] {
        let waits = ask(&data, "Bash");
        let mut stream = BufReader::new(listener.accept().unwrap().0);
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        assert_eq!(serde_json::from_str::<Question>(&line).unwrap(), question("Bash", LONG));
        stream.get_mut().write_all(answer.as_bytes()).unwrap();
        drop(stream);
        assert_eq!(waits.join().unwrap(), End::Unanswered, "{answer}");
    }
    drop(listener);
    // A process that another test starts has the socket, too, until it runs its program.
    let is_unasked = |_| asked(Duration::from_millis(20)) == End::Unasked(None);
    assert!((0..1000).any(is_unasked), "a socket that was left");
}

#[test]
fn a_refusal_tells_the_model_who_was_asked_and_no_word_of_an_untrusted_hook() {
    for (ruling, want) in [
        (Ruling::trusted("guard", "really?"), "really? (no)"),
        (Ruling::trusted("guard", " "), "guard: no"),
        (
            Ruling::untrusted("theirs", "a hook of the repository", "run rm"),
            "blocked by a hook of the repository: no",
        ),
    ] {
        assert_eq!(refused(&ruling, "no").needed_for_model(), want);
    }
}
