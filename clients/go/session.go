package hookbox

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Data is the data of an event. The book lists the fields of each, in docs/src/events.md of the repository.
type Data = map[string]any

// A Session is one conversation. Its events are answered in the order in which its methods are called.
type Session struct {
	client          *Client
	id, dir, parent string
}

// A ToolCall is a call of a tool that the model wants.
type ToolCall struct {
	Name  string // The name of the tool.
	Input any    // The input: any JSON. Malformed JSON of the model is passed as a string.
	ID    string // The id of the call. Optional.
}

// A ToolResult is the result of a call. Call has the input that the tool ran with.
type ToolResult struct {
	Call     ToolCall
	Output   any           // The output: any JSON.
	Err      error         // Why the call failed, or nil.
	Duration time.Duration // How long it took. Optional.
}

// A ToolRun is the end of a call that [Session.Tool] made.
type ToolRun struct {
	Text     string   // What the model reads as the result of the call.
	Output   any      // The output that hooks left, or nil.
	Ran      bool     // True if the tool ran.
	Ruling   *Ruling  // Why the tool did not run, or why the agent has to stop after it. Nil without a block.
	Context  []string // Text for the model's next step.
	Warnings []string // Notes for the user. Never for the model.
}

// ID returns the id of the conversation.
func (s *Session) ID() string { return s.id }

// In returns the same session with another working directory for its events. The default is that of the process.
func (s *Session) In(dir string) *Session {
	return &Session{client: s.client, id: s.id, dir: dir, parent: s.parent}
}

// Subagent returns the session of a subagent: the same hooks, and a conversation of its own. This session has to be open.
func (s *Session) Subagent(id string) *Session {
	return &Session{client: s.client, id: id, dir: s.dir, parent: s.id}
}

// encode returns the data of an event with the session's fields, and the further keys of _meta.
func (s *Session) encode(data Data) (arguments []byte, meta string, err error) {
	all := Data{}
	if s.dir != "" {
		all["cwd"] = s.dir
	}
	for name, value := range data {
		all[name] = value
	}
	all["conv_id"] = s.id
	if arguments, err = encode(all); err != nil {
		return nil, "", err
	}
	if s.parent == "" {
		return arguments, "", nil
	}
	parent, err := encode(s.parent)
	return arguments, `,"hookbox/parent":` + string(parent), err
}

// Event sends any event and returns its raw verdict. The methods of the events are safer.
func (s *Session) Event(ctx context.Context, name string, data Data) (RawVerdict, error) {
	result, failed, err := s.client.call(ctx, s, name, data)
	if err != nil {
		return fail(name, failure{CauseRefused, err.Error()}), err
	}
	if failed.cause == "" {
		var verdict RawVerdict
		if verdict, failed = parse(name, result); failed.cause == "" {
			return verdict, nil
		}
	}
	return fail(name, failed), nil
}

func (s *Session) note(ctx context.Context, name string, data Data) (Verdict, error) {
	raw, err := s.Event(ctx, name, data)
	return raw.Verdict, err
}

func (v RawVerdict) decision() decision { return decision{v.Action, v.Ruling, v.Value} }

// SessionStart tells that the session begins. The source is "startup", "resume" or another word.
func (s *Session) SessionStart(ctx context.Context, source string) (Verdict, error) {
	return s.note(ctx, "session_start", Data{"source": source})
}

// SessionEnd tells that the session ends, and closes it. The reason is "exit" or another word.
func (s *Session) SessionEnd(ctx context.Context, reason string) (Verdict, error) {
	return s.note(ctx, "session_end", Data{"reason": reason})
}

// UserMessageSend asks whether a message of the user may be sent.
func (s *Session) UserMessageSend(ctx context.Context, message string) (MessageVerdict, error) {
	raw, err := s.Event(ctx, "user_message_send", Data{"message": message})
	return MessageVerdict{raw.Verdict, MessageDecision{raw.decision()}}, err
}

// BeforeToolCall asks whether a tool may run, and with which input.
func (s *Session) BeforeToolCall(ctx context.Context, call ToolCall) (ToolVerdict, error) {
	raw, err := s.Event(ctx, "before_tool_call", call.data())
	return ToolVerdict{raw.Verdict, ToolDecision{raw.decision()}, raw.Allowed}, err
}

// AfterToolCall tells the result of a call, also of one that was blocked, and asks for the output for the model.
func (s *Session) AfterToolCall(ctx context.Context, result ToolResult) (OutputVerdict, error) {
	data := result.Call.data()
	data["tool_output"] = result.Output
	if result.Err != nil {
		data["success"], data["error"] = false, result.Err.Error()
	}
	if result.Duration > 0 {
		data["duration_ms"] = result.Duration.Milliseconds()
	}
	raw, err := s.Event(ctx, "after_tool_call", data)
	return OutputVerdict{raw.Verdict, OutputDecision{raw.decision()}}, err
}

// OnError tells an error, with the fields "error", "source" and "kind".
func (s *Session) OnError(ctx context.Context, data Data) (ErrorVerdict, error) {
	raw, err := s.Event(ctx, "on_error", data)
	verdict := ErrorVerdict{Verdict: raw.Verdict}
	if raw.Value != nil {
		_ = json.Unmarshal(raw.Value, &verdict.Text) // It was read before.
	}
	return verdict, err
}

