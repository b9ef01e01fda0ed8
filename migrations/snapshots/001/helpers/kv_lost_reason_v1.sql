-- kv_lost_reason_v1: what a precondition says of a key whose version (kv_ver_v1: 0 is "not alive") is p_version.
-- NULL: it holds. p_expect NULL is no precondition.
create or replace function queen.kv_lost_reason_v1(p_expect bigint, p_version bigint) returns text
language sql immutable parallel safe
begin atomic
  select case
    when p_expect is null or p_expect = p_version then null
    when p_version = 0 then 'absent'
    when p_expect = 0 then 'exists'
    else 'version'
  end;
end;
comment on function queen.kv_lost_reason_v1(bigint, bigint) is
  'NULL when the precondition holds, else absent, exists or version.';
