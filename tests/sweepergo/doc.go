// Package sweepergo runs the Go sweeper against real servers: the library, the program as it is built, and what deploy/ says
// about running it.
package sweepergo
