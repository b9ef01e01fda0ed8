package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is whom the server runs as; nil: as ourselves.
type account struct{ uid, gid int }

// unprivileged returns nil unless this process is root, whom PostgreSQL refuses.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("the ids of user %s: %w", name, err)
		}
		return &account{uid, gid}, nil
	}
	return nil, errors.New("this is root, PostgreSQL does not run as root, " +
		"and there is neither a user postgres nor a user nobody")
}

// own makes the account the owner of a file or folder.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, a.uid, a.gid)
}

// run makes cmd run as the account, in a process group of its own: an interrupt typed at a
// terminal goes to the tests, and the server stays until they have ended.
func (a *account) run(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if a != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
}
