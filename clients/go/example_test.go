package hookbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hookbox/hookbox/clients/go"
)

// There is no such program, so each tool call is blocked.
func Example() {
	ctx := context.Background()
	hooks := hookbox.New(hookbox.Options{Agent: "example", Program: "no-such-hookbox", Stderr: io.Discard})
	defer hooks.Close()
	session := hooks.Session("conversation-1")

	verdict, err := session.BeforeToolCall(ctx, hookbox.ToolCall{Name: "bash", Input: map[string]any{"command": "ls"}})
	if err != nil {
		fmt.Println("cancelled:", err)
		return
	}
	input, err := verdict.Decision.Input()
	var blocked *hookbox.BlockedError
	if errors.As(err, &blocked) {
		fmt.Println("blocked by", blocked.By, "because of", blocked.Cause)
		return
	}
	fmt.Println("run", input["command"])
	// Output: blocked by hookbox because of missing
}

func ExampleSession_Tool() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	hooks := hookbox.New(hookbox.Options{Program: "no-such-hookbox"})
	defer hooks.Close()

	call := hookbox.ToolCall{Name: "bash", Input: map[string]any{"command": "ls"}}
	run, err := hooks.Session("conversation-1").Tool(ctx, call, func(_ context.Context, input map[string]any) (any, error) {
		return fmt.Sprint("ran ", input["command"]), nil
	})
	fmt.Println(run.Ran, run.Ruling.Cause, err)
	// Output: false missing <nil>
}

// A decision that nobody made is a block.
func ExampleToolDecision_Input() {
	var decision hookbox.ToolDecision
	_, err := decision.Input()
	fmt.Println(err)
	// Output: hookbox: no hook was asked
}

func ExampleToolDecision_UserAgreed() {
	userAgrees := func(reason, input string) bool { return false }
	run := func(decision hookbox.ToolDecision) error {
		if input, asks := decision.Question(); asks && userAgrees(decision.Ruling().Reason, input) {
			decision = decision.UserAgreed()
		}
		_, err := decision.Input() // A block is still a block.
		return err
	}
	fmt.Println(run(hookbox.ToolDecision{}))
	// Output: hookbox: no hook was asked
}
