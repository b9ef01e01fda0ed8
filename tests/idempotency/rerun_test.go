package idempotency_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/idempotency"
	"github.com/queenkv/queenkv/tests/testdb"
)

// repeatable are the two ways at REPEATABLE READ, through a kvpg.BeginFunc.
var repeatable = map[string]wrap{
	"pgxpool": func(t *testing.T, db *testdb.DB, opts *idempotency.Options) func(http.Handler) http.Handler {
		pool := db.Pool(t)
		return idempotency.New(kvpg.BeginFunc[pgx.Tx](func(ctx context.Context) (pgx.Tx, error) {
			return pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		}), requests, time.Hour, user, opts)
	},
	"database/sql": func(t *testing.T, db *testdb.DB, opts *idempotency.Options) func(http.Handler) http.Handler {
		pool := openSQL(t, db)
		return idempotency.New(kvpg.BeginFunc[kvpg.SQLTx](func(ctx context.Context) (kvpg.SQLTx, error) {
			tx, err := pool.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
			return kvpg.FromSQLTx(tx), err
		}), requests, time.Hour, user, opts)
	},
}

// A conflict runs the handler again, from its start: with the whole body and the request as it came, and nothing of the response
// that it had begun.
func TestConflictRunsTheHandlerAgain(t *testing.T) {
	t.Parallel()
	for name, over := range repeatable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var admin *pgxpool.Pool
			runs := 0
			a := start(t, over, nil, func(w http.ResponseWriter, r *http.Request) {
				runs++
				body, err := io.ReadAll(r.Body)
				if err != nil || string(body) != "the whole body" || r.ContentLength != int64(len(body)) {
					t.Errorf("run %d reads %q (%d), %v", runs, body, r.ContentLength, err)
				}
				if r.Header.Get("X-Run") != "" {
					t.Error("the second run sees what the first did to the request")
				}
				r.Header.Set("X-Run", "1")
				w.Header().Add("Location", fmt.Sprint("/", runs))
				fmt.Fprint(w, "run ", runs)
				if runs == 1 { // beside us, after our snapshot
					if _, err := admin.Exec(t.Context(), "insert into effect values ('beside'); update counter set n = n + 1"); err != nil {
						t.Error(err)
					}
				}
				_, err = idempotency.Tx[kvpg.Tx](r.Context()).Exec(r.Context(), "update counter set n = n + 1")
				if kvpg.IsRetryable(err) != (runs == 1) {
					t.Errorf("run %d: got %v", runs, err)
				}
				if err != nil {
					idempotency.Fail(r.Context(), err)
					return
				}
				if err := effect(r, "ours"); err != nil {
					t.Error(err)
				}
			})
			admin = a.admin
			a.db.Exec(t, "create table counter (n int not null); insert into counter values (0)")
			got := a.send(t, request{body: "the whole body"})
			expect(t, got, http.StatusOK, "run 2", false)
			if places := got.header.Values("Location"); len(places) != 1 || places[0] != "/2" {
				t.Errorf("Location is %q", places)
			}
			expect(t, a.send(t, request{body: "the whole body"}), http.StatusOK, "run 2", true)
			a.effects(t, "beside", "ours")
			a.reported(t, "")
		})
	}
}

// The files of a form that the handler took apart are removed, as net/http does with those of its own request.
func TestFilesOfAForm(t *testing.T) {
	t.Parallel()
	var name string
	a := start(t, overPool, nil, func(_ http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1); err != nil { // more than a byte is not kept in memory
			t.Error(err)
			return
		}
		file, _, err := r.FormFile("f")
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		if f, ok := file.(*os.File); ok {
			name = f.Name()
		}
	})
	var body strings.Builder
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("f", "f.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(part, strings.Repeat("x", 1000))
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL, strings.NewReader(body.String()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("X-User", "alice")
	r.Header.Set("Idempotency-Key", `"k"`)
	response, err := a.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if name == "" {
		t.Fatal("the file was not on disk")
	}
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}
