-- kv_value_small_v1: whether a value is so evidently within value_bytes that kv_value_fault_v1 need not be asked: a string, no
-- byte of which is more than six bytes of JSON text. The text of a number, or of what is nested, is not that plain.
create or replace function queen.kv_value_small_v1(p_value jsonb) returns boolean
language sql stable parallel safe
begin atomic
  select jsonb_typeof(p_value) = 'string' collate "C" and pg_column_size(p_value) <= queen.kv_limit_v1('value_bytes') / 6;
end;
comment on function queen.kv_value_small_v1(jsonb) is 'Whether a value is evidently within the ceiling; false says nothing.';
