-- kv_keys_fault_v1: NULL for a good keys[] of a getMany, else the fault of its first bad element.
create or replace function queen.kv_keys_fault_v1(p_keys jsonb) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(p_keys) is distinct from 'array' then
    return 'kv_bad_request keys must be an array of strings';
  end if;
  -- Mostly all are good, which is cheaper to ask of all at once.
  if not jsonb_path_exists(p_keys, 'strict $[*] ? (@.type() != "string" || @ == "")')
     and queen.kv_limit_v1('key_bytes') >= (select max(octet_length(e.key)) from jsonb_array_elements_text(p_keys) as e (key)) then
    return null;
  end if;
  return (
    select f.fault || ' (keys, position ' || f.position - 1 || ')'
    from (
      select e.position, queen.kv_key_fault_v1(case when jsonb_typeof(e.element) = 'string' then e.element #>> '{}' end) as fault
      from jsonb_array_elements(p_keys) with ordinality as e (element, position)
    ) as f
    where f.fault is not null
    order by f.position
    limit 1);
end;
$$;
comment on function queen.kv_keys_fault_v1(jsonb) is 'NULL for a good keys[] of a getMany, else the fault of the first bad element.';
