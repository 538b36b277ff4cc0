package hookbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	protocolVersion = "2025-11-25"
	verdictVersion  = 1
	busy            = -32000
	maxAnswer       = math.MaxInt32 // A line is longer only if it has no end: a byte of the event may become six.
	maxDepth        = 9_900         // encoding/json reads 10,000 levels, and an answer has a few of its own.
	endLimit        = 2 * time.Second
	longestRetry    = 250 * time.Millisecond
	defaultCalls    = 256
	maxCalls        = 1 << 16
)

// A failure is the reason why the hooks could not be asked. One without a cause is none.
type failure struct{ cause, text string }

func (f failure) ruling() Ruling {
	return Ruling{Reason: "hookbox: " + f.text, By: "hookbox", Cause: f.cause}
}

// An answer is the end of a request: its result, or its error.
type answer struct {
	result json.RawMessage
	code   int
	text   string
}

// A message is a line of the process.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Level string          `json:"level"`
		Data  json.RawMessage `json:"data"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// A process is one "hookbox mcp", from its start to its end.
type process struct {
	client  *Client
	command *exec.Cmd
	stdin   io.WriteCloser
	stdout  *os.File
	queue   chan []byte   // The lines to write.
	ready   chan struct{} // Closed when the process has answered initialize.
	failed  chan struct{} // Closed when no answer comes any more; why is set before.
	exited  chan struct{} // Closed when the process is over.
	notices chan Notice
	limit   int64         // The longest line that it reads. Set before ready.
	slots   chan struct{} // One for each call that it answers at the same time. Set before ready.

	mu      sync.Mutex
	why     failure
	heard   time.Time // The time of its last line.
	lastID  uint64
	pending map[uint64]chan answer
}

// start starts the program of a client.
func start(c *Client) (*process, error) {
	program := c.options.Program
	if strings.ContainsRune(program, filepath.Separator) {
		// A relative path is relative to the agent's directory, not to that of the hooks.
		absolute, err := filepath.Abs(program)
		if err != nil {
			return nil, err
		}
		program = absolute
	}
	command := exec.Command(program, append([]string{"mcp"}, c.options.Args...)...)
	command.Dir = c.options.Dir
	command.Stderr = c.options.Stderr
	command.WaitDelay = grace
	ownGroup(command)
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not StdoutPipe: Wait would close it before the last line is read.
	stdout, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	command.Stdout = theirs
	err = command.Start()
	theirs.Close()
	if err != nil {
		stdout.Close()
		return nil, err
	}
	p := &process{
		client: c, command: command, stdin: stdin, stdout: stdout,
		queue: make(chan []byte), ready: make(chan struct{}), failed: make(chan struct{}), exited: make(chan struct{}),
		notices: make(chan Notice, 64), pending: map[uint64]chan answer{},
	}
	c.ending.Add(1)
	go p.watch()
	go p.write()
	go p.read()
	go p.notify()
	go p.initialize()
	return p, nil
}

// watch waits for the end of the process, and kills what is left of its group.
func (p *process) watch() {
	defer p.client.ending.Done()
	_ = p.command.Wait() // The state has the exit status.
	killGroup(p.command.Process)
	close(p.exited)
	// The reader comes to the end now, unless a stray child of the process still holds the pipe.
	if p.stdout.SetReadDeadline(time.Now().Add(grace)) != nil {
		time.AfterFunc(grace, func() { p.stdout.Close() })
	}
}

// write writes the lines in their order.
func (p *process) write() {
	for {
		select {
		case line := <-p.queue:
			if _, err := p.stdin.Write(line); err != nil {
				// The reader knows better why, if the process is over.
				select {
				case <-p.failed:
				case <-time.After(grace):
					p.fail(failure{CauseKilled, fmt.Sprintf("the process does not read any more: %v", err)})
				}
				return
			}
		case <-p.failed:
			return
		}
	}
}

// read reads the lines of the process until its end, or until one is nonsense.
func (p *process) read() {
	defer p.stdout.Close()
	defer close(p.notices)
	reader := bufio.NewReaderSize(p.stdout, 64<<10)
	for {
		line, err := readLine(reader)
		if errors.Is(err, bufio.ErrTooLong) {
			p.fail(failure{CauseMalformed, "the process wrote a line without an end"})
			return
		}
		if err != nil {
			p.fail(failure{CauseKilled, p.death()})
			return
		}
		if why := p.receive(line); why != "" {
			p.fail(failure{CauseMalformed, why})
			return
		}
	}
}

func readLine(reader *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := reader.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxAnswer {
			return nil, bufio.ErrTooLong
		}
	}
}

// death describes the end of the process.
func (p *process) death() string {
	select {
	case <-p.exited:
		return fmt.Sprintf("the process ended: %v", p.command.ProcessState)
	case <-time.After(grace):
		return "the process closed its output"
	}
}

// receive handles one line, and returns what is wrong with it.
func (p *process) receive(line []byte) string {
	p.mu.Lock()
	p.heard = time.Now()
	p.mu.Unlock()
	var message message
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return ""
	}
	if line[0] != '{' {
		return "the process wrote a line that is no message"
	}
	if err := json.Unmarshal(line, &message); err != nil {
		return fmt.Sprintf("the process wrote a line that is no message: %v", err)
	}
	if message.Method != "" {
		if message.Method == "notifications/message" {
			text := string(message.Params.Data)
			_ = json.Unmarshal(message.Params.Data, &text) // Data that is no text is shown as JSON.
			select {
			case p.notices <- Notice{message.Params.Level, text}:
			default: // The agent does not read them.
			}
		}
		return ""
	}
	if message.Error != nil && string(message.ID) == "null" {
		return "the process could not read a message: " + message.Error.Message
	}
	id, err := strconv.ParseUint(string(message.ID), 10, 64)
	if err != nil {
		return ""
	}
	p.mu.Lock()
	waiting := p.pending[id]
	delete(p.pending, id)
	p.mu.Unlock()
	if waiting != nil {
		answer := answer{result: message.Result}
		if message.Error != nil {
			answer.code, answer.text = message.Error.Code, "the call was refused: "+message.Error.Message
		}
		waiting <- answer
	}
	return ""
}

// notify gives the notices to the agent. It has a goroutine of its own, because the agent may take its time.
func (p *process) notify() {
	for notice := range p.notices {
		if p.client.options.OnNotice != nil {
			p.client.options.OnNotice(notice)
		}
	}
}

// fail ends the process: no answer comes any more. Only the first reason counts.
func (p *process) fail(why failure) {
	p.mu.Lock()
	isFirst := p.why.cause == ""
	if isFirst {
		p.why = why
	}
	p.mu.Unlock()
	if !isFirst {
		return
	}
	p.client.lost(p, why)
	close(p.failed)
	go func() {
		// A process that is asked to end kills its hooks, which are not in its group.
		terminate(p.command.Process)
		p.stdin.Close()
		select {
		case <-p.exited:
		case <-time.After(endLimit):
			killGroup(p.command.Process)
		}
	}()
}

// initialize introduces the agent, and checks what the process is.
func (p *process) initialize() {
	limit := max(startLimit, p.client.options.Deadline) + grace
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	name, err := encode(p.client.options.Agent)
	if err != nil {
		name = []byte(`"go"`)
	}
	params := fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":%s,"version":%q}}`, protocolVersion, name, Version)
	answer, failed, err := p.request(ctx, nil, "initialize", []byte(params))
	switch {
	case err != nil:
		p.fail(failure{CauseDeadline, fmt.Sprintf("the process did not start within %v", limit)})
		return
	case failed.cause != "":
		return
	case answer.code != 0:
		p.fail(failure{CauseVersion, answer.text})
		return
	}
	var result struct {
		Capabilities struct {
			Experimental struct {
				Hookbox struct {
					VerdictVersion int `json:"verdict_version"`
					Limits         struct {
						Calls        int   `json:"calls"`
						MessageBytes int64 `json:"message_bytes"`
					} `json:"limits"`
				} `json:"hookbox"`
			} `json:"experimental"`
		} `json:"capabilities"`
	}
	err = json.Unmarshal(answer.result, &result)
	about := result.Capabilities.Experimental.Hookbox
	if err != nil || about.VerdictVersion != verdictVersion {
		p.fail(failure{CauseVersion, fmt.Sprintf("the program does not speak version %d of the verdict", verdictVersion)})
		return
	}
	p.limit = about.Limits.MessageBytes
	if about.Limits.Calls <= 0 {
		about.Limits.Calls = defaultCalls
	}
	p.slots = make(chan struct{}, min(about.Limits.Calls, maxCalls))
	if p.send(ctx, nil, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")) {
		close(p.ready)
	}
}

