// Package network tells errors of the network from others.
package network

import (
	"net"
	"slices"
	"syscall"
)

// Is finds an error of the network in err's tree. Any syscall.Errno has the methods of a net.Error, so that a file that is not
// there (fs.PathError over ENOENT) would pass for one: alone it counts only where it tells of a connection. errors.As stops at
// the first that fits, which may be such a one beside another.
func Is(err error) bool {
	switch e := err.(type) { //nolint:errorlint // this is the walk
	case nil:
		return false
	case syscall.Errno:
		return slices.Contains(ofConnections, e)
	case net.Error:
		return true
	case interface{ Unwrap() error }:
		return Is(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), Is)
	}
	return false
}

var ofConnections = []syscall.Errno{
	syscall.ECONNABORTED, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.ENETUNREACH,
	syscall.EPIPE, syscall.ETIMEDOUT,
}
