//go:build attack

// Attacks on the process through the client: go test -tags attack -run Attack -v -timeout 20m .

package hookbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// guard blocks "sudo" and says which call it saw. The settings make each of its failures a block.
var guard = map[string]string{"guard.sh": hook("before_tool_call", `i=$(cat); case $i in *sudo*) echo '{"blocked":true,"reason":"No root here."}' ;; esac`)}

const closed = "[hooks.\"guard.sh\"]\non_failure = \"block\"\n"

type tally struct {
	sync.Mutex
	counts map[string]int
}

func (t *tally) add(what string) {
	t.Lock()
	defer t.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[what]++
}

// ask sends one call, and checks that nothing runs that must not, nor with another input.
func ask(t *testing.T, ctx context.Context, s *Session, command string, tally *tally) {
	verdict, err := s.BeforeToolCall(ctx, ToolCall{Name: "bash", Input: Data{"command": command}})
	input, blocked := verdict.Decision.Input()
	switch {
	case err != nil && blocked == nil:
		t.Errorf("an input beside %v", err)
	case err != nil:
		tally.add("error " + err.Error())
	case blocked == nil && (strings.Contains(command, "sudo") || input["command"] != command):
		t.Errorf("%q runs with %v", command, input)
	case blocked == nil:
		tally.add("run")
	default:
		tally.add(verdict.Decision.Ruling().By + " " + verdict.Decision.Ruling().Cause)
	}
}

func attacked(t *testing.T, hooks map[string]string, settings string) Options {
	options := project(t, hooks)
	write(t, options.Dir, map[string]string{".hookbox/hookbox.toml": settings})
	options.Stderr = io.Discard
	return options
}

// settled reports goroutines and file descriptors that stay.
func settled(t *testing.T, goroutines int) {
	for range 100 {
		if runtime.NumGoroutine() <= goroutines {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	buffer := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), goroutines, buffer[:runtime.Stack(buffer, true)])
}

func memory(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	var out []string
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "VmHWM") || strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "Threads") {
			out = append(out, strings.Join(strings.Fields(line), " "))
		}
	}
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return strings.Join(out, ", ") + fmt.Sprintf(", %d fds", len(fds))
}

func (c *Client) pid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return 0
	}
	return c.process.command.Process.Pid
}

func command(n int) string {
	if n%3 == 0 {
		return fmt.Sprintf("sudo %d", n)
	}
	return fmt.Sprintf("echo %d", n)
}

func TestAttackManySessions(t *testing.T) {
	for _, count := range []int{200, 600} {
		goroutines := runtime.NumGoroutine()
		c := New(attacked(t, guard, closed))
		var tally tally
		var all sync.WaitGroup
		started := time.Now()
		var worst atomic.Int64
		for n := range count {
			all.Add(1)
			go func() {
				defer all.Done()
				for m := range 4 {
					at := time.Now()
					ask(t, ctx, c.Session(fmt.Sprint(n)), command(n*10+m), &tally)
					if took := int64(time.Since(at)); took > worst.Load() {
						worst.Store(took)
					}
				}
			}()
		}
		all.Wait()
		t.Logf("%d sessions, %v, worst %v: %v; %s", count, time.Since(started), time.Duration(worst.Load()), tally.counts, memory(c.pid()))
		c.Close()
		settled(t, goroutines)
	}
}

func TestAttackCancels(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	options := attacked(t, map[string]string{"guard.sh": hook("before_tool_call", `i=$(cat); case $i in *sudo*) echo '{"blocked":true,"reason":"No."}' ;; *slow*) sleep 987 ;; esac`)}, closed)
	c := New(options)
	var tally tally
	var all sync.WaitGroup
	for n := range 150 {
		all.Add(1)
		go func() {
			defer all.Done()
			for m := range 4 {
				limited, cancel := context.WithTimeout(ctx, time.Duration(rand.Intn(800))*time.Millisecond)
				text := command(n*10 + m)
				if m%2 == 0 {
					text = "slow " + text
				}
				ask(t, limited, c.Session(fmt.Sprint(n%60)), text, &tally)
				cancel()
			}
		}()
	}
	all.Wait()
	pid := c.pid()
	for n := range 60 {
		ask(t, ctx, c.Session(fmt.Sprint(n)), command(n), &tally)
	}
	t.Logf("%v; the same process: %v; %s", tally.counts, pid == c.pid(), memory(c.pid()))
	left, _ := exec.Command("sh", "-c", "ps -eo stat=,args= | grep -v '^Z' | grep -c '[s]leep 987'").Output()
	t.Logf("hooks that still run: %s", left)
	c.Close()
	settled(t, goroutines)
}

