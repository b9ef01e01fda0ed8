-- kv_op_fault_v1: NULL for a good op, else its first fault, in the order of the contract: an object, op, tenant field, unknown
-- field, ns, key or keys (getPrefix: wire, then prefix), after, limit, keysOnly, expiry, value, expect, delta, min, max,
-- required. After "unknown field" a field that is present belongs to the op, so the later rules need not ask which op it is.
--
-- One expression without a sub-query: the planner inlines it, and checking an op costs a few microseconds. JSON null is
-- never an absent field: `?` sees it, and every rule refuses its type.
create or replace function queen.kv_op_fault_v1(p_op jsonb, p_in_wire boolean) returns text
language sql immutable parallel safe
begin atomic
  select case
    when jsonb_typeof(p_op) <> 'object' collate "C" then
      'kv_bad_request an op must be an object'
    when jsonb_typeof(p_op -> 'op') is distinct from 'string' collate "C" then
      'kv_bad_request op must be a string'
    when queen.kv_op_fields_v1(p_op ->> 'op') is null then
      'kv_unknown_op op must be one of get, getMany, getPrefix, put, putIfAbsent, delete, incr, touch'
    when p_op ?| '{tenant,tenantId,tenant_id,_tenant}' then
      'kv_tenant_not_an_input the tenant is an argument of the call, never a field of an op'
    when p_op - queen.kv_op_fields_v1(p_op ->> 'op') <> '{}' then
      queen.kv_unknown_field_fault_v1(p_op)
    else coalesce(
      queen.kv_namespace_fault_v1(case when jsonb_typeof(p_op -> 'ns') = 'string' collate "C" then p_op ->> 'ns' end),
      case p_op ->> 'op' collate "C"
        when 'getMany' then
          queen.kv_keys_fault_v1(p_op -> 'keys')
        when 'getPrefix' then
          queen.kv_page_fault_v1(p_op, p_in_wire)
        else
          queen.kv_key_fault_v1(case when jsonb_typeof(p_op -> 'key') = 'string' collate "C" then p_op ->> 'key' end)
      end,
      case when p_op ->> 'op' collate "C" in ('put', 'putIfAbsent', 'incr', 'touch') then queen.kv_expiry_fault_v1(p_op) end,
      case when p_op ->> 'op' collate "C" in ('put', 'putIfAbsent') then
        case when p_op ? 'value' then queen.kv_value_fault_v1(p_op -> 'value')
             else 'kv_bad_request value is missing' end
      end,
      case when p_op ? 'expect'
            and not queen.kv_integer_ok_v1(p_op -> 'expect', 0,
                      case p_op ->> 'op' collate "C" when 'putIfAbsent' then 0 else 9223372036854775807 end) then
        'kv_bad_expect expect must be a version, or 0 for "must not exist" (the one thing that putIfAbsent may say)'
      end,
      case when p_op ->> 'op' collate "C" = 'incr' then
        case when p_op ? 'delta' then queen.kv_number_fault_v1('delta', p_op -> 'delta')
             else 'kv_bad_request delta is missing' end
      end,
      case when p_op ? 'min' then queen.kv_number_fault_v1('min', p_op -> 'min') end,
      case when p_op ? 'max' then queen.kv_number_fault_v1('max', p_op -> 'max') end,
      case when p_op ? 'required' and jsonb_typeof(p_op -> 'required') <> 'boolean' collate "C" then
        'kv_bad_request required must be true or false'
      end)
  end;
end;
comment on function queen.kv_op_fault_v1(jsonb, boolean) is 'NULL for a good op, else its first fault in the order of the contract.';
