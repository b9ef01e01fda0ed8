-- kv_op_delete_v1: the op delete, checked by the caller (kv_apply_v1).
--
-- Result: the verdict; applied shows the value and version deleted (null and 0 under `expect: 0`). An expired row is removed
-- whatever the verdict, which is the one of an absent key. Race and errors: as in kv_op_put_v1.
create or replace function queen.kv_op_delete_v1(
  p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ns constant text := p_op ->> 'ns';
  v_key constant text := p_op ->> 'key';
  v_expect constant bigint := (p_op -> 'expect')::bigint;
  v_seen record;
  v_reason text;
begin
  for v_round in 1 .. queen.kv_limit_v1('rounds') loop
    select kv.value, kv.version, kv.expires_at into v_seen
    from queen.kv
    where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C";

    if found and queen.kv_live_v1(v_seen.expires_at, p_now) then
      v_reason := queen.kv_lost_reason_v1(v_expect, v_seen.version);
      if v_reason is not null then
        return queen.kv_lost_v1(p_op, p_index, v_reason, v_seen.value, v_seen.version, v_seen.expires_at);
      end if;
      delete from queen.kv
      where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C"
        and queen.kv_live_v1(kv.expires_at, p_now) and (v_expect is null or kv.version = v_expect)
      returning kv.value, kv.version, kv.expires_at into v_seen;
      if found then
        return queen.kv_verdict_v1(p_op, p_index, null, v_seen.value, v_seen.version, v_seen.expires_at);
      end if;
    else
      if found then
        delete from queen.kv
        where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C"
          and not queen.kv_live_v1(kv.expires_at, p_now);
        continue when not found;
      end if;
      if v_expect = 0 then
        return queen.kv_verdict_v1(p_op, p_index, null, null, 0, null);
      end if;
      return queen.kv_lost_v1(p_op, p_index, 'absent', null, 0, null);
    end if;
  end loop;
  perform queen.kv_contended_v1(p_index);
end;
$$;
comment on function queen.kv_op_delete_v1(jsonb, integer, uuid, timestamptz) is 'The op delete of kv_apply_v1, already checked.';
