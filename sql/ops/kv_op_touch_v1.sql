-- kv_op_touch_v1: the op touch, checked by the caller (kv_apply_v1).
--
-- Result: the verdict. Moves the expiry of a live row and nothing else: value, version and updated_at stay, so that a lease
-- renewed by its version is still held by it. `expect: 0` never applies. Race and errors: as in kv_op_put_v1; the
-- precondition is repeated on the row that was locked, and value and version are that row's.
create or replace function queen.kv_op_touch_v1(
  p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz, p_restamp boolean) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ns constant text := p_op ->> 'ns';
  v_key constant text := p_op ->> 'key';
  v_expect constant bigint := (p_op -> 'expect')::bigint;
  v_ttl_ms constant bigint := queen.kv_ttl_ms_v1(p_op);
  v_expires_at timestamptz := queen.kv_expiry_v1(p_now, v_ttl_ms);
  v_seen record;
  v_reason text;
begin
  for v_round in 1 .. queen.kv_limit_v1('rounds') loop
    select kv.value, kv.version, kv.expires_at into v_seen
    from queen.kv
    where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C";

    if not found or not queen.kv_live_v1(v_seen.expires_at, p_now) then
      return queen.kv_lost_v1(p_op, p_index, 'absent', null, 0, null);
    end if;
    v_reason := queen.kv_lost_reason_v1(v_expect, v_seen.version);
    if v_reason is not null then
      return queen.kv_lost_v1(p_op, p_index, v_reason, v_seen.value, v_seen.version, v_seen.expires_at);
    end if;
    update queen.kv set expires_at = v_expires_at
    where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C"
      and queen.kv_live_v1(kv.expires_at, p_now) and (v_expect is null or kv.version = v_expect)
    returning kv.value, kv.version, kv.expires_at into v_seen;

    if found then
      if p_restamp and v_expires_at <= clock_timestamp() then
        v_expires_at := queen.kv_restamp_v1(p_tenant, v_ns, v_key, v_ttl_ms);
      end if;
      return queen.kv_verdict_v1(p_op, p_index, null, v_seen.value, v_seen.version, v_expires_at);
    end if;
  end loop;
  perform queen.kv_contended_v1(p_index);
end;
$$;
comment on function queen.kv_op_touch_v1(jsonb, integer, uuid, timestamptz, boolean) is 'The op touch of kv_apply_v1, already checked.';
