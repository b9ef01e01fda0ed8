-- kv_call_fault_v1: NULL for a call that may be looked into, else what is wrong with the call as a whole. A NULL tenant is
-- refused even for no ops, or the rows of a forgotten tenant would be found by nobody.
create or replace function queen.kv_call_fault_v1(p_ops jsonb, p_tenant uuid, p_now timestamptz, p_in_wire boolean) returns text
language sql immutable parallel safe
begin atomic
  select case
    when p_tenant is null then 'kv_bad_request the tenant must not be NULL'
    when p_now is not null and not queen.kv_now_ok_v1(p_now) then 'kv_bad_request p_now must be finite and within the years 1 to 9899'
    when jsonb_typeof(p_ops) is distinct from 'array' collate "C" then 'kv_bad_request p_ops must be an array of ops'
    when jsonb_array_length(p_ops) > case when p_in_wire then queen.kv_limit_v1('ops_in_wire') else queen.kv_limit_v1('ops') end then
      'kv_too_many_ops a call takes at most 256 ops, 64 in the wire'
  end;
end;
comment on function queen.kv_call_fault_v1(jsonb, uuid, timestamptz, boolean) is 'NULL for a good call, else what is wrong with it as a whole.';
