-- kv_usage_measure_v1: what a tenant stores: rows, expired ones that still lie there too, and the bytes of their values as they are
-- stored (compressed or not, in the row or beside it; nothing is unpacked). visited says how many rows were read for it.
--
-- Up to usage_exact_rows rows are counted, by the primary key. A tenant who has more is estimated (sampled is true) from about
-- usage_pages pages of the table taken at random, and is never said to have less than what was counted. The error is that of
-- a sample: with s of his rows in it about 1/sqrt(s), more where his rows lie side by side. In a table of no more pages than
-- that all of it is read, which is exact.
create or replace function queen.kv_usage_measure_v1(
  p_tenant uuid, out rows bigint, out bytes bigint, out sampled boolean, out visited bigint)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  v_exact constant bigint := queen.kv_limit_v1('usage_exact_rows');
  v_pages constant bigint := pg_relation_size('queen.kv') / current_setting('block_size')::bigint;
  v_percent constant double precision := least(100, 100.0 * queen.kv_limit_v1('usage_pages') / greatest(v_pages, 1));
  v_count bigint;
  v_sum bigint;
begin
  select count(*), coalesce(sum(pg_column_size(k.value)), 0)
  into rows, bytes
  from (select kv.value from queen.kv where kv.tenant_id = p_tenant limit v_exact + 1) as k;
  sampled := false;
  visited := rows;
  if rows > v_exact then
    select count(*), coalesce(sum(pg_column_size(kv.value)), 0)
    into v_count, v_sum
    from queen.kv tablesample system (v_percent)
    where kv.tenant_id = p_tenant;
    visited := visited + v_count;
    sampled := v_percent < 100;
    rows := greatest(rows, round(v_count * (100 / v_percent)));
    bytes := greatest(bytes, round(v_sum * (100 / v_percent)));
  end if;
end;
$$;
comment on function queen.kv_usage_measure_v1(uuid) is 'What a tenant stores: counted, or estimated where he has many rows.';
