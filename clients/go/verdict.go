package hookbox

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A Ruling is the answer of one hook, with its reason.
type Ruling struct {
	Reason string `json:"reason"` // The text for the model after a block, and for the user in a question.
	By     string `json:"by"`     // The hook, or "hookbox".
	Cause  string `json:"cause"`  // "decision", or the failure for which a hook or the client blocks.
	Rule   string `json:"rule"`   // The rule of the hook, if it names one.
	Code   string `json:"code"`   // The code with which the user allows the call. Never for the model.
}

// A BlockedError says that the agent must not go on with a value.
type BlockedError struct {
	Ruling
	Question bool // True if the hook asks the user, and nobody has answered.
}

// Error returns the reason for the model, without the code.
func (e *BlockedError) Error() string {
	if e.Question {
		return "the user has to agree: " + e.Reason
	}
	return e.Reason
}

// A Message is one message of a conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// A Callback is a recipe that a hook wants the agent to run.
type Callback struct {
	Name string            `json:"name"`
	Args map[string]string `json:"args"`
}

// A Verdict is the part that every verdict has.
type Verdict struct {
	Context          []string                  // Text for the model's next step.
	Warnings         []string                  // Notes for the user. Never for the model.
	Modified         bool                      // True if a hook changed the value.
	FollowUps        []string                  // Messages of the user with which the agent goes on, after AgentStop.
	DroppedFollowUps []string                  // Those that are not applied: hooks made the agent go on too often in a row.
	Messages         []Message                 // The conversation that replaces the agent's, if not nil.
	Callback         *Callback                 // The recipe to run, if not nil.
	Metadata         map[string]map[string]any // The data of each hook, by its name.
	Failure          *Ruling                   // Why the hooks could not be asked, if not nil.
}

// An Action is what the agent does after a decision. The empty action is a block.
type Action string

// The actions of a decision.
const (
	Run     Action = "run"     // Run the tool.
	Proceed Action = "proceed" // Go on.
	Ask     Action = "ask"     // Ask the user.
	Block   Action = "block"   // Do not go on.
)

// A RawVerdict is the verdict of any event, as the process sends it.
type RawVerdict struct {
	Verdict
	Action  Action          // Empty for an event without a decision.
	Ruling  Ruling          // Of a block or a question.
	Allowed *Ruling         // The hook that says that the call needs no question of the agent's own.
	Value   json.RawMessage // The input, output, message or error. That of a question is for the user to see.
}

// A decision is the part that every decision has. Its zero value is a block.
type decision struct {
	action Action
	ruling Ruling
	value  json.RawMessage
}

// Action returns what the agent does.
func (d decision) Action() Action {
	if d.action == "" {
		return Block
	}
	return d.action
}

// Ruling returns the reason of a block or a question, and nil if the agent goes on.
func (d decision) Ruling() *Ruling {
	if err := d.Err(); err != nil {
		return &err.(*BlockedError).Ruling
	}
	return nil
}

// Err returns a [*BlockedError] if the agent must not go on, or not before the user has agreed.
func (d decision) Err() error {
	switch d.action {
	case Run, Proceed:
		return nil
	case "":
		return &BlockedError{Ruling: failure{CauseMalformed, "no hook was asked"}.ruling()}
	}
	return &BlockedError{Ruling: d.ruling, Question: d.action == Ask}
}

// A ToolDecision decides whether a tool may run. The input to run it with is inside.
type ToolDecision struct{ decision }

// Input returns the input to run the tool with, which a hook may have changed. The error is a [*BlockedError] if the tool must not
// run, and another one if the input is no object: see [ToolDecision.Decode].
func (d ToolDecision) Input() (map[string]any, error) {
	var input map[string]any
	if err := d.Decode(&input); err != nil {
		return nil, err
	}
	return input, nil
}

