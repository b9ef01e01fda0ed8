-- kv_op_get_few_v1: the op getMany, alone in its call and checked by the caller (kv_apply_v1), where each value that it finds is
-- small: read at once, and encoded once, as a row that jsonb is made of. NULL where nothing is alive, where a value takes more
-- than 2,000 bytes as it is stored or lies out of line, or where the read budget may cut: kv_op_get_many_v1 answers then, value
-- by value. pg_column_size detoasts nothing, and the inner query is fenced by OFFSET 0, so that it is asked first. Of small values with
-- long texts (compressed ones, numbers) all are read before the budget is looked at: at most 256, each below the value ceiling.
create or replace function queen.kv_op_get_few_v1(p_op jsonb, p_tenant uuid, p_now timestamptz) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ns constant text := p_op ->> 'ns';
  v_keys constant text[] := array(select jsonb_array_elements_text(p_op -> 'keys'));
begin
  return (
    select to_jsonb(array[answer])
    from (
      select 0 as index, 'getMany' as op, found.rows,
        case when found.count = cardinality(v_keys) then '{}' else array(
          select e.key from unnest(v_keys) with ordinality as e (key, position)
          group by e.key having e.key <> all (found.keys) order by min(e.position)
        ) end as missing,
        false as truncated
      from (
        select array_agg(r) as rows, array_agg(r.key) as keys, count(*) as count,
          sum(octet_length(r.value::text)) as size, bool_and(r.value is not null) as small
        from (
          select s.key, case when s.small then s.value end as value, s.version,
            queen.kv_time_v1(s.expires_at) as "expiresAt", queen.kv_time_v1(s.updated_at) as "updatedAt"
          from (
            select kv.key, kv.value, pg_column_size(kv.value) <= 2000 as small, kv.version, kv.expires_at, kv.updated_at
            from queen.kv
            where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = any (v_keys)
              and queen.kv_live_v1(kv.expires_at, p_now)
            order by kv.key
            offset 0
          ) as s
        ) as r
      ) as found
      where found.small and found.size <= queen.kv_limit_v1('read_bytes')
    ) as answer);
end;
$$;
comment on function queen.kv_op_get_few_v1(jsonb, uuid, timestamptz) is
  'The op getMany, already checked, where each value it finds is small: the results of its call; NULL where it is not.';
