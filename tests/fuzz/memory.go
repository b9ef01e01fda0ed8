package fuzz

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// memoryLimit bounds what a backend takes at its peak, in KiB. Shared buffers that it has touched are counted: 128 MiB by default. An
// answer holds up to 16 MiB of values (256 gets of 64 KiB), which are a dozen copies at most on their way out.
const memoryLimit = 384 * 1024

// memory is what the process of a session takes.
type memory struct {
	status *os.File // of /proc; nil when the process isn't one of this machine
	peak   int      // in KiB
}

// memoryOf finds the process of a session by its number and by the database's name in its title: in a container, the number
// may be another process's here.
func memoryOf(t testing.TB, conn *pgx.Conn, database string) memory {
	t.Helper()
	var pid int
	if err := conn.QueryRow(t.Context(), "select pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	dir := fmt.Sprintf("/proc/%d/", pid)
	title, err := os.ReadFile(dir + "cmdline")
	if err != nil || !strings.Contains(string(title), database) {
		return memory{}
	}
	f, err := os.Open(dir + "status")
	if err != nil {
		return memory{}
	}
	t.Cleanup(func() { f.Close() })
	return memory{status: f}
}

// look reads the peak, and says when it has gone beyond the limit.
func (m *memory) look() error {
	if m.status == nil {
		return nil
	}
	status, err := io.ReadAll(io.NewSectionReader(m.status, 0, 1<<16))
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscanf(rest, "%d kB", &m.peak); err != nil {
		return fmt.Errorf("the backend's status: %w", err)
	}
	if m.peak > memoryLimit {
		return fmt.Errorf("the backend took %d KiB, at most %d are fine", m.peak, memoryLimit)
	}
	return nil
}
