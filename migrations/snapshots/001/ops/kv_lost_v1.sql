-- kv_lost_v1: the losing verdict of a write op, or, when the op says `required: true`, SQLSTATE 23514 with message
-- kv_precondition_failed. Its DETAIL is always valid JSON: index, op, ns, key (whole), reason, version and value; a value
-- that would take it past 4096 bytes is left out and valueTruncated: true put in its place.
create or replace function queen.kv_lost_v1(
  p_op jsonb, p_index integer, p_reason text, p_value jsonb, p_version bigint, p_expires_at timestamptz) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_detail jsonb;
begin
  if p_op -> 'required' is distinct from 'true' then
    return queen.kv_verdict_v1(p_op, p_index, p_reason, p_value, p_version, p_expires_at);
  end if;
  v_detail := jsonb_build_object('index', p_index, 'op', p_op -> 'op', 'ns', p_op -> 'ns', 'key', p_op -> 'key',
    'reason', p_reason, 'version', p_version, 'value', p_value);
  if octet_length(v_detail::text) > queen.kv_limit_v1('detail_bytes') then
    v_detail := v_detail - 'value' || '{"valueTruncated": true}';
  end if;
  raise exception using message = 'kv_precondition_failed', errcode = '23514', detail = v_detail::text;
end;
$$;
comment on function queen.kv_lost_v1(jsonb, integer, text, jsonb, bigint, timestamptz) is
  'The losing verdict of a write op, or kv_precondition_failed when the op says required.';
