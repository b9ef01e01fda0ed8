// Package model is a second implementation of queen.kv_apply_v1 and of limiter, lease and dedupe, to hold the first one against.
//
// It is written from the contract alone, in maps and sorted slices: no SQL, no shared table of
// rules, no code of the driver. It models calls that run one after the other with p_now given,
// which is what makes every answer exact; locks, waiting and isolation are not its subject. Between the calls there are sweeps,
// which take away what is not alive, and must change no answer.
//
// Versions are the model's own (1, 2, ...): a caller that compares keeps a map from them to the
// tokens a server gave. The package's tests play random histories against a server, see
// TestHistories and TestPatternHistories.
package model
