// Asks hookbox about each command of standard input, through the client in Go.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/hookbox/hookbox/clients/go"
)

func main() {
	var commands []string
	if err := json.NewDecoder(os.Stdin).Decode(&commands); err != nil {
		log.Fatal(err)
	}
	hooks := hookbox.New(hookbox.Options{Program: os.Getenv("HOOKBOX_PROGRAM")})
	defer hooks.Close()
	var found []map[string]string
	for at, command := range commands {
		session := hooks.Session(fmt.Sprintf("go-%d", at))
		call := hookbox.ToolCall{Name: "bash", Input: map[string]any{"command": command}}
		verdict, err := session.BeforeToolCall(context.Background(), call)
		if err != nil {
			log.Fatal(err)
		}
		row := map[string]string{"action": string(verdict.Decision.Action())}
		ruling := hookbox.Ruling{}
		if given := verdict.Decision.Ruling(); given != nil {
			ruling = *given
		}
		for key, value := range map[string]string{
			"reason": ruling.Reason, "by": ruling.By, "cause": ruling.Cause, "rule": ruling.Rule,
		} {
			if value != "" {
				row[key] = value
			}
		}
		found = append(found, row)
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		log.Fatal(err)
	}
}
