-- kv_value_small_v1: whether a value is so small that it may be cast to text, and is then within value_bytes; kv_value_fault_v1 need
-- not be asked. 1,280 bytes hold at most 105 numbers, so that the text can't be more than 14 MB, and are not nested deep.
create or replace function queen.kv_value_small_v1(p_value jsonb) returns boolean
language sql stable parallel safe
begin atomic
  select pg_column_size(p_value) <= 1280 and octet_length(p_value::text) <= queen.kv_limit_v1('value_bytes');
end;
comment on function queen.kv_value_small_v1(jsonb) is 'Whether a value is small, and within the ceiling; false says nothing.';
