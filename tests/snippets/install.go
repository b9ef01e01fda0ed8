package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The versions of the drivers, of which the page tells. Where the Python package index can't be reached, Debian's package of
// psycopg is taken, whatever its version (3.1 in Debian 12).
const (
	nodeDriver   = "pg@8.23.1"
	pythonDriver = "psycopg[binary]==3.3.9"
)

func prepareNode(ctx context.Context, dir string) (*prepared, error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, unavailable("there is no %s", program)
		}
	}
	dir, err := folder(dir, "node")
	if err != nil {
		return nil, err
	}
	said, err := output(ctx, dir, "npm", "install", "--silent", "--no-audit", "--no-fund", "--no-save", "--prefix", dir, nodeDriver)
	if err != nil {
		return nil, unavailable("npm install %s: %v: %s", nodeDriver, err, said)
	}
	version, err := output(ctx, dir, "node", "--version")
	if err != nil {
		return nil, unavailable("node: %v: %s", err, version)
	}
	return &prepared{dir: dir, command: []string{"node"}, version: "Node " + version + ", " + nodeDriver}, nil
}

func preparePython(ctx context.Context, dir string) (*prepared, error) {
	if _, err := exec.LookPath("python3"); err != nil {
		return nil, unavailable("there is no python3")
	}
	dir, err := folder(dir, "python")
	if err != nil {
		return nil, err
	}
	p, why := fromIndex(ctx, dir)
	if p == nil {
		var notDebian string
		if p, notDebian = fromDebian(ctx, dir); p == nil {
			return nil, unavailable("%s; %s", why, notDebian)
		}
	}
	cmd := exec.CommandContext(ctx, p.command[0], "-c", "import sys, psycopg; print(sys.version.split()[0] + ', psycopg ' + psycopg.__version__)")
	cmd.Env = append(os.Environ(), p.env...)
	version, err := cmd.CombinedOutput()
	if err != nil {
		return nil, unavailable("import psycopg: %v: %s", err, version)
	}
	p.version = "Python " + strings.TrimSpace(string(version))
	return p, nil
}

// fromIndex has pip put psycopg into a folder of ours.
func fromIndex(ctx context.Context, dir string) (p *prepared, why string) {
	packages := filepath.Join(dir, "packages")
	said, err := output(ctx, dir, "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
		"--retries", "0", "--timeout", "20", "--upgrade", "--target", packages, pythonDriver)
	if err != nil {
		return nil, fmt.Sprintf("pip install %s: %v: %s", pythonDriver, err, said)
	}
	return python(dir, packages), ""
}

func python(dir, packages string) *prepared {
	return &prepared{dir: dir, command: []string{"python3"}, env: []string{
		"PYTHONPATH=" + packages,
		"PYTHONUNBUFFERED=1", // what goes wrong is printed after what went well
	}}
}

// fromDebian unpacks Debian's psycopg, which is plain Python over libpq, without installing it.
func fromDebian(ctx context.Context, dir string) (p *prepared, why string) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return nil, "there is no apt-get"
	}
	root := filepath.Join(dir, "debian")
	// The lists of packages may be old or missing, and bringing them up to date takes root.
	const script = `mkdir -p "$0" && cd "$0" && rm -f ./*.deb &&
		{ apt-get download python3-psycopg python3-typing-extensions || { apt-get update -q && apt-get download python3-psycopg python3-typing-extensions; }; } &&
		for deb in ./*.deb; do dpkg-deb -x "$deb" .; done`
	if said, err := output(ctx, dir, "sh", "-c", script, root); err != nil {
		return nil, fmt.Sprintf("apt-get download python3-psycopg: %v: %s", err, said)
	}
	return python(dir, filepath.Join(root, "usr/lib/python3/dist-packages")), ""
}
