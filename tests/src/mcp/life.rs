//! The life of a server: started once, at most once more for an event, and never longer than its host.

use std::process::{Command, Stdio};

use super::*;

#[tokio::test]
async fn a_server_that_is_not_used_is_not_started() {
    let env = TestEnvironment::new();
    let manager = guards(&env, &tools(&env, &[]), &[("pass", LONG)]).await;
    let _ = manager.session("c").session_start("startup").await;
    assert_eq!(record(&env, "starts").len(), 0);
}

#[tokio::test]
async fn a_server_that_dies_is_started_once_more_for_an_event_however_many_hooks_use_it() {
    let env = TestEnvironment::new();
    let servers = tools(&env, &[]);
    let manager =
        guards(&env, &servers, &[("exit", LONG), ("exit", LONG), ("exit", LONG), ("pass", LONG)]).await;
    for (event, starts) in [(1, 2), (2, 3), (3, 4)] {
        let report = call(&manager).await;
        assert_eq!(causes(&report), [Some(Cause::Exit); 4], "event {event}");
        let last = report.hooks[3].message.clone().unwrap();
        assert!(last.contains("was started again for this event already"), "{last}");
        assert!(last.contains("ended with status 3"), "{last}");
        assert_eq!(record(&env, "starts").len(), starts, "event {event}");
    }
}

#[tokio::test]
async fn a_server_that_died_between_two_events_is_started_again() {
    let env = TestEnvironment::new();
    let servers = tools(&env, &[]);
    let manager = guards(&env, &servers, &[("dies_later", LONG)]).await;
    for starts in 1..4 {
        assert_eq!(causes(&call(&manager).await), [None]);
        let pids = record(&env, "starts");
        assert_eq!(pids.len(), starts);
        wait_until("the server ends", || !lives(&pids[starts - 1]));
    }
}

#[tokio::test]
async fn the_late_answer_of_a_server_that_was_too_slow_is_nobodys() {
    let env = TestEnvironment::new();
    let servers = tools(&env, &[]);
    let short = Duration::from_millis(500);
    let manager = guards(&env, &servers, &[("pass", LONG), ("late", short), ("pass", LONG)]).await;
    for starts in [2, 3] {
        let report = call(&manager).await;
        assert_eq!(causes(&report), [None, Some(Cause::Timeout), None], "{report:#?}");
        let pids = record(&env, "starts");
        assert_eq!(pids.len(), starts);
        wait_until("the slow server is ended", || !lives(&pids[pids.len() - 2]));
    }
}

#[tokio::test]
async fn a_slow_start_goes_on_when_the_event_is_over() {
    let env = TestEnvironment::new();
    let wait = "while [ ! -e \"$RECORDS/go\" ]; do sleep 0.02; done";
    let servers = tools(&env, &[("AT_START", wait)]);
    let impatient = guards(&env, &servers, &[("pass", Duration::from_millis(300))]).await;
    let report = call(&impatient).await;
    let message = only(&report).message.clone().unwrap();
    assert!(message.contains("its server is still starting"), "{message}");
    env.file("records/go", "");
    let patient = guards(&env, &servers, &[("pass", LONG)]).await;
    assert_eq!(causes(&call(&patient).await), [None]);
    assert_eq!(record(&env, "starts").len(), 1);
}

/// Starts a server with a child of its own; the process ids of both.
async fn with_child(env: &TestEnvironment, servers: &Servers) -> (Manager, [String; 2]) {
    let manager = guards(env, servers, &[("child", LONG)]).await;
    assert_eq!(causes(&call(&manager).await), [None]);
    let pids = [record(env, "starts")[0].clone(), record(env, "child")[0].clone()];
    assert!(pids.iter().all(|pid| lives(pid)));
    (manager, pids)
}

fn wait_until_gone(pids: &[String]) {
    wait_until("the server and its child are ended", || !pids.iter().any(|pid| lives(pid)));
}

#[tokio::test]
async fn a_server_and_its_children_end_with_the_last_handle() {
    let env = TestEnvironment::new();
    let servers = tools(&env, &[]);
    let (manager, pids) = with_child(&env, &servers).await;
    drop(manager);
    assert!(lives(&pids[0]), "there is another handle");
    drop(servers);
    wait_until_gone(&pids);
}

