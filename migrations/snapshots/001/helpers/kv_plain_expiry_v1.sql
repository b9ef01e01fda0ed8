-- kv_plain_expiry_v1: true for an op that has these fields, one good expiry and nothing else; false and NULL say nothing (see
-- kv_plain_op_v1).
create or replace function queen.kv_plain_expiry_v1(p_op jsonb, p_fields text[]) returns boolean
language sql stable parallel safe
begin atomic
  select p_op - (p_fields || 'ttlMs'::text) = '{}'
         and p_op @@ queen.kv_integer_path_v1('ttlMs', 1, queen.kv_limit_v1('ttl_ms'))
      or p_op - (p_fields || 'ttlSeconds'::text) = '{}'
         and p_op @@ queen.kv_integer_path_v1('ttlSeconds', 1, queen.kv_limit_v1('ttl_ms') / 1000)
      or p_op - p_fields = '{"forever": true}';
end;
comment on function queen.kv_plain_expiry_v1(jsonb, text[]) is
  'True for an op of these fields, one good expiry and no more; false and NULL say nothing.';
