package main

// The loop around the steps, and the program around the loop.
var sweeperLoop = []mutant{
	{
		name: "a long pass says done", file: "sweeper/pass.go",
		old: `p.from == "" && (step.Done || p.deleted == 0)`, new: `p.from == ""`,
		why:    "only what began at the beginning can say that nothing is left",
		killer: killer{"sweeper", "TestRunOnceDrains"},
	},
	{
		name: "each step begins anew", file: "sweeper/pass.go",
		old: "p.from = step.nextFrom", new: `p.from = ""`,
		why:    "a pass goes on from nextFrom, or an old snapshot makes a drain quadratic",
		killer: killer{"sweeper", "TestRunPasses"},
	},
	{
		name: "a timeout changes nothing", file: "sweeper/pass.go",
		old: "p.batch.halve()", new: "p.batch.set(float64(p.batch.size))",
		why:    "a step that was too long is followed by a smaller one",
		killer: killer{"sweeper", "TestRunErrors"},
	},
	{
		name: "no rests in a drain", file: "sweeper/pace.go",
		old: "if d.worked < burst {", new: "if true {",
		why:    "Run keeps to its share of the time, or what the application does beside it waits",
		killer: killer{"sweeper", "TestRunDutyCycle"},
	},
	{
		name: "rests while it falls behind", file: "sweeper/pace.go",
		old: "if before > 0 && lag >= before {", new: "if before < 0 {",
		why:    "a backlog that grows is not left to grow for the sake of rests",
		killer: killer{"sweeper", "TestRunDutyCycle"},
	},
	{
		name: "a rest after each step", file: "sweeper/pace.go",
		old: "burst = 500 * time.Millisecond", new: "burst = time.Millisecond",
		why:    "rests are few: many made puts slower than none",
		killer: killer{"sweeper", "TestRunRestsAfterBursts"},
	},
	{
		name: "an old lag is compared with", file: "sweeper/pace.go",
		old: "	d.lag = 0\n", new: "",
		why:    "the backlog of one drain says nothing about the next one",
		killer: killer{"sweeper", "TestDutyForgetsADrain"},
	},
	{
		name: "a budget is passed", file: "sweeper/pass.go",
		old: "if atMost > 0 && atMost < int64(size) {", new: "if atMost > 0 && atMost < 0 {",
		why:    "RunOnce deletes no more than its budget",
		killer: killer{"sweeper", "TestRunOnceBudgets"},
	},
	{
		name: "the timeout stays", file: "sweeper/step.go",
		old: "set_config('statement_timeout', $1::text, true)", new: "set_config('statement_timeout', $1::text, false)",
		why:    "behind a pooler in transaction mode a setting must not outlive its transaction",
		killer: killer{"tests/sweepergo", "TestStatementTimeout"},
	},
	{
		name: "stopping is an error", file: "sweeper/sweeper.go",
		old: "	if ctx.Err() != nil {\n		return\n	}\n", new: "",
		why:    "nobody is told of an error because the loop was stopped",
		killer: killer{"sweeper", "TestRunStops"},
	},
	{
		name: "measuring gives up", file: "sweeper/sweeper.go",
		old: "return t.fault.next()", new: "return t.sweeper.opts.UsageEvery",
		why:    "a step of measuring that failed is tried again soon",
		killer: killer{"sweeper", "TestRunUsage"},
	},
	{
		name: "what lasts is tried again", file: "sweeper/once.go",
		old: "if ClassOf(err).Lasting() || o.errors", new: "if o.errors",
		why:    "RunOnce tells at once what a person has to put right",
		killer: killer{"sweeper", "TestRunOnceErrors"},
	},
	{
		name: "rows are left, status 0", file: "cmd/kv-sweeper/once.go",
		old: "status: exitRowsLeft", new: "status: exitOK",
		why:    "cron can tell a drain from a budget that ran out",
		killer: killer{"tests/sweepergo", "TestOnce"},
	},
	{
		name: "a series for each tenant", file: "cmd/kv-sweeper/tenants.go",
		old: "case when rank <= $1::text::bigint then", new: "case when rank <= 1000 + $1::text::bigint then",
		why:    "a database of many tenants makes no more series than asked for",
		killer: killer{"tests/sweepergo", "TestMetricsAndHealth"},
	},
	{
		name: "the error of a success", file: "cmd/kv-sweeper/health.go",
		old: "	case h.last != nil:\n		problem = lineOf(h.last)\n", new: "",
		why:    "/readyz says why it isn't ready",
		killer: killer{"tests/sweepergo", "TestMetricsAndHealth"},
	},
}
