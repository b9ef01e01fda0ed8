-- kv_put_batch_v1: several unconditional puts of distinct keys in one statement, checked by the caller (kv_apply_v1), with exactly
-- the answers of kv_op_put_v1 one after the other. Answers the results in input order.
--
-- Only in READ COMMITTED: above it an INSERT that comes first can succeed beside a row that the snapshot still sees. The rows
-- are taken in ascending (namespace, key), like every write of a call. DO UPDATE is right here because there is no condition
-- that could be false.
create or replace function queen.kv_put_batch_v1(p_ops jsonb, p_tenant uuid, p_now timestamptz, p_restamp boolean) returns jsonb[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_results jsonb[];
  v_first_expiry timestamptz;
  v_op jsonb;
  v_index integer;
begin
  with op as materialized (
    select e.op, (e.position - 1)::integer as index, (e.op ->> 'ns') collate "C" as ns, (e.op ->> 'key') collate "C" as key,
      queen.kv_expiry_v1(p_now, queen.kv_ttl_ms_v1(e.op)) as expires_at, nextval('queen.kv_version_seq') as version
    from jsonb_array_elements(p_ops) with ordinality as e (op, position)
  ), written as (
    insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
    select p_tenant, op.ns, op.key, op.op -> 'value', op.version, op.expires_at, p_now, p_now from op order by op.ns, op.key
    on conflict (tenant_id, namespace, key) do update set
      value = excluded.value, version = excluded.version, expires_at = excluded.expires_at, updated_at = excluded.updated_at,
      created_at = case when queen.kv_live_v1(kv.expires_at, p_now) then kv.created_at else excluded.created_at end
  )
  select array_agg(queen.kv_verdict_v1(op.op, op.index, null, op.op -> 'value', op.version, op.expires_at) order by op.index),
    min(op.expires_at)
  into v_results, v_first_expiry from op;

  -- A wait so long that an expiry passed: stamp that key again, as kv_op_put_v1 does.
  if p_restamp and v_first_expiry <= clock_timestamp() then
    for v_op, v_index in
      select e.op, (e.position - 1)::integer from jsonb_array_elements(p_ops) with ordinality as e (op, position)
      where queen.kv_expiry_v1(p_now, queen.kv_ttl_ms_v1(e.op)) <= clock_timestamp()
    loop
      v_results[v_index + 1] := v_results[v_index + 1] || jsonb_build_object('expiresAt',
        queen.kv_time_v1(queen.kv_restamp_v1(p_tenant, v_op ->> 'ns', v_op ->> 'key', queen.kv_ttl_ms_v1(v_op))));
    end loop;
  end if;
  return v_results;
end;
$$;
comment on function queen.kv_put_batch_v1(jsonb, uuid, timestamptz, boolean) is
  'Several unconditional puts of distinct keys in one statement; READ COMMITTED only.';
