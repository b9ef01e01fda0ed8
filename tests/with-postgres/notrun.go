package main

import (
	"fmt"
	"os"
	"strings"
)

// notRun is the file to which the command's tests write what they could not run, a line each.
type notRun string

func newNotRun() (notRun, error) {
	f, err := os.CreateTemp("", "queenkv-not-run-")
	if err != nil {
		return "", err
	}
	return notRun(f.Name()), f.Close()
}

// report prints the last line of the run, and removes the file.
func (n notRun) report() {
	defer os.Remove(string(n))
	content, err := os.ReadFile(string(n))
	if err != nil {
		fmt.Printf("not run: unknown, %v\n", err)
		return
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	if lines[0] == "" {
		fmt.Println("not run: nothing")
		return
	}
	fmt.Printf("not run: %d: %s\n", len(lines), strings.Join(lines, "; "))
}
