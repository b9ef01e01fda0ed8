package sweepergo

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

func connection(s string) []string { return []string{"DATABASE_URL=" + s} }

// every command that connects, and how it begins; run waits for no server here.
var connecting = [][]string{
	{"run", "--start-wait", "0s", "--listen", "none"}, {"once"}, {"once", "--json"}, {"once", "--dry-run"}, {"doctor"}, {"doctor", "--json"},
	{"quota", "show"}, {"quota", "set", "7c3f1c52-51a8-4c0e-9d0b-9f3f0e5b1a77", "--max-rows", "1"},
	{"quota", "clear", "7c3f1c52-51a8-4c0e-9d0b-9f3f0e5b1a77"}, {"schema", "version"},
}

// change gives a connection string with another part.
func change(t *testing.T, s string, f func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	f(u)
	return u.String()
}

// What is wrong with the way to the database is one line with what to do about it, and status 1, of every command.
func TestErrorsAreOneLine(t *testing.T) {
	t.Parallel()
	db, empty := testdb.New(t, nil), testdb.New(t, &testdb.Options{Empty: true})
	old := testdb.New(t, nil)
	old.Exec(t, "drop function queen.kv_expire_step_v1; drop function queen.kv_usage_step_v1; drop function queen.kv_rows_hidden_v1; "+
		"drop function queen.kv_quota_refresh_v1; drop function queen.kv_quota_set_v1; drop function queen.kv_schema_version_v1")
	role := db.Role(t)
	for name, c := range map[string]struct{ url, remedy string }{
		"not a connection string": {"postgres://host:port:port/", "connection string"},
		"no server":               {"postgres://127.0.0.1:1/x", "host and port"},
		"wrong password":          {change(t, db.URLAs(t, role), func(u *url.URL) { u.User = url.UserPassword(role, "wrong") }), "password"},
		"no such database":        {change(t, db.URL(), func(u *url.URL) { u.Path = "/no_such_database" }), "no such database"},
		"no schema":               {empty.URL(), "kv-sweeper schema install"},
		"an old schema":           {old.URL(), "kv-sweeper schema install"},
		"no rights":               {db.URLAs(t, role), "kv_grant_v1"},
	} {
		for _, args := range connecting {
			e := play(t, connection(c.url), args...)
			line := strings.TrimSuffix(e.err, "\n")
			if e.status != 1 || strings.Contains(line, "\n") || !strings.HasPrefix(line, "kv-sweeper: ") || !strings.Contains(line, c.remedy) {
				t.Errorf("%s: %s: status %d\n%s%s", name, strings.Join(args, " "), e.status, e.out, e.err)
			}
			if strings.Contains(e.err+e.out, "wrong@") || strings.Contains(e.err+e.out, ":wrong") {
				t.Errorf("%s: %s shows the password", name, args)
			}
		}
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"", "sweep", "once --no-such-flag", "once --max-rows -1", "once --max-rows many", "once --min-batch 0", "once --max-batch 2000000",
		"once --first-batch 5", "once --step-timeout 0s", "run --stale 10s", "run --min-idle 1m", "run --duty-cycle 0", "run --duty-cycle 1.1", "run --duty-cycle NaN",
		"run --log-format xml", "run --log-level loud",
		"doctor --timeout 0s", "quota", "quota set", "quota set 7c3f1c52 --max-rows 1", "quota set 7c3f1c52-51a8-4c0e-9d0b-9f3f0e5b1a77",
		"quota set 7c3f1c52-51a8-4c0e-9d0b-9f3f0e5b1a77 --max-rows=-1", "schema", "schema print --value-bytes 3",
	} {
		e := play(t, nil, strings.Fields(args)...)
		if e.status != 1 || strings.Count(e.err, "\n") != 1 || e.out != "" {
			t.Errorf("%q: status %d\n%s%s", args, e.status, e.out, e.err)
		}
	}
	for _, args := range []string{"--version", "--help", "once --help"} {
		if e := play(t, nil, strings.Fields(args)...); e.status != 0 || e.out == "" || e.err != "" {
			t.Errorf("%q: status %d\n%s%s", args, e.status, e.out, e.err)
		}
	}
	if e := play(t, nil, "--version"); e.out != "v0.0.0-test\n" {
		t.Errorf("the version is %q", e.out)
	}
}

// Every flag has an environment variable, in every command.
func TestEveryFlagHasAVariable(t *testing.T) {
	t.Parallel()
	flag := regexp.MustCompile(`(?m)^ +(?:-\w, +)?--([a-z-]+|\[no-\][a-z-]+)`)
	others := [][]string{{"schema", "print"}, {"schema", "install"}, {"schema", "migrate"}}
	for _, args := range slices.Concat(connecting, others) {
		args = slices.Clone(args) // its end is written over
		for i, a := range args {
			if strings.HasPrefix(a, "-") || len(a) == 36 {
				args = args[:i]
				break
			}
		}
		help := play(t, nil, append(args, "--help")...).out
		at := flag.FindAllStringSubmatchIndex(help, -1)
		if len(at) < 3 {
			t.Fatalf("%v: no flags in\n%s", args, help)
		}
		for i, m := range at {
			end := len(help)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			name := help[m[2]:m[3]]
			if name != "help" && name != "version" && !strings.Contains(help[m[0]:end], "$KV_SWEEPER_") {
				t.Errorf("%v: --%s has no variable", args, name)
			}
		}
	}
	db := testdb.New(t, nil)
	fill(t, db, 20)
	if e := play(t, append(connection(db.URL()), "KV_SWEEPER_MAX_ROWS=7", "KV_SWEEPER_JSON=true"), "once"); e.status != 3 || result(t, e).Deleted != 7 {
		t.Errorf("from the environment: status %d\n%s%s", e.status, e.out, e.err)
	}
}