// untilReady waits until the process has started. The process goes on if the time is over: it may compile hooks.
func (p *process) untilReady(ctx context.Context, late <-chan time.Time) (failure, error) {
	select {
	case <-p.ready:
		return failure{}, nil
	case <-p.failed:
		return p.reason()
	case <-late:
		return failure{CauseDeadline, "the process has not started in time"}, nil
	case <-ctx.Done():
		return failure{}, ctx.Err()
	}
}

// reason returns why the process failed.
func (p *process) reason() (failure, error) {
	p.client.mu.Lock()
	defer p.client.mu.Unlock()
	if p.client.isClosed {
		return failure{}, ErrClosed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.ready:
		if p.why.cause == CauseDeadline { // That of another call.
			return failure{CauseKilled, "the process was killed: " + p.why.text}, nil
		}
	default:
	}
	return p.why, nil
}

// send gives a line to the writer. It returns false if the line will not be written.
func (p *process) send(ctx context.Context, late <-chan time.Time, line []byte) bool {
	select {
	case p.queue <- line:
		return true
	case <-p.failed:
	case <-late:
	case <-ctx.Done():
	}
	return false
}

// request sends a request and waits for its answer. Without one in time the process is killed.
func (p *process) request(ctx context.Context, late <-chan time.Time, method string, params ...[]byte) (answer, failure, error) {
	waiting := make(chan answer, 1)
	p.mu.Lock()
	p.lastID++
	id := p.lastID
	p.pending[id] = waiting
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.pending, id)
		p.mu.Unlock()
	}()
	head := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":`, id, method)
	line := bytes.Join(append(append([][]byte{head}, params...), []byte("}\n")), nil)
	if p.limit > 0 && int64(len(line)) > p.limit {
		return answer{}, failure{CauseRefused, fmt.Sprintf("the event has %d bytes, more than the %d that the process reads", len(line), p.limit)}, nil
	}
	isSent := false
	queue := p.queue
	for {
		select {
		case queue <- line:
			isSent, queue, line = true, nil, nil
		case answer := <-waiting:
			return answer, failure{}, nil
		case <-p.failed:
			select {
			case answer := <-waiting: // It came just before.
				return answer, failure{}, nil
			default:
			}
			failed, err := p.reason()
			return answer{}, failed, err
		case <-late:
			why := failure{CauseDeadline, "there was no answer in time"}
			if p.isAlive() {
				p.cancel(id, isSent)
			} else {
				p.fail(why)
			}
			return answer{}, why, nil
		case <-ctx.Done():
			p.cancel(id, isSent)
			return answer{}, failure{}, ctx.Err()
		}
	}
}

