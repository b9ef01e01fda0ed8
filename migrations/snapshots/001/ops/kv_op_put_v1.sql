-- kv_op_put_v1: the ops put and putIfAbsent, checked by the caller (kv_apply_v1).
--
-- Result: the verdict (kv_verdict_v1). Race: the row is read first, in a statement of its own, and decides; a row that was seen
-- is changed by an UPDATE that repeats the precondition, so that after a wait it holds for the row that was locked; when nothing
-- was changed, read and decide again. A loser on a committed live row locks nothing and draws no version. (Where a put has
-- nothing to decide, in READ COMMITTED, kv_apply_v1 and kv_put_batch_v1 may write it in one statement.)
-- Errors: 23514 for a lost `required`, 40001 when the row changes hands too often.
create or replace function queen.kv_op_put_v1(
  p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz, p_restamp boolean) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ns constant text := p_op ->> 'ns';
  v_key constant text := p_op ->> 'key';
  v_expect constant bigint := case p_op ->> 'op' when 'putIfAbsent' then 0 else (p_op -> 'expect')::bigint end;
  v_ttl_ms constant bigint := queen.kv_ttl_ms_v1(p_op);
  v_expires_at timestamptz := queen.kv_expiry_v1(p_now, v_ttl_ms);
  v_seen record;
  v_found boolean;
  v_reason text;
  v_version bigint;
begin
  for v_round in 1 .. queen.kv_limit_v1('rounds') loop
    select kv.value, kv.version, kv.expires_at into v_seen
    from queen.kv
    where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C";
    v_found := found;
    v_reason := queen.kv_lost_reason_v1(v_expect, queen.kv_ver_v1(v_seen.version, v_seen.expires_at, p_now));
    if v_reason = 'absent' then
      return queen.kv_lost_v1(p_op, p_index, v_reason, null, 0, null);
    elsif v_reason is not null then
      return queen.kv_lost_v1(p_op, p_index, v_reason, v_seen.value, v_seen.version, v_seen.expires_at);
    end if;

    v_version := coalesce(v_version, nextval('queen.kv_version_seq'));
    if v_found then
      update queen.kv set
        value = p_op -> 'value', version = v_version, expires_at = v_expires_at, updated_at = p_now,
        created_at = case when queen.kv_live_v1(kv.expires_at, p_now) then kv.created_at else p_now end
      where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C"
        and (v_expect is null or queen.kv_ver_v1(kv.version, kv.expires_at, p_now) = v_expect);
    else
      insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
      values (p_tenant, v_ns, v_key, p_op -> 'value', v_version, v_expires_at, p_now, p_now)
      on conflict do nothing;
    end if;

    if found then
      if p_restamp and v_expires_at <= clock_timestamp() then
        v_expires_at := queen.kv_restamp_v1(p_tenant, v_ns, v_key, v_ttl_ms);
      end if;
      return queen.kv_verdict_v1(p_op, p_index, null, p_op -> 'value', v_version, v_expires_at);
    end if;
  end loop;
  perform queen.kv_contended_v1(p_index);
end;
$$;
comment on function queen.kv_op_put_v1(jsonb, integer, uuid, timestamptz, boolean) is
  'The ops put and putIfAbsent of kv_apply_v1, already checked.';
