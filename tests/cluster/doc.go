// Package cluster runs throwaway PostgreSQL clusters from the binaries of this machine.
//
// A cluster lives in a temporary folder of its own, listens on a free loopback port and on a
// Unix socket in that folder, asks for a random password, and is gone with its folder after
// [Cluster.Stop]. PostgreSQL refuses to run as root: then it runs as the user postgres, or
// nobody where there is no such user.
package cluster