type onceResult struct {
	End      string `json:"end"`
	Deleted  int    `json:"deleted"`
	Left     int    `json:"left"`
	Steps    int    `json:"steps"`
	Measured bool   `json:"measured"`
	DryRun   bool   `json:"dryRun"`
}

// result reads the one line of JSON.
func result(t *testing.T, e ended) (r onceResult) {
	t.Helper()
	if strings.Count(e.out, "\n") != 1 {
		t.Errorf("not one line: %q", e.out)
	}
	if err := json.Unmarshal([]byte(e.out), &r); err != nil {
		t.Errorf("%v: %q", err, e.out)
	}
	return r
}

func TestOnce(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, nil)
	fill(t, db, 1000)
	env := connection(db.URLAs(t, grantee(t, db, "sweeper")))

	e := play(t, env, "once", "--dry-run", "--json")
	if r := result(t, e); e.status != 0 || r.Left != 1000 || !r.DryRun {
		t.Errorf("a dry run: %d %+v", e.status, r)
	}
	if expired, _ := count(t, db); expired != 1000 {
		t.Errorf("a dry run left %d", expired)
	}
	e = play(t, env, "once", "--json", "--max-rows", "300")
	if r := result(t, e); e.status != 3 || r.End != "out_of_rows" || r.Deleted != 300 || r.Left < 1 {
		t.Errorf("a budget of rows: %d %+v", e.status, r)
	}
	e = play(t, env, "once", "--json", "--max-time", "1ms", "--first-batch", "100")
	if r := result(t, e); e.status != 3 || r.End != "out_of_time" || r.Left < 1 || r.Steps != 1 {
		t.Errorf("a budget of time: %d %+v", e.status, r)
	}
	e = play(t, env, "once")
	if e.status != 0 || !strings.HasPrefix(e.out, "drained: deleted 600 rows") || e.err != "" {
		t.Errorf("the rest: %d %q %q", e.status, e.out, e.err)
	}
	e = play(t, env, "once", "--json")
	if r := result(t, e); e.status != 0 || r.End != "drained" || r.Deleted != 0 || r.Left != 0 || !r.Measured {
		t.Errorf("nothing left: %d %+v", e.status, r)
	}
	if expired, live := count(t, db); expired != 0 || live != 2000 {
		t.Errorf("%d expired and %d live rows are left", expired, live)
	}
}

// SIGTERM in the middle of a drain: whole steps and no half ones, and a status that says that rows are left.
func TestSignalInADrain(t *testing.T) {
	t.Parallel()
	const rows = 30_000
	slowly := []string{"--min-batch", "5", "--first-batch", "10", "--max-batch", "10"}
	for _, name := range []string{"once", "run"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testdb.New(t, nil)
			fill(t, db, rows)
			var r *running
			if name == "run" {
				r = start(t, connection(db.URL()), slowly...)
			} else {
				r = &running{cmd: command(t, connection(db.URL()), append([]string{"once", "--json"}, slowly...)...), log: &lines{}, done: make(chan struct{})}
				r.cmd.Stdout = r.log
				if err := r.cmd.Start(); err != nil {
					t.Fatal(err)
				}
				go func() { _ = r.cmd.Wait(); close(r.done) }()
			}
			eventually(t, "rows are deleted", func() bool { expired, _ := count(t, db); return expired < rows })
			if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			status := r.status(t)
			expired, live := count(t, db)
			if expired == 0 || expired == rows || live != 2*rows {
				t.Errorf("%d expired and %d live rows are left", expired, live)
			}
			if want := map[string]int{"once": 3, "run": 0}[name]; status != want {
				t.Errorf("status %d, want %d", status, want)
			}
			if name == "once" {
				if got := result(t, ended{out: r.log.String()}); got.End != "interrupted" || got.Deleted != rows-expired {
					t.Errorf("%+v, and %d rows are gone", got, rows-expired)
				}
			}
		})
	}
}

func TestSchemaCommands(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, &testdb.Options{Empty: true})
	env := connection(db.URL())
	for _, c := range []struct{ args, out string }{
		{"schema migrate", "the schema is of version 1\n"},
		{"schema install", "the schema is of version 1\n"},
		{"schema install", "the schema is of version 1\n"},
		{"schema version", "program 1, database 1\n"},
	} {
		if e := play(t, env, strings.Fields(c.args)...); e.status != 0 || e.out != c.out || e.err != "" {
			t.Errorf("%s: %+v", c.args, e)
		}
	}
	printed := testdb.New(t, &testdb.Options{Empty: true})
	e := play(t, nil, "schema", "print")
	printed.Exec(t, e.out)
	if e := play(t, connection(printed.URL()), "once"); e.status != 0 {
		t.Errorf("what was printed doesn't install: %+v", e)
	}
	nobody := testdb.New(t, &testdb.Options{Empty: true})
	for _, verb := range []string{"install", "migrate"} {
		e := play(t, connection(nobody.URLAs(t, nobody.Role(t))), "schema", verb)
		if e.status != 1 || strings.Count(e.err, "\n") != 1 || !strings.Contains(e.err, "CREATE on the database") {
			t.Errorf("%s without rights: %+v", verb, e)
		}
	}
}
