-- kv_plain_op_v1: whether an op has good names and no field but these. A part of kv_plain_get_v1, kv_plain_put_v1 and
-- kv_plain_incr_v1, which ask the rules of the most usual ops in one inlined expression, so that kv_op_fault_v1, which costs
-- more than all the rest of such an op, need not be called. They say true or nothing: an op for which they are false or NULL
-- goes the long way, and what they ask are the rules' own functions.
create or replace function queen.kv_plain_op_v1(p_op jsonb, p_fields text[]) returns boolean
language sql stable parallel safe
begin atomic
  -- Small enough not to be nested deep: see kv_op_fault_v1.
  select pg_column_size(p_op) <= 8 * queen.kv_limit_v1('value_depth')
     and p_op - p_fields = '{}'
     and p_op @@ 'strict $.ns.type() == "string" && $.key.type() == "string"'
     and queen.kv_namespace_fault_v1(p_op ->> 'ns') is null
     and queen.kv_key_fault_v1(p_op ->> 'key') is null;
end;
comment on function queen.kv_plain_op_v1(jsonb, text[]) is
  'True for an op with good names and no other fields; false and NULL say nothing.';
