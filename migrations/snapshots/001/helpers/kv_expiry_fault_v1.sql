-- kv_expiry_fault_v1: NULL when an op declares exactly one good expiry, else the fault. Each field first, then "exactly one".
-- `forever: false` declares nothing.
create or replace function queen.kv_expiry_fault_v1(p_op jsonb) returns text
language sql immutable parallel safe
begin atomic
  select case
    when p_op ? 'ttlSeconds' and p_op @@ queen.kv_integer_path_v1('ttlSeconds', 1, queen.kv_limit_v1('ttl_ms') / 1000) is not true then
      'kv_bad_ttl ttlSeconds must be an integer from 1 to 3155760000 (100 years); for longer say forever'
    when p_op ? 'ttlMs' and p_op @@ queen.kv_integer_path_v1('ttlMs', 1, queen.kv_limit_v1('ttl_ms')) is not true then
      'kv_bad_ttl ttlMs must be an integer from 1 to 3155760000000 (100 years); for longer say forever'
    when jsonb_typeof(p_op -> 'forever') <> 'boolean' collate "C" then
      'kv_bad_request forever must be true or false'
    when case
           when p_op ?| '{ttlSeconds,ttlMs}' then p_op ?& '{ttlSeconds,ttlMs}' or p_op @> '{"forever": true}'
           else not p_op @> '{"forever": true}'
         end then
      'kv_expiry_not_specified exactly one of ttlSeconds, ttlMs and forever: true is needed'
  end;
end;
comment on function queen.kv_expiry_fault_v1(jsonb) is 'NULL when an op declares exactly one good expiry, else the fault.';