#[test]
fn a_server_ends_with_the_runtime_that_it_was_started_on_and_starts_on_the_next() {
    let env = TestEnvironment::new();
    let servers = tools(&env, &[]);
    let mut kept = None;
    for (starts, threads) in [(1, false), (2, true)] {
        let mut builder = if threads {
            tokio::runtime::Builder::new_multi_thread()
        } else {
            tokio::runtime::Builder::new_current_thread()
        };
        let runtime = builder.enable_all().build().unwrap();
        let (manager, _) = runtime.block_on(with_server(&env, &servers));
        kept = Some(manager);
        runtime.shutdown_background();
        let pids = record(&env, "starts");
        assert_eq!(pids.len(), starts);
        wait_until_gone(&pids);
    }
    drop(kept);
}

async fn with_server(env: &TestEnvironment, servers: &Servers) -> (Manager, Report) {
    let manager = guards(env, servers, &[("pass", LONG)]).await;
    let report = call(&manager).await;
    assert_eq!(causes(&report), [None], "{report:#?}");
    (manager, report)
}

#[tokio::test]
async fn a_host_that_leaves_without_dropping_anything_can_end_its_servers() {
    let env = TestEnvironment::new();
    let servers = tools(&env, &[]);
    let (manager, pids) = with_child(&env, &servers).await;
    servers.end();
    wait_until_gone(&pids);
    assert_eq!(causes(&call(&manager).await), [None], "it is started anew");
}

#[tokio::test]
async fn a_server_whose_start_is_not_over_ends_as_well() {
    let env = TestEnvironment::new();
    let servers = tools(&env, &[("AT_START", "sleep 1000 & echo $! > $RECORDS/child; wait")]);
    let manager = guards(&env, &servers, &[("pass", Duration::from_millis(300))]).await;
    assert_eq!(causes(&call(&manager).await), [Some(Cause::Timeout)]);
    wait_until("it has started", || !record(&env, "child").is_empty());
    let pids = [record(&env, "starts")[0].clone(), record(&env, "child")[0].clone()];
    drop((manager, servers));
    wait_until_gone(&pids);
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_a_server_that_nobody_waits_for_behind() {
    let env = TestEnvironment::new();
    let servers = tools(&env, &[]);
    let manager = guards(&env, &servers, &[("pass", LONG)]).await;
    call(&manager).await;
    let stuck = guards(&env, &servers, &[("never", LONG)]).await;
    let dropped = tokio::time::timeout(Duration::from_millis(200), call(&stuck)).await;
    assert!(dropped.is_err());
    wait_until_gone(&record(&env, "starts"));
    assert_eq!(causes(&call(&manager).await), [None]);
    assert_eq!(record(&env, "starts").len(), 2);
}

/// Not a test: the host of the next one. It starts a server, reports it, and waits to be killed.
#[tokio::test]
async fn a_host_to_be_killed() {
    let Some(script) = std::env::var_os("SERVER_TO_START") else { return };
    let transport = Transport::Stdio {
        command: script.into_string().unwrap(),
        args: Vec::new(),
        env: BTreeMap::new(),
        directory: "/".into(),
    };
    let servers = Servers::new(vec![ServerConfig { name: "tools".to_owned(), transport }]);
    let hook = hook(&servers, "pass", EventName::BeforeToolCall, LONG);
    let manager = Manager::builder().directories(false).hook(hook).build().await;
    call(&manager).await;
    std::future::pending::<()>().await;
}

#[test]
fn a_server_sees_the_end_of_a_host_that_is_killed() {
    let env = TestEnvironment::new();
    drop(tools(&env, &[]));
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["mcp::life::a_host_to_be_killed", "--exact", "--nocapture"])
        .env("SERVER_TO_START", env.path("servers/tools.sh"))
        .env("RECORDS", env.path("records"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the host has called the server", || !record(&env, "calls").is_empty());
    host.kill().unwrap();
    host.wait().unwrap();
    wait_until_gone(&record(&env, "starts"));
}