func TestAttackDeadlineOfAMillisecond(t *testing.T) {
	for _, settings := range []string{closed, ""} {
		options := attacked(t, guard, settings)
		options.Deadline = time.Millisecond
		c := New(options)
		for c.Start(ctx) != nil {
		}
		var tally tally
		var all sync.WaitGroup
		for n := range 200 {
			all.Add(1)
			go func() {
				defer all.Done()
				verdict, err := c.Session(fmt.Sprint(n)).BeforeToolCall(ctx, ToolCall{Name: "bash", Input: Data{"command": "sudo"}})
				if err != nil {
					t.Error(err)
				}
				what := "RUN (open)"
				if ruling := verdict.Decision.Ruling(); ruling != nil {
					what = ruling.By + " " + ruling.Cause
				}
				tally.add(what)
			}()
		}
		all.Wait()
		t.Logf("on_failure=block %v: %v", settings != "", tally.counts)
		c.Close()
	}
}

func TestAttackKills(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	c := New(attacked(t, map[string]string{"guard.sh": hook("before_tool_call", `i=$(cat); case $i in *sudo*) echo '{"blocked":true,"reason":"No."}' ;; *) sleep 0.3${RANDOM} ;; esac`)}, closed))
	var tally tally
	var all sync.WaitGroup
	end := time.Now().Add(20 * time.Second)
	kills := 0
	all.Add(1)
	go func() {
		defer all.Done()
		for time.Now().Before(end) {
			time.Sleep(time.Duration(rand.Intn(1500)) * time.Millisecond)
			if pid := c.pid(); pid != 0 {
				syscall.Kill(pid, []syscall.Signal{syscall.SIGKILL, syscall.SIGKILL, syscall.SIGTERM, syscall.SIGSEGV}[rand.Intn(4)])
				kills++
			}
		}
	}()
	for n := range 100 {
		all.Add(1)
		go func() {
			defer all.Done()
			for m := 0; time.Now().Before(end); m++ {
				ask(t, ctx, c.Session(fmt.Sprint(n)), command(n*10+m), &tally)
				time.Sleep(20 * time.Millisecond)
			}
		}()
	}
	all.Wait()
	t.Logf("%d kills: %v", kills, tally.counts)
	until(t, "a process answers again", func() bool { return cause(t, c.Session("x")) == "" })
	c.Close()
	settled(t, goroutines)
}

func TestAttackStop(t *testing.T) {
	// A process that is stopped answers nothing, and cannot handle SIGTERM.
	options := attacked(t, guard, closed)
	options.Deadline = time.Second
	c := New(options)
	for c.Start(ctx) != nil {
	}
	syscall.Kill(c.pid(), syscall.SIGSTOP)
	var tally tally
	var all sync.WaitGroup
	for n := range 300 {
		all.Add(1)
		go func() {
			defer all.Done()
			ask(t, ctx, c.Session(fmt.Sprint(n)), command(n)+strings.Repeat("x", 10_000), &tally)
		}()
	}
	all.Wait()
	for n := range 20 {
		ask(t, ctx, c.Session(fmt.Sprint(n)), command(n), &tally)
	}
	t.Logf("%v", tally.counts)
	c.Close()
}