// Decode stores the input to run the tool with in the value that v points to.
func (d ToolDecision) Decode(v any) error {
	if err := d.Err(); err != nil {
		return err
	}
	if err := decode(d.value, v); err != nil {
		return fmt.Errorf("hookbox: the input of the tool: %w", err)
	}
	return nil
}

// Question returns the input that a hook asks the user about, as JSON to show, and false if no hook asks.
func (d ToolDecision) Question() (string, bool) {
	if d.action != Ask {
		return "", false
	}
	return string(d.value), true
}

// UserAgreed returns the decision after the user has agreed to the question: the tool may run. A block stays a block.
func (d ToolDecision) UserAgreed() ToolDecision {
	if d.action == Ask {
		d.action, d.ruling = Run, Ruling{}
	}
	return d
}

// A MessageDecision decides whether a message of the user is sent. The message is inside.
type MessageDecision struct{ decision }

// Message returns the message to send, or a [*BlockedError].
func (d MessageDecision) Message() (string, error) {
	if err := d.Err(); err != nil {
		return "", err
	}
	var message string
	err := decode(d.value, &message)
	return message, err
}

// An OutputDecision decides whether the agent goes on after a tool has run. The output for the model is inside.
type OutputDecision struct{ decision }

// Output returns the output for the model, which a hook may have redacted. Beside a [*BlockedError], after which the agent stops or
// changes course, it is the output too, or nil if the hooks could not be asked.
func (d OutputDecision) Output() (any, error) {
	var output any
	if d.value != nil {
		if err := decode(d.value, &output); err != nil {
			return nil, err
		}
	}
	return output, d.Err()
}

// Text returns the output as text for the model: a string, the field "output" or "error" of an object, or else JSON.
func (d OutputDecision) Text() string {
	output, _ := d.Output()
	if fields, ok := output.(map[string]any); ok {
		for _, name := range []string{"output", "error"} {
			if text, ok := fields[name].(string); ok {
				return text
			}
		}
	}
	if text, ok := output.(string); ok {
		return text
	}
	return string(d.value)
}

// A GateDecision decides whether the agent goes on. There is no value inside: ask its Err.
type GateDecision struct{ decision }

// A MessageVerdict is the verdict of user_message_send.
type MessageVerdict struct {
	Verdict
	Decision MessageDecision
}

// A ToolVerdict is the verdict of before_tool_call.
type ToolVerdict struct {
	Verdict
	Decision ToolDecision
	Allowed  *Ruling // The hook that says that the call needs no question of the agent's own, if not nil.
}

// An OutputVerdict is the verdict of after_tool_call.
type OutputVerdict struct {
	Verdict
	Decision OutputDecision
}

// A GateVerdict is the verdict of pre_compact and on_budget_exceeded.
type GateVerdict struct {
	Verdict
	Decision GateDecision
}

// An ErrorVerdict is the verdict of on_error.
type ErrorVerdict struct {
	Verdict
	Text string // The error's text, which a hook may have changed. Empty if the hooks could not be asked.
}

// An eventKind says what the verdicts of an event have.
type eventKind struct {
	actions []Action
	subject string // The key of the value.
}

// kinds has the events whose verdicts have a decision, and noted those without one. An event that is not known is blocked.
var (
	kinds = map[string]eventKind{
		"user_message_send":  {[]Action{Proceed, Block}, "message"},
		"before_tool_call":   {[]Action{Run, Ask, Block}, "input"},
		"after_tool_call":    {[]Action{Proceed, Block}, "output"},
		"pre_compact":        {[]Action{Proceed, Block}, ""},
		"on_budget_exceeded": {[]Action{Proceed, Block}, ""},
		"on_error":           {[]Action{Proceed}, "error"},
	}
	noted = map[string]bool{
		"session_start": true, "session_end": true, "after_turn": true, "turn_end": true, "agent_stop": true, "post_compact": true,
	}
)

