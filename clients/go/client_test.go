package hookbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	ctx  = context.Background()
	bash = ToolCall{Name: "bash", Input: Data{"command": "ls"}}
)

// hook returns a script that answers one event.
func hook(event, script string) string {
	return fmt.Sprintf("#!/bin/sh\n[ \"$1\" = hook ] && echo %s && exit\n[ \"$1\" = run ] || exit 1\n%s\n", event, script)
}

// project returns options for a project with hooks.
func project(t *testing.T, hooks map[string]string) Options {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".hookbox/hooks"), hooks)
	return Options{Dir: dir, Program: program(t), Args: []string{"--trust", "all"}}
}

// fake returns options with a script that stands in for hookbox. It is in a directory of its own.
func fake(t *testing.T, script string) Options {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{"hookbox": "#!/bin/sh\n" + script})
	return Options{Dir: dir, Program: filepath.Join(dir, "hookbox")}
}

const (
	ready  = `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"experimental":{"hookbox":{"verdict_version":1}}}}}'; read -r line;`
	permit = `read -r line; echo '{"jsonrpc":"2.0","id":2,"result":{"structuredContent":{"version":1,"decision":{"action":"run","input":{}}}}}';`
)

// until waits until something is so.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for !is() {
		if deadline, has := t.Deadline(); has && time.Until(deadline) < 5*time.Second {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func before(t *testing.T, session *Session) ToolDecision {
	t.Helper()
	verdict, err := session.BeforeToolCall(ctx, bash)
	if err != nil {
		t.Fatal(err)
	}
	return verdict.Decision
}

func cause(t *testing.T, session *Session) string {
	t.Helper()
	if ruling := before(t, session).Ruling(); ruling != nil {
		return ruling.Cause
	}
	return ""
}

func TestADecisionThatNobodyMadeIsABlock(t *testing.T) {
	var blocked *BlockedError
	if _, err := (ToolVerdict{}).Decision.Input(); !errors.As(err, &blocked) {
		t.Error(err)
	}
	if _, err := (ToolDecision{}).UserAgreed().Input(); !errors.As(err, &blocked) {
		t.Error(err)
	}
	if _, err := (MessageVerdict{}).Decision.Message(); !errors.As(err, &blocked) {
		t.Error(err)
	}
	if output, err := (OutputVerdict{}).Decision.Output(); !errors.As(err, &blocked) || output != nil {
		t.Error(output, err)
	}
	if err := (GateVerdict{}).Decision.Err(); !errors.As(err, &blocked) {
		t.Error(err)
	}
	if (ToolDecision{}).Action() != Block || (ToolDecision{}).Ruling() == nil {
		t.Error("the empty action is no block")
	}
}

func TestAnErrorHasAVerdictThatBlocks(t *testing.T) {
	c := client(t, Options{Program: "/no/such/program"})
	done, cancel := context.WithCancel(ctx)
	cancel()
	verdict, err := c.Session("a").BeforeToolCall(done, bash)
	if _, input := verdict.Decision.Input(); !errors.Is(err, context.Canceled) || input == nil {
		t.Error(err, input)
	}
	verdict, err = c.Session("a").BeforeToolCall(ctx, ToolCall{Name: "x", Input: math.NaN()})
	if _, input := verdict.Decision.Input(); err == nil || input == nil {
		t.Error(err, input)
	}
	c.Close()
	verdict, err = c.Session("a").BeforeToolCall(ctx, bash)
	if _, input := verdict.Decision.Input(); !errors.Is(err, ErrClosed) || input == nil {
		t.Error(err, input)
	}
	if err := c.Start(ctx); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestStartTellsThatTheProgramIsMissing(t *testing.T) {
	var blocked *BlockedError
	if err := client(t, Options{Program: "/no/such/program"}).Start(ctx); !errors.As(err, &blocked) || blocked.Cause != CauseMissing {
		t.Error(err)
	}
	options := fake(t, "")
	options.Dir = "/no/such/directory"
	if err := client(t, options).Start(ctx); !errors.As(err, &blocked) || blocked.Cause != CauseMissing {
		t.Error(err)
	}
}

func TestAProgramThatDiesIsNotStartedForEachEvent(t *testing.T) {
	options := fake(t, "echo >> starts; exit 1")
	session := client(t, options).Session("a")
	started := time.Now()
	for range 200 {
		if cause := cause(t, session); cause != CauseKilled {
			t.Fatal(cause)
		}
	}
	starts, err := os.ReadFile(filepath.Join(options.Dir, "starts"))
	// At once, at once, and after 100, 200, … ms.
	most := 3
	for after := time.Since(started); wait(most) < after; most++ {
		after -= wait(most)
	}
	if err != nil || len(starts) < 2 || len(starts) > most {
		t.Errorf("%d starts, at most %d: %v", len(starts), most, err)
	}
}

func TestTheTimeBetweenStartsGrowsAndEnds(t *testing.T) {
	for failures, want := range []time.Duration{0, 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000} {
		if wait(failures) != want*time.Millisecond {
			t.Errorf("%d failures: %v", failures, wait(failures))
		}
	}
	if wait(1_000_000) != longestWait {
		t.Error(wait(1_000_000))
	}
}

func TestManyEventsStartOneProcess(t *testing.T) {
	options := fake(t, "echo >> starts\n"+ready+"read -r line; exit 1")
	c := client(t, options)
	var all sync.WaitGroup
	for number := range 50 {
		all.Add(1)
		go func() {
			defer all.Done()
			if cause := cause(t, c.Session(fmt.Sprint(number))); cause != CauseKilled {
				t.Error(cause)
			}
		}()
	}
	all.Wait()
	if starts, err := os.ReadFile(filepath.Join(options.Dir, "starts")); err != nil || len(starts) > 3 {
		t.Errorf("%d starts: %v", len(starts), err)
	}
}

func TestASuccessForgetsTheFailures(t *testing.T) {
	c := client(t, fake(t, ready+permit+"read -r line"))
	for range 20 {
		if cause := cause(t, c.Session("a")); cause != "" {
			t.Fatal(cause)
		}
		kill(c)
	}
}

func TestAChildThatHoldsTheOutputDoesNotHideTheEnd(t *testing.T) {
	// The child leaves the process group, so that the client cannot kill it.
	session := client(t, fake(t, ready+"read -r line; setsid sleep 20 & exit 3")).Session("a")
	ruling := before(t, session).Ruling()
	if ruling == nil || ruling.Cause != CauseKilled || !strings.Contains(ruling.Reason, "exit status 3") {
		t.Error(ruling)
	}
}

func TestCloseEndsAProcessThatIgnoresIt(t *testing.T) {
	// The process and its children hold the pipe until they end.
	options := fake(t, "trap '' TERM; exec 3> alive; sleep 600 & sleep 600 & while :; do sleep 600; done")
	pipe := filepath.Join(options.Dir, "alive")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Fatal(err)
	}
	c := client(t, options)
	waiting := make(chan error)
	go func() {
		_, err := c.Session("a").BeforeToolCall(ctx, bash)
		waiting <- err
	}()
	alive, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waiting; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := io.ReadAll(alive); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestAnEventThatIsCancelledEndsItsHook(t *testing.T) {
	options := project(t, map[string]string{"slow.sh": hook("before_tool_call", "input=$(cat); case $input in *slow*) echo $$ > pid; exec sleep 600 ;; esac")})
	session := client(t, options).Session("a")
	cancelled, cancel := context.WithCancel(ctx)
	waiting := make(chan error)
	go func() {
		_, err := session.BeforeToolCall(cancelled, ToolCall{Name: "bash", Input: Data{"command": "slow"}})
		waiting <- err
	}()
	pid := filepath.Join(options.Dir, "pid")
	until(t, "the hook runs", func() bool { text, _ := os.ReadFile(pid); return bytes.HasSuffix(text, []byte("\n")) })
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if cause := cause(t, session); cause != "" {
		t.Error(cause)
	}
	text, _ := os.ReadFile(pid)
	until(t, "the hook ends", func() bool { return exec.Command("kill", "-0", strings.TrimSpace(string(text))).Run() != nil })
}

func TestAnEventThatIsCancelledInItsQueueDoesNotLetOthersPass(t *testing.T) {
	options := project(t, map[string]string{"slow.sh": hook("before_tool_call", `case $(cat) in *slow*) touch began; until [ -e go ]; do sleep 0.01; done; touch over ;; esac`)})
	session := client(t, options).Session("a")
	first, second, third := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	send := func(ctx context.Context, command string, done chan error) {
		_, err := session.BeforeToolCall(ctx, ToolCall{Name: "bash", Input: Data{"command": command}})
		done <- err
	}
	go send(ctx, "slow", first)
	until(t, "the hook runs", func() bool { return exists(filepath.Join(options.Dir, "began")) })
	last := func() chan struct{} {
		session.client.mu.Lock()
		defer session.client.mu.Unlock()
		return session.client.turns["a"]
	}
	running := last()
	cancelled, cancel := context.WithCancel(ctx)
	go send(cancelled, "second", second)
	until(t, "the second event is queued", func() bool { return last() != running })
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	go send(ctx, "third", third)
	select {
	case <-third:
		t.Error("an event passed the one before it")
	case <-time.After(200 * time.Millisecond):
	}
	write(t, options.Dir, map[string]string{"go": ""})
	if err := errors.Join(<-first, <-third); err != nil {
		t.Error(err)
	}
	if !exists(filepath.Join(options.Dir, "over")) {
		t.Error("the first event is not over")
	}
}

func TestTheDeadlineOfAnEventStartsWithItsTurn(t *testing.T) {
	// Together they take longer than the deadline and its second.
	options := project(t, map[string]string{"slow.sh": hook("before_tool_call", "cat > /dev/null; sleep 0.4")})
	options.Deadline = 1500 * time.Millisecond
	c := client(t, options)
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			if cause := cause(t, c.Session("a")); cause != "" {
				t.Error(cause)
			}
		}()
	}
	all.Wait()
}