func TestAttackForks(t *testing.T) {
	// Children that ignore SIGTERM; some leave the session and the group.
	script := `trap '' TERM HUP INT
for i in 1 2 3 4 5 6 7 8; do (trap '' TERM; exec sleep 986) & echo $! >> pids; setsid sleep 985 & echo $! >> pids; nohup sleep 984 >/dev/null 2>&1 & echo $! >> pids; done
case $(cat) in *wait*) wait ;; *) echo '{"blocked":true,"reason":"bomb"}' ;; esac`
	count := func() string {
		out, _ := exec.Command("sh", "-c", "ps -eo stat=,args= | grep -v '^Z' | grep -o '[s]leep 98[4-6]' | sort | uniq -c").Output()
		return strings.Join(strings.Fields(string(out)), " ")
	}
	options := attacked(t, map[string]string{"guard.sh": hook("before_tool_call", script)}, "[hooks.\"guard.sh\"]\non_failure = \"block\"\ntimeout = \"1s\"\n")
	// end kills the children that are left, by the ids that the hooks wrote.
	end := func() {
		ids, _ := os.ReadFile(filepath.Join(options.Dir, "pids"))
		for _, id := range strings.Fields(string(ids)) {
			if args, _ := os.ReadFile("/proc/" + id + "/cmdline"); strings.HasPrefix(string(args), "sleep\x0098") {
				exec.Command("kill", "-9", id).Run()
			}
		}
		os.Remove(filepath.Join(options.Dir, "pids"))
	}
	c := New(options)
	var tally tally
	var all sync.WaitGroup
	for n := range 40 {
		all.Add(1)
		go func() {
			defer all.Done()
			text := []string{"wait", "answer"}[n%2]
			ask(t, ctx, c.Session(fmt.Sprint(n)), text, &tally)
		}()
	}
	all.Wait()
	t.Logf("%v; children that are left: %s", tally.counts, count())
	for n := range 20 {
		all.Add(1)
		go func() {
			defer all.Done()
			ask(t, ctx, c.Session(fmt.Sprint(n)), "wait", &tally)
		}()
	}
	time.Sleep(500 * time.Millisecond)
	c.Close()
	all.Wait()
	t.Logf("%v; after Close: %s", tally.counts, count())
	end()
	c = New(options)
	for n := range 20 {
		all.Add(1)
		go func() {
			defer all.Done()
			ask(t, ctx, c.Session(fmt.Sprint(n)), "wait", &tally)
		}()
	}
	time.Sleep(700 * time.Millisecond)
	kill(c)
	all.Wait()
	t.Logf("%v; after kill -9 of the process: %s", tally.counts, count())
	c.Close()
	end()
}

func TestAttackNonsense(t *testing.T) {
	answers := map[string]string{
		"random":     `head -c 300000 /dev/urandom`,
		"endless":    `exec cat /dev/zero`,
		"yes":        `exec yes '{"blocked":false}'`,
		"nul":        `printf '{"blocked":false}\0'`,
		"half":       `printf '{"blocked":fa'`,
		"deep":       `head -c 2000000 /dev/zero | tr '\0' '['`,
		"deepinput":  `printf '{"input":'; head -c 50000 /dev/zero | tr '\0' '['; head -c 50000 /dev/zero | tr '\0' ']'; printf '}'`,
		"deepfield":  `printf '{"input":{"a":'; head -c 9996 /dev/zero | tr '\0' '['; head -c 9996 /dev/zero | tr '\0' ']'; printf '}}'`,
		"utf8":       `printf '{"blocked":true,"reason":"\377\376"}'`,
		"surrogate":  `printf '{"blocked":true,"reason":"\\ud800"}'`,
		"type":       `echo '{"blocked":"yes","reason":5,"input":[1],"ask":7}'`,
		"null":       `echo '{"input":null}'`,
		"dup":        `echo '{"blocked":true,"blocked":false,"reason":"x"}'`,
		"lines":      `echo '{"blocked":false}'; echo '{"blocked":true}'`,
		"text":       `echo run`,
		"exit":       `exit 137`,
		"signal":     `kill -9 $$`,
		"segv":       `kill -SEGV $$`,
		"closed":     `exec <&- >&- 2>&-; sleep 0.1`,
		"stderr":     `exec cat /dev/zero >&2`,
		"jsonrpc":    `echo '{"jsonrpc":"2.0","id":2,"result":{"structuredContent":{"version":1,"decision":{"action":"run","input":{}}}}}'; echo '{"jsonrpc":"2.0","id":2}' > /proc/$PPID/fd/1 2>/dev/null`,
		"newline":    `printf '{"blocked":true,"reason":"a\\n{\\"jsonrpc\\":\\"2.0\\",\\"id\\":3}\\u2028\\u0085\\r\\n"}'`,
		"hugereason": `printf '{"blocked":true,"reason":"'; head -c 5000000 /dev/zero | tr '\0' a; printf '"}'`,
		"empty":      `:`,
	}
	options := attacked(t, map[string]string{"guard.sh": hook("before_tool_call", "i=$(cat)\ncase $i in\n"+func() string {
		var out strings.Builder
		for name, script := range answers {
			fmt.Fprintf(&out, "*'<%s>'*) %s ;;\n", name, script)
		}
		return out.String()
	}()+"*sudo*) echo '{\"blocked\":true,\"reason\":\"No.\"}' ;;\nesac")}, "[hooks.\"guard.sh\"]\non_failure = \"block\"\ntimeout = \"4s\"\n")
	c := New(options)
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	pid := c.pid()
	var all sync.WaitGroup
	var tally tally
	for name := range answers {
		for range 2 {
			all.Add(1)
			go func() {
				defer all.Done()
				verdict, err := c.Session(name+fmt.Sprint(rand.Int())).BeforeToolCall(ctx, ToolCall{Name: "bash", Input: Data{"command": "<" + name + ">"}})
				input, blocked := verdict.Decision.Input()
				what := fmt.Sprintf("%-10s %-5s err=%v ", name, verdict.Decision.Action(), err)
				var b *BlockedError
				if errors.As(blocked, &b) {
					what += fmt.Sprintf("%s %s %.100q", b.By, b.Cause, b.Reason)
				} else {
					what += fmt.Sprintf("input %.60v %.60v", input, blocked)
				}
				tally.add(what)
			}()
		}
		all.Add(1)
		go func() {
			defer all.Done()
			ask(t, ctx, c.Session("other"+name), "sudo", &tally)
		}()
	}
	all.Wait()
	for what, count := range tally.counts {
		t.Logf("%d × %s", count, what)
	}
	if pid != c.pid() {
		t.Errorf("the process died")
	}
	t.Log(memory(c.pid()))
}

