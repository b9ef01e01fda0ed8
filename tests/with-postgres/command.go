package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/term"
)

// runCommand runs the command to its end, passes signals on to it, and returns its exit status.
func runCommand(args, env []string, signals <-chan os.Signal) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// In a process group of its own a signal reaches what the command has started too. At a
	// terminal that would put it into the background, and the terminal signals all of us anyway.
	group := !term.IsTerminal(int(os.Stdin.Fd()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: group}
	if err := cmd.Start(); err != nil {
		say("%v", err)
		return statusNoCommand
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()

	target := cmd.Process.Pid
	if group {
		target = -target
	}
	for again := false; ; {
		select {
		case err := <-done:
			return exitStatus(err)
		case sig := <-signals:
			pass := sig.(syscall.Signal)
			if again {
				pass = syscall.SIGKILL
			}
			again = true
			// ESRCH: it has just ended, and done says so.
			if err := syscall.Kill(target, pass); err != nil && !errors.Is(err, syscall.ESRCH) {
				say("pass on %v: %v", pass, err)
			}
		}
	}
}

func exitStatus(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		say("%v", err)
		return statusNoCommand
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return exit.ExitCode()
}
