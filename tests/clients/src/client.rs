//! The clients: how each is configured so that it speaks to the mock model, and calls hookbox at its events.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use serde_json::json;

use crate::place::Place;

/// What the user says.
const PROMPT: &str = "please run the command";

/// An agent that people use.
pub(crate) struct Client {
    /// Its name, as `hookbox bridge` takes it.
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    pub(crate) version: &'static str,
    /// What it has to be told beside its hooks: where the model is, and not to ask or to send anything.
    configure: fn(&Place) -> io::Result<()>,
    command: fn(&Place) -> Command,
    /// Whether a hook may change what a tool gets; else a change is a block.
    pub(crate) changes_input: bool,
    /// Whether it shows the user a hook's warning when it runs without a terminal. For one that does not, the warnings are
    /// kept in a file.
    pub(crate) shows_warnings: bool,
}

/// Every client. The first two are run where nobody says which.
pub(crate) const ALL: [Client; 6] = [
    Client {
        name: "codex",
        package: "@openai/codex",
        version: "0.169.0",
        configure: codex,
        command: run_codex,
        changes_input: true,
        shows_warnings: false,
    },
    Client {
        name: "gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        configure: gemini,
        command: run_gemini,
        changes_input: true,
        shows_warnings: true,
    },
    Client {
        name: "claude",
        package: "@anthropic-ai/claude-code",
        version: "2.1.329",
        configure: nothing,
        command: run_claude,
        changes_input: true,
        shows_warnings: true,
    },
    Client {
        name: "qwen",
        package: "@qwen-code/qwen-code",
        version: "0.24.4",
        configure: qwen,
        command: run_qwen,
        changes_input: false,
        shows_warnings: false,
    },
    Client {
        name: "copilot",
        package: "@github/copilot",
        version: "1.0.102",
        configure: nothing,
        command: run_copilot,
        changes_input: true,
        shows_warnings: false,
    },
    Client {
        name: "opencode",
        package: "opencode-ai",
        version: "1.18.33",
        configure: opencode,
        command: run_opencode,
        changes_input: true,
        shows_warnings: true,
    },
];

impl Client {
    /// The client of that name.
    pub(crate) fn named(name: &str) -> Option<&'static Client> {
        ALL.iter().find(|client| client.name == name)
    }

    /// Writes its configuration into the home of a place, the hooks by `hookbox install`.
    pub(crate) fn configure(&self, place: &Place) -> io::Result<()> {
        (self.configure)(place)?;
        if self.name == "opencode" {
            return Ok(());
        }
        let mut install = Command::new(&place.hookbox);
        install.args(["install", self.name, "--user", "--program"]).arg(place.program(self.shows_warnings)?);
        self.surround(&mut install, place);
        let output = install.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        let failed = || io::Error::other(format!("hookbox install {}: {}", self.name, said.trim()));
        if output.status.success() { Ok(()) } else { Err(failed()) }
    }

    /// The command that makes it work on one message.
    pub(crate) fn command(&self, place: &Place) -> Command {
        let mut command = (self.command)(place);
        self.surround(&mut command, place);
        command
    }

    /// Lets a command see the place, and nothing of the user's: no proxy, no key, no configuration.
    fn surround(&self, command: &mut Command, place: &Place) {
        command.current_dir(place.work()).env_clear();
        let path = env::var_os("PATH").unwrap_or_default();
        command.env("PATH", path).env("HOME", place.home()).env("TMPDIR", place.tmp());
        command.env("TERM", "dumb").env("LANG", "C.UTF-8").env("NO_PROXY", "127.0.0.1").env("CI", "1");
        for (name, value) in variables(self.name, place) {
            command.env(name, value);
        }
    }
}

