-- kv_pattern_fault_v1: NULL for good arguments of a pattern that takes a list of keys and a lifetime, else the first fault, in the
-- order of kv_apply_v1's: the call, namespace, keys, lifetime; the number of keys last.
create or replace function queen.kv_pattern_fault_v1(p_ns text, p_keys text[], p_ttl_ms bigint, p_tenant uuid, p_now timestamptz)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(
    queen.kv_call_fault_v1('[]', p_tenant, p_now, false),
    queen.kv_namespace_fault_v1(p_ns),
    case when p_keys is null then 'kv_bad_request keys must be an array of strings' end,
    (select queen.kv_key_fault_v1(k.key) || ' (keys, position ' || k.ordinality - 1 || ')'
     from unnest(p_keys) with ordinality as k (key)
     where queen.kv_key_fault_v1(k.key) is not null
     order by k.ordinality limit 1),
    queen.kv_expiry_fault_v1(jsonb_build_object('ttlMs', p_ttl_ms)),
    case when cardinality(p_keys) > queen.kv_limit_v1('keys') then 'kv_too_many_keys a call takes at most 4096 keys' end);
end;
$$;
comment on function queen.kv_pattern_fault_v1(text, text[], bigint, uuid, timestamptz) is
  'NULL for good arguments of a pattern over a list of keys, else the fault.';
