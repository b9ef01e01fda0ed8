package sql

import (
	"testing"
)

// acquire is "acquired, whether there is a token, the owner, seconds from at until it ends".
func acquire(key, owner, now string) string {
	return `(select concat_ws(' ', l.acquired, l.token is not null, l.owner, extract(epoch from l.expires_at - timestamptz '` + at + `')::int)
		from queen.kv_lease_acquire_v1('n', '` + key + `', '` + owner + `', 60000, p_now => timestamptz '` + at + `' + interval '` + now + `') as l)`
}

// lease calls one of the functions that take a token, at an instant; args follow the token.
func lease(function, token, args, now string) string {
	call := `queen.kv_lease_` + function + `_v1('n', 'a', ` + token + args + `, p_now => timestamptz '` + at + `' + interval '` + now + `')`
	if function == "release" {
		return call
	}
	return `extract(epoch from ` + call + ` - timestamptz '` + at + `')::int`
}

// held is the token of the lease as it stands; another is none.
const (
	held    = "(select version from queen.kv where key = 'a')"
	another = "(select version + 1 from queen.kv where key = 'a')"
)

func TestLease(t *testing.T) {
	t.Parallel()
	playSteps(t, map[string][]step{
		"one has it until its time is over": {
			{acquire("a", "x", "0 s"), "t t x 60"},
			{acquire("a", "y", "1 s"), "f f x 60"},
			{acquire("a", "x", "1 s"), "f f x 60"}, // the same owner's name is nobody
			{acquire("a", "y", "59.999999 s"), "f f x 60"},
			{acquire("a", "y", "60 s"), "t t y 120"},
		},
		"renewed": {
			{acquire("a", "x", "0 s"), "t t x 60"},
			{lease("renew", another, ", 60000", "30 s"), "NULL"},
			{lease("renew", held, ", 60000", "59.999999 s"), "120"},
			{acquire("a", "y", "60 s"), "f f x 120"},
			{lease("renew", held, ", 10000", "61 s"), "71"}, // shorter than it was
		},
		"over at its time, though nobody took it": {
			{acquire("a", "x", "0 s"), "t t x 60"},
			{lease("renew", held, ", 60000", "60 s"), "NULL"},
			{lease("guard", held, "", "60 s"), "55000 kv_lease_lost"},
			{lease("release", held, "", "60 s"), "false"},
		},
		"released": {
			{acquire("a", "x", "0 s"), "t t x 60"},
			{lease("release", another, "", "1 s"), "false"},
			{lease("guard", held, "", "1 s"), "60"},
			{lease("release", held, "", "1 s"), "true"},
			{lease("release", "5", "", "1 s"), "false"},
			{lease("renew", "5", ", 60000", "1 s"), "NULL"},
			{lease("guard", "5", "", "1 s"), "55000 kv_lease_lost"},
			{acquire("a", "y", "1 s"), "t t y 61"},
		},
		"guarded": {
			{acquire("a", "x", "0 s"), "t t x 60"},
			{lease("guard", held, "", "59.999999 s"), "60"},
			{lease("guard", another, "", "1 s"), "55000 kv_lease_lost"},
			{lease("guard", held, ", '00000000-0000-0000-0000-000000000002'", "1 s"), "55000 kv_lease_lost"},
		},
		"a row that is no lease is held": {
			{`queen.kv_apply_v1('[{"op": "put", "ns": "n", "key": "a", "value": {"b": null}, "forever": true}]') -> 0 -> 'applied'`, "true"},
			{acquire("a", "y", "1 s"), `f f {"b": null}`},
		},
	})
}

func TestLeaseFaults(t *testing.T) {
	t.Parallel()
	var checks []check
	for call, want := range map[string]string{
		"kv_lease_acquire_v1('N', '', null, 0, null)":                 "22023 kv_bad_request", // the tenant
		"kv_lease_acquire_v1('N', '', null, 0, p_now => '-infinity')": "22023 kv_bad_request",
		"kv_lease_acquire_v1('N', '', null, 0)":                       "22023 kv_bad_namespace",
		"kv_lease_acquire_v1('n', '', null, 0)":                       "22023 kv_bad_key",
		"kv_lease_acquire_v1('n', repeat('k', 2049), null, 0)":        "22001 kv_key_too_large",
		"kv_lease_acquire_v1('n', 'k', null, 0)":                      "22023 kv_bad_ttl",
		"kv_lease_acquire_v1('n', 'k', null, 1)":                      "22023 kv_bad_request",
		"kv_lease_acquire_v1('n', 'k', repeat('o', 2049), 1)":         "22001 kv_value_too_large",
		"(kv_lease_acquire_v1('n', 'k', '', 1)).acquired":             "true",
		"kv_lease_renew_v1('n', 'k', 0, null)":                        "22023 kv_bad_ttl",
		"kv_lease_renew_v1('n', 'k', null, 1)":                        "22023 kv_bad_expect",
		"kv_lease_renew_v1('n', 'k', 0, 1)":                           "22023 kv_bad_expect",
		"kv_lease_renew_v1('n', '', 0, 1)":                            "22023 kv_bad_key",
		"kv_lease_release_v1('n', 'k', null)":                         "22023 kv_bad_expect",
		"kv_lease_release_v1('n', 'k', -1)":                           "22023 kv_bad_expect",
		"kv_lease_release_v1('N', 'k', 1)":                            "22023 kv_bad_namespace",
		"kv_lease_guard_v1('n', 'k', null)":                           "22023 kv_bad_expect",
		"kv_lease_guard_v1('n', null, 1)":                             "22023 kv_bad_key",
		"kv_lease_guard_v1('n', 'k', 1, null)":                        "22023 kv_bad_request",
		"kv_lease_guard_v1('n', 'k', 1)":                              "55000 kv_lease_lost",
	} {
		checks = append(checks, check{"queen." + call, want})
		if call[0] == '(' {
			checks[len(checks)-1].expression = "(queen." + call[1:]
		}
	}
	checkAll(t, checks)
}
