package kvpg

import (
	"encoding/hex"
	"fmt"
)

const maxNamespaceBytes = 64

// Namespace names a set of keys of one tenant. It is made once, by [NewNamespace], and kept in a package variable:
//
//	var orders = kvpg.NewNamespace("orders")
//
// It is a plain value: copy it, compare it, use it from many goroutines.
type Namespace struct {
	name   string
	tenant [16]byte
}

// defaultTenant is 00000000-0000-0000-0000-000000000001, the default of p_tenant in SQL.
var defaultTenant = [16]byte{15: 1}

// NewNamespace gives the namespace of that name for the default tenant, 00000000-0000-0000-0000-000000000001.
//
// A name is 1 to 64 bytes of lower-case ASCII letters, digits, dot, underscore and hyphen, and starts with a letter or a
// digit. NewNamespace panics on any other: a name is written in the program, not taken from a request.
func NewNamespace(name string) Namespace {
	if !validNamespace(name) {
		panic(fmt.Sprintf("kvpg: bad namespace name %q", name))
	}
	return Namespace{name: name, tenant: defaultTenant}
}

// For gives the namespace of the same name that belongs to tenant. The receiver is unchanged. A UUID type whose underlying
// type is [16]byte can be passed as it is.
func (ns Namespace) For(tenant [16]byte) Namespace {
	ns.tenant = tenant
	return ns
}

// Name gives the namespace's name; it is empty for the zero Namespace, which every operation refuses.
func (ns Namespace) Name() string { return ns.name }

// Tenant gives the tenant's UUID.
func (ns Namespace) Tenant() [16]byte { return ns.tenant }

// String gives the tenant's UUID and the name, for logs.
func (ns Namespace) String() string { return ns.tenantText() + "/" + ns.name }

// tenantText is the UUID in its usual form. It crosses to the database as a string with a cast, which works in all of
// pgx's execution modes.
func (ns Namespace) tenantText() string {
	var b [36]byte
	t := ns.tenant
	hex.Encode(b[0:8], t[0:4])
	hex.Encode(b[9:13], t[4:6])
	hex.Encode(b[14:18], t[6:8])
	hex.Encode(b[19:23], t[8:10])
	hex.Encode(b[24:36], t[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

func validNamespace(name string) bool {
	if name == "" || len(name) > maxNamespaceBytes {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case c == '.' || c == '_' || c == '-':
			if i == 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}
