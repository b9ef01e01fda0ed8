-- kv_default_tenant_v1: the tenant of callers who name none.
create or replace function queen.kv_default_tenant_v1() returns uuid
language sql immutable parallel safe
begin atomic
  select uuid '00000000-0000-0000-0000-000000000001';
end;
comment on function queen.kv_default_tenant_v1() is 'The tenant of callers who name none.';
