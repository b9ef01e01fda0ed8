package testdb_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/tests/testdb"
)

func TestDatabasesAreApart(t *testing.T) {
	t.Parallel()
	a, b := testdb.New(t, nil), testdb.New(t, nil)
	a.Exec(t, "create table only_here ()")
	for db, want := range map[*testdb.DB]bool{a: true, b: false} {
		var there, installed bool
		err := db.Pool(t).QueryRow(t.Context(),
			"select to_regclass('only_here') is not null, to_regclass('queen.kv') is not null").Scan(&there, &installed)
		if err != nil {
			t.Fatal(err)
		}
		if there != want || !installed {
			t.Errorf("%s: the table made in the other one: %v, want %v; schema: %v", db.Name, there, want, installed)
		}
	}
}

func TestDroppedAtTheEnd(t *testing.T) {
	t.Parallel()
	watch := testdb.New(t, &testdb.Options{Empty: true}).Conn(t)
	var name, role string
	t.Run("use", func(t *testing.T) {
		db := testdb.New(t, &testdb.Options{Empty: true})
		name, role = db.Name, db.Role(t)
		db.Exec(t, "grant create on database "+name+" to "+role)
		if _, err := db.ConnAs(t, role).Exec(t.Context(), "create schema owned"); err != nil {
			t.Fatal(err)
		}
	})
	var left int
	err := watch.QueryRow(t.Context(), `select (select count(*) from pg_database where datname = $1)
		+ (select count(*) from pg_roles where rolname = $2)`, name, role).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d of the database and the role are left, %v", left, err)
	}
}

func TestICU(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, &testdb.Options{ICU: true})
	if want := testdb.ServerMajor(t) >= 15; db.ICU != want {
		t.Fatalf("ICU is %v on PostgreSQL %d", db.ICU, testdb.ServerMajor(t))
	}
	var before bool // byte order puts B before a, a dictionary doesn't
	if err := db.Conn(t).QueryRow(t.Context(), "select 'a'::text < 'B'").Scan(&before); err != nil {
		t.Fatal(err)
	}
	if db.ICU && !before {
		t.Error("the database doesn't compare as ICU does")
	}
}

func TestWaitForLock(t *testing.T) {
	t.Parallel()
	db := testdb.New(t, &testdb.Options{Empty: true})
	db.Exec(t, "create table one as select 1 as n")
	ctx := t.Context()
	holder, waiter := db.Conn(t), db.Conn(t)
	tx, err := holder.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := tx.Exec(ctx, "update one set n = 2"); err != nil {
		t.Fatal(err)
	}

	done := lock(ctx, t, waiter)
	if event := testdb.WaitForLock(t, db, waiter.PgConn().PID()); event != "transactionid" {
		t.Errorf("waits for %q, want transactionid", event)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	<-done
	if _, waits := testdb.WaitForLockOr(t, db, waiter.PgConn().PID(), lock(ctx, t, waiter)); waits {
		t.Error("nobody holds the row, and yet it waits")
	}
}

// lock takes and frees the row's lock on conn; the channel closes when that is done.
func lock(ctx context.Context, t *testing.T, conn *pgx.Conn) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := conn.Exec(ctx, "update one set n = 3"); err != nil {
			t.Error(err)
		}
	}()
	return done
}
