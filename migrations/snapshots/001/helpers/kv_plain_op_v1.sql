-- kv_plain_op_v1: whether an op has good names and is not nested deep. A part of kv_plain_get_v1, kv_plain_put_v1 and kv_plain_incr_v1,
-- which ask the rules of the most usual ops in one inlined expression of few steps, so that kv_op_fault_v1, which costs more than
-- all the rest of such an op, need not be called. They say true or nothing: an op for which they are false or NULL goes the
-- long way.
create or replace function queen.kv_plain_op_v1(p_op jsonb) returns boolean
language sql stable parallel safe
begin atomic
  -- Small enough not to be nested deep: see kv_op_fault_v1.
  select pg_column_size(p_op) <= 8 * queen.kv_limit_v1('value_depth')
     and p_op @@ queen.kv_names_path_v1()
     and octet_length(p_op ->> 'ns') <= queen.kv_limit_v1('namespace_bytes')
     and octet_length(p_op ->> 'key') <= queen.kv_limit_v1('key_bytes');
end;
comment on function queen.kv_plain_op_v1(jsonb) is 'True for an op with good names that is not nested deep; false and NULL say nothing.';