/// The variables of a client.
fn variables(name: &str, place: &Place) -> Vec<(&'static str, String)> {
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
            ("GEMINI_CLI_TRUST_WORKSPACE", text("true")),
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
        _ => vec![
            ("OPENCODE_DISABLE_AUTOUPDATE", text("1")),
            ("OPENCODE_DISABLE_MODELS_FETCH", text("1")),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", text("1")),
            // It looks for its plugin package at every start, and goes on without it.
            ("npm_config_fetch_retries", text("0")),
        ],
    }
}

fn codex(place: &Place) -> io::Result<()> {
    let url = &place.url;
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
"#
    );
    place.home_file(".codex/config.toml", &config)
}

fn run_codex(place: &Place) -> Command {
    let mut command = Command::new(place.client.join("node_modules/.bin/codex"));
    // A user looks at the hooks once, with `/hooks`.
    command.args(["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", PROMPT]);
    command
}

fn gemini(place: &Place) -> io::Result<()> {
    let settings = json!({
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
        "ide": {"enabled": false}, "model": {"name": "gemini-2.5-flash"},
    });
    place.home_file(".gemini/settings.json", &settings.to_string())
}

fn run_gemini(place: &Place) -> Command {
    let mut command = Command::new("node");
    command.arg(place.client.join("node_modules/@google/gemini-cli/bundle/gemini.js"));
    command.args(["--yolo", "-m", "gemini-2.5-flash", "--output-format", "stream-json", "-p", PROMPT]);
    command
}

/// What it needs are variables.
fn nothing(_: &Place) -> io::Result<()> {
    Ok(())
}

fn run_claude(place: &Place) -> Command {
    let scope = place.client.join("node_modules/@anthropic-ai");
    let mut command = Command::new(of_platform(&scope, "claude-code-").join("claude"));
    command.args(["--output-format", "stream-json", "--verbose", "--allowedTools", "Bash", "-p", PROMPT]);
    command
}

fn qwen(place: &Place) -> io::Result<()> {
    let settings = json!({
        "general": {"enableAutoUpdate": false, "disableAutoUpdate": true},
        "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
        "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": false}},
        "model": {"name": "mock-model"},
    });
    place.home_file(".qwen/settings.json", &settings.to_string())
}

fn run_qwen(place: &Place) -> Command {
    let mut command = Command::new(place.client.join("node_modules/.bin/qwen"));
    command.args(["--yolo", "-p", PROMPT]);
    command
}

fn run_copilot(place: &Place) -> Command {
    let mut command = Command::new(place.client.join("node_modules/.bin/copilot"));
    command.args(["--allow-all-tools", "--no-color", "-p", PROMPT]);
    command
}

fn opencode(place: &Place) -> io::Result<()> {
    let models = json!({"mock-model": {"name": "mock"}});
    let options = json!({"baseURL": format!("{}/v1", place.url), "apiKey": "test"});
    let plugin = place.plugin.display().to_string();
    let config = json!({
        "autoupdate": false, "share": "disabled", "model": "mock/mock-model", "small_model": "mock/mock-model",
        "plugin": [[format!("file://{plugin}"), {"program": place.hookbox.display().to_string()}]],
        "provider": {"mock": {
            "npm": "@ai-sdk/openai-compatible", "name": "mock", "options": options, "models": models,
        }},
    });
    place.home_file(".config/opencode/opencode.json", &config.to_string())
}

fn run_opencode(place: &Place) -> Command {
    let program = of_platform(&place.client.join("node_modules"), "opencode-").join("bin/opencode");
    let mut command = Command::new(program);
    command.args(["run", "--print-logs", "--log-level", "WARN", PROMPT]);
    command
}

/// The package for this machine, which npm chose; of several the shortest name, which is the plain one.
fn of_platform(scope: &Path, prefix: &str) -> PathBuf {
    let entries = fs::read_dir(scope).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let fits = names.filter(|name| name.starts_with(prefix) && name != "opencode-ai");
    fits.min_by_key(String::len).map_or_else(|| scope.join(prefix), |name| scope.join(name))
}
