package main

import (
	"errors"
	"strings"

	"github.com/queenkv/queenkv/sweeper"
)

// lineOf is an error as one line, with what to do about it: the sweeper's errors say that themselves.
func lineOf(err error) string {
	var e *sweeper.Error
	if errors.As(err, &e) {
		return strings.TrimPrefix(oneLine(err.Error()), "sweeper: ")
	}
	return oneLine(strings.TrimPrefix(err.Error(), "queenkv: "))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
