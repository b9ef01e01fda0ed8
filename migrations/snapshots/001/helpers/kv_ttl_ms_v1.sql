-- kv_ttl_ms_v1: the lifetime that a checked op declares, in milliseconds; NULL is for ever.
create or replace function queen.kv_ttl_ms_v1(p_op jsonb) returns bigint
language sql immutable parallel safe
begin atomic
  select coalesce((p_op -> 'ttlMs')::bigint, (p_op -> 'ttlSeconds')::bigint * 1000);
end;
comment on function queen.kv_ttl_ms_v1(jsonb) is 'The lifetime a checked op declares, in milliseconds; NULL is for ever.';
