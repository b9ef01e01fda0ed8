package sweeper

import (
	"context"
	"errors"
	"fmt"
	"go/build"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestClasses(t *testing.T) {
	t.Parallel()
	for class, all := range map[Class][]error{
		Connection: {
			pgError("57P01", ""), pgError("57P03", ""), pgError("08006", ""), pgError("53300", ""), io.ErrUnexpectedEOF, net.ErrClosed,
			errors.New("conn closed"), &net.OpError{Op: "read", Err: errors.New("reset")}, pgx.ErrTxClosed,
		},
		Timeout:  {pgError("57014", ""), context.DeadlineExceeded, fmt.Errorf("step: %w", context.Canceled)},
		Conflict: {pgError("40001", ""), pgError("40P01", ""), pgError("55P03", "")},
		Schema:   {pgError("3F000", ""), pgError("42883", ""), pgError("42P01", "")},
		Rights:   {pgError("42501", "permission denied for function kv_expire_step_v1")},
		Hidden:   {pgError("42501", "kv_rows_hidden")},
		ReadOnly: {pgError("25006", "")},
		Config:   {pgError("28P01", ""), pgError("3D000", ""), pgError("28000", "")},
		Other:    {pgError("XX000", ""), errors.New("odd")},
	} {
		for _, err := range all {
			if got := ClassOf(fmt.Errorf("wrapped: %w", err)); got != class {
				t.Errorf("%v is %s, want %s", err, got, class)
			}
		}
		lasting := class == Schema || class == Rights || class == Hidden || class == ReadOnly || class == Config
		if class.Lasting() != lasting {
			t.Errorf("%s lasting: %v", class, class.Lasting())
		}
		if lasting && remedies[class] == "" {
			t.Errorf("%s has no remedy", class)
		}
	}
	_, err := pgx.ParseConfig("postgres://x:secret@host:99999999/")
	if ClassOf(err) != Config || strings.Contains(err.Error(), "secret") {
		t.Errorf("a bad connection string: %s, %v", ClassOf(err), err)
	}
	if len(Classes()) != 9 {
		t.Errorf("%d classes", len(Classes()))
	}
}

// TestImports keeps the promise of the package: pgx and the standard library.
func TestImports(t *testing.T) {
	t.Parallel()
	pkg, err := build.ImportDir(".", 0)
	if err != nil || len(pkg.Imports) == 0 {
		t.Fatal(err, pkg.Imports)
	}
	for _, path := range pkg.Imports {
		root, _, _ := strings.Cut(path, "/")
		if strings.Contains(root, ".") && path != "github.com/jackc/pgx/v5" && !strings.HasPrefix(path, "github.com/jackc/pgx/v5/") {
			t.Errorf("sweeper imports %s", path)
		}
	}
}
