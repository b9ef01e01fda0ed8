package kvpg

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func TestNewNamespace(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "0", "orders.v2_x-y", strings.Repeat("n", 64)} {
		if got := NewNamespace(name).Name(); got != name {
			t.Errorf("got %q, want %q", got, name)
		}
	}
	for _, name := range []string{"", "A", ".a", "-a", "_a", "a b", "a/b", "é", "a\n", "a\x00", strings.Repeat("n", 65)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q did not panic", name)
				}
			}()
			NewNamespace(name)
		}()
	}
}

func TestNamespaceFor(t *testing.T) {
	t.Parallel()
	type uuid [16]byte
	tenant := uuid{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10}
	base := NewNamespace("orders")
	bound := base.For(tenant)
	if got, want := bound.String(), "01234567-89ab-cdef-fedc-ba9876543210/orders"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if bound.Tenant() != tenant || bound == base {
		t.Error("the tenant is not part of the namespace")
	}
	if got, want := base.String(), "00000000-0000-0000-0000-000000000001/orders"; got != want {
		t.Errorf("the base is %s, want %s", got, want)
	}
}

func TestVersionText(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, 1<<53 + 1, math.MaxInt64} {
		v := Version{n}
		back, err := ParseVersion(v.String())
		if err != nil || back != v || v.IsZero() != (n == 0) {
			t.Errorf("%d: got %v, %v", n, back, err)
		}
		text, err := json.Marshal(v)
		if err != nil || string(text) != `"`+v.String()+`"` {
			t.Errorf("%d: JSON is %s, %v", n, text, err)
		}
		if err := json.Unmarshal(text, &back); err != nil || back != v {
			t.Errorf("%d: read back from JSON as %v, %v", n, back, err)
		}
	}
	for _, s := range []string{"", "x", "-1", "+1", "01", " 1", "1.0", "9223372036854775808"} {
		if v, err := ParseVersion(s); err == nil {
			t.Errorf("%q was read as %v", s, v)
		}
	}
}

func TestExpectVersionZeroIsAbsent(t *testing.T) {
	t.Parallel()
	if ExpectVersion(Version{}) != ExpectAbsent() || ExpectAbsent() == (Expect{}) {
		t.Error("the zero Version must expect absence, and the zero Expect nothing")
	}
}

func TestExpiryMilliseconds(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]int64{
		1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, 90 * time.Second: 90_000, maxTTL: 3_155_760_000_000,
	} {
		if ms, fault := TTL(d).check(); fault != nil || ms != want {
			t.Errorf("TTL(%s): got %d ms, %v, want %d", d, ms, fault, want)
		}
	}
}

func TestInt64Of(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "-1": -1, "9007199254740993": 1<<53 + 1, "60.0": 60, "9223372036854775807": math.MaxInt64,
		"-9223372036854775808": math.MinInt64, "-9223372036854775808.00": math.MinInt64,
	} {
		if got, err := int64Of(json.RawMessage(text)); err != nil || got != want {
			t.Errorf("%s: got %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "null", "true", `"1"`, "[1]", "1.5", "9223372036854775808", "-9223372036854775809",
		"1e5", "1E999999999"} {
		if got, err := int64Of(json.RawMessage(text)); err == nil {
			t.Errorf("%s was read as %d", text, got)
		}
	}
}

func TestArrayLiteral(t *testing.T) {
	t.Parallel()
	got := arrayLiteral([]string{"a", `q"b\c`, "{,}", "NULL", " é "})
	if want := `{"a","q\"b\\c","{,}","NULL"," é "}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