// isAlive returns true if the process has just written a line. It has much to do then, and to kill it would block all others.
func (p *process) isAlive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.heard) < grace
}

// cancel tells the process that nobody waits for an answer.
func (p *process) cancel(id uint64, isSent bool) {
	if isSent {
		line := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", id)
		go p.send(context.Background(), nil, line)
	}
}

// call sends an event of a session and returns the result of its tool.
func (c *Client) call(ctx context.Context, s *Session, event string, data Data) (json.RawMessage, failure, error) {
	if err := ctx.Err(); err != nil {
		return nil, failure{}, err
	}
	arguments, meta, err := s.encode(data)
	if err != nil {
		return nil, failure{}, fmt.Errorf("hookbox: the data of %s: %w", event, err)
	}
	name, err := encode(event)
	if err != nil {
		return nil, failure{}, err
	}
	if depth(arguments) > maxDepth {
		return nil, failure{CauseRefused, "the event is nested too deeply"}, nil
	}
	done, err := c.turn(ctx, s.id)
	if err != nil {
		return nil, failure{}, err
	}
	defer done()
	end := time.Now().Add(c.options.Deadline)
	late := time.NewTimer(c.options.Deadline + grace)
	defer late.Stop()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, longestRetry) {
		p, failed, err := c.running()
		if p == nil {
			return nil, failed, err
		}
		if failed, err := p.untilReady(ctx, late.C); failed.cause != "" || err != nil {
			return nil, failed, err
		}
		head := func() []byte {
			left := max(int64(1), time.Until(end).Milliseconds())
			return fmt.Appendf(nil, `{"name":%s,"_meta":{"hookbox/deadline_ms":%d%s},"arguments":`, name, left, meta)
		}
		answer, failed, err := p.tool(ctx, late.C, head, arguments)
		if failed.cause != "" || err != nil {
			return nil, failed, err
		}
		if answer.code == 0 {
			c.succeeded(p)
			return answer.result, failure{}, nil
		}
		if answer.code != busy {
			return nil, failure{CauseRefused, answer.text}, nil
		}
		// Calls that were cancelled may not be over. A random part keeps many sessions from coming back at once.
		pause := pause + time.Duration(rand.Int63n(int64(pause)))
		if time.Until(end) < pause {
			return nil, tooMany, nil
		}
		select {
		case <-time.After(pause):
		case <-p.failed:
		case <-ctx.Done():
			return nil, failure{}, ctx.Err()
		}
	}
}

var tooMany = failure{CauseBusy, "the process has too many calls"}

// tool calls a tool as soon as the process has room for one more call. Those that wait go in their order.
func (p *process) tool(ctx context.Context, late <-chan time.Time, head func() []byte, arguments []byte) (answer, failure, error) {
	select {
	case p.slots <- struct{}{}:
	case <-late:
		return answer{}, tooMany, nil
	case <-p.failed:
		failed, err := p.reason()
		return answer{}, failed, err
	case <-ctx.Done():
		return answer{}, failure{}, ctx.Err()
	}
	defer func() { <-p.slots }()
	return p.request(ctx, late, "tools/call", head(), arguments, []byte("}"))
}

// encode returns a value as JSON in one line.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// depth returns how deeply JSON is nested.
func depth(text []byte) int {
	deepest, now, inString := 0, 0, false
	for at := 0; at < len(text); at++ {
		switch b := text[at]; {
		case inString && b == '\\':
			at++
		case b == '"':
			inString = !inString
		case inString:
		case b == '{' || b == '[':
			now++
			deepest = max(deepest, now)
		case b == '}' || b == ']':
			now--
		}
	}
	return deepest
}
