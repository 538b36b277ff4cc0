//go:build !unix

package hookbox

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: this system has no process groups.
func ownGroup(*exec.Cmd) {}

// terminate kills a process, because this system cannot ask it to end.
func terminate(process *os.Process) {
	_ = process.Kill() // It may be over.
}

// killGroup kills a process.
func killGroup(process *os.Process) {
	_ = process.Kill() // It may be over.
}
