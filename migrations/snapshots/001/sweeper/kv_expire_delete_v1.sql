-- kv_expire_delete_v1: deletes rows that this transaction has locked, found by their ctid and looked at once more; answers how many.
--
-- The settings leave the planner one plan. From old statistics it would read all of an index for each step, and compare each
-- row with all of p_rows.
create or replace function queen.kv_expire_delete_v1(p_rows tid[], p_now timestamptz) returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_indexscan = off
set enable_indexonlyscan = off
set enable_tidscan = on
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  v_deleted bigint;
begin
  delete from queen.kv
  where kv.ctid = any (p_rows) and not queen.kv_live_v1(kv.expires_at, p_now);
  get diagnostics v_deleted = row_count;
  return v_deleted;
end;
$$;
comment on function queen.kv_expire_delete_v1(tid[], timestamptz) is
  'Deletes rows that this transaction has locked, if they are expired, and answers how many.';