func TestTheProcessThatStartsOutlivesAShortDeadline(t *testing.T) {
	options := fake(t, "echo >> starts; until [ -e go ]; do sleep 0.01; done\n"+ready+permit+"read -r line")
	options.Deadline = time.Millisecond
	session := client(t, options).Session("a")
	if cause := cause(t, session); cause != CauseDeadline {
		t.Fatal(cause)
	}
	write(t, options.Dir, map[string]string{"go": ""})
	until(t, "the process has started", func() bool { return cause(t, session) == "" })
	if starts, err := os.ReadFile(filepath.Join(options.Dir, "starts")); err != nil || len(starts) != 1 {
		t.Errorf("%d starts: %v", len(starts), err)
	}
}

func TestOneLateAnswerDoesNotEndAProcessThatIsAlive(t *testing.T) {
	notice := `echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}';`
	options := fake(t, "echo >> starts;"+ready+"read -r line; while :; do "+notice+" sleep 0.02; done")
	options.Deadline = 100 * time.Millisecond
	session := client(t, options).Session("a")
	for range 2 {
		if cause := cause(t, session); cause != CauseDeadline {
			t.Error(cause)
		}
	}
	if starts, err := os.ReadFile(filepath.Join(options.Dir, "starts")); err != nil || len(starts) != 1 {
		t.Errorf("%d starts: %v", len(starts), err)
	}
}

