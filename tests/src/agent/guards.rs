//! A guard blocks a command, the agent takes a safer one, and the user lets the first one through once.

use std::cell::RefCell;
use std::rc::Rc;

use hookbox::trust::{AllowanceFile, Code, Term, now_ms};
use hookbox::{EventName, Status};
use hookbox_agent::{Agent, Scripted, Step, Tools};
use serde_json::{Value, json};

use crate::environment::TestEnvironment;

const RISKY: &str = "git reset --hard";
const SAFER: &str = "git stash push --include-untracked";

#[tokio::test]
async fn a_guard_names_a_safer_command_and_the_user_allows_the_first_one_once() {
    let env = TestEnvironment::new();
    let git = hookbox_guards::Guard::named("git").unwrap();
    env.file("home/.hookbox/hooks/git.wasm", git.component).file("repo/notes.md", "One day of work.\n");
    let author = ["-c", "user.name=a", "-c", "user.email=a@b"];
    for args in [&["init", "-q"][..], &["add", "."], &[&author[..], &["commit", "-q", "-m", "x"]].concat()] {
        assert_eq!(env.run(env.command("git").args(args), "").code, Some(0));
    }
    env.file("repo/notes.md", "Two days of work.\n");
    let data = env.path("home/.local/share/hookbox");
    let manager = env.builder().data(Some(data.clone())).build().await;

    // The code of the last block, the statuses of the guard, and what the model is told.
    let told = Rc::new(RefCell::new((None, Vec::new())));
    let tell = Rc::clone(&told);
    let watch = move |step: Step<'_>| match step {
        Step::Event(report) if report.event == EventName::BeforeToolCall => {
            tell.borrow_mut().1.extend(report.hook("git.wasm").map(|it| it.status));
        }
        Step::Code(code) => tell.borrow_mut().0 = Some(code.to_owned()),
        _ => {}
    };
    let call = |line: &str| json!({"calls": [["bash", {"command": line}]]});
    let stops = || json!({"text": "I stop here."});
    let script = vec![call(RISKY), call(SAFER), call(RISKY), stops(), call(RISKY), call(RISKY), stops()];
    let tools = Tools::new(&env.path("repo")).unwrap();
    let mut agent = Agent::new(Scripted::new(script, 100_000), tools, manager, watch);
    agent.begin().await;
    agent.turn("Start again from the last commit.").await.unwrap();
    // As `hookbox allow CODE` does after a question on the user's terminal.
    let code: Code = told.borrow().0.as_deref().unwrap().parse().unwrap();
    AllowanceFile::new(&data).update(|all| all.grant(&code, Term::Once, now_ms())).unwrap().unwrap();
    agent.turn("I allowed it. Try again.").await.unwrap();
    agent.end("exit").await;

    let want = [Status::Blocked, Status::Passed, Status::Blocked, Status::Allowed, Status::Blocked];
    assert_eq!(told.borrow().1, want, "{told:?}");
    let read: String = agent.conversation().messages.iter().map(Value::to_string).collect();
    assert!(read.contains("Instead: `git stash push"), "{read}");
    let code = told.borrow().0.clone().unwrap();
    assert!(!read.contains(&code), "the model reads no code: {read}");
}
