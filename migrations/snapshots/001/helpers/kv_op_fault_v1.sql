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
  -- Only a string is taken as text: that of [1e131071, ...] may be 900 MB.
  v_op constant text := case when jsonb_typeof(p_op -> 'op') = 'string' then p_op ->> 'op' end;
  v_ns constant text := case when jsonb_typeof(p_op -> 'ns') = 'string' then p_op ->> 'ns' end;
  v_key constant text := case when jsonb_typeof(p_op -> 'key') = 'string' then p_op ->> 'key' end;
  v_fields text[];
  v_fault text;
begin
  -- The fields each op knows. Another one is refused, because a misspelt `expect` would turn a compare-and-set into an overwrite.
  case v_op
    when 'put', 'putIfAbsent' then v_fields := '{op,ns,key,value,ttlSeconds,ttlMs,forever,expect,required}';
    when 'get'                then v_fields := '{op,ns,key}';
    when 'incr'               then v_fields := '{op,ns,key,delta,min,max,ttlSeconds,ttlMs,forever,required}';
    when 'delete'             then v_fields := '{op,ns,key,expect,required}';
    when 'touch'              then v_fields := '{op,ns,key,ttlSeconds,ttlMs,forever,expect,required}';
    when 'getMany'            then v_fields := '{op,ns,keys}';
    when 'getPrefix'          then v_fields := '{op,ns,prefix,after,limit,keysOnly}';
    else null;
  end case;
  -- Not `-` on what is large enough to be nested deep: it builds what is left anew, which takes more stack than reading it did.
  if v_fields is null
     or (case when pg_column_size(p_op) <= 8 * queen.kv_limit_v1('value_depth') then p_op - v_fields <> '{}'
              else queen.kv_unknown_field_fault_v1(p_op, v_fields) is not null end) then
    return case
      when jsonb_typeof(p_op) <> 'object' then 'kv_bad_request an op must be an object'
      when jsonb_typeof(p_op -> 'op') is distinct from 'string' then 'kv_bad_request op must be a string'
      when v_fields is null then 'kv_unknown_op op must be one of get, getMany, getPrefix, put, putIfAbsent, delete, incr, touch'
      when p_op ?| '{tenant,tenantId,tenant_id,_tenant}' then
        'kv_tenant_not_an_input the tenant is an argument of the call, never a field of an op'
      else queen.kv_unknown_field_fault_v1(p_op, v_fields)
    end;
  elsif v_op in ('getMany', 'getPrefix') then
    return coalesce(queen.kv_namespace_fault_v1(v_ns),
      case v_op when 'getMany' then queen.kv_keys_fault_v1(p_op -> 'keys') else queen.kv_page_fault_v1(p_op, p_in_wire) end);
  end if;
  v_fault := coalesce(queen.kv_namespace_fault_v1(v_ns), queen.kv_key_fault_v1(v_key));
  if v_fault is not null or v_op = 'get' then
    return v_fault;
  end if;

  if v_op <> 'delete' then
    v_fault := queen.kv_expiry_fault_v1(p_op);
    if v_fault is not null then
      return v_fault;
    end if;
  end if;
  if v_op in ('put', 'putIfAbsent') and queen.kv_value_small_v1(p_op -> 'value') is not true then
    v_fault := case when p_op ? 'value' then queen.kv_value_fault_v1(p_op -> 'value') else 'kv_bad_request value is missing' end;
    if v_fault is not null then
      return v_fault;
    end if;
  end if;
  if v_op = 'incr' or p_op ?| '{expect,required}' then
    return case
      when p_op ? 'expect' and p_op @@ queen.kv_integer_path_v1('expect', 0, 9223372036854775807) is not true
        or v_op = 'putIfAbsent' and (p_op -> 'expect')::bigint <> 0 then
        'kv_bad_expect expect must be a version, or 0 for "must not exist" (the one thing that putIfAbsent may say)'
      when v_op = 'incr' and not p_op ? 'delta' then
        'kv_bad_request delta is missing'
      else coalesce(
        queen.kv_number_fault_v1('delta', p_op -> 'delta'),
        queen.kv_number_fault_v1('min', p_op -> 'min'),
        queen.kv_number_fault_v1('max', p_op -> 'max'),
        case when jsonb_typeof(p_op -> 'required') <> 'boolean' then 'kv_bad_request required must be true or false' end)
    end;
  end if;
  return null;
end;
$$;
comment on function queen.kv_op_fault_v1(jsonb, boolean) is 'NULL for a good op, else its first fault in the order of the contract.';
