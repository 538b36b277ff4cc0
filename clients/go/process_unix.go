//go:build unix

package hookbox

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup starts a command in a process group of its own.
func ownGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// terminate asks a process to end.
func terminate(process *os.Process) {
	_ = process.Signal(syscall.SIGTERM) // It may be over.
}

// killGroup kills a process and its group.
func killGroup(process *os.Process) {
	_ = syscall.Kill(-process.Pid, syscall.SIGKILL) // The group may be over.
}
