-- kv_op_incr_v1: the op incr, checked by the caller (kv_apply_v1).
--
-- Result: the verdict with the new number. The sum is taken from the row that the UPDATE has locked, so that an increment
-- without bounds applies on any number, whatever runs beside it. The expiry is written only when the key is created or was
-- expired: a live key keeps its own, or a fixed window would never close. Race and errors: as in kv_op_put_v1.
create or replace function queen.kv_op_incr_v1(
  p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz, p_restamp boolean) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ns constant text := p_op ->> 'ns';
  v_key constant text := p_op ->> 'key';
  v_delta constant numeric := (p_op -> 'delta')::numeric;
  v_min constant numeric := (p_op -> 'min')::numeric;
  v_max constant numeric := (p_op -> 'max')::numeric;
  v_ttl_ms constant bigint := queen.kv_ttl_ms_v1(p_op);
  v_expires_at constant timestamptz := queen.kv_expiry_v1(p_now, v_ttl_ms);
  v_seen record;
  v_new record;
  v_version bigint;
begin
  for v_round in 1 .. queen.kv_limit_v1('rounds') loop
    select kv.value, kv.version, kv.expires_at into v_seen
    from queen.kv
    where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C";

    if not found then
      if not queen.kv_incr_fits_v1(0, v_delta, v_min, v_max) then
        return queen.kv_lost_v1(p_op, p_index, 'limit', null, 0, null);
      end if;
      v_version := coalesce(v_version, nextval('queen.kv_version_seq'));
      insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
      values (p_tenant, v_ns, v_key, to_jsonb(trim_scale(v_delta)), v_version, v_expires_at, p_now, p_now)
      on conflict do nothing
      returning kv.value, kv.expires_at, true as fresh into v_new;
    else
      if not queen.kv_live_v1(v_seen.expires_at, p_now) then
        if not queen.kv_incr_fits_v1(0, v_delta, v_min, v_max) then
          return queen.kv_lost_v1(p_op, p_index, 'limit', null, 0, null);
        end if;
      elsif jsonb_typeof(v_seen.value) <> 'number' then
        return queen.kv_lost_v1(p_op, p_index, 'type', v_seen.value, v_seen.version, v_seen.expires_at);
      elsif not queen.kv_incr_fits_v1(v_seen.value::numeric, v_delta, v_min, v_max) then
        return queen.kv_lost_v1(p_op, p_index, 'limit', v_seen.value, v_seen.version, v_seen.expires_at);
      end if;
      v_version := coalesce(v_version, nextval('queen.kv_version_seq'));
      update queen.kv set
        value = to_jsonb(trim_scale(queen.kv_num_v1(kv.value, kv.expires_at, p_now) + v_delta)),
        version = v_version, updated_at = p_now,
        expires_at = case when queen.kv_live_v1(kv.expires_at, p_now) then kv.expires_at else v_expires_at end,
        created_at = case when queen.kv_live_v1(kv.expires_at, p_now) then kv.created_at else p_now end
      where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C"
        and (jsonb_typeof(kv.value) = 'number' collate "C" or not queen.kv_live_v1(kv.expires_at, p_now))
        and queen.kv_incr_fits_v1(queen.kv_num_v1(kv.value, kv.expires_at, p_now), v_delta, v_min, v_max)
      returning kv.value, kv.expires_at, kv.created_at = p_now as fresh into v_new;
    end if;

    if found then
      -- fresh: the row began with this op, so the expiry is the one it declared.
      if p_restamp and v_new.fresh and v_new.expires_at = v_expires_at and v_expires_at <= clock_timestamp() then
        v_new.expires_at := queen.kv_restamp_v1(p_tenant, v_ns, v_key, v_ttl_ms);
      end if;
      return queen.kv_verdict_v1(p_op, p_index, null, v_new.value, v_version, v_new.expires_at);
    end if;
  end loop;
  perform queen.kv_refuse_v1('kv_contended the row changed hands 16 times during this op; retry the transaction', p_index);
end;
$$;
comment on function queen.kv_op_incr_v1(jsonb, integer, uuid, timestamptz, boolean) is 'The op incr of kv_apply_v1, already checked.';
