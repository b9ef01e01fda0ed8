package sqlstate

import (
	"errors"
	"fmt"
	"testing"
)

type state string

func (s state) Error() string    { return string(s) }
func (s state) SQLState() string { return string(s) }

func TestAny(t *testing.T) {
	t.Parallel()
	unique, serialization := state("23505"), state("40001")
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("40001"), false},
		{unique, false},
		{serialization, true},
		{fmt.Errorf("wrapped: %w", serialization), true},
		{errors.Join(unique, serialization), true},
		{errors.Join(serialization, unique), true},
		{fmt.Errorf("%w, and then %w", fmt.Errorf("in fn: %w", unique), errors.Join(errors.New("x"), serialization)), true},
		{errors.Join(unique, errors.New("x")), false},
	} {
		if got := Any(c.err, func(state string) bool { return state == "40001" }); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}
