//! Further names by which a matcher of Qwen Code may mean one of its tools (0.24): the name for people, the
//! same with `Tool` at its end, names of former versions, and some of Claude Code's.

/// Tools whose name for people is their own in PascalCase, without `omni_`.
const REGULAR: &str = "artifact ask_user_question create_sub_session cron_create cron_delete cron_list display_image \
    enter_plan_mode enter_worktree exec exit_plan_mode exit_worktree image_gen list_agents loop_wakeup lsp \
    monitor notebook_edit omni_caption_audio omni_caption_image omni_clip_audio omni_clip_image \
    omni_clip_video omni_convert_image omni_downsample_audio omni_downsample_image omni_downscale_video \
    omni_extract_audio omni_extract_keyframes omni_ocr_image omni_recall_media_memory omni_transcribe_audio \
    omni_understand_video_segments propose_goal read_mcp_resource record_artifact record_source \
    report_findings request_shutdown save_memory send_message skill structured_output task_create task_list \
    task_stop task_update team_create team_delete team_plan_approval tool_call tool_search update_goal \
    web_fetch web_search workflow zoom_image";

/// The other tools, with the name for people and more names.
const SPECIAL: [(&str, &str, &[&str]); 10] = [
    ("agent", "Agent", &["Task", "TaskTool", "task"]),
    ("edit", "Edit", &["replace"]),
    ("get_goal", "Goal", &["GetGoal"]),
    ("glob", "Glob", &["FindFiles"]),
    ("grep_search", "Grep", &["SearchFiles", "search_file_content"]),
    ("list_directory", "ListFiles", &["ReadFolder"]),
    ("read_file", "ReadFile", &["Read"]),
    ("run_shell_command", "Shell", &["Bash"]),
    ("todo_write", "TodoWrite", &["TodoList", "TodoListTool"]),
    ("write_file", "WriteFile", &["Write"]),
];

/// Returns the further names of Qwen Code's tool `name`; none for any other tool.
pub(super) fn aliases(name: &str) -> Vec<String> {
    let special = SPECIAL.iter().find(|(tool, ..)| *tool == name);
    let (shown, others) = match special {
        Some((_, shown, others)) => ((*shown).to_owned(), *others),
        None if REGULAR.split(' ').any(|tool| tool == name) => (pascal_case(name), &[][..]),
        None => return Vec::new(),
    };
    let others = others.iter().map(|it| (*it).to_owned());
    [format!("{shown}Tool"), shown].into_iter().chain(others).collect()
}

fn pascal_case(name: &str) -> String {
    let words = name.strip_prefix("omni_").unwrap_or(name).split('_');
    let capital = |word: &str| {
        let (first, rest) = word.split_at_checked(1).unwrap_or_default();
        first.to_ascii_uppercase() + rest
    };
    words.map(capital).collect()
}

#[cfg(test)]
mod tests {
    use super::super::SPEC;
    use super::*;

    #[test]
    fn every_tool_that_the_agents_share_has_its_names() {
        for tool in SPEC.tools.names.iter().map(|(_, own)| *own) {
            assert!(!aliases(tool).is_empty(), "{tool}");
        }
        for tool in ["Bash", "mcp__t__echo", ""] {
            assert!(aliases(tool).is_empty(), "{tool}");
        }
    }

    #[test]
    fn a_tool_is_known_by_its_name_for_people_and_by_former_names() {
        for (tool, want) in [
            ("cron_create", &["CronCreateTool", "CronCreate"][..]),
            ("omni_clip_image", &["ClipImageTool", "ClipImage"]),
            ("run_shell_command", &["ShellTool", "Shell", "Bash"]),
        ] {
            assert_eq!(aliases(tool), want, "{tool}");
        }
    }
}
