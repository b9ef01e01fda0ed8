-- kv_op_get_v1: what the op get shows of a live row; no row where there is none. Inlined where it is called in FROM. Locks
-- nothing. kv_op_not_found_v1 is the result of a get that found nothing.
create or replace function queen.kv_op_get_v1(p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz)
returns table (result jsonb)
language sql stable rows 1
begin atomic
  select jsonb_build_object('index', p_index, 'op', 'get', 'found', true, 'key', kv.key, 'value', kv.value,
    'version', kv.version, 'expiresAt', queen.kv_time_v1(kv.expires_at), 'updatedAt', queen.kv_time_v1(kv.updated_at))
  from queen.kv
  where kv.tenant_id = p_tenant and kv.namespace = (p_op ->> 'ns') collate "C" and kv.key = (p_op ->> 'key') collate "C"
    and queen.kv_live_v1(kv.expires_at, p_now);
end;
comment on function queen.kv_op_get_v1(jsonb, integer, uuid, timestamptz) is 'What the op get shows of a live row.';

create or replace function queen.kv_op_not_found_v1(p_op jsonb, p_index integer) returns jsonb
language sql stable
begin atomic
  select jsonb_build_object('index', p_index, 'op', 'get', 'found', false, 'key', p_op -> 'key');
end;
comment on function queen.kv_op_not_found_v1(jsonb, integer) is 'The result of a get that found nothing.';
