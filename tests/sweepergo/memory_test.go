package sweepergo

import (
	"fmt"
	"os"
	"strings"
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
	// Not the ru_maxrss of its end, which counts what this test's process had when it forked.
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if err != nil {
		testdb.NotRun(t, "no /proc to read the resident memory in: "+err.Error())
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kib int
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatalf("%v in\n%s", err, status)
	}
	if kib >= 30<<10 {
		t.Errorf("%d KiB resident", kib)
	}
	t.Logf("%.1f MiB resident at most", float64(kib)/1024)
}
