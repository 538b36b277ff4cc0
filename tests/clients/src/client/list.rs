//! The clients: how each is configured so that it speaks to the mock model.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use hookbox::trust::now_ms;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Client, Trust};
use crate::place::Place;

/// The user's message.
const PROMPT: &str = "please run the command";

/// Every client. The first two are run where nobody says which.
pub(crate) const ALL: [Client; 16] = [
    Client {
        name: "codex",
        package: "@openai/codex",
        version: "0.169.0",
        configure: codex,
        command: run_codex,
        frees: &[],
        switch: Some((".codex/config.toml", "[features]\nhooks = false\n")),
        runs_unguarded: true,
        trust: Some(trust_codex),
        scripted: None,
        node: None,
        injects_at_start: true,
        waits_for_output: true,
        changes_input: true,
        shows_warnings: false,
    },
    Client {
        name: "gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        configure: gemini,
        command: run_gemini,
        frees: &[],
        switch: Some((".gemini/settings.json", r#"{"hooksConfig": {"enabled": false}}"#)),
        runs_unguarded: false,
        trust: Some(trust_gemini),
        scripted: None,
        node: None,
        injects_at_start: true,
        waits_for_output: true,
        changes_input: true,
        shows_warnings: true,
    },
    Client {
        name: "claude",
        package: "@anthropic-ai/claude-code",
        version: "2.1.329",
        configure: nothing,
        command: run_claude,
        frees: &["--allowedTools", "Bash"],
        switch: Some((".github/copilot/settings.json", r#"{"disableAllHooks": true}"#)),
        runs_unguarded: false,
        trust: None,
        scripted: None,
        node: None,
        injects_at_start: true,
        waits_for_output: true,
        changes_input: true,
        shows_warnings: true,
    },
    Client {
        name: "qwen",
        package: "@qwen-code/qwen-code",
        version: "0.24.4",
        configure: qwen,
        command: run_qwen,
        frees: &[],
        switch: Some((".qwen/settings.json", r#"{"disableAllHooks": true}"#)),
        runs_unguarded: true,
        trust: None,
        scripted: None,
        node: None,
        injects_at_start: true,
        waits_for_output: true,
        changes_input: false,
        shows_warnings: false,
    },
    Client {
        name: "copilot",
        package: "@github/copilot",
        version: "1.0.102",
        configure: copilot,
        command: run_copilot,
        frees: &["--allow-all-tools"],
        switch: Some((".claude/settings.json", r#"{"disableAllHooks": true}"#)),
        runs_unguarded: false,
        trust: None,
        scripted: None,
        node: None,
        injects_at_start: true,
        waits_for_output: true,
        changes_input: true,
        shows_warnings: false,
    },
    Client {
        name: "opencode",
        package: "opencode-ai",
        version: "1.18.33",
        configure: opencode,
        command: run_opencode,
        frees: &[],
        switch: None,
        runs_unguarded: false,
        trust: None,
        scripted: None,
        node: None,
        injects_at_start: true,
        waits_for_output: true,
        changes_input: true,
        shows_warnings: true,
    },
    Client {
        name: "kimi",
        package: "@moonshot-ai/kimi-code",
        version: "2.1.0",
        configure: kimi,
        command: run_kimi,
        frees: &[],
        switch: None,
        runs_unguarded: true,
        trust: None,
        scripted: None,
        node: Some("22.23.3"),
        injects_at_start: false,
        waits_for_output: false,
        changes_input: false,
        shows_warnings: false,
    },
    Client {
        name: "cline",
        package: "cline",
        version: "3.0.65",
        configure: cline,
        command: run_cline,
        frees: &[],
        switch: None,
        runs_unguarded: false,
        trust: None,
        scripted: None,
        node: None,
        injects_at_start: true,
        waits_for_output: true,
        changes_input: true,
        shows_warnings: false,
    },
    Client {
        name: "pi",
        package: "@mariozechner/pi-coding-agent",
        version: "0.73.1",
        configure: pi,
        command: run_pi,
        frees: &[],
        switch: Some((
            ".pi/settings.json",
            r#"{"extensions": ["~/.pi/agent/extensions", "!**/hookbox.js"]}"#,
        )),
        runs_unguarded: false,
        trust: None,
        scripted: None,
        node: None,
        injects_at_start: true,
        waits_for_output: true,
        changes_input: true,
        shows_warnings: true,
    },
    Client {
        name: "droid",
        package: "@factory/cli-linux-x64",
        version: "0.225.2",
        configure: droid,
        command: run_droid,
        frees: &[],
        switch: Some((".factory/hooks.json", r#"{"hooksDisabled": true}"#)),
        runs_unguarded: true,
        trust: None,
        scripted: None,
        node: None,
        injects_at_start: true,
        waits_for_output: false,
        changes_input: true,
        shows_warnings: false,
    },
    Client {
        name: "kilo",
        package: "@kilocode/cli-linux-x64",
        version: "7.7.9",
        configure: kilo,
        command: run_kilo,
        frees: &[],
        switch: None,
        runs_unguarded: false,
        trust: None,
        scripted: None,
        node: None,
        injects_at_start: true,
        waits_for_output: true,
        changes_input: true,
        shows_warnings: true,
    },
    Client {
        name: "vibe",
        package: "pypi:mistral-vibe",
        version: "2.26.1",
        configure: vibe,
        command: run_vibe,
        frees: &[],
        switch: None,
        runs_unguarded: false,
        trust: None,
        scripted: None,
        node: None,
        injects_at_start: false,
        waits_for_output: true,
        changes_input: true,
        shows_warnings: false,
    },
    Client {
        name: "openhands",
        package: "pypi:openhands",
        version: "1.16.0",
        configure: nothing,
        command: run_openhands,
        frees: &[],
        switch: Some((".openhands/hooks.json", "{}")),
        runs_unguarded: true,
        trust: None,
        scripted: None,
        node: None,
        injects_at_start: false,
        waits_for_output: false,
        changes_input: false,
        shows_warnings: false,
    },
    Client {
        name: "auggie",
        package: "@augmentcode/auggie",
        version: "0.36.0",
        configure: nothing,
        command: run_auggie,
        frees: &[],
        switch: None,
        runs_unguarded: true,
        trust: None,
        scripted: None,
        node: None,
        injects_at_start: false,
        waits_for_output: false,
        changes_input: true,
        shows_warnings: false,
    },
    Client {
        name: "grok",
        package: "@xai-official/grok",
        version: "1.0.41",
        configure: grok,
        command: run_grok,
        frees: &[],
        switch: None,
        runs_unguarded: true,
        trust: None,
        scripted: None,
        node: None,
        injects_at_start: false,
        waits_for_output: true,
        changes_input: true,
        shows_warnings: false,
    },
    Client {
        name: "qoder",
        package: "@qoder-ai/qodercli",
        version: "1.1.52",
        configure: qoder,
        command: run_qoder,
        frees: &[],
        switch: Some((".qoder/settings.json", r#"{"disableAllHooks": true}"#)),
        runs_unguarded: true,
        trust: None,
        scripted: Some(".qoder/projects"),
        node: None,
        injects_at_start: true,
        waits_for_output: true,
        changes_input: true,
        shows_warnings: false,
    },
];

/// Returns the npm package that has node for this machine.
pub(crate) fn node_package() -> String {
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    format!("node-{system}-{machine}")
}

/// The variables of a client.
pub(super) fn variables(name: &str, place: &Place, trust: Trust) -> Vec<(&'static str, String)> {
    let url = place.url.clone();
    let v1 = format!("{url}/v1");
    let text = str::to_owned;
    match name {
        "codex" => vec![
            ("CODEX_HOME", place.home().join(".codex").display().to_string()),
            ("MOCK_API_KEY", text("test")),
        ],
        "gemini" => vec![
            ("GEMINI_API_KEY", text("test")),
            ("GOOGLE_GEMINI_BASE_URL", url),
            ("GEMINI_TELEMETRY_ENABLED", text("false")),
            // An empty one counts as not set.
            ("GEMINI_CLI_TRUST_WORKSPACE", text(if trust == Trust::Bypassed { "true" } else { "" })),
            ("GEMINI_CLI_NO_RELAUNCH", text("true")),
        ],
        "claude" => vec![
            ("ANTHROPIC_API_KEY", text("test")),
            ("ANTHROPIC_BASE_URL", url),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", text("1")),
            ("DISABLE_AUTOUPDATER", text("1")),
            ("DISABLE_TELEMETRY", text("1")),
            ("IS_SANDBOX", text("1")),
        ],
        "qwen" => vec![
            ("OPENAI_API_KEY", text("test")),
            ("OPENAI_BASE_URL", v1),
            ("OPENAI_MODEL", text("mock-model")),
            ("QWEN_CODE_NO_RELAUNCH", text("true")),
        ],
        "copilot" => vec![
            ("COPILOT_PROVIDER_BASE_URL", v1),
            ("COPILOT_PROVIDER_API_KEY", text("test")),
            ("COPILOT_MODEL", text("mock-model")),
            ("COPILOT_OFFLINE", text("true")),
            ("COPILOT_AUTO_UPDATE", text("false")),
        ],
        "cline" => vec![("CLINE_TELEMETRY_DISABLED", text("1")), ("CLINE_NO_AUTO_UPDATE", text("1"))],
        "kimi" => vec![("KIMI_DISABLE_TELEMETRY", text("1"))],
        "pi" => vec![("PI_OFFLINE", text("1"))],
        "droid" => vec![
            // Without an account.
            ("FACTORY_AIRGAP_ENABLED", text("true")),
            ("FACTORY_DROID_AUTO_UPDATE_ENABLED", text("false")),
        ],
        "vibe" => vec![("MOCK_API_KEY", text("test"))],
        "openhands" => vec![
            ("LITELLM_LOCAL_MODEL_COST_MAP", text("True")),
            ("OPENHANDS_SUPPRESS_BANNER", text("1")),
            ("LLM_API_KEY", text("test")),
            ("LLM_BASE_URL", v1),
            ("LLM_MODEL", text("openai/mock-model")),
        ],
        "auggie" => vec![
            ("AUGMENT_DISABLE_AUTO_UPDATE", text("1")),
            (
                "AUGMENT_SESSION_AUTH",
                json!({"accessToken": "test", "tenantURL": format!("{url}/"), "scopes": ["read", "write"]})
                    .to_string(),
            ),
        ],
        "grok" => Vec::new(),
        "qoder" => vec![("QODER_PERSONAL_ACCESS_TOKEN", text("test")), ("QODER_CENTER_ENDPOINT", url)],
        "kilo" => vec![
            ("KILO_DISABLE_AUTOUPDATE", text("1")),
            ("KILO_DISABLE_MODELS_FETCH", text("1")),
            ("KILO_DISABLE_LSP_DOWNLOAD", text("1")),
            ("npm_config_fetch_retries", text("0")),
        ],
        _ => vec![
            ("OPENCODE_DISABLE_AUTOUPDATE", text("1")),
            ("OPENCODE_DISABLE_MODELS_FETCH", text("1")),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", text("1")),
            // OpenCode looks for its plugin package at every start, and goes on without it.
            ("npm_config_fetch_retries", text("0")),
        ],
    }
}

fn codex(place: &Place, _: Trust) -> io::Result<()> {
    let (url, work) = (&place.url, place.work());
    let work = work.display();
    let config = format!(
        r#"model = "mock-model"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
web_search = "disabled"
[features]
plugins = false
[analytics]
enabled = false
[feedback]
enabled = false
[model_providers.mock]
name = "mock"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "MOCK_API_KEY"
request_max_retries = 0
stream_max_retries = 0
[projects."{work}"]
trust_level = "trusted"
"#
    );
    place.home_file(".codex/config.toml", &config)
}

fn run_codex(place: &Place, trust: Trust) -> Command {
    let mut command = Command::new(place.client.join("node_modules/.bin/codex"));
    command.args(["exec", "--json", "--skip-git-repo-check"]);
    if trust == Trust::Bypassed {
        command.arg("--dangerously-bypass-hook-trust");
    }
    command.arg(PROMPT);
    command
}

/// Writes what Codex writes when its user approves the command before tool calls in `/hooks`.
fn trust_codex(place: &Place) -> io::Result<()> {
    let file = place.home().join(".codex/hooks.json");
    let hooks: Value = serde_json::from_slice(&fs::read(&file)?)?;
    let value = |key: &str| hooks.pointer(&format!("/hooks/PreToolUse/0/hooks/0/{key}")).cloned();
    let (command, timeout) = (value("command").unwrap_or_default(), value("timeout").unwrap_or_default());
    let identity = format!(
        r#"{{"event_name":"pre_tool_use","hooks":[{{"async":false,"command":{command},"timeout":{timeout},"type":"command"}}]}}"#
    );
    let hash: String =
        Sha256::digest(identity).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    let key = format!("{}:pre_tool_use:0:0", file.display());
    let state = format!("[hooks.state.\"{key}\"]\ntrusted_hash = \"sha256:{hash}\"\n");
    let config = fs::read_to_string(place.home().join(".codex/config.toml"))?;
    place.home_file(".codex/config.toml", &(config + &state))
}

fn gemini(place: &Place, trust: Trust) -> io::Result<()> {
    let asks = trust != Trust::Bypassed;
    let settings = json!({
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": asks}},
        "ide": {"enabled": false}, "model": {"name": "gemini-2.5-flash"},
    });
    place.home_file(".gemini/settings.json", &settings.to_string())
}

/// Writes what Gemini CLI writes when its user trusts the folder.
fn trust_gemini(place: &Place) -> io::Result<()> {
    let rules = json!({place.work().to_string_lossy(): "TRUST_FOLDER"});
    place.home_file(".gemini/trustedFolders.json", &rules.to_string())
}

fn run_gemini(place: &Place, _: Trust) -> Command {
    let mut command = Command::new("node");
    command.arg(place.client.join("node_modules/@google/gemini-cli/bundle/gemini.js"));
    command.args(["--yolo", "-m", "gemini-2.5-flash", "--output-format", "stream-json", "-p", PROMPT]);
    command
}

/// It is configured by variables.
fn nothing(_: &Place, _: Trust) -> io::Result<()> {
    Ok(())
}

fn copilot(place: &Place, _: Trust) -> io::Result<()> {
    place.home_file(".copilot/config.json", &json!({"trustedFolders": [place.work()]}).to_string())
}

fn run_claude(place: &Place, _: Trust) -> Command {
    let scope = place.client.join("node_modules/@anthropic-ai");
    let mut command = Command::new(of_platform(&scope, "claude-code-").join("claude"));
    command.args(["--output-format", "stream-json", "--verbose", "-p", PROMPT]);
    command
}

fn qwen(place: &Place, _: Trust) -> io::Result<()> {
    let settings = json!({
        "general": {"enableAutoUpdate": false, "disableAutoUpdate": true},
        "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
        "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": false}},
        "model": {"name": "mock-model"},
    });
    place.home_file(".qwen/settings.json", &settings.to_string())
}

fn run_qwen(place: &Place, _: Trust) -> Command {
    let mut command = Command::new(place.client.join("node_modules/.bin/qwen"));
    command.args(["--yolo", "-p", PROMPT]);
    command
}

fn run_copilot(place: &Place, _: Trust) -> Command {
    let mut command = Command::new(place.client.join("node_modules/.bin/copilot"));
    command.args(["--no-color", "-p", PROMPT]);
    command
}

fn opencode(place: &Place, _: Trust) -> io::Result<()> {
    opencode_config(place, ".config/opencode/opencode.json")
}

fn kilo(place: &Place, _: Trust) -> io::Result<()> {
    opencode_config(place, ".config/kilo/kilo.json")
}

fn opencode_config(place: &Place, path: &str) -> io::Result<()> {
    let models = json!({"mock-model": {"name": "mock"}});
    let options = json!({"baseURL": format!("{}/v1", place.url), "apiKey": "test"});
    let config = json!({
        "autoupdate": false, "share": "disabled", "model": "mock/mock-model", "small_model": "mock/mock-model",
        "provider": {"mock": {
            "npm": "@ai-sdk/openai-compatible", "name": "mock", "options": options, "models": models,
        }},
    });
    place.home_file(path, &config.to_string())
}

fn run_opencode(place: &Place, _: Trust) -> Command {
    let program = of_platform(&place.client.join("node_modules"), "opencode-").join("bin/opencode");
    let mut command = Command::new(program);
    command.args(["run", "--print-logs", "--log-level", "WARN", PROMPT]);
    command
}

fn kimi(place: &Place, _: Trust) -> io::Result<()> {
    let url = &place.url;
    let config = format!(
        r#"default_model = "mock"
telemetry = false

[providers.mock]
type = "openai"
base_url = "{url}/v1"
api_key = "test"

[models.mock]
provider = "mock"
model = "mock-model"
max_context_size = 100000
"#
    );
    place.home_file(".kimi-code/config.toml", &config)
}

fn run_kimi(place: &Place, _: Trust) -> Command {
    let modules = place.client.join("node_modules");
    let mut command = Command::new(modules.join(node_package()).join("bin/node"));
    command.arg(modules.join("@moonshot-ai/kimi-code/dist/main.mjs"));
    command.args(["--output-format", "stream-json", "-p", PROMPT]);
    command
}

/// Writes what `cline auth` writes.
fn cline(place: &Place, _: Trust) -> io::Result<()> {
    let settings = json!({
        "provider": "openai-compatible", "apiKey": "test", "model": "mock-model",
        "baseUrl": format!("{}/v1", place.url),
    });
    let provider =
        json!({"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"});
    let all = json!({
        "version": 1, "lastUsedProvider": "openai-compatible", "providers": {"openai-compatible": provider},
    });
    place.home_file(".cline/data/settings/providers.json", &all.to_string())
}

fn run_cline(place: &Place, _: Trust) -> Command {
    let program = of_platform(&place.client.join("node_modules/@cline"), "cli-").join("bin/cline");
    let mut command = Command::new(program);
    command.arg(PROMPT);
    command
}

fn pi(place: &Place, _: Trust) -> io::Result<()> {
    let provider = json!({
        "baseUrl": format!("{}/v1", place.url), "api": "openai-completions", "apiKey": "test",
        "models": [{"id": "mock-model"}],
    });
    place.home_file(".pi/agent/models.json", &json!({"providers": {"mock": provider}}).to_string())
}

fn run_pi(place: &Place, _: Trust) -> Command {
    let mut command = Command::new("node");
    command.arg(place.client.join("node_modules/@mariozechner/pi-coding-agent/dist/cli.js"));
    command.args(["--model", "mock/mock-model", "-p", PROMPT]);
    command
}

fn droid(place: &Place, _: Trust) -> io::Result<()> {
    let model = json!({
        "model": "mock-model", "displayName": "mock", "baseUrl": format!("{}/v1", place.url), "apiKey": "test",
        "provider": "generic-chat-completion-api", "maxOutputTokens": 1000,
    });
    place.home_file(".factory/settings.json", &json!({"customModels": [model]}).to_string())
}

fn run_droid(place: &Place, _: Trust) -> Command {
    let mut command = Command::new(place.client.join("node_modules/@factory/cli-linux-x64/bin/droid"));
    command.args(["exec", "-m", "custom:mock-model", "--skip-permissions-unsafe", PROMPT]);
    command
}

fn run_kilo(place: &Place, _: Trust) -> Command {
    let mut command = Command::new(place.client.join("node_modules/@kilocode/cli-linux-x64/bin/kilo"));
    command.args(["run", "--auto", "--print-logs", "--log-level", "WARN", PROMPT]);
    command
}

fn vibe(place: &Place, _: Trust) -> io::Result<()> {
    let url = &place.url;
    let config = format!(
        r#"active_model = "mock"
enable_telemetry = false
enable_auto_update = false
enable_update_checks = false
[[providers]]
name = "mock"
api_base = "{url}/v1"
api_key_env_var = "MOCK_API_KEY"
api_style = "openai"
backend = "generic"
[[models]]
name = "mock-model"
provider = "mock"
alias = "mock"
"#
    );
    place.home_file(".vibe/config.toml", &config)
}

fn run_vibe(place: &Place, _: Trust) -> Command {
    let mut command = Command::new(place.client.join("bin/vibe"));
    command.args(["-p", PROMPT, "--auto-approve", "--trust"]);
    command
}

fn run_openhands(place: &Place, _: Trust) -> Command {
    let mut command = Command::new(place.client.join("bin/openhands"));
    command.args(["--headless", "--override-with-envs", "-t", PROMPT]);
    command
}

fn run_auggie(place: &Place, _: Trust) -> Command {
    let mut command = Command::new(place.client.join("node_modules/.bin/auggie"));
    command.args(["--print", PROMPT]);
    command
}

fn grok(place: &Place, _: Trust) -> io::Result<()> {
    let url = &place.url;
    let config = format!(
        r#"[model.mock]
model = "mock-model"
base_url = "{url}/v1"
name = "mock"
api_key = "test"
api_backend = "chat_completions"
"#
    );
    place.home_file(".grok/config.toml", &config)
}

fn run_grok(place: &Place, _: Trust) -> Command {
    let mut command = Command::new(place.client.join("node_modules/.bin/grok"));
    command.args(["-p", PROMPT, "--always-approve", "-m", "mock"]);
    command
}

/// Writes the addresses of its service, of which the mock model answers the login.
fn qoder(place: &Place, _: Trust) -> io::Result<()> {
    let url = &place.url;
    let service = json!({
        "endpoint": url, "inferEndpoints": [url], "securityEndpoint": url, "securityEndpoints": [url],
        "centerEndpoint": url, "centerEndpoints": [url], "openapiEndpoint": url, "openapiEndpoints": [url],
        "updatedAt": now_ms(),
    });
    let cache = json!({"version": 1, "entries": {"prod": service}});
    // At its end it waits for what collects them.
    let settings = json!({"telemetry": {"enabled": false}, "privacy": {"usageStatisticsEnabled": false}});
    place.home_file(".qoder/settings.json", &settings.to_string())?;
    place.home_file(".qoder/.cache/endpoint-cache.json", &cache.to_string())
}

fn run_qoder(place: &Place, _: Trust) -> Command {
    let mut command = Command::new("node");
    command.arg(place.client.join("node_modules/@qoder-ai/qodercli/bundle/qodercli.js"));
    command.arg("--fake-responses").arg(place.home().join("answers.jsonl"));
    command.args(["--dangerously-skip-permissions", "-p", PROMPT]);
    command
}

/// The package for this machine, which npm chose; of several the shortest name, which is the plain one.
fn of_platform(scope: &Path, prefix: &str) -> PathBuf {
    let entries = fs::read_dir(scope).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let fits = names.filter(|name| name.starts_with(prefix) && name != "opencode-ai");
    fits.min_by_key(String::len).map_or_else(|| scope.join(prefix), |name| scope.join(name))
}