func TestCallsWaitForRoomInTheirOrder(t *testing.T) {
	// The process reads one call at a time, and answers each with what is in "go".
	options := fake(t, `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"experimental":{"hookbox":{"verdict_version":1,"limits":{"calls":1}}}}}}'
read -r line
while read -r line; do echo >> calls; until [ -e go ]; do sleep 0.01; done
id=${line#*'"id":'}; echo '{"jsonrpc":"2.0","id":'"${id%%,*}"',"result":{"structuredContent":{"version":1,"decision":{"action":"run","input":{}}}}}'; done`)
	c := client(t, options)
	var all sync.WaitGroup
	for number := range 20 {
		all.Add(1)
		go func() {
			defer all.Done()
			if cause := cause(t, c.Session(fmt.Sprint(number))); cause != "" {
				t.Error(cause)
			}
		}()
	}
	calls := func() int { text, _ := os.ReadFile(filepath.Join(options.Dir, "calls")); return len(text) }
	until(t, "the first call is there", func() bool { return calls() > 0 })
	c.mu.Lock()
	sent := c.process.lastID - 1
	c.mu.Unlock()
	if sent != 1 {
		t.Errorf("%d calls are sent", sent)
	}
	write(t, options.Dir, map[string]string{"go": ""})
	all.Wait()
	if calls() != 20 {
		t.Error(calls())
	}
}

