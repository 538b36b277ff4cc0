//! An agent that embeds the library installs, updates and removes a plugin without the program.

use hookbox::manager::Manager;
use hookbox_plugins::{
    Accepted, Decision, Hosts, Location, PluginError, PluginErrorKind, Plugins, Preview, Replace, Request,
    Silent, Source, known,
};

use super::{left_behind, written};
use crate::environment::{TestEnvironment, runtime};

async fn prepared<'p>(env: &TestEnvironment, plugins: &'p Plugins) -> Result<Preview<'p>, PluginError> {
    let source = Source::parse("../tools", &Hosts::new(env.path("repo")))?;
    let request = Request::new(source, Some("org/tools".parse().unwrap()))?;
    request.prepare(plugins, &runtime(), &Silent).await
}

async fn accepted(env: &TestEnvironment, preview: Preview<'_>, decision: Option<Decision>) -> Accepted {
    let discover = async { Ok::<Manager, PluginError>(env.builder().build().await) };
    preview.accept(decision.as_ref(), discover).await.unwrap()
}

#[tokio::test]
async fn an_agent_shows_a_plugin_and_installs_it_with_the_users_decision() {
    let env = TestEnvironment::new();
    written(&env, "tools");
    let plugins = Plugins::open(Location::Local, &env.path("repo"), ".hookbox").unwrap();
    let preview = prepared(&env, &plugins).await.unwrap();
    assert_eq!((preview.contents.skills.len(), preview.has_hooks()), (1, true));
    drop(preview);
    assert_eq!((left_behind(&env, "repo/.hookbox"), known(&plugins).unwrap().len()), (vec![], 0));

    let yes = || Some(Decision { trust: true, ..Decision::default() });
    let preview = prepared(&env, &plugins).await.unwrap();
    let Accepted { installed, trusted, warnings, .. } = accepted(&env, preview, yes()).await;
    assert_eq!(installed.path, env.path("repo/.hookbox/plugins/org@tools"));
    assert_eq!((trusted.len(), trusted[0].name.as_str(), warnings.len()), (1, "org/tools/guard", 0));
    let error = prepared(&env, &plugins).await.unwrap_err();
    assert!(matches!(error.kind, PluginErrorKind::Exists(_)), "{error}");

    // An update shows what changes, and asks for the hook, because one of the files beside it is new.
    let now = &known(&plugins).unwrap()[0];
    env.file("tools/hooks/lib.sh", "x");
    let request = Request::update(&plugins, now, None).unwrap();
    let preview = request.prepare(&plugins, &runtime(), &Silent).await.unwrap();
    let update = preview.update(now, &runtime()).await.unwrap();
    assert_eq!(update.difference.other_files.added, ["hooks/lib.sh"]);
    let changes = update.trust(&preview, &env.builder().build().await);
    assert_eq!((changes.is_asked(), changes.beside.as_slice()), (true, &["org/tools/guard".to_owned()][..]));
    let done = accepted(&env, preview, Some(changes.decision(false, false))).await;
    assert_eq!((done.trusted.len(), done.forgotten.len()), (0, 1));

    // The lock file restores it, and removal takes its trust with it.
    let locked = plugins.lock().unwrap().iter().next().unwrap().clone();
    let runtime = runtime();
    let restore = || Request::restore(&plugins, &locked, Replace::No, &runtime);
    assert!(restore().await.unwrap().is_none(), "it is installed");
    std::fs::remove_dir_all(&installed.path).unwrap();
    let preview = restore().await.unwrap().unwrap().prepare(&plugins, &runtime, &Silent).await.unwrap();
    let Accepted { manager, .. } = accepted(&env, preview, yes()).await;
    let forgotten = known(&plugins).unwrap()[0].remove(&plugins, &manager).unwrap();
    assert_eq!((forgotten.len(), installed.path.exists()), (1, false));
}
