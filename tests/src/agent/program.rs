//! The program `hookbox-agent`.

use std::ffi::OsStr;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::embedding::{Requests, endpoint, quit};
use crate::environment::{Output, TestEnvironment, program};

pub(crate) fn agent_program() -> PathBuf {
    let program = program().with_file_name("hookbox-agent");
    assert!(program.is_file(), "no {}; hint: cargo build -p hookbox-agent", program.display());
    program
}

/// A place whose model says these things, one after the other.
fn place(answers: &[&str]) -> (TestEnvironment, std::net::SocketAddr, Requests) {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let answers = answers.iter().map(
        |text| json!({"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}),
    );
    let (address, requests) = endpoint(answers.collect());
    let env = TestEnvironment::new().variable("OPENAI_BASE_URL", &format!("http://{address}/v1"));
    (env, address, requests)
}

fn run<A: AsRef<OsStr>>(
    env: &TestEnvironment,
    args: impl IntoIterator<Item = A>,
    input: impl AsRef<[u8]>,
) -> Output {
    env.run(env.command(agent_program()).args(args), input)
}

#[track_caller]
fn said(output: &Output) -> &str {
    assert_eq!(output.code, Some(0), "{output:#?}");
    output.stdout.trim_end()
}

fn texts(request: &(String, Value)) -> String {
    request.1["messages"].to_string()
}

#[test]
fn a_conversation_is_saved_listed_followed_compacted_and_resumed() {
    let (env, address, requests) = place(&["Half is done.", "The rest, too.", "All of it was done.", "Yes."]);
    assert_eq!(said(&run(&env, ["run", "do it"], "")), "Half is done.");
    let listed = run(&env, ["list", "--json"], "").json();
    let [row] = listed.as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!((row["title"].as_str(), row["messages"].as_u64()), (Some("do it"), Some(3)));
    let id = row["id"].as_str().unwrap();
    assert!(env.path(format!("home/.local/share/hookbox-agent/conversations/{id}.json")).is_file());

    assert_eq!(said(&run(&env, ["run", "--follow", "go on"], "")), "The rest, too.");
    let compact = ["run", "-r", "compact", "--arg", "focus=the parser", "--follow"];
    assert_eq!(said(&run(&env, compact, "")), "All of it was done.");
    assert_eq!(said(&run(&env, ["run", "--resume", id, "Is it?"], "")), "Yes.");
    let listed = run(&env, ["list"], "");
    assert!(said(&listed).contains(id) && listed.stdout.contains("All of it was done."), "{listed:#?}");

    let requests = quit(address, requests);
    assert!(texts(&requests[1]).contains("Half is done.") && texts(&requests[1]).contains("go on"));
    assert!(requests[2].1["tools"].is_null(), "the question for a summary has no tools");
    assert!(texts(&requests[2]).contains("focus: the parser"), "the arguments of compact are used");
    assert!(texts(&requests[3]).contains("All of it was done.") && !texts(&requests[3]).contains("do it"));
}

#[test]
fn a_damaged_conversation_is_an_error_and_stays_as_it_is() {
    let (env, address, requests) = place(&["Done."]);
    let path = "home/.local/share/hookbox-agent/conversations/broken.json";
    env.directory("home/.local/share/hookbox-agent/conversations").file(path, "{\"version\":1,");
    env.mode("home/.local/share/hookbox-agent/conversations", 0o700);
    for args in
        [&["run", "--follow", "go on"][..], &["run", "--resume", "broken", "go on"], &["chat", "--follow"]]
    {
        let output = run(&env, args, "");
        assert_eq!(output.code, Some(1), "{output:#?}");
        assert!(output.stderr.contains("broken.json: is damaged and was left as it is"), "{output:#?}");
    }
    assert_eq!(env.read(path).as_deref(), Some("{\"version\":1,"));
    assert!(run(&env, ["list"], "").stdout.contains("is damaged"));
    let missing = run(&env, ["run", "--resume", "missing", "go on"], "");
    assert!(missing.stderr.contains("there is no such conversation"), "{missing:#?}");
    assert!(quit(address, requests).is_empty(), "nobody asked the model");
}

#[test]
fn each_line_of_a_chat_is_a_turn_of_one_session() {
    let (env, address, requests) = place(&["One.", "Two."]);
    let log = "cat >> log; echo >> log";
    for event in ["session_start", "user_message_send", "turn_end", "session_end"] {
        env.native(&format!("home/.hookbox/hooks/{event}"), event, log);
    }
    assert_eq!(said(&run(&env, ["chat"], "first\n\nsecond\n")), "One.\nTwo.");
    assert!(texts(&quit(address, requests)[1]).contains("first"));
    let log = env.read("repo/log").unwrap();
    let events: Vec<String> = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok()?["event"].as_str().map(str::to_owned))
        .collect();
    let want = "session_start user_message_send turn_end user_message_send turn_end session_end";
    assert_eq!(events.join(" "), want);
}

#[test]
fn a_byte_that_is_no_text_does_not_end_a_chat() {
    let (env, address, requests) = place(&["One.", "Two."]);
    assert_eq!(said(&run(&env, ["chat"], b"caf\xe9\nsecond\n")), "One.\nTwo.");
    assert!(texts(&quit(address, requests)[0]).contains("caf\u{fffd}"));
}

#[test]
fn hooks_run_for_run_and_not_for_commit_nor_where_they_are_switched_off() {
    let (env, address, requests) = place(&["Fix the parser"]);
    env.native(
        "home/.hookbox/hooks/guard",
        "user_message_send",
        r#"echo '{"blocked":true,"reason":"not today"}'"#,
    );
    let git = |args: &[&str]| {
        let output = env.run(env.command("git").args(args), "");
        assert_eq!(output.code, Some(0), "{output:#?}");
    };
    git(&["init", "-q", "-b", "main"]);
    let nothing = run(&env, ["commit"], "");
    assert!(nothing.code == Some(1) && nothing.stderr.contains("hint: `git add`"), "{nothing:#?}");
    env.file("repo/parser.rs", "fn parse() {}\n");
    git(&["add", "parser.rs"]);
    assert_eq!(said(&run(&env, ["commit"], "")), "Fix the parser");
    let author = ["-c", "user.name=a", "-c", "user.email=a@b"];
    git(&[&author[..], &["commit", "-q", "-m", "x"]].concat());
    git(&["checkout", "-q", "-b", "topic"]);
    env.file("repo/parser.rs", "fn parse() { todo }\n");
    git(&[&author[..], &["commit", "-q", "-a", "-m", "y"]].concat());
    assert_eq!(said(&run(&env, ["pr"], "")), "Fix the parser");

    assert_eq!(said(&run(&env, ["run", "--no-hooks", "do it"], "")), "Fix the parser");
    assert_eq!(said(&run(&env, ["chat", "--no-hooks"], "do it\n")), "Fix the parser");

    let requests = quit(address, requests);
    assert_eq!(requests.len(), 4);
    assert!(texts(&requests[0]).contains("+fn parse() {}") && requests[0].1["tools"].is_null());
    assert!(texts(&requests[1]).contains("+fn parse() { todo }"));
}

#[test]
fn a_blocked_message_is_an_error_and_prints_no_answer() {
    let (env, address, requests) = place(&["One."]);
    env.native(
        "home/.hookbox/hooks/guard",
        "user_message_send",
        r#"case "$(cat)" in *secret*|*parser*) echo '{"blocked":true,"reason":"not today"}';; esac"#,
    );
    // A script may use the answer: `git commit -m "$(hookbox-agent commit)"`.
    env.file("home/.hookbox/hookbox.toml", "skip_commands = []\n").file("repo/parser.rs", "fn parse() {}\n");
    for args in [&["init", "-q"][..], &["add", "parser.rs"]] {
        assert_eq!(env.run(env.command("git").args(args), "").code, Some(0));
    }
    for args in [&["run", "tell me the secret"][..], &["commit"]] {
        let blocked = run(&env, args, "");
        assert_eq!((blocked.code, blocked.stdout.as_str()), (Some(1), ""), "{blocked:#?}");
        for line in ["guard blocked it: not today", "error: a hook blocked the message: not today"] {
            assert!(blocked.stderr.contains(line), "{blocked:#?}");
        }
    }
    // A chat goes on with the next message.
    let chat = run(&env, ["chat"], "the secret\nhello\n");
    assert_eq!((chat.code, chat.stdout.as_str()), (Some(0), "One.\n"), "{chat:#?}");
    assert!(chat.stderr.contains("error: a hook blocked the message: not today"), "{chat:#?}");
    let requests = quit(address, requests);
    assert_eq!(requests.len(), 1, "the model gets no blocked message");
}

#[test]
fn the_log_shows_what_hooks_write_and_their_names() {
    let (env, address, requests) = place(&["One."]);
    let env = env.variable("HOOKBOX_LOG", "hookbox=debug");
    env.native("home/.hookbox/hooks/turns", "after_turn", "echo \"Turn $(cat | wc -l): context 12%\" >&2");
    env.native(
        "home/.hookbox/hooks/more",
        "agent_stop",
        r#"cat >/dev/null; [ -e asked ] || echo '{"follow_up_messages":["and the tests"]}'; touch asked"#,
    );
    env.native(
        "home/.hookbox/hooks/says",
        "session_start",
        r#"echo '{"action":"passThrough","warnings":["careful"]}'"#,
    );
    let output = run(&env, ["run", "do it"], "");
    assert_eq!(said(&output), "One.");
    for part in [
        "context 12%",
        "hookbox::output",
        "found a hook",
        "warning: says: careful",
        "hooks: more makes it go on: and the tests",
    ] {
        assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
    }
    drop(quit(address, requests));
}

#[test]
fn wrong_usage_says_what_was_expected() {
    let env = TestEnvironment::new();
    for (args, code, words) in [
        (&["run"][..], 2, "QUERY"),
        (&["run", "--arg", "a=b", "x"], 2, "--recipe"),
        (&["run", "-r", "compact", "--arg", "a"], 2, "expected NAME=VALUE"),
        (&["run", "--follow", "--resume", "x", "y"], 2, "cannot be used with"),
        (&["run", "x"], 1, "expected the URL of a chat endpoint in OPENAI_BASE_URL"),
        (&["fly"], 2, "fly"),
    ] {
        let output = run(&env, args, "");
        assert_eq!(output.code, Some(code), "{args:?}: {output:#?}");
        assert!(output.stderr.contains(words), "{args:?}: {output:#?}");
    }
}
