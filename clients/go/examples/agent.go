// An agent that runs the user's hooks: each line of standard input is a message of the user.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"

	"github.com/hookbox/hookbox/clients/go"
)

func main() {
	ctx := context.Background()
	hooks := hookbox.New(hookbox.Options{Agent: "example", Args: os.Args[1:]})
	defer hooks.Close()
	session := hooks.Session(fmt.Sprintf("example-%d", os.Getpid()))
	if _, err := session.SessionStart(ctx, "startup"); err != nil {
		log.Fatal(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	var queued []string // Follow-ups of hooks come before the next line of the user.
	for len(queued) > 0 || lines.Scan() {
		message := lines.Text()
		if len(queued) > 0 {
			message, queued = queued[0], queued[1:]
		}
		sent, err := session.UserMessageSend(ctx, message)
		if err == nil {
			message, err = sent.Decision.Message() // A hook may have changed it.
		}
		if err != nil {
			fmt.Println("not sent:", err)
			continue
		}
		answer := turn(ctx, session, append(sent.Context, message))
		fmt.Println(answer)
		if _, err := session.TurnEnd(ctx, hookbox.Data{"response": answer}); err != nil {
			log.Fatal(err)
		}
		stop, err := session.AgentStop(ctx, nil)
		if err != nil {
			log.Fatal(err)
		}
		queued = append(queued, stop.FollowUps...)
	}
	if _, err := session.SessionEnd(ctx, "exit"); err != nil {
		log.Fatal(err)
	}
}

// turn asks the model until it calls no tool, and returns its last answer.
func turn(ctx context.Context, session *hookbox.Session, conversation []string) string {
	for {
		text, call := model(conversation)
		if call == nil {
			return text
		}
		run, err := session.Tool(ctx, *call, bash)
		if err != nil {
			return err.Error() // The user cancelled.
		}
		for _, warning := range run.Warnings {
			fmt.Fprintln(os.Stderr, "warning:", warning) // For the user, never for the model.
		}
		if run.Ruling != nil && run.Ruling.Code != "" {
			fmt.Fprintln(os.Stderr, "to let this call through once: hookbox allow", run.Ruling.Code)
		}
		conversation = append(append(conversation, run.Context...), "result: "+run.Text)
	}
}

// bash runs a command with the input that the hooks let through.
func bash(ctx context.Context, input map[string]any) (any, error) {
	command, _ := input["command"].(string)
	output, err := exec.CommandContext(ctx, "sh", "-c", command).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, output)
	}
	return string(output), nil
}

// model stands in for a model: a message that begins with "!" is a command, and everything else an answer.
func model(conversation []string) (string, *hookbox.ToolCall) {
	last := conversation[len(conversation)-1]
	if command, isCommand := strings.CutPrefix(last, "!"); isCommand {
		return "", &hookbox.ToolCall{Name: "bash", Input: map[string]any{"command": command}}
	}
	return last, nil
}
