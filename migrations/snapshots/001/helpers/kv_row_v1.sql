-- kv_row_v1: a row as getMany and getPrefix show it, as the text of a JSON object: a result of many rows is put together as text
-- and becomes jsonb once. p_value is the text of the value; NULL leaves it out.
create or replace function queen.kv_row_v1(
  p_key text, p_value text, p_version bigint, p_expires_at timestamptz, p_updated_at timestamptz) returns text
language sql stable parallel safe
begin atomic
  select '{"key": ' || to_json(p_key)::text || coalesce(', "value": ' || p_value, '') || ', "version": ' || p_version::text
    || ', "expiresAt": ' || coalesce('"' || queen.kv_time_v1(p_expires_at) || '"', 'null')
    || ', "updatedAt": "' || queen.kv_time_v1(p_updated_at) || '"}';
end;
comment on function queen.kv_row_v1(text, text, bigint, timestamptz, timestamptz) is
  'A row as getMany and getPrefix show it, as text.';
