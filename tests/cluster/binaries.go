package cluster

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Oldest is the oldest major version of PostgreSQL that queen.kv supports.
const Oldest = 14

// Binaries is a folder that holds at least initdb and postgres of one version.
type Binaries struct {
	Dir   string
	Major int
}

func (b Binaries) String() string { return fmt.Sprintf("PostgreSQL %d in %s", b.Major, b.Dir) }

// packaged says where distributions put a version's binaries: Debian, Red Hat, Homebrew.
var packaged = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
}

// Find returns the newest binaries of a supported version on this machine: the distribution's
// folders first, then the PATH, then what pg_config names.
func Find() (Binaries, error) {
	var dirs []string
	for _, pattern := range packaged {
		found, _ := filepath.Glob(pattern) // fails for a bad pattern alone
		dirs = append(dirs, found...)
	}
	if all := usable(dirs); len(all) > 0 {
		return slices.MaxFunc(all, func(a, b Binaries) int { return cmp.Compare(a.Major, b.Major) }), nil
	}
	dirs = nil
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	if all := usable(dirs); len(all) > 0 {
		return all[0], nil
	}
	return Binaries{}, fmt.Errorf("no PostgreSQL binaries of version %d or newer on this machine", Oldest)
}

// In looks at one folder, and says what is missing there.
func In(dir string) (Binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Binaries{}, err
	}
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return Binaries{}, err
	}
	out, err := exec.Command(filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return Binaries{}, fmt.Errorf("%s --version: %w", filepath.Join(dir, "postgres"), err)
	}
	m := majorPattern.FindSubmatch(out)
	if m == nil {
		return Binaries{}, fmt.Errorf("no version in %q", out)
	}
	major, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return Binaries{}, err
	}
	if major < Oldest {
		return Binaries{}, fmt.Errorf("PostgreSQL %d in %s is older than %d", major, dir, Oldest)
	}
	return Binaries{Dir: dir, Major: major}, nil
}

// majorPattern reads "postgres (PostgreSQL) 15.14 (Debian ...)" and "... 19beta1".
var majorPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

func usable(dirs []string) []Binaries {
	var all []Binaries
	for _, dir := range dirs {
		if b, err := In(dir); err == nil {
			all = append(all, b)
		}
	}
	return all
}
