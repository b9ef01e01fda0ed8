-- kv_plain_names_v1: true for a good namespace and a good key, in few steps; false and NULL say nothing (see kv_plain_op_v1).
create or replace function queen.kv_plain_names_v1(p_ns text, p_key text) returns boolean
language sql stable parallel safe
begin atomic
  select octet_length(p_ns) <= queen.kv_limit_v1('namespace_bytes') and p_ns ~ queen.kv_namespace_form_v1() collate "C"
     and octet_length(p_key) between 1 and queen.kv_limit_v1('key_bytes');
end;
comment on function queen.kv_plain_names_v1(text, text) is 'True for a good namespace and a good key; false and NULL say nothing.';
