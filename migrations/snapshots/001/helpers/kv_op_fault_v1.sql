-- kv_op_fault_v1: NULL for a good op, else its first fault, in the order of the contract: an object, op, tenant field, unknown
-- field, ns, key or keys (getPrefix: wire, then prefix), after, limit, keysOnly, expiry, value, expect, delta, min, max,
-- required. After "unknown field" a field that is present belongs to the op, so the later rules need not ask which op it is.
-- JSON null is never an absent field: `?` sees it, and every rule refuses its type.
--
-- PL/pgSQL, a step for each group of rules, and not one inlined expression: an expression is made ready once a transaction,
-- and making all the rules ready costs ten times as much as the few that an op goes through.
create or replace function queen.kv_op_fault_v1(p_op jsonb, p_in_wire boolean) returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_op constant text := case when jsonb_typeof(p_op -> 'op') = 'string' then p_op ->> 'op' end;
  v_fields constant text[] := queen.kv_op_fields_v1(v_op);
  v_fault text;
begin
  if v_fields is null or p_op - v_fields <> '{}' then
    return case
      when jsonb_typeof(p_op) <> 'object' then 'kv_bad_request an op must be an object'
      when v_op is null then 'kv_bad_request op must be a string'
      when v_fields is null then 'kv_unknown_op op must be one of get, getMany, getPrefix, put, putIfAbsent, delete, incr, touch'
      when p_op ?| '{tenant,tenantId,tenant_id,_tenant}' then
        'kv_tenant_not_an_input the tenant is an argument of the call, never a field of an op'
      else queen.kv_unknown_field_fault_v1(p_op, v_fields)
    end;
  end if;

  v_fault := queen.kv_namespace_fault_v1(case when jsonb_typeof(p_op -> 'ns') = 'string' then p_op ->> 'ns' end);
  if v_fault is not null then
    return v_fault;
  elsif v_op = 'getMany' then
    return queen.kv_keys_fault_v1(p_op -> 'keys');
  elsif v_op = 'getPrefix' then
    return queen.kv_page_fault_v1(p_op, p_in_wire);
  end if;
  v_fault := queen.kv_key_fault_v1(case when jsonb_typeof(p_op -> 'key') = 'string' then p_op ->> 'key' end);
  if v_fault is not null or v_op = 'get' then
    return v_fault;
  end if;

  if v_op <> 'delete' then
    v_fault := queen.kv_expiry_fault_v1(p_op);
    if v_fault is not null then
      return v_fault;
    end if;
  end if;
  if v_op in ('put', 'putIfAbsent') then
    if not p_op ? 'value' then
      return 'kv_bad_request value is missing';
    elsif not queen.kv_value_small_v1(p_op -> 'value') then
      v_fault := queen.kv_value_fault_v1(p_op -> 'value');
      if v_fault is not null then
        return v_fault;
      end if;
    end if;
  end if;
  if p_op ? 'expect'
     and not queen.kv_integer_ok_v1(p_op -> 'expect', 0, case v_op when 'putIfAbsent' then 0 else 9223372036854775807 end) then
    return 'kv_bad_expect expect must be a version, or 0 for "must not exist" (the one thing that putIfAbsent may say)';
  end if;
  if v_op = 'incr' then
    v_fault := coalesce(
      queen.kv_number_fault_v1('delta', coalesce(p_op -> 'delta', 'null')),
      queen.kv_number_fault_v1('min', p_op -> 'min'),
      queen.kv_number_fault_v1('max', p_op -> 'max'));
    if v_fault is not null then
      return v_fault;
    end if;
  end if;
  if jsonb_typeof(p_op -> 'required') <> 'boolean' then
    return 'kv_bad_request required must be true or false';
  end if;
  return null;
end;
$$;
comment on function queen.kv_op_fault_v1(jsonb, boolean) is 'NULL for a good op, else its first fault in the order of the contract.';