func TestAnInputThatIsTooDeepHarmsNoOther(t *testing.T) {
	c := client(t, project(t, nil))
	deep := any("x")
	for range 9_990 {
		deep = []any{deep}
	}
	verdict, err := c.Session("a").BeforeToolCall(ctx, ToolCall{Name: "bash", Input: Data{"deep": deep}})
	if ruling := verdict.Decision.Ruling(); err != nil || ruling == nil || ruling.Cause != CauseRefused {
		t.Error(ruling, err)
	}
	for range 200 {
		deep = deep.([]any)[0]
	}
	// A shell's input of this depth is one that no guard can read.
	verdict, err = c.Session("a").BeforeToolCall(ctx, ToolCall{Name: "read", Input: Data{"deep": deep}})
	if input, blocked := verdict.Decision.Input(); err != nil || blocked != nil || input["deep"] == nil {
		t.Error(blocked, err)
	}
	if depth([]byte(`{"a[\"{":["\\",{"b":"]"}]}`)) != 3 {
		t.Error("the depth is wrong")
	}
}

func TestTextOfTheModelStays(t *testing.T) {
	session := client(t, project(t, nil)).Session("a\u2028\"<&>")
	text := "\u2028\u2029\x00\x1b[31m<script>&\"'\\ \r\n 🦀"
	verdict, err := session.BeforeToolCall(ctx, ToolCall{Name: "bash\n\"", Input: Data{text: text}})
	input, blocked := verdict.Decision.Input()
	if err != nil || blocked != nil || input[text] != text {
		t.Errorf("%q %v %v", input, blocked, err)
	}
}

func TestNoticesComeToTheAgent(t *testing.T) {
	options := project(t, nil)
	notices := make(chan Notice, 10)
	options.OnNotice = func(notice Notice) { notices <- notice }
	session := client(t, options).Session("a")
	before(t, session)
	write(t, filepath.Join(options.Dir, ".hookbox/hooks"), map[string]string{"no.sh": hook("before_tool_call", `cat > /dev/null; echo '{"blocked":true,"reason":"No."}'`)})
	if cause := cause(t, session); cause != "decision" {
		t.Error(cause)
	}
	if notice := <-notices; !strings.Contains(notice.Text, "no.sh") {
		t.Error(notice)
	}
}

