//! Gemini CLI, checked with 0.61.

mod sessions;

use crate::dialect::claude::compile;
use crate::gemini_family::{self, DISABLED, ENABLED, answer_in, printed};
use crate::spec::prelude::*;

/// The system's settings, which override those of users and projects.
const SYSTEM_FILE: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/GeminiCli/settings.json"
} else {
    "/etc/gemini-cli/settings.json"
};

pub(crate) static SPEC: Spec = Spec {
    name: "gemini",
    title: "Gemini CLI",
    // google-gemini/gemini-cli: docs/tools/shell.md.
    process: ProcessSigns {
        variables: &["GEMINI_CLI"],
        packages: &["@google/gemini-cli"],
        ..ProcessSigns::of(&["gemini"])
    },
    project_variable: Some("GEMINI_PROJECT_DIR"),
    places: &[
        at(BOTH, ".gemini/settings.json", Holds::Hooks),
        at(BOTH, ".gemini/hooks", Holds::Beside),
        at(HOME, ".gemini/trustedFolders.json", Holds::Beside),
        at(SYSTEM, SYSTEM_FILE, Holds::Hooks),
    ],
    moved_by: Some(MovedBy { variable: "GEMINI_CLI_HOME", directory: "", reads_tilde: false }),
    command_files: &[braced(".gemini/commands")],
    sessions: Some(&sessions::SESSIONS),
    config: ConfigFormat {
        reads_comments: true,
        parser: Some(ParserRules { reads_mark: false, check: |_| None }),
        entry: EntryForm { name_key: Some("name"), has_env: true, ..EntryForm::GROUPED },
        disable_settings: &[ENABLED, DISABLED],
        former_settings: &["enabled", "disabled", "notifications"],
        repository_switch: Some("\"hooksConfig\": {\"enabled\": false} in its .gemini/settings.json"),
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Milliseconds, 60),
    events: &[
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(Honoured),
        AgentEvent::new("SessionEnd", EventKind::SessionEnd),
        AgentEvent::message("BeforeAgent", Blocks, Honoured),
        AgentEvent::before("BeforeTool", Honoured, Honoured, LeftOut),
        AgentEvent::after("AfterTool", Honoured, Blocks),
        // It fires for every piece of an answer.
        AgentEvent::new("AfterModel", EventKind::AfterTurn).inject(LeftOut).unusual(),
        AgentEvent::stop("AfterAgent"),
        // It fires before every call of the model.
        AgentEvent::new("PreCompress", EventKind::PreCompact).block(LeftOut).inject(LeftOut).unusual(),
        AgentEvent::new("Notification", EventKind::Notification),
    ],
    other_events: &[
        AgentEvent::stoppable("BeforeModel", "before_model"),
        AgentEvent::other("BeforeToolSelection", "before_tool_selection"),
    ],
    tools: ToolNames {
        names: "Bash=run_shell_command Read=read_file Write=write_file Edit=replace Glob=glob \
            Grep=grep_search LS=list_directory WebFetch=web_fetch WebSearch=google_web_search",
        mcp_name: Some("mcp_SERVER_TOOL"),
        mcp_aliases: &["mcp_SERVER_TOOL"],
        exit_status: output::in_last_lines,
        ..ToolNames::BASE
    },
    tool_success: |output, status| {
        let is_error = output.get("error").is_some_and(|error| !error.is_null());
        if is_error { Some(false) } else { status.map(|status| status == 0) }
    },
    answers: Answers {
        write,
        // It puts the new fields over the old ones, so that none can be taken away.
        takes_input: |was, new| was.keys().all(|field| new.contains_key(field)),
        effect: |_, answer, _| effect::decision(answer, &["block", "deny"]).or_else(|| effect::stop(answer)),
        ..Answers::BASE
    },
    sample_call: |call| {
        call.with(json!({
            "timestamp": TIME,
            "tool_input": {"command": call.line, "description": "run a command", "is_background": false},
        }))
    },
    hooks: Some(CommandHooks {
        encode,
        outcome,
        matcher: |_, pattern| {
            let word = pattern.trim();
            Ok(Rule::Word { word: word.to_owned(), regex: compile(word)? })
        },
        merges_input: true,
        optional_fields: &["mcp_context"],
        output_fields: &["llmContent", "returnDisplay"],
        output_text_fields: &["llmContent"],
        session_variable: Some("GEMINI_SESSION_ID"),
        cwd_variable: Some("GEMINI_CWD"),
        project_variables: &["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
        manifest: Some("gemini-extension.json"),
        ..CommandHooks::BASE
    }),
    next_steps: &[
        (&Level::ALL, "trust the folder when gemini asks: in an untrusted folder it runs no hooks"),
        (&Level::IN_PROJECT, "start gemini in ROOT: it does not look above the directory where it starts"),
    ],
    doctor: DoctorRules { check: gemini_family::check_gemini, ..gemini_family::DOCTOR },
    ..Spec::BASE
};

const STYLE: Style =
    Style { inputs: &["tool_input"], names_event: false, text: Text::Shown, ..gemini_family::STYLE };

/// The hooks of Gemini CLI, with its own names of events and tools, and Claude Code's shape of an answer with
/// `tool_input`, which is put over the input. It reads an answer whatever the exit code is.
fn encode(name: &str, event: &Event, session: &Session) -> Option<Value> {
    let mut it = Payload::begun(name, event, session);
    it.event(&SPEC, name, event, payload::TOOL);
    match &event.data {
        EventData::AfterToolCall(result) => {
            it.put("tool_response", payload::with_display(result.output.value()));
        }
        EventData::AgentStop(stop) => {
            let (answer, prompt) = payload::last_messages(stop);
            it.put("prompt", prompt.unwrap_or_default());
            it.put("prompt_response", answer.unwrap_or_default());
        }
        _ => {}
    }
    it.done()
}

fn outcome(event: &Event, ended: Ended<'_>) -> Result<Outcome, HookError> {
    let event = &event.name();
    if ended.exit_code == 0 {
        return printed(event, ended, &STYLE);
    }
    // It reads an answer whatever the code is, and on standard error if there is nothing on standard output.
    let is_silent = ended.stdout.trim_ascii().is_empty();
    let said = if is_silent { ended.stderr.as_bytes() } else { ended.stdout };
    let has_effect = |it: &Outcome| matches!(it.action, Action::Block(_)) || !it.follow_ups.is_empty();
    if let Some(answer) = answer_in(said, event, &STYLE).filter(has_effect) {
        return Ok(answer);
    }
    let words = String::from_utf8_lossy(said);
    let words = words.trim();
    match ended.exit_code {
        2 => Ok(claude::blocked(event, words.to_owned())),
        // Every code but 1 blocks, if the hook printed any words.
        code if code != 1 && !words.is_empty() && !words.starts_with('{') => {
            Ok(claude::blocked(event, words.to_owned()))
        }
        code => Err(claude::failed(code, ended.stderr)),
    }
}

/// Writes the answers to Gemini CLI. It does not know `permissionDecision`: a block is a `decision`. It puts a
/// changed input over its own.
fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match &plan.decision {
        Decision::Ask(reason) => {
            // It shows this text with its question, and not the reason.
            let mut answer = decision("ask", reason);
            answer.insert("systemMessage".to_owned(), reason.as_str().into());
            answer
        }
        Decision::Block(reason) | Decision::Stop(reason) => match event.event {
            EventKind::BeforeToolCall | EventKind::UserMessageSend => decision("deny", reason),
            _ => decision("block", reason),
        },
        Decision::Pass => passed(event, plan, "tool_input"),
    }
}
