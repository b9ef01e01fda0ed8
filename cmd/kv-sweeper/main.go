// Command kv-sweeper deletes expired rows of queen.kv, measures tenants, and looks after the schema.
//
//	kv-sweeper run       for good, with metrics and health on one listener
//	kv-sweeper once      what is there now: for cron
//	kv-sweeper doctor    looks for what rots
//	kv-sweeper quota     shows, sets and clears what tenants may store
//	kv-sweeper schema    prints, installs and migrates the schema
//
// Every flag is also an environment variable; --help shows them. docs/operations.md is the operator's page.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// The exit statuses.
const (
	exitOK       = 0
	exitError    = 1
	exitFindings = 2 // of doctor: something is wrong
	exitRowsLeft = 3 // of once: a budget ran out, or a signal came, with expired rows left
)

type commands struct {
	Version kong.VersionFlag `help:"Print the version and exit." env:"-"`

	Run    runCommand    `cmd:"" help:"Sweep and measure until SIGTERM; metrics and health on one listener."`
	Once   onceCommand   `cmd:"" help:"Delete what has expired, measure, and exit: 0 drained, 1 error, 3 a budget ran out with rows left."`
	Doctor doctorCommand `cmd:"" help:"Look for what rots: exit 0 nothing found, 1 error, 2 findings."`
	Quota  quotaCommand  `cmd:"" help:"Show, set and clear what tenants may store."`
	Schema schemaCommand `cmd:"" help:"Print, install and migrate the schema."`
}

// streams are where a command writes.
type streams struct {
	out, err io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], streams{os.Stdout, os.Stderr})
	stop()
	os.Exit(status)
}

// statusError ends a command with a status and, when text isn't empty, a line.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// run is main without the process: it gives the exit status.
func run(ctx context.Context, args []string, s streams) int {
	exited := false
	status := exitOK
	var c commands
	parser, err := kong.New(&c,
		kong.Name("kv-sweeper"),
		kong.Description("Deletes expired rows of queen.kv, measures tenants, and looks after the schema."),
		kong.Vars{"version": version()},
		kong.DefaultEnvars("KV_SWEEPER"),
		kong.Writers(s.out, s.err),
		kong.Exit(func(code int) { exited, status = true, code }), // after --help and --version
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(s),
	)
	if err != nil {
		fmt.Fprintln(s.err, "kv-sweeper:", err)
		return exitError
	}
	command, err := parser.Parse(args)
	if exited {
		return status
	}
	if err != nil {
		fmt.Fprintln(s.err, "kv-sweeper:", oneLine(err.Error())+": see kv-sweeper --help")
		return exitError
	}
	err = command.Run()
	var ended *statusError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &ended):
		if ended.text != "" {
			fmt.Fprintln(s.err, "kv-sweeper:", ended.text)
		}
		return ended.status
	default:
		fmt.Fprintln(s.err, "kv-sweeper:", lineOf(err))
		return exitError
	}
}
