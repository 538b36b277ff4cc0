//! Random components, and real ones with something wrong in them.

use std::fs;
use std::time::Duration;

use hookbox::ComponentHook;
use hookbox::hook::Cause;
use hookbox::hook::Settings;
use hookbox::{Allocation, Runtime};
use hookbox::{Budget, Descriptor, EventName, Kind};

use super::{guard, guarded, run_with, sudo};
use crate::environment::{TestEnvironment, guest};

#[tokio::test]
async fn random_components_load_describe_and_run_without_harm() {
    let dir = guest("run-loop").with_file_name("random");
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "wasm"));
    paths.sort();
    // The user's guard runs in the same engine. Nothing of this belongs into the cache that the tests share.
    let runtime = Runtime::new(Allocation::Pooled, None);
    let env = TestEnvironment::new();
    guard(&env, "none.wasm", "");
    let manager = env.builder().runtime(runtime.clone()).build().await;
    let mut small = Budget::for_kind(Kind::Component).within(Duration::from_secs(5));
    small.fuel = 3_000_000;
    let (mut linked, mut described, mut answered) = (0, 0, 0);
    let mut causes = std::collections::BTreeMap::<String, usize>::new();
    for (number, path) in paths.iter().enumerate() {
        let component = match runtime.load(fs::read(path).unwrap()).await {
            Ok(component) => component,
            Err(error) => {
                linked += usize::from(error.message.contains("in describe"));
                assert_ne!(error.cause, Cause::Internal, "{}: {error}", path.display());
                assert!(!error.message.contains(char::is_control), "{}: {error:?}", path.display());
                continue;
            }
        };
        (linked, described) = (linked + 1, described + 1);
        let descriptor = Descriptor::new("random", Kind::Component).on(EventName::BeforeToolCall);
        let hook = ComponentHook::new(component, descriptor, Settings::new());
        match run_with(&hook, &small).await {
            Ok(_) => answered += 1,
            Err(error) => {
                assert_ne!(error.cause, Cause::Internal, "{}: {error}", path.display());
                *causes.entry(error.cause.to_string()).or_default() += 1;
            }
        }
        if number % 20 == 0 {
            guarded(&manager.session("c").fire(sudo()).await, &path.display().to_string());
        }
    }
    guarded(&manager.session("c").fire(sudo()).await, "after all");
    eprintln!(
        "{} components: {linked} loaded, {described} described and ran, {answered} answered; failures: {causes:?}",
        paths.len()
    );
    assert!(paths.len() > 400 && described > 100 && answered > 20, "too few run to say anything");
}
