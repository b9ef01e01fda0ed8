-- kv_check_op_v1: refuses an op that is not good. Errors: those of kv_op_fault_v1.
create or replace function queen.kv_check_op_v1(p_op jsonb, p_index integer, p_in_wire boolean) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fault constant text := queen.kv_op_fault_v1(p_op, p_in_wire);
begin
  if v_fault is not null then
    perform queen.kv_refuse_v1(v_fault, p_index);
  end if;
end;
$$;
comment on function queen.kv_check_op_v1(jsonb, integer, boolean) is 'Refuses an op that is not good.';
