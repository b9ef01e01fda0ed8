// Package sqlstate looks for PostgreSQL's error codes in errors.
package sqlstate

import "slices"

// Any tells whether an error in err's tree has a SQLSTATE that fits. errors.As would stop at the first error that has one, which may be
// another one beside it: of errors.Join(a unique violation, a serialization failure) the transaction has met both.
func Any(err error, fits func(state string) bool) bool {
	if of, ok := err.(interface{ SQLState() string }); ok && fits(of.SQLState()) { //nolint:errorlint // this is the walk
		return true
	}
	switch e := err.(type) { //nolint:errorlint // the same
	case interface{ Unwrap() error }:
		return Any(e.Unwrap(), fits)
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), func(err error) bool { return Any(err, fits) })
	}
	return false
}
