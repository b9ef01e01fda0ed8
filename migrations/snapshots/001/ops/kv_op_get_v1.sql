-- kv_op_get_v1: the op get, checked by the caller (kv_apply_v1). Locks nothing and always answers, whatever the read budget.
create or replace function queen.kv_op_get_v1(p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_result jsonb;
begin
  select jsonb_build_object('index', p_index, 'op', 'get', 'found', true, 'key', kv.key, 'value', kv.value,
    'version', kv.version, 'expiresAt', queen.kv_time_v1(kv.expires_at), 'updatedAt', queen.kv_time_v1(kv.updated_at))
  into v_result
  from queen.kv
  where kv.tenant_id = p_tenant and kv.namespace = (p_op ->> 'ns') collate "C" and kv.key = (p_op ->> 'key') collate "C"
    and queen.kv_live_v1(kv.expires_at, p_now);
  if not found then
    return jsonb_build_object('index', p_index, 'op', 'get', 'found', false, 'key', p_op -> 'key');
  end if;
  return v_result;
end;
$$;
comment on function queen.kv_op_get_v1(jsonb, integer, uuid, timestamptz) is 'The op get of kv_apply_v1, already checked.';