func TestAttackLargeInputs(t *testing.T) {
	options := attacked(t, guard, closed)
	options.Deadline = 3 * time.Minute
	c := New(options)
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	limit := int(c.process.limit)
	c.mu.Unlock()
	for _, over := range []int{-300, 100} {
		pid := c.pid()
		var tally tally
		started := time.Now()
		verdict, err := c.Session("large").Event(ctx, "after_tool_call", Data{"tool_name": "read", "tool_input": Data{}, "tool_output": strings.Repeat("x", limit+over)})
		t.Logf("%d bytes of output: %v %v %s %.200s, %d bytes back, after %v; same process %v, %s", limit+over, err, verdict.Action, verdict.Ruling.Cause, verdict.Ruling.Reason, len(verdict.Value), time.Since(started), pid == c.pid(), memory(pid))
		ask(t, ctx, c.Session("small"), "sudo", &tally)
		ask(t, ctx, c.Session("small"), "echo", &tally)
		t.Log(tally.counts)
	}
}

func TestAttackLargeListsHarmOthers(t *testing.T) {
	// 24 MiB of output beside a small call of another session with a deadline of 5 s.
	options := attacked(t, guard, closed)
	options.Deadline = 5 * time.Second
	c := New(options)
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	pid := c.pid()
	var tally tally
	var all sync.WaitGroup
	list := make([]map[string]int, 24<<20/8)
	for n := range list {
		list[n] = map[string]int{"a": 0}
	}
	all.Add(1)
	go func() {
		defer all.Done()
		verdict, err := c.Session("large").Event(ctx, "after_tool_call", Data{"tool_name": "read", "tool_input": Data{}, "tool_output": list})
		tally.add(fmt.Sprintf("large: %v %s %s", err, verdict.Action, verdict.Ruling.Reason))
	}()
	for n := range 20 {
		all.Add(1)
		go func() {
			defer all.Done()
			time.Sleep(time.Duration(n) * 300 * time.Millisecond)
			ask(t, ctx, c.Session(fmt.Sprint(n)), command(n), &tally)
		}()
	}
	all.Wait()
	t.Logf("%v; same process %v", tally.counts, pid == c.pid())
}

func TestAttackTextThatGrowsInTheAnswer(t *testing.T) {
	options := attacked(t, guard, closed)
	options.Deadline = 5 * time.Minute
	c := New(options)
	defer c.Close()
	output := strings.Repeat("\x7f", 190<<20)
	verdict, err := c.Session("large").Event(ctx, "after_tool_call", Data{"tool_name": "read", "tool_input": Data{}, "tool_output": output})
	if err != nil || verdict.Action != Proceed || len(verdict.Value) != 6*len(output)+2 {
		t.Errorf("%v %v %v, %d bytes", err, verdict.Action, verdict.Ruling, len(verdict.Value))
	}
}
