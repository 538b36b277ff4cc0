package hookbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain keeps the hooks and settings of the person who runs the tests away.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "hookbox-home")
	if err != nil {
		panic(err)
	}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if name != "HOOKBOX_PROGRAM" && (strings.HasPrefix(name, "HOOKBOX_") || strings.HasPrefix(name, "XDG_")) {
			os.Unsetenv(name)
		}
	}
	os.Setenv("HOME", home)
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// program returns the program that HOOKBOX_PROGRAM names.
func program(t *testing.T) string {
	t.Helper()
	path := os.Getenv("HOOKBOX_PROGRAM")
	if path == "" {
		t.Skip("HOOKBOX_PROGRAM does not name the program")
	}
	return path
}

// write writes files below a directory, executable.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// client returns a client that is closed at the end of the test.
func client(t *testing.T, options Options) *Client {
	t.Helper()
	c := New(options)
	t.Cleanup(func() { c.Close() })
	return c
}

// kill kills the process of a client, and waits until the client knows.
func kill(c *Client) {
	c.mu.Lock()
	p := c.process
	c.mu.Unlock()
	if p != nil {
		p.command.Process.Kill()
		<-p.failed
	}
}

type testStep struct {
	Session, Parent, Event string
	Data                   Data
	Expect                 map[string]json.RawMessage
	Together               []testStep
	Kill                   bool
}

type testCase struct {
	Name    string
	Hooks   map[string]string
	Files   map[string]string
	Program string
	Options struct {
		DeadlineMS int `json:"deadline_ms"`
	}
	Steps []testStep
}

func TestCases(t *testing.T) {
	hookbox := program(t)
	paths, err := filepath.Glob("../cases/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var test testCase
		if err := decode(text, &test); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			project := t.TempDir()
			write(t, project, test.Files)
			write(t, filepath.Join(project, ".hookbox/hooks"), test.Hooks)
			options := Options{Dir: project, Program: hookbox, Args: []string{"--trust", "all"}}
			options.Deadline = time.Duration(test.Options.DeadlineMS) * time.Millisecond
			if test.Program != "" {
				fakes := t.TempDir()
				write(t, fakes, map[string]string{"hookbox": test.Program})
				options.Program = filepath.Join(fakes, "hookbox")
			}
			c := client(t, options)
			for number, step := range test.Steps {
				step.run(t, c, fmt.Sprintf("step %d", number+1))
			}
		})
	}
}

func (step testStep) run(t *testing.T, c *Client, at string) {
	var all sync.WaitGroup
	defer all.Wait()
	for number, step := range step.Together {
		all.Add(1)
		go func() {
			defer all.Done()
			step.run(t, c, fmt.Sprintf("%s, %d", at, number+1))
		}()
	}
	if step.Kill {
		kill(c)
	}
	if step.Event == "" {
		return
	}
	session := c.Session(step.Session)
	if step.Parent != "" {
		session = c.Session(step.Parent).Subagent(step.Session)
	}
	data, _ := repeated(step.Data).(Data)
	verdict, err := session.Event(context.Background(), step.Event, data)
	if err != nil {
		t.Errorf("%s: %v", at, err)
		return
	}
	for key, want := range step.Expect {
		var expected any
		if err := decode(want, &expected); err != nil {
			t.Fatal(err)
		}
		if wrong := differs(verdict, key, repeated(expected)); wrong != "" {
			t.Errorf("%s: %s: %s", at, key, wrong)
		}
	}
	if _, err := (ToolDecision{verdict.decision()}).Input(); step.Event == "before_tool_call" && verdict.Action != Run {
		var blocked *BlockedError
		if !errors.As(err, &blocked) || blocked.Question != (verdict.Action == Ask) {
			t.Errorf("%s: the input is there without a permission: %v", at, err)
		}
	}
}

// differs compares one key of a verdict with what is expected.
func differs(v RawVerdict, key string, want any) string {
	var have any
	switch key {
	case "action":
		have = v.Action
		if v.Action == "" {
			have = nil
		}
	case "value":
		have = v.Value
	case "reason":
		have = v.Ruling.Reason
	case "reason_contains":
		if part, _ := want.(string); strings.Contains(v.Ruling.Reason, part) {
			return ""
		}
		have = v.Ruling.Reason
	case "by":
		have = v.Ruling.By
	case "cause":
		have = v.Ruling.Cause
	case "modified":
		have = v.Modified
	case "context":
		have = append([]string{}, v.Context...)
	case "follow_ups":
		have = append([]string{}, v.FollowUps...)
	case "dropped_follow_ups":
		have = append([]string{}, v.DroppedFollowUps...)
	case "messages":
		have = v.Messages
	case "callback":
		have = v.Callback
	case "metadata":
		have = v.Metadata
	case "warnings":
		have = len(v.Warnings)
	default:
		return "the runner does not know this key"
	}
	encoded, err := encode(have)
	if err != nil {
		return err.Error()
	}
	var plain any
	if err := decode(encoded, &plain); err != nil {
		return err.Error()
	}
	if !reflect.DeepEqual(plain, want) {
		return fmt.Sprintf("have %.300s, want %.300v", encoded, want)
	}
	return ""
}

// repeated replaces each {"$repeat": [TEXT, N]}.
func repeated(value any) any {
	switch value := value.(type) {
	case map[string]any:
		if parts, ok := value["$repeat"].([]any); ok {
			text, _ := parts[0].(string)
			count, _ := parts[1].(json.Number).Int64()
			return strings.Repeat(text, int(count))
		}
		out := Data{}
		for name, it := range value {
			out[name] = repeated(it)
		}
		return out
	case []any:
		out := []any{}
		for _, it := range value {
			out = append(out, repeated(it))
		}
		return out
	}
	return value
}
