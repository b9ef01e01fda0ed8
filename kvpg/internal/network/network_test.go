package network

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestIs(t *testing.T) {
	t.Parallel()
	_, noFile := os.Open("no such file")
	noProgram := exec.CommandContext(t.Context(), "./no-such-program").Run()
	reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("declined"), false},
		{noFile, false},
		{noProgram, false},
		{&fs.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}, false},
		{syscall.EACCES, false},
		{fmt.Errorf("wrapped: %w", errors.Join(noFile, errors.New("declined"))), false},
		{reset, true},
		{fmt.Errorf("wrapped: %w", errors.Join(noFile, reset)), true},
		{os.NewSyscallError("write", syscall.EPIPE), true},
		{syscall.ECONNREFUSED, true},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, true},
		{&net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.ENOENT)}, true},
	} {
		if got := Is(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}
