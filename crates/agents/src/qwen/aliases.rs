//! Further names by which a matcher of Qwen Code may mean one of its tools.

/// The tools, each with the names that a matcher may use for it (0.24): the name for people, the same with `Tool` at its
/// end, names of former versions, and some of Claude Code's.
const QWEN: [(&str, &[&str]); 67] = [
    ("agent", &["Agent", "AgentTool", "Task", "TaskTool", "task"]),
    ("artifact", &["Artifact", "ArtifactTool"]),
    ("ask_user_question", &["AskUserQuestion", "AskUserQuestionTool"]),
    ("create_sub_session", &["CreateSubSession", "CreateSubSessionTool"]),
    ("cron_create", &["CronCreate", "CronCreateTool"]),
    ("cron_delete", &["CronDelete", "CronDeleteTool"]),
    ("cron_list", &["CronList", "CronListTool"]),
    ("display_image", &["DisplayImage", "DisplayImageTool"]),
    ("edit", &["Edit", "EditTool", "replace"]),
    ("enter_plan_mode", &["EnterPlanMode", "EnterPlanModeTool"]),
    ("enter_worktree", &["EnterWorktree", "EnterWorktreeTool"]),
    ("exec", &["Exec", "ExecTool"]),
    ("exit_plan_mode", &["ExitPlanMode", "ExitPlanModeTool"]),
    ("exit_worktree", &["ExitWorktree", "ExitWorktreeTool"]),
    ("get_goal", &["GetGoal", "Goal", "GoalTool"]),
    ("glob", &["FindFiles", "Glob", "GlobTool"]),
    ("grep_search", &["Grep", "GrepTool", "SearchFiles", "search_file_content"]),
    ("image_gen", &["ImageGen", "ImageGenTool"]),
    ("list_agents", &["ListAgents", "ListAgentsTool"]),
    ("list_directory", &["ListFiles", "ListFilesTool", "ReadFolder"]),
    ("loop_wakeup", &["LoopWakeup", "LoopWakeupTool"]),
    ("lsp", &["Lsp", "LspTool"]),
    ("monitor", &["Monitor", "MonitorTool"]),
    ("notebook_edit", &["NotebookEdit", "NotebookEditTool"]),
    ("omni_caption_audio", &["CaptionAudio", "CaptionAudioTool"]),
    ("omni_caption_image", &["CaptionImage", "CaptionImageTool"]),
    ("omni_clip_audio", &["ClipAudio", "ClipAudioTool"]),
    ("omni_clip_image", &["ClipImage", "ClipImageTool"]),
    ("omni_clip_video", &["ClipVideo", "ClipVideoTool"]),
    ("omni_convert_image", &["ConvertImage", "ConvertImageTool"]),
    ("omni_downsample_audio", &["DownsampleAudio", "DownsampleAudioTool"]),
    ("omni_downsample_image", &["DownsampleImage", "DownsampleImageTool"]),
    ("omni_downscale_video", &["DownscaleVideo", "DownscaleVideoTool"]),
    ("omni_extract_audio", &["ExtractAudio", "ExtractAudioTool"]),
    ("omni_extract_keyframes", &["ExtractKeyframes", "ExtractKeyframesTool"]),
    ("omni_ocr_image", &["OcrImage", "OcrImageTool"]),
    ("omni_recall_media_memory", &["RecallMediaMemory", "RecallMediaMemoryTool"]),
    ("omni_transcribe_audio", &["TranscribeAudio", "TranscribeAudioTool"]),
    ("omni_understand_video_segments", &["UnderstandVideoSegments", "UnderstandVideoSegmentsTool"]),
    ("propose_goal", &["ProposeGoal", "ProposeGoalTool"]),
    ("read_file", &["Read", "ReadFile", "ReadFileTool"]),
    ("read_mcp_resource", &["ReadMcpResource", "ReadMcpResourceTool"]),
    ("record_artifact", &["RecordArtifact", "RecordArtifactTool"]),
    ("record_source", &["RecordSource", "RecordSourceTool"]),
    ("report_findings", &["ReportFindings", "ReportFindingsTool"]),
    ("request_shutdown", &["RequestShutdown", "RequestShutdownTool"]),
    ("run_shell_command", &["Bash", "Shell", "ShellTool"]),
    ("save_memory", &["SaveMemory", "SaveMemoryTool"]),
    ("send_message", &["SendMessage", "SendMessageTool"]),
    ("skill", &["Skill", "SkillTool"]),
    ("structured_output", &["StructuredOutput", "StructuredOutputTool"]),
    ("task_create", &["TaskCreate", "TaskCreateTool"]),
    ("task_list", &["TaskList", "TaskListTool"]),
    ("task_stop", &["TaskStop", "TaskStopTool"]),
    ("task_update", &["TaskUpdate", "TaskUpdateTool"]),
    ("team_create", &["TeamCreate", "TeamCreateTool"]),
    ("team_delete", &["TeamDelete", "TeamDeleteTool"]),
    ("team_plan_approval", &["TeamPlanApproval", "TeamPlanApprovalTool"]),
    ("todo_write", &["TodoList", "TodoListTool", "TodoWrite", "TodoWriteTool"]),
    ("tool_call", &["ToolCall", "ToolCallTool"]),
    ("tool_search", &["ToolSearch", "ToolSearchTool"]),
    ("update_goal", &["UpdateGoal", "UpdateGoalTool"]),
    ("web_fetch", &["WebFetch", "WebFetchTool"]),
    ("web_search", &["WebSearch", "WebSearchTool"]),
    ("workflow", &["Workflow", "WorkflowTool"]),
    ("write_file", &["Write", "WriteFile", "WriteFileTool"]),
    ("zoom_image", &["ZoomImage", "ZoomImageTool"]),
];

/// Returns the further names of Qwen Code's tool `name`; none for any other tool.
pub(super) fn aliases(name: &str) -> &'static [&'static str] {
    QWEN.iter().find(|(tool, _)| *tool == name).map_or(&[], |(_, aliases)| aliases)
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
}
