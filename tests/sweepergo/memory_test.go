package sweepergo

import (
	"syscall"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A sidecar must be small: under 30 MiB resident at its largest, over a drain, measuring, and scrapes.
func TestMemory(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	fill(t, db, 20_000)
	r := start(t, connection(db.URL()), quick...)
	eventually(t, "it sweeps", func() bool { expired, _ := count(t, db); return expired == 0 })
	for range 20 {
		r.metrics(t)
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := r.status(t); status != 0 {
		t.Errorf("status %d", status)
	}
	usage := r.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if mib := float64(usage.Maxrss) / 1024; mib >= 30 { // kilobytes on Linux
		t.Errorf("%.1f MiB resident", mib)
	} else {
		t.Logf("%.1f MiB resident at most", mib)
	}
}
