-- kv_op_keys_v1: how many keys a checked op counts towards the limit of keys a call: getMany's keys (repeats too) and getPrefix's
-- clamped limit; NULL for an op of one key.
create or replace function queen.kv_op_keys_v1(p_op jsonb) returns integer
language sql immutable parallel safe
begin atomic
  select case p_op ->> 'op' collate "C"
    when 'getMany' then jsonb_array_length(p_op -> 'keys')
    when 'getPrefix' then queen.kv_page_limit_v1(p_op -> 'limit')
  end;
end;
comment on function queen.kv_op_keys_v1(jsonb) is 'How many keys a checked op counts towards the limit of keys a call; NULL for an op of one key.';
