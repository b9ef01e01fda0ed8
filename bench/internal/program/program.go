// Package program is how every benchmark begins and ends.
package program

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs the program until it is done or a signal asks it to stop. An error is printed after the program's name, and the exit status is 1.
func Main(name string, run func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
