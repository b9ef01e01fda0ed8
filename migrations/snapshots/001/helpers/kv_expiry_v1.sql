-- kv_expiry_v1: when something that is written at p_from with this lifetime ends. A NULL lifetime is for ever (NULL).
create or replace function queen.kv_expiry_v1(p_from timestamptz, p_ttl_ms bigint) returns timestamptz
language sql stable parallel safe
begin atomic
  select p_from + p_ttl_ms * interval '1 millisecond';
end;
comment on function queen.kv_expiry_v1(timestamptz, bigint) is 'p_from plus a lifetime in milliseconds; NULL is for ever.';
