package main

import (
	"fmt"
	"testing"

	"github.com/queenkv/queenkv/bench/internal/server"
	"github.com/queenkv/queenkv/tests/testdb"
)

// Every statement runs, in a loop as it is counted, and a write of one side does what that of the other does.
func TestLines(t *testing.T) {
	bin, err := server.Binaries()
	if err != nil {
		testdb.NotRun(t, "no PostgreSQL binaries to start a server with")
	}
	s, err := server.Start(t.Context(), bin, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Exec(t.Context(), setup...); err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		var left []string
		for _, statement := range []string{l.byHand, l.function} {
			if statement == "" {
				continue
			}
			// Within a transaction that is rolled back a DO block can't commit.
			var rows string
			err := s.Exec(t.Context(), "begin", fmt.Sprintf("do $$ begin for n in 1..2 loop %s end loop; end $$", statement))
			if err == nil {
				err = s.Conn.QueryRow(t.Context(), `select md5(string_agg(concat_ws(' ', namespace, key, value), e'\n' order by namespace, key))
					from queen.kv where namespace <> 'once'`).Scan(&rows)
			}
			if err != nil {
				t.Fatalf("%s: %v", l.title, err)
			}
			left = append(left, rows)
			if err := s.Exec(t.Context(), "rollback"); err != nil {
				t.Fatal(err)
			}
		}
		if len(left) == 2 && left[0] != left[1] {
			t.Errorf("%s: the sides leave different rows", l.title)
		}
	}
}