// AfterTurn tells that the model has answered, with "turn_number", "tools_used", "usage" and "messages". The agent replaces its
// conversation by the verdict's Messages, or runs its Callback.
func (s *Session) AfterTurn(ctx context.Context, data Data) (Verdict, error) {
	return s.note(ctx, "after_turn", data)
}

// TurnEnd tells that the turn of the user is over, with "response" and "turn_number".
func (s *Session) TurnEnd(ctx context.Context, data Data) (Verdict, error) {
	return s.note(ctx, "turn_end", data)
}

// AgentStop tells that the agent would stop, with "messages" and "usage". It goes on with the verdict's FollowUps, if there are some.
func (s *Session) AgentStop(ctx context.Context, data Data) (Verdict, error) {
	return s.note(ctx, "agent_stop", data)
}

// PreCompact asks whether the conversation may be compacted, with "trigger", "usage" and "messages".
func (s *Session) PreCompact(ctx context.Context, data Data) (GateVerdict, error) {
	return s.gate(ctx, "pre_compact", data)
}

// PostCompact tells that the conversation has been compacted, with "trigger", "usage" and "summary".
func (s *Session) PostCompact(ctx context.Context, data Data) (Verdict, error) {
	return s.note(ctx, "post_compact", data)
}

// OnBudgetExceeded asks whether the agent may go on, with "usage" and "threshold". It runs the verdict's Callback, if there is one.
func (s *Session) OnBudgetExceeded(ctx context.Context, data Data) (GateVerdict, error) {
	return s.gate(ctx, "on_budget_exceeded", data)
}

func (s *Session) gate(ctx context.Context, name string, data Data) (GateVerdict, error) {
	raw, err := s.Event(ctx, name, data)
	return GateVerdict{raw.Verdict, GateDecision{raw.decision()}}, err
}

// Tool makes one tool call: it asks the hooks of before_tool_call, runs the tool with the input that they left, and sends the result
// to after_tool_call, and an error to on_error. A question is a block, unless the Ask of [Options] says true.
//
// The error of run is the result of a call that failed, not an error of Tool.
func (s *Session) Tool(ctx context.Context, call ToolCall, run func(ctx context.Context, input map[string]any) (any, error)) (ToolRun, error) {
	var end ToolRun
	before, err := s.BeforeToolCall(ctx, call)
	if err != nil {
		return end, err
	}
	end.add(before.Verdict)
	decision := before.Decision
	refusal := ""
	if _, asks := decision.Question(); asks && s.client.options.Ask != nil {
		proposed, why := call, *decision.Ruling()
		if err := decode(decision.value, &proposed.Input); err != nil {
			return end, err
		}
		agreed, err := s.client.options.Ask(ctx, proposed, why)
		if err != nil {
			return end, err
		}
		if agreed {
			decision = decision.UserAgreed()
		} else {
			refusal = " (the user was asked, and said no)" // The reason alone may read like a question to the model.
		}
	}
	if ruling := decision.Ruling(); ruling != nil {
		reason := ruling.Reason + refusal
		refused := Data{"toolName": call.Name, "success": false, "error": reason}
		after, err := s.AfterToolCall(ctx, ToolResult{Call: call, Output: refused, Err: errors.New(reason)})
		end.add(after.Verdict)
		end.Text, end.Ruling = "error: "+reason, ruling
		return end, err
	}
	result := ToolResult{Call: call}
	if err := decision.Decode(&result.Call.Input); err != nil {
		return end, err
	}
	started := time.Now()
	input, err := decision.Input()
	if err == nil {
		end.Ran = true
		result.Output, err = run(ctx, input)
	}
	if err != nil {
		result.Output, result.Err = err.Error(), err
	}
	result.Duration = time.Since(started)
	after, err := s.AfterToolCall(ctx, result)
	if err != nil {
		return end, err
	}
	end.add(after.Verdict)
	end.Output, _ = after.Decision.Output() // A block is below.
	end.Text = after.Decision.Text()
	if after.Failure != nil {
		// Nobody has redacted the output, so the model does not get it.
		end.Text, end.Ruling = "error: "+after.Failure.Reason, after.Failure
		return end, nil
	}
	if result.Err != nil {
		data := result.Call.data()
		data["source"], data["error"] = "tool", end.Text
		failed, err := s.OnError(ctx, data)
		if err != nil {
			return end, err
		}
		end.add(failed.Verdict)
		if failed.Failure == nil {
			end.Text = failed.Text
		}
		end.Text = "error: " + end.Text
	}
	if ruling := after.Decision.Ruling(); ruling != nil {
		end.Text += "\nstop and change course: " + ruling.Reason
		end.Ruling = ruling
	}
	return end, nil
}

func (r *ToolRun) add(verdict Verdict) {
	r.Context = append(r.Context, verdict.Context...)
	r.Warnings = append(r.Warnings, verdict.Warnings...)
}

// data returns the fields of a call.
func (c ToolCall) data() Data {
	data := Data{"tool_name": c.Name, "tool_input": c.Input}
	if c.ID != "" {
		data["tool_user_id"] = c.ID
	}
	return data
}
