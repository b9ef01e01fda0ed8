// Package static looks at the functions of the schema queen without running them: what plpgsql_check finds, whether the planner
// takes the SQL functions apart, and the rules that every function keeps. Each check is shown a function that breaks its rule.
package static
