//! Keeps keys, tokens and credential stores out of the conversation, and off the net.
//!
//! See the README for what it stops in each preset.

mod code;
mod finding;
mod hides;
mod line;
mod pipeline;
mod places;
mod printers;
mod programs;

use hookbox_judge::{Denial, Preset, is_allowed};
use hookbox_redact::beginnings;
use hookbox_sdk::prelude::*;
use hookbox_sdk::text::Secrets;
use hookbox_sdk::{File, FileUse};

use finding::{Finding, Risk};

/// The hook.
pub struct SecretsGuard;

/// The schema of the settings, which hookbox checks before the hook runs.
const SCHEMA: &str = include_str!("../settings.schema.json");

/// The user's settings. A misspelled one is an error, because a guard must not do less than its user asked for.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// The strictness.
    preset: Preset,
    /// Commands that pass.
    allow: Vec<String>,
    /// True if secrets are removed from what tools return.
    redact: bool,
}

/// Returns true if a preset stops this.
fn stops(preset: Preset, risk: Risk) -> bool {
    match risk {
        Risk::Sends => true,
        Risk::Shows => preset != Preset::Relaxed,
        Risk::Touches => preset == Preset::Strict,
    }
}

/// Returns the reason to stop a use of a secret.
fn denial(settings: &Settings, finding: Finding) -> Option<Denial> {
    let Finding { risk, what, safer, step } = Some(finding).filter(|it| stops(settings.preset, it.risk))?;
    let (rule, why) = match risk {
        Risk::Sends => ("sends", "A secret that leaves this machine must be replaced everywhere."),
        Risk::Shows => ("shows", "What a tool prints goes to the model, and into its logs."),
        Risk::Touches => ("touches", "The preset `strict` keeps every command away from files with secrets."),
    };
    Some(Denial { step, ..Denial::new(what, why, safer).by(rule) })
}

/// The lines that the guard sees: those with a part of the name of a secret, a token, or a program that prints variables
/// or secrets. A test asks it about the others.
const SHELL: &str = "kind:shell naming *.env* *env[* *environ* *credential* *key* *secret* *token* *pass* *_pwd* *auth* *cookie* \
    *bearer* *basic* *signature* *database_url* *id_rsa* *id_dsa* *id_ecdsa* *id_ed25519* *netrc* *npmrc* *pypirc* \
    *.kube* *kubernetes* *.docker* *hosts.yml* *op/config* *shadow* *rclone* *s3cfg* *config/hub* *doctl* *boto* *terraform* \
    *tfstate* *service-account* *service_account* *serviceaccount* *logins.json* *login* *my.cnf* *.ssh* *.gnupg* \
    *.aws* *.azure* *.pem* *.p12* *.pfx* *.jks* *.kdbx* *.ppk* *_history* *begin* *copilot* *glab-cli* *stripe* \
    *firebase* *netlify* *.fly* *.railway* *kaggle* *databricks* *snowsql* *.dev.vars* *k3s.yaml* *kubeconfig* *fish_* \
    *nmconnection* *wireguard* *$env* *%env* *eyj* *169.254.* *metadata* *vault* *decrypt* *extraheader* \
    appsettings *config}}* env printenv set export declare typeset history heroku op bw security openssl --raw oc sops age \
    rbw pulumi wg infisical";

/// The kinds of tools.
const KINDS: [&str; 9] = ["shell", "read", "write", "edit", "search", "fetch", "mcp", "agent", "other"];

