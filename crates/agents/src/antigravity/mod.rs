//! Google Antigravity, by the page on hooks in Google's package `google-antigravity` 0.1.22: events and decisions of its own,
//! and payloads that do not name their event. The real client was not run.

use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "antigravity",
    title: "Antigravity",
    process: ProcessSigns { variables: &["ANTIGRAVITY_CONVERSATION_ID"], ..ProcessSigns::of(&["agy"]) },
    places: &[
        at(HOME, ".gemini/config/hooks.json", Holds::Hooks),
        at(PROJECT, ".agents/hooks.json", Holds::Hooks),
        at(HOME, ".gemini/antigravity-cli", Holds::Beside),
    ],
    config: ConfigFormat {
        // Each key of the file is the name of a hook. The one of hookbox is `hooks`.
        entry: EntryForm {
            groups: Groups::Optional,
            groups_of_tools: true,
            runs_sh: true,
            ..EntryForm::GROUPED
        },
        disable_settings: &[DisableSetting {
            within: Some("hooks"),
            key: "enabled",
            leaves_out: LeavesOut::All(false),
            shown: "\"hooks\": {\"enabled\": false}",
        }],
        former_settings: &["enabled"],
        ignores_whole_file: true,
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Seconds, 30),
    events: &[
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(Honoured),
        AgentEvent::before("PreToolUse", Honoured, Honoured, LeftOut).takes_allow(),
        AgentEvent::after("PostToolUse", LeftOut, LeftOut).inject(LeftOut),
        AgentEvent::stop("Stop"),
    ],
    unserved_events: "PreInvocation PostInvocation",
    tools: ToolNames {
        names: "Bash=run_command Read=view_file Write=write_to_file Edit=replace_file_content \
            MultiEdit=multi_replace_file_content Glob=find_by_name Grep=grep_search LS=list_dir \
            WebFetch=read_url_content WebSearch=search_web",
        ..ToolNames::BASE
    },
    answers: Answers {
        write,
        follow_up: |_, message| decision("continue", message),
        empty: "{}\n",
        shows_warnings: false,
        // It puts the new fields over the old ones.
        takes_input: |was, new| was.keys().all(|field| new.contains_key(field)),
        effect: |_, answer, _| effect::decision(answer, &["deny"]).filter(Effect::is_blocked),
        ..Answers::BASE
    },
    sample_call: |call| {
        json!({
            "toolCall": {"name": call.tool, "args": {"CommandLine": call.line, "Cwd": call.cwd}}, "stepIdx": 1,
            "conversationId": call.session, "workspacePaths": [call.cwd], "transcriptPath": "",
            "artifactDirectoryPath": "", "modelName": "auto",
        })
    },
    ..Spec::BASE
};

/// Writes the answers to Antigravity. Before a tool each has a decision. That of a call that passes is `ask`, which lets
/// Antigravity ask its user, or follow what the user always allows: `allow` would spare that question.
fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    if event.event != EventKind::BeforeToolCall {
        let step = |text: &str| json!([{"systemMessage": {"systemMessage": text}}]);
        return optional("injectSteps", plan.context.as_deref().map(step));
    }
    let mut answer = match (&plan.decision, &plan.allowed) {
        (Decision::Block(reason) | Decision::Stop(reason), _) => return decision("deny", reason),
        (Decision::Ask(reason), _) => decision("force_ask", reason),
        (Decision::Pass, Some(reason)) => decision("allow", reason),
        (Decision::Pass, None) => object([("decision", json!("ask"))]),
    };
    answer.extend(optional("overwrite", plan.changed.clone()));
    answer
}
