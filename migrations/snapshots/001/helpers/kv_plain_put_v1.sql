-- kv_plain_put_v1: true for a put or putIfAbsent without expect and required that is evidently good; false and NULL say nothing
-- (see kv_plain_op_v1).
create or replace function queen.kv_plain_put_v1(p_op jsonb) returns boolean
language sql stable parallel safe
begin atomic
  select queen.kv_plain_op_v1(p_op)
     and queen.kv_plain_expiry_v1(p_op, '{op,ns,key,value}')
     and p_op ? 'value'
     and (queen.kv_value_small_v1(p_op -> 'value') or queen.kv_value_fault_v1(p_op -> 'value') is null);
end;
comment on function queen.kv_plain_put_v1(jsonb) is
  'True for a put or putIfAbsent that is evidently good; false and NULL say nothing.';
