-- kv_restamp_v1: stamps the expiry that an op of this transaction wrote once more, from the clock: the op waited for a lock so
-- long that what it wrote was dead at birth. The row is locked by the caller's own write. Answers the new expiry.
create or replace function queen.kv_restamp_v1(p_tenant uuid, p_ns text, p_key text, p_ttl_ms bigint) returns timestamptz
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_expires_at constant timestamptz := queen.kv_expiry_v1(clock_timestamp(), p_ttl_ms);
begin
  update queen.kv set expires_at = v_expires_at
  where kv.tenant_id = p_tenant and kv.namespace = p_ns collate "C" and kv.key = p_key collate "C";
  return v_expires_at;
end;
$$;
comment on function queen.kv_restamp_v1(uuid, text, text, bigint) is
  'Stamps the expiry of a row that this transaction wrote again, from the clock, and answers it.';
