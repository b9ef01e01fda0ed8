package report

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
	}{{[]float64{7}, 7}, {[]float64{9, 1, 3}, 3}, {[]float64{4, 1, 3, 9}, 3.5}} {
		if got := Median(c.xs); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.xs, got, c.want)
		}
	}
}

func TestBlock(t *testing.T) {
	const begin, end = "<!-- bench-x: begin; written by make bench-x -->\n", "<!-- bench-x: end -->\n"
	b := Block{filepath.Join(t.TempDir(), "page.md"), "bench-x"}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(b.Path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + begin + "old\n" + end + "after\n")
	for range 2 { // the second finds what the first has written
		if err := b.Write("new\n"); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(b.Path)
		if err != nil {
			t.Fatal(err)
		}
		if want := "before\n" + begin + "\nnew\n\n" + end + "after\n"; string(got) != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	write("no markers\n")
	if err := b.Check(); err == nil {
		t.Error("a file without markers is accepted")
	}
}

// Without a path there is no page, and a program prints what it has measured.
func TestBlockWithoutAPath(t *testing.T) {
	b := Block{Target: "t"}
	if err := b.Check(); err != nil {
		t.Error(err)
	}
	if err := b.Write("text"); err != nil {
		t.Error(err)
	}
}
