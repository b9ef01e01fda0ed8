-- kv_plain_get_v1: true for a get that is evidently good; false and NULL say nothing (see kv_plain_op_v1).
create or replace function queen.kv_plain_get_v1(p_op jsonb) returns boolean
language sql stable parallel safe
begin atomic
  select queen.kv_plain_op_v1(p_op) and p_op - '{op,ns,key}'::text[] = '{}';
end;
comment on function queen.kv_plain_get_v1(jsonb) is 'True for a get that is evidently good; false and NULL say nothing.';
