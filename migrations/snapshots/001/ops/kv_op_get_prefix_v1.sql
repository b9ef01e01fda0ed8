-- kv_op_get_prefix_v1: the op getPrefix, checked by the caller (kv_apply_v1).
--
-- A page of live rows whose key starts with the prefix, in byte order, from after (exclusive). It ends at limit rows or where
-- p_budget (bytes of value text; keysOnly spends nothing) is spent, but never before its first row, so that truncated: true
-- always comes with a nextAfter that leads on.
--
-- starts_with decides; the two bounds only drive the primary key. They are plain variables, so that they are index conditions
-- in a generic plan too, and the lower one is greatest(prefix, after): the last page costs what the first does. Values become
-- text one by one as the loop reads them, in a fenced query (OFFSET 0), once. The result is text, which the caller makes jsonb
-- once.
create or replace function queen.kv_op_get_prefix_v1(
  p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz, inout p_budget bigint, out result text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ns constant text := p_op ->> 'ns';
  v_prefix constant text := p_op ->> 'prefix';
  v_after constant text := coalesce(p_op ->> 'after', '');
  v_from constant text := greatest(v_prefix collate "C", v_after collate "C");
  v_to constant text := queen.kv_prefix_end_v1(v_prefix);
  v_limit constant integer := queen.kv_page_limit_v1(p_op -> 'limit');
  v_keys_only constant boolean := p_op @> '{"keysOnly": true}';
  v_rows text[] := '{}';
  v_next_after text;
  v_truncated boolean := false;
  v_row record;
begin
  for v_row in
    select f.key, octet_length(f.value) as size, queen.kv_row_v1(f.key, f.value, f.version, f.expires_at, f.updated_at) as shown
    from (
      select s.key, case when not v_keys_only then s.value::text end as value, s.version, s.expires_at, s.updated_at
      from (
        select kv.key, kv.value, kv.version, kv.expires_at, kv.updated_at
        from queen.kv
        where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C"
          and kv.key >= v_from collate "C" and kv.key < v_to collate "C"
          and kv.key <> v_after collate "C"
          and starts_with(kv.key, v_prefix)
          and queen.kv_live_v1(kv.expires_at, p_now)
        order by kv.key
        limit v_limit + 1
      ) as s
      offset 0
    ) as f
  loop
    v_truncated := cardinality(v_rows) = v_limit
                or p_budget <= 0 and not v_keys_only and v_rows <> '{}';
    exit when v_truncated;
    v_rows := v_rows || v_row.shown;
    v_next_after := v_row.key;
    p_budget := p_budget - coalesce(v_row.size, 0);
  end loop;
  result := '{"index": ' || p_index || ', "op": "getPrefix", "rows": [' || array_to_string(v_rows, ', ') || '], "truncated": '
    || to_json(v_truncated)::text || ', "nextAfter": ' || coalesce(case when v_truncated then to_json(v_next_after)::text end, 'null') || '}';
end;
$$;
comment on function queen.kv_op_get_prefix_v1(jsonb, integer, uuid, timestamptz, bigint) is
  'The op getPrefix of kv_apply_v1, already checked; answers the result, as text, and what is left of the read budget.';