impl Hook for SecretsGuard {
    fn manifest() -> Manifest {
        let kinds = |end: &str| KINDS.map(|kind| format!("kind:{kind}{end}"));
        let tokens: String = beginnings().map(|it| format!(" *{it}*")).collect();
        let before = [format!("{SHELL}{tokens}")].into_iter().chain(kinds("").into_iter().skip(1));
        Manifest::new("secrets", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on_tools(Event::BeforeToolCall, before)
            // Late, so that it judges what other hooks have made of the call.
            .priority(90)
            .on_tools(Event::AfterToolCall, kinds(" if redact"))
            .priority(90)
            .answers([Give::Modify])
            .on_failure_block()
    }

    fn before_tool_call(cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let found = findings(cx, call);
        // Most calls have none, and need no settings.
        if found.is_empty() {
            return Ok(Answer::pass());
        }
        let settings: Settings = settings()?;
        if call.command.as_ref().is_some_and(|line| is_allowed(&settings.allow, line)) {
            return Ok(Answer::pass());
        }
        let denied = found.into_iter().find_map(|it| denial(&settings, it));
        Ok(denied.map_or_else(Answer::pass, |Denial { rule, what, why, safer, step }| {
            step.block(&format!("{what}. {why}"), &safer).metadata("rule", rule)
        }))
    }

    fn after_tool_call(_cx: &Context, result: &ToolResult) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        if !settings.redact {
            return Ok(Answer::pass());
        }
        let mut output: Value = result.output.parse()?;
        let is_found = Secrets::default().redact_value(&mut output);
        Ok(if is_found { Answer::modify(output) } else { Answer::pass() })
    }
}

/// Returns the uses of secrets in a call.
fn findings(cx: &Context, call: &ToolCall) -> Vec<Finding> {
    match (&call.command, call.kind) {
        (Some(_), _) => cx.lines_of(call).iter().filter_map(|line| line::judge(cx, call, line)).collect(),
        (None, ToolKind::Read | ToolKind::Search) => of_paths(cx, call).into_iter().collect(),
        // A file tool, one with a shell line in an unknown shape, or one that may be a shell by another name.
        (None, kind) => {
            let may_run = matches!(kind, ToolKind::Other | ToolKind::Mcp);
            let lines = if may_run { cx.lines_of(call) } else { Vec::new() };
            let runs = lines.iter().filter_map(|line| line::judge(cx, call, line));
            let texts = texts(&call.input);
            // An editor may show a file.
            let shown = (kind == ToolKind::Edit).then(|| of_paths(cx, call)).flatten();
            shown
                .into_iter()
                .chain(runs)
                .chain(texts.iter().filter_map(|text| of_text(cx, call, text)))
                .collect()
        }
    }
}

/// Judges the files that a tool reads, and the pattern of those that it searches.
fn of_paths(cx: &Context, call: &ToolCall) -> Option<Finding> {
    let is_secret = |it: &File| {
        if it.is_pattern { places::is_secret_glob(&it.path) } else { places::is_secret_path(&it.path) }
    };
    let files = cx.facts_of(call).files;
    files
        .iter()
        .find(|it| it.usage == FileUse::Reads && is_secret(it))
        .map(|it| finding::shows_file(&it.path))
}

/// Judges a text of a tool's input: what it writes, or a command of a tool that may be a shell.
fn of_text(cx: &Context, call: &ToolCall, text: &str) -> Option<Finding> {
    if places::has_token(text) {
        return Some(finding::writes_token());
    }
    if call.kind == ToolKind::Shell { line::judge(cx, call, text) } else { None }
}

/// Returns every text in an input, but those that an edit removes.
fn texts(input: &Document) -> Vec<String> {
    let Ok(value) = input.parse::<Value>() else { return vec![input.text()] };
    let (mut found, mut waiting) = (Vec::new(), vec![value]);
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => found.push(text),
            Value::Array(values) => waiting.extend(values),
            Value::Object(fields) => {
                let kept =
                    fields.into_iter().filter(|(key, _)| !matches!(key.as_str(), "old_string" | "old_str"));
                waiting.extend(kept.map(|(_, value)| value));
            }
            _ => {}
        }
    }
    found
}

hookbox_sdk::export_hook!(SecretsGuard, settings: SCHEMA);

#[cfg(test)]
mod tests;
