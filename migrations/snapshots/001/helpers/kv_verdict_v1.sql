-- kv_verdict_v1: the result of a write op. p_reason NULL: it applied. An absent row is value NULL, version 0, no expiry.
create or replace function queen.kv_verdict_v1(
  p_op jsonb, p_index integer, p_reason text, p_value jsonb, p_version bigint, p_expires_at timestamptz) returns jsonb
language sql stable parallel safe
begin atomic
  select case
    when p_reason is null then
      jsonb_build_object('index', p_index, 'op', p_op -> 'op', 'applied', true, 'key', p_op -> 'key',
        'value', p_value, 'version', p_version, 'expiresAt', queen.kv_time_v1(p_expires_at))
    else
      jsonb_build_object('index', p_index, 'op', p_op -> 'op', 'applied', false, 'reason', p_reason, 'key', p_op -> 'key',
        'value', p_value, 'version', p_version, 'expiresAt', queen.kv_time_v1(p_expires_at))
  end;
end;
comment on function queen.kv_verdict_v1(jsonb, integer, text, jsonb, bigint, timestamptz) is
  'The result of a write op; p_reason NULL means that it applied.';
