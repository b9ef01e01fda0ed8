-- kv_keys_fault_v1: NULL for a good keys[] of a getMany, else the fault of its first bad element.
create or replace function queen.kv_keys_fault_v1(p_keys jsonb) returns text
language sql immutable parallel safe
begin atomic
  select case
    when jsonb_typeof(p_keys) is distinct from 'array' collate "C" then 'kv_bad_request keys must be an array of strings'
    else (
      select f.fault || ' (keys, position ' || (f.position - 1) || ')'
      from (
        select e.position, queen.kv_key_fault_v1(case when jsonb_typeof(e.element) = 'string' collate "C" then e.element #>> '{}' end) as fault
        from jsonb_array_elements(p_keys) with ordinality as e (element, position)
      ) as f
      where f.fault is not null
      order by f.position
      limit 1)
  end;
end;
comment on function queen.kv_keys_fault_v1(jsonb) is 'NULL for a good keys[] of a getMany, else the fault of the first bad element.';
