// Package hookbox runs the hooks of hookbox for an agent in Go.
//
// A [Client] starts one process, "hookbox mcp", and keeps it for all its sessions. A [Session] has a method for each event of an
// agent, and each method returns a verdict. The value to go on with is inside the decision of the verdict: after a block there is
// none, but a [*BlockedError].
//
// The package fails closed. If the hooks cannot be asked (no program, a process that ends, no answer in time, nonsense), the verdict
// is a block by "hookbox" with one of the causes of this package, and the method returns no error. A method returns an error only if
// the context is done, if the client is closed ([ErrClosed]), or if the data cannot be JSON. The verdict beside an error is a block too.
//
// Numbers of hooks and inputs are a [json.Number], so that no digit is lost.
package hookbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Version is the version of this package. The process gets it with the name of the agent.
const Version = "0.1.0"

// The causes of a block by "hookbox" itself. Other causes are those of hooks, such as "decision" or "timeout".
const (
	CauseMissing   = "missing"   // The program is not there, or does not start.
	CauseVersion   = "version"   // The program speaks another version of the verdict, or none.
	CauseKilled    = "killed"    // The process ended before or while it answered.
	CauseDeadline  = "deadline"  // There was no answer in time.
	CauseMalformed = "malformed" // The answer is nonsense, or says that no hook ran.
	CauseBusy      = "busy"      // The process had too many calls until the deadline.
	CauseRefused   = "refused"   // The process refused the call, or would: the data is too large or nested too deeply.
)

// ErrClosed is the error of every method of a closed client.
var ErrClosed = errors.New("hookbox: the client is closed")

const (
	defaultDeadline = time.Minute
	grace           = time.Second      // An answer may come this much after the deadline.
	startLimit      = 30 * time.Second // A process may take this long to start, if no deadline is longer.
	firstWait       = 100 * time.Millisecond
	longestWait     = 5 * time.Second
)

// Options configure a [Client]. The zero value is useful.
type Options struct {
	// Dir is the directory in which the process looks for hooks. The default is that of this process.
	Dir string
	// Program is the program, as a path or a name to find on PATH. The default is "hookbox".
	Program string
	// Args are further arguments of "hookbox mcp", such as "--trust", "all".
	Args []string
	// Agent is the name of the agent. The default is "go".
	Agent string
	// Deadline is how long one event may take, from the time when the events before it in its session are over. The default is a
	// minute. Without an answer a second later, the process is killed.
	Deadline time.Duration
	// Stderr gets the standard error of the process. The default is that of this process.
	Stderr io.Writer
	// OnNotice is called with messages of the process, such as a change of hooks. They are for the user, never for the model.
	OnNotice func(Notice)
	// Ask asks the user about a call for [Session.Tool]. It shows the input, which is the one to run. Without it a question is a block.
	Ask func(ctx context.Context, call ToolCall, why Ruling) (bool, error)
}

// A Notice is a message of the process for the user.
type Notice struct {
	Level string // A level of RFC 5424: "info", "warning" and so on.
	Text  string
}

// A Client has one process "hookbox mcp" for all its sessions. It starts it at the first event, and again after its end. All methods
// may be called by many goroutines at the same time.
type Client struct {
	options Options

	mu       sync.Mutex
	isClosed bool
	process  *process
	ending   sync.WaitGroup           // The processes that are not over.
	turns    map[string]chan struct{} // The end of the last event of each session that has one.
	failures int                      // The number of failures in a row.
	failure  failure                  // The last one.
	started  time.Time                // The time of the last start.
}

// New returns a client. It starts nothing yet, and cannot fail.
func New(options Options) *Client {
	if options.Program == "" {
		options.Program = "hookbox"
	}
	if options.Agent == "" {
		options.Agent = "go"
	}
	if options.Deadline <= 0 {
		options.Deadline = defaultDeadline
	}
	if options.Stderr == nil {
		options.Stderr = os.Stderr
	}
	return &Client{options: options, turns: map[string]chan struct{}{}}
}

// Start starts the process and waits until it has loaded the hooks. An agent need not call it, but learns early of a missing program:
// the error is a [*BlockedError] then.
func (c *Client) Start(ctx context.Context) error {
	p, failed, err := c.running()
	if p != nil {
		failed, err = p.untilReady(ctx, nil)
	}
	if err == nil && failed.cause != "" {
		return &BlockedError{Ruling: failed.ruling()}
	}
	return err
}

// Close ends the process: it asks it to end, waits for at most two seconds, and kills it with its group. Calls that wait get
// [ErrClosed]. It is safe to call it twice.
func (c *Client) Close() error {
	c.mu.Lock()
	c.isClosed = true
	p := c.process
	c.mu.Unlock()
	if p != nil {
		p.fail(failure{CauseKilled, "the client is closed"})
	}
	c.ending.Wait()
	return nil
}

// Session returns the session with this id, the conversation's. It opens with its first event, and [Session.SessionEnd] closes it.
func (c *Client) Session(id string) *Session {
	return &Session{client: c, id: id}
}

// running returns the process, and starts it if there is none, or the failure because of which there is none.
func (c *Client) running() (*process, failure, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed {
		return nil, failure{}, ErrClosed
	}
	if c.process != nil {
		return c.process, failure{}, nil
	}
	if time.Since(c.started) < wait(c.failures) {
		return nil, c.failure, nil
	}
	c.started = time.Now()
	p, err := start(c)
	if err != nil {
		c.failures++
		c.failure = failure{CauseMissing, fmt.Sprintf("the program %q does not start: %v", c.options.Program, err)}
		return nil, c.failure, nil
	}
	c.process = p
	return p, failure{}, nil
}

// wait returns the time from one start to the next. The first death may be an accident.
func wait(failures int) time.Duration {
	if failures < 2 {
		return 0
	}
	return min(firstWait<<min(failures-2, 10), longestWait)
}

// lost forgets a process that failed.
func (c *Client) lost(p *process, why failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == p {
		c.process = nil
		c.failures++
		c.failure = why
	}
}

// succeeded notes that the process answers.
func (c *Client) succeeded(p *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == p {
		c.failures = 0
	}
}

// turn waits until the events before in a session are over, and returns the function that ends this one. So a call that is sent again
// because the process is busy stays in order, and the deadline of an event does not run while another one takes its time.
func (c *Client) turn(ctx context.Context, session string) (func(), error) {
	mine := make(chan struct{})
	c.mu.Lock()
	before := c.turns[session]
	c.turns[session] = mine
	c.mu.Unlock()
	done := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.turns[session] == mine {
			delete(c.turns, session)
		}
		close(mine)
	}
	if before == nil {
		return done, nil
	}
	select {
	case <-before:
		return done, nil
	case <-ctx.Done():
		// The events after this one still wait for the one before it.
		go func() {
			<-before
			done()
		}()
		return nil, ctx.Err()
	}
}
