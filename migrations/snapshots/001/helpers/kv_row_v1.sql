-- kv_row_v1: a row as getMany and getPrefix show it.
create or replace function queen.kv_row_v1(
  p_key text, p_value jsonb, p_version bigint, p_expires_at timestamptz, p_updated_at timestamptz) returns jsonb
language sql stable parallel safe
begin atomic
  select jsonb_build_object('key', p_key, 'value', p_value, 'version', p_version,
    'expiresAt', queen.kv_time_v1(p_expires_at), 'updatedAt', queen.kv_time_v1(p_updated_at));
end;
comment on function queen.kv_row_v1(text, jsonb, bigint, timestamptz, timestamptz) is 'A row as getMany and getPrefix show it.';