// fail returns the verdict of an event whose hooks could not be asked.
func fail(event string, why failure) RawVerdict {
	ruling := why.ruling()
	verdict := RawVerdict{Verdict: Verdict{Failure: &ruling}}
	if noted[event] || event == "on_error" {
		verdict.Warnings = []string{ruling.Reason}
		return verdict
	}
	verdict.Action, verdict.Ruling = Block, ruling
	return verdict
}

// parse reads the result of an event's tool.
func parse(event string, text json.RawMessage) (RawVerdict, failure) {
	var result struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Structured *struct {
			Version  int                        `json:"version"`
			Decision map[string]json.RawMessage `json:"decision"`
			Modified bool                       `json:"modified"`
			Context  []string                   `json:"context"`
			Warnings []string                   `json:"warnings"`
			Follow   []string                   `json:"follow_ups"`
			Dropped  []string                   `json:"dropped_follow_ups"`
			Messages []Message                  `json:"messages"`
			Callback *Callback                  `json:"callback"`
			Metadata map[string]map[string]any  `json:"metadata"`
		} `json:"structuredContent"`
	}
	nonsense := func(format string, parts ...any) (RawVerdict, failure) {
		return RawVerdict{}, failure{CauseMalformed, fmt.Sprintf(format, parts...)}
	}
	if err := decode(text, &result); err != nil {
		return nonsense("the answer is no verdict: %v", err)
	}
	if result.IsError {
		what := "no hook ran"
		if len(result.Content) > 0 {
			what = result.Content[0].Text
		}
		return nonsense("%s", what)
	}
	it := result.Structured
	if it == nil {
		return nonsense("the answer has no verdict")
	}
	if it.Version != verdictVersion {
		return RawVerdict{}, failure{CauseVersion, fmt.Sprintf("the verdict is not of version %d", verdictVersion)}
	}
	verdict := RawVerdict{Verdict: Verdict{
		Context: it.Context, Warnings: it.Warnings, Modified: it.Modified, FollowUps: it.Follow, DroppedFollowUps: it.Dropped,
		Messages: it.Messages, Callback: it.Callback, Metadata: it.Metadata,
	}}
	kind, decides := kinds[event]
	if !decides {
		return verdict, failure{}
	}
	fields := []struct {
		name string
		to   any
	}{
		{"action", &verdict.Action}, {"reason", &verdict.Ruling.Reason}, {"by", &verdict.Ruling.By}, {"cause", &verdict.Ruling.Cause},
		{"rule", &verdict.Ruling.Rule}, {"code", &verdict.Ruling.Code}, {"allowed", &verdict.Allowed},
	}
	for _, field := range fields {
		if value := it.Decision[field.name]; value != nil {
			if err := decode(value, field.to); err != nil {
				return nonsense("the answer is no verdict: %s: %v", field.name, err)
			}
		}
	}
	isKnown := false
	for _, action := range kind.actions {
		isKnown = isKnown || action == verdict.Action
	}
	if !isKnown {
		return nonsense("the answer has no decision that is known: %.80q", verdict.Action)
	}
	verdict.Value = it.Decision[kind.subject]
	if why := unfit(event, verdict); why != "" {
		return nonsense("%s", why)
	}
	return verdict, failure{}
}

// unfit says what is wrong with the value of a decision.
func unfit(event string, verdict RawVerdict) string {
	if verdict.Action == Block {
		return ""
	}
	var err error
	var text *string
	isMissing := verdict.Value == nil
	switch event {
	case "before_tool_call":
		isMissing = isMissing || string(verdict.Value) == "null"
	case "user_message_send", "on_error":
		if !isMissing {
			err = decode(verdict.Value, &text)
			isMissing = text == nil
		}
	case "after_tool_call":
	default:
		isMissing = false
	}
	if isMissing || err != nil {
		return "the decision has no value to go on with"
	}
	return ""
}

// decode reads JSON, with each digit of its numbers.
func decode(text []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(v)
}
