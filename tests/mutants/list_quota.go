package main

// Quotas in the application: what is counted, when it is forgotten, who is refused.
var quotas = []mutant{
	{
		name: "released at 100%", file: "kvpg/quota/tenant.go",
		old: `n < *b.limit-*b.limit/10`, new: `n < *b.limit`,
		why:    "a tenant over his quota is released under 90% of it",
		killer: killer{"tests/quota", "TestReleasedUnder90"},
	},
	{
		name: "own writes are dropped at each reading", file: "kvpg/quota/tenant.go",
		old: `t.own.cover(r.at.Add(-within))`, new: `t.own.cover(r.at.Add(1 << 62))`,
		why:    "a measurement made before a write doesn't hold it",
		killer: killer{"tests/quota", "TestMeasurementBeforeTheWrite"},
	},
	{
		name: "open transactions are measured", file: "kvpg/quota/tenant.go",
		old: `t.own.cover(r.at.Add(-within))`, new: `t.own.cover(r.at)`,
		why:    "a measurement made while a write's transaction may be open doesn't hold it",
		killer: killer{"tests/quota", "TestBound$"},
	},
	{
		name: "measured when it was read", file: "kvpg/quota/refresh.go",
		old: `r.at = before.Add(-time.Duration(*row.Age) * time.Microsecond)`, new: `r.at = before`,
		why:    "how old a measurement is counts from its computed_at",
		killer: killer{"tests/quota", "TestBound$"},
	},
	{
		name: "a stamp in the future is believed", file: "kvpg/quota/refresh.go",
		old: `*row.Age >= 0 && `, new: ``,
		why:    "a measurement stamped in the future drops no write",
		killer: killer{"tests/quota", "TestMeasurementBeforeTheWrite"},
	},
	{
		name: "the smaller value counts", file: "kvpg/quota/ledger.go",
		old: `now := entry{amount{max(old.rows, a.rows), max(old.bytes, a.bytes)}, at}`, new: `now := entry{a, at}`,
		why:    "of several writes of a key, of which some may be rolled back, the largest counts",
		killer: killer{"tests/quota", "TestBound$"},
	},
	{
		name: "calls under way don't count", file: "kvpg/quota/tenant.go",
		old: `expected := settled.plus(t.inFlight)`, new: `expected := settled`,
		why:    "calls at once don't all take the same room",
		killer: killer{"tests/quota", "TestCallsUnderWay"},
	},
	{
		name: "deletes are refused", file: "kvpg/quota/apply.go",
		old: `case "put", "putIfAbsent":`, new: `case "put", "putIfAbsent", "delete":`,
		why:    "over quota get, delete and touch are never refused",
		killer: killer{"tests/quota", "TestNeverRefused"},
	},
	{
		name: "a lost answer means not written", file: "kvpg/quota/apply.go",
		old: "	if !errors.As(err, &e) {\n		return false\n", new: "	if !errors.As(err, &e) {\n		return true\n",
		why:    "a call whose answer was lost counts until a measurement tells",
		killer: killer{"tests/quota", "TestLostAnswer"},
	},
	{
		name: "a tenant is forgotten for another", file: "kvpg/quota/refresh.go",
		old:    "		default:\n			left++\n",
		new:    "		default:\n			left++\n			for id := range q.tenants {\n				delete(q.tenants, id)\n				break\n			}\n			t = &tenant{}\n			t.refresh(r, q.opts.CommitWithin)\n			q.tenants[r.tenant] = t\n",
		why:    "nobody is forgotten to make room for another",
		killer: killer{"tests/quota", "TestMaxTenants"},
	},
	{
		name: "no grant is fine", file: "kvpg/quota/enforcer.go",
		old: `if t == nil && !q.opts.RequireGrant {`, new: `if t == nil {`,
		why:    "where a grant is required, who has none is refused",
		killer: killer{"tests/quota", "TestMaxTenants"},
	},
	{
		name: "bytes of the text", file: "kvpg/quota/size.go",
		old: `int64(header + len(text) + perValue*values)`, new: `int64(len(text))`,
		why:    "what counts for a value is no less than what is measured",
		killer: killer{"tests/quota", "TestBytes$"},
	},
	{
		name: "everybody reads at once", file: "kvpg/quota/enforcer.go",
		old: `(0.8 + 0.4*rand.Float64())`, new: `(1 + 0*rand.Float64())`,
		why:    "the interval of readings is jittered",
		killer: killer{"tests/quota", "TestRun"},
	},
}
