-- kv_page_fault_v1: NULL for a getPrefix whose prefix, after, limit and keysOnly are good, else the first fault. A getPrefix is
-- refused in the wire. `limit` is clamped, never refused, when it is an integer; `after` may be of any length.
create or replace function queen.kv_page_fault_v1(p_op jsonb, p_in_wire boolean) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when p_in_wire then
      'kv_get_prefix_not_allowed_in_transaction getPrefix is not allowed in the wire'
    when not p_op ? 'prefix' or p_op -> 'prefix' = '""' then
      'kv_prefix_required prefix must be a string of 1 to 2048 bytes'
    when jsonb_typeof(p_op -> 'prefix') <> 'string' then
      'kv_bad_request prefix must be a string'
    when octet_length(p_op ->> 'prefix') > queen.kv_limit_v1('key_bytes') then
      'kv_key_too_large prefix must be at most 2048 bytes of UTF-8'
    when jsonb_typeof(p_op -> 'after') <> 'string' then
      'kv_bad_request after must be a string'
    when p_op ? 'limit' and p_op @@ queen.kv_integer_path_v1('limit', null, null) is not true then
      'kv_bad_request limit must be an integer'
    when jsonb_typeof(p_op -> 'keysOnly') <> 'boolean' then
      'kv_bad_request keysOnly must be true or false'
  end;
end;
$$;
comment on function queen.kv_page_fault_v1(jsonb, boolean) is 'NULL for a good getPrefix, else the first fault.';
