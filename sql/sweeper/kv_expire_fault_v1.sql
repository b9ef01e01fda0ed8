-- kv_expire_fault_v1: NULL for good arguments of kv_expire_step_v1, else what is wrong. Whatever would look like a table without
-- expired rows is refused: no shards, a shard that no row has, no rows to delete.
create or replace function queen.kv_expire_fault_v1(
  p_shards smallint[], p_now timestamptz, p_max_rows integer, p_from timestamptz) returns text
language sql immutable parallel safe
begin atomic
  select case
    when coalesce(cardinality(p_shards), 0) = 0 then 'kv_bad_request p_shards must name at least one shard'
    when (0 <= all (p_shards) and 63 >= all (p_shards)) is not true then 'kv_bad_request a shard is a number from 0 to 63'
    when p_now is not null and not queen.kv_now_ok_v1(p_now) then 'kv_bad_request p_now must be finite and within the years 1 to 9899'
    when coalesce(p_max_rows, 0) not between 1 and queen.kv_limit_v1('sweep_rows') then
      'kv_bad_request p_max_rows must be from 1 to 1000000'
    when p_from is not null and not queen.kv_now_ok_v1(p_from) then 'kv_bad_request p_from must be the nextFrom of an earlier step, or NULL'
  end;
end;
comment on function queen.kv_expire_fault_v1(smallint[], timestamptz, integer, timestamptz) is
  'NULL for good arguments of kv_expire_step_v1, else what is wrong.';
