-- kv_op_get_many_v1: the op getMany, checked by the caller (kv_apply_v1).
--
-- Each distinct key is answered once: in rows (byte order), or in missing (input order) when nothing is alive; both come from
-- one statement. Rows are given while any of p_budget (bytes of value text) is left, the one that straddles is kept, and the
-- first one always; what is cut is in neither list, and truncated says so.
--
-- The statement gives the missing keys first and then the rows, whose values are detoasted one by one as the loop reads
-- them, so that reading stops (but for the loop's read-ahead of 50 rows) where the budget ends. The inner queries are fenced by
-- OFFSET 0: the sort must see values that are still in their TOAST form, and each becomes text once. The result is text, which
-- the caller makes jsonb once.
create or replace function queen.kv_op_get_many_v1(
  p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz, inout p_budget bigint, out result text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ns constant text := p_op ->> 'ns';
  v_rows text[] := '{}';
  v_missing jsonb[] := '{}';
  v_truncated boolean := false;
  v_row record;
begin
  for v_row in
    select f.key, octet_length(f.value) as size,
      queen.kv_row_v1(f.key, f.value, f.version, f.expires_at, f.updated_at) as shown -- NULL where nothing is alive
    from (
      select s.key, s.value::text as value, s.version, s.expires_at, s.updated_at
      from (
        select k.key, kv.value, kv.version, kv.expires_at, kv.updated_at
        from (
          select e.key collate "C" as key, min(e.position) as position
          from jsonb_array_elements_text(p_op -> 'keys') with ordinality as e (key, position)
          group by e.key collate "C"
        ) as k
        left join queen.kv
          on kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = k.key
          and queen.kv_live_v1(kv.expires_at, p_now)
        order by kv.key is not null, case when kv.key is null then k.position end, k.key
        offset 0
      ) as s
      offset 0
    ) as f
  loop
    if v_row.shown is null then
      v_missing := v_missing || to_jsonb(v_row.key);
    elsif p_budget > 0 or v_rows = '{}' then
      v_rows := v_rows || v_row.shown;
      p_budget := p_budget - v_row.size;
    else
      v_truncated := true;
      exit;
    end if;
  end loop;
  result := '{"index": ' || p_index || ', "op": "getMany", "rows": [' || array_to_string(v_rows, ', ') || '], "missing": '
    || to_jsonb(v_missing)::text || ', "truncated": ' || to_jsonb(v_truncated)::text || '}';
end;
$$;
comment on function queen.kv_op_get_many_v1(jsonb, integer, uuid, timestamptz, bigint) is
  'The op getMany of kv_apply_v1, already checked; answers the result, as text, and what is left of the read budget.';
