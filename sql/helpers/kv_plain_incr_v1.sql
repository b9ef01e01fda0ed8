-- kv_plain_incr_v1: true for an incr by an integer, without bounds and required, that is evidently good; false and NULL say
-- nothing (see kv_plain_op_v1).
create or replace function queen.kv_plain_incr_v1(p_op jsonb) returns boolean
language sql stable parallel safe
begin atomic
  select queen.kv_plain_op_v1(p_op)
     and queen.kv_plain_expiry_v1(p_op, '{op,ns,key,delta}')
     and p_op @@ queen.kv_integer_path_v1('delta', -1000000000000000000, 1000000000000000000);
end;
comment on function queen.kv_plain_incr_v1(jsonb) is
  'True for an incr by an integer, without bounds, that is evidently good; false and NULL say nothing.';
