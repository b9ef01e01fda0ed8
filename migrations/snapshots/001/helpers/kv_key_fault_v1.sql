-- kv_key_fault_v1: NULL for a good key, else what is wrong with it. NULL stands for a key that is missing or no string.
create or replace function queen.kv_key_fault_v1(p_key text) returns text
language sql immutable parallel safe
begin atomic
  select case
    when p_key is null or p_key = '' collate "C" then 'kv_bad_key key must be a string of 1 to 2048 bytes'
    when octet_length(p_key) > queen.kv_limit_v1('key_bytes') then 'kv_key_too_large key must be at most 2048 bytes of UTF-8'
  end;
end;
comment on function queen.kv_key_fault_v1(text) is 'NULL for a good key, else the fault.';
