-- 025_kv_patterns.sql: what people come for, over the same table and the same rules, a file each in patterns/:
--
--   once       kv_once_begin_v1, kv_once_end_v1: an effect at most once a key; later callers get the stored result.
--   limiter    kv_limiter_v1: so many a window and key, a verdict for each key of the call.
--   lease      kv_lease_acquire_v1, kv_lease_renew_v1, kv_lease_guard_v1, kv_lease_release_v1: one holder at a time, for a time.
--   dedupe     kv_dedupe_v1: which keys of a list are new.
--
-- Applications call them, from any language, one round trip a call, and the driver's functions are those calls. Invariants:
--   rows       a pattern's state is an ordinary row: a counter is incr's number, a lease is what putIfAbsent stored. What reads,
--              deletes or counts such a row by kv_apply_v1 sees it, and is seen.
--   rules      those of kv_apply_v1: existence, one instant a call, look first and then write with the precondition repeated, 16
--              rounds, no lock and no WAL for who loses on a committed live row, ascending byte order within a call.
--   verdicts   losing is an answer, not an error. Two raise, because what came before must not be committed: kv_once_end_v1
--              (kv_once_lost) and kv_lease_guard_v1 (kv_lease_lost).
--   faults     the arguments are checked first, with kv_apply_v1's codes; keys are counted last (kv_too_many_keys).
{{ template "patterns/once.sql" . }}
{{ template "patterns/kv_pattern_fault_v1.sql" . }}
{{ template "patterns/limiter.sql" . }}
{{ template "patterns/lease.sql" . }}
{{ template "patterns/dedupe.sql" . }}