func TestToolMakesACall(t *testing.T) {
	options := project(t, map[string]string{
		"1.sh": hook("before_tool_call", `case $(cat) in *publish*) echo '{"decision":"ask","reason":"Publish?"}' ;; *sudo*) echo '{"blocked":true,"reason":"No root here."}' ;; *) echo '{"input":{"command":"changed"}}' ;; esac`),
		"2.sh": hook("after_tool_call", `case $(cat) in *secret*) echo '{"output":"hidden"}' ;; *stop*) echo '{"action":"block","reason":"Look again."}' ;; esac`),
		"3.sh": hook("on_error", `cat > /dev/null; echo '{"error":"See docs."}'`),
	})
	agrees := false
	options.Ask = func(_ context.Context, call ToolCall, why Ruling) (bool, error) {
		if call.Input.(Data)["command"] != "publish" || why.By != "1.sh" {
			t.Error(call, why)
		}
		return agrees, nil
	}
	session := client(t, options).Session("a")
	for _, test := range []struct {
		command, output string
		err             error
		agrees          bool
		input           any
		text            string
	}{
		{command: "ls", output: "fine", input: "changed", text: "fine"},
		{command: "ls", output: "a secret", input: "changed", text: "hidden"},
		{command: "ls", output: "stop", input: "changed", text: "stop\nstop and change course: Look again."},
		{command: "ls", err: errors.New("it broke"), input: "changed", text: "error: See docs."},
		{command: "sudo ls", text: "error: No root here."},
		{command: "publish", text: "error: Publish? (the user was asked, and said no)"},
		{command: "publish", agrees: true, output: "fine", input: "publish", text: "fine"},
	} {
		agrees = test.agrees
		var ran any
		end, err := session.Tool(ctx, ToolCall{Name: "bash", ID: "1", Input: Data{"command": test.command}}, func(_ context.Context, input map[string]any) (any, error) {
			ran = input["command"]
			return test.output, test.err
		})
		if err != nil || end.Text != test.text || ran != test.input || end.Ran != (ran != nil) {
			t.Errorf("%+v: %+v, ran %v: %v", test, end, ran, err)
		}
	}
}

func TestToolGivesNoOutputThatNobodyRead(t *testing.T) {
	session := client(t, fake(t, ready+permit+"read -r line")).Session("a")
	end, err := session.Tool(ctx, bash, func(context.Context, map[string]any) (any, error) { return "a secret", nil })
	if err != nil || !end.Ran || strings.Contains(end.Text, "secret") || end.Output != nil || end.Ruling.Cause != CauseKilled {
		t.Errorf("%+v %v", end, err)
	}
}

func TestAnInputThatIsNoObjectDoesNotRun(t *testing.T) {
	session := client(t, project(t, nil)).Session("a")
	end, err := session.Tool(ctx, ToolCall{Name: "bash", Input: `{"command": "l`}, func(context.Context, map[string]any) (any, error) {
		t.Error("it runs")
		return nil, nil
	})
	if err != nil || end.Ran || !strings.HasPrefix(end.Text, "error: hookbox: the input of the tool") {
		t.Errorf("%+v %v", end, err)
	}
}

func TestTheExampleAgentRunsHooks(t *testing.T) {
	options := project(t, map[string]string{"no-sudo.sh": hook("before_tool_call", `case $(cat) in *sudo*) echo '{"blocked":true,"reason":"No root here."}' ;; esac`)})
	dir := t.TempDir()
	agent := filepath.Join(dir, "agent")
	if out, err := exec.Command("go", "build", "-o", agent, "./examples").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Symlink(options.Program, filepath.Join(dir, "hookbox")); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(agent, options.Args...)
	command.Dir = options.Dir
	command.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	command.Stdin = strings.NewReader("hello\n!echo hi\n!sudo ls\n!exit 3\n")
	out, err := command.Output()
	if want := "hello\nresult: hi\n\nresult: error: No root here.\nresult: error: exit status 3\n\n"; err != nil || string(out) != want {
		t.Errorf("%q %v", out, err)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"content":[{"type":"text","text":"x"}],"structuredContent":{"version":1,"decision":{"action":"run","input":{"a":1},"allowed":{"by":"x"}},"modified":true}}`,
		`{"structuredContent":{"version":1,"decision":{"action":"ask","reason":"?","input":[1e999]},"context":["a"],"metadata":{"x":{}}}}`,
		`{"structuredContent":{"version":1,"decision":{"action":"block","reason":"no","by":"x","cause":"decision"}}}`,
		`{"isError":true,"content":[{"text":"no"}]}`, `null`, `{"structuredContent":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for event := range kinds {
			verdict, failed := parse(event, text)
			if failed.cause != "" {
				continue
			}
			decision := ToolDecision{verdict.decision()}
			if input, err := decision.Input(); err == nil && (decision.Action() != Run && decision.Action() != Proceed || event == "before_tool_call" && input == nil) {
				t.Errorf("%s: %s: an input %v without a permission", event, text, input)
			}
			_ = OutputDecision{verdict.decision()}.Text()
		}
	})
}
