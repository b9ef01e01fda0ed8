-- kv_ver_v1: the version a precondition is compared with. Total: an absent row (all NULL) and an expired one have version 0,
-- so `expect: 0` means "must not exist" and no version of a dead lineage ever matches.
create or replace function queen.kv_ver_v1(p_version bigint, p_expires_at timestamptz, p_now timestamptz) returns bigint
language sql immutable parallel safe
begin atomic
  select case when queen.kv_live_v1(p_expires_at, p_now) then coalesce(p_version, 0::bigint) else 0::bigint end;
end;
comment on function queen.kv_ver_v1(bigint, timestamptz, timestamptz) is
  'The version a precondition sees: 0 for an absent or expired row.';
