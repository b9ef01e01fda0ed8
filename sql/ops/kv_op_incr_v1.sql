-- kv_op_incr_v1: the op incr, checked by the caller (kv_apply_v1).
--
-- Result: the verdict with the new number. The expiry is written only when the key is created or was expired: a live key
-- keeps its own, or a fixed window would never close.
-- Race: the UPDATE holds for the very row image that the sum was made from (version, and expiry, which touch moves alone). When
-- it waited for a writer and that image is gone, it changes nothing but has locked the row, so that the next round's image
-- stays: an increment without bounds applies on any number, whatever runs beside it.
-- p_round is 1, or 2 when the caller has lost a round of its own.
-- Errors: as in kv_op_put_v1.
create or replace function queen.kv_op_incr_v1(
  p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz, p_restamp boolean, p_round integer) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ns constant text := p_op ->> 'ns';
  v_key constant text := p_op ->> 'key';
  v_delta constant numeric := (p_op -> 'delta')::numeric;
  v_ttl_ms constant bigint := queen.kv_ttl_ms_v1(p_op);
  v_seen record;
  v_found boolean;
  v_live boolean;
  v_sum numeric;
  v_new jsonb;
  v_expires_at timestamptz;
  v_version bigint;
begin
  for v_round in p_round .. queen.kv_limit_v1('rounds') loop
    if v_round > 2 then
      -- Beaten twice between the look and the UPDATE: hold the row, so that the next look stays true.
      perform from queen.kv
      where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C"
      for no key update;
    end if;
    select kv.value, kv.version, kv.expires_at into v_seen
    from queen.kv
    where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C";
    v_found := found;
    v_live := v_found and queen.kv_live_v1(v_seen.expires_at, p_now);

    if v_live and jsonb_typeof(v_seen.value) <> 'number' then
      return queen.kv_lost_v1(p_op, p_index, 'type', v_seen.value, v_seen.version, v_seen.expires_at);
    end if;
    v_sum := queen.kv_num_v1(v_seen.value, v_seen.expires_at, p_now) + v_delta;
    if not queen.kv_incr_fits_v1(v_sum, v_delta, (p_op -> 'min')::numeric, (p_op -> 'max')::numeric) then
      return case
        when v_live then queen.kv_lost_v1(p_op, p_index, 'limit', v_seen.value, v_seen.version, v_seen.expires_at)
        else queen.kv_lost_v1(p_op, p_index, 'limit', null, 0, null)
      end;
    end if;

    v_new := to_jsonb(trim_scale(v_sum));
    v_expires_at := case when v_live then v_seen.expires_at else queen.kv_expiry_v1(p_now, v_ttl_ms) end;
    v_version := coalesce(v_version, nextval('queen.kv_version_seq'));
    if v_found then
      update queen.kv set
        value = v_new, version = v_version, expires_at = v_expires_at, updated_at = p_now,
        created_at = case when v_live then kv.created_at else p_now end
      where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C"
        and kv.version = v_seen.version and kv.expires_at is not distinct from v_seen.expires_at;
    else
      insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
      values (p_tenant, v_ns, v_key, v_new, v_version, v_expires_at, p_now, p_now)
      on conflict do nothing;
    end if;

    if found then
      if p_restamp and not v_live and v_expires_at <= clock_timestamp() then
        v_expires_at := queen.kv_restamp_v1(p_tenant, v_ns, v_key, v_ttl_ms);
      end if;
      return queen.kv_verdict_v1(p_op, p_index, null, v_new, v_version, v_expires_at);
    end if;
  end loop;
  perform queen.kv_contended_v1(p_index);
end;
$$;
comment on function queen.kv_op_incr_v1(jsonb, integer, uuid, timestamptz, boolean, integer) is 'The op incr of kv_apply_v1, already checked.';
