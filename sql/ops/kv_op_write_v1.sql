-- kv_op_write_v1: runs one checked write op; p_kind is the op's name. One expression, inlined where it is called.
create or replace function queen.kv_op_write_v1(
  p_kind text, p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz, p_restamp boolean) returns jsonb
language sql volatile
begin atomic
  select case p_kind collate "C"
    when 'incr'   then queen.kv_op_incr_v1(p_op, p_index, p_tenant, p_now, p_restamp)
    when 'touch'  then queen.kv_op_touch_v1(p_op, p_index, p_tenant, p_now, p_restamp)
    when 'delete' then queen.kv_op_delete_v1(p_op, p_index, p_tenant, p_now)
    else queen.kv_op_put_v1(p_op, p_index, p_tenant, p_now, p_restamp)
  end;
end;
comment on function queen.kv_op_write_v1(text, jsonb, integer, uuid, timestamptz, boolean) is 'Runs one checked write op.';
