package kvpg

import (
	"cmp"
	"context"
	"time"
)

// Lease is the right to be the only one, for a time. It is a plain value: keep it, copy it, write its token down to go on with it in
// another process.
type Lease struct {
	Namespace Namespace
	Key       string

	// Token says that it is this holder's. It is compared for equality alone: it is not a fencing number, since a later
	// holder's may be the smaller one. So no system outside the database can be protected by it; see [Lease.Guard].
	Token Version

	// Owner is the holder's name, for people to read. It decides nothing.
	Owner string

	// ExpiresAt is when it ends, by the database's clock: to be shown, not to be compared with this machine's clock.
	ExpiresAt time.Time
}

// LeaseOptions are the options of [AcquireLease].
type LeaseOptions struct {
	// Owner is a name for people who look who has it: a host, a process. Up to 2,048 bytes, empty by default.
	Owner string
}

const (
	acquireLeaseSQL = `select acquired, coalesce(token, 0), owner, (extract(epoch from expires_at) * 1000000)::bigint
  from queen.kv_lease_acquire_v1($1::text, $2::text, $3::text, $4::bigint, $5::uuid)`

	renewLeaseSQL = `select (extract(epoch from queen.kv_lease_renew_v1($1::text, $2::text, $3::bigint, $4::bigint, $5::uuid)) * 1000000)::bigint`

	releaseLeaseSQL = `select queen.kv_lease_release_v1($1::text, $2::text, $3::bigint, $4::uuid)`

	guardLeaseSQL = `select (extract(epoch from queen.kv_lease_guard_v1($1::text, $2::text, $3::bigint, $4::uuid)) * 1000000)::bigint`
)

// AcquireLease takes the lease of key for ttl, if nobody has it. ok is false when somebody does, and then the Lease tells who and until
// when, and has no Token. Of several callers at once exactly one gets it. One who is refused waits for nobody; it asks again later.
//
// Give it a pool or a connection: in a transaction the lease is nobody's until that commits. ttl is rounded up to milliseconds and
// must outlive a pause of the holder: what has run out is lost even when nobody took it. To hold a lease while a function runs see
// package kvpg/lease.
func AcquireLease(ctx context.Context, db DB, ns Namespace, key string, ttl time.Duration, opts *LeaseOptions) (lease Lease, ok bool, err error) {
	if opts == nil {
		opts = &LeaseOptions{}
	}
	ms, fault := checkLease(ns, key, ttl)
	if fault == nil {
		if problem := textProblem(opts.Owner); problem != "" {
			fault = ofNoOp(refuse(ErrBadRequest, "the owner "+problem))
		} else if len(opts.Owner) > maxKeyBytes {
			fault = ofNoOp(refuse(ErrValueTooLarge, "owner must be at most 2048 bytes"))
		}
	}
	if fault != nil {
		return Lease{}, false, fault
	}
	lease = Lease{Namespace: ns, Key: key}
	var owner *string
	var expires *int64
	err = db.QueryRow(ctx, acquireLeaseSQL, ns.name, key, opts.Owner, ms, ns.tenantText()).Scan(&ok, &lease.Token.n, &owner, &expires)
	if err != nil {
		return Lease{}, false, mapError(err)
	}
	if owner != nil { // a row that is no lease may hold JSON null
		lease.Owner = *owner
	}
	lease.ExpiresAt = instant(expires)
	return lease, ok, nil
}

// Renew lets the lease last for ttl from now. held is false when it is lost, because its time ran out or somebody released or took it;
// it is then never this holder's again. The Lease that comes back is the one given, with its new end.
//
// It waits while a transaction that called [Lease.Guard] is open.
func (l Lease) Renew(ctx context.Context, db DB, ttl time.Duration) (renewed Lease, held bool, err error) {
	ms, fault := checkLease(l.Namespace, l.Key, ttl)
	if fault != nil {
		return l, false, fault
	}
	var expires *int64
	err = db.QueryRow(ctx, renewLeaseSQL, l.Namespace.name, l.Key, l.Token.n, ms, l.Namespace.tenantText()).Scan(&expires)
	if err != nil || expires == nil {
		return l, false, mapError(err)
	}
	l.ExpiresAt = instant(expires)
	return l, true, nil
}

// Release gives the lease back. held is false when it was lost before, and then nothing is changed, whoever has it now.
func (l Lease) Release(ctx context.Context, db DB) (held bool, err error) {
	if _, fault := checkLease(l.Namespace, l.Key, time.Second); fault != nil {
		return false, fault
	}
	err = db.QueryRow(ctx, releaseLeaseSQL, l.Namespace.name, l.Key, l.Token.n, l.Namespace.tenantText()).Scan(&held)
	return held, mapError(err)
}

// Guard makes tx a transaction that commits only as the holder: call it in the transaction of every effect that the lease is to
// protect. With [ErrLeaseLost] tx is aborted, and whatever it did is rolled back.
//
// Guard locks the lease's row until tx ends. So no later holder gets the lease before tx has committed or rolled back, even if its time
// runs out meanwhile, and none had it before: what guarded transactions of two holders did is never mixed. Effects outside this
// database are not protected.
//
// The lock makes the holder's own Renew and Release wait too. Guard last, just before Commit, or keep tx shorter than the lease.
// Above READ COMMITTED a lease that was renewed after tx took its snapshot is SQLSTATE 40001 ([IsRetryable]): guard first there.
func (l Lease) Guard(ctx context.Context, tx Tx) error {
	if _, fault := checkLease(l.Namespace, l.Key, time.Second); fault != nil {
		return fault
	}
	var expires *int64
	return mapError(tx.QueryRow(ctx, guardLeaseSQL, l.Namespace.name, l.Key, l.Token.n, l.Namespace.tenantText()).Scan(&expires))
}

func checkLease(ns Namespace, key string, ttl time.Duration) (ms int64, fault *Error) {
	fault = cmp.Or(checkNamespace(ns), checkKey(key))
	if fault == nil {
		ms, fault = ttlMillis(ttl)
	}
	return ms, ofNoOp(fault)
}
