-- kv_limit_v1: every limit of the contract, once.
--
-- Called with a constant it is folded into a constant when a query is planned, so a limit costs nothing at run time.
-- The value ceiling is the one number that an installer can set (tern data `value_bytes`, 256 to 262144); it is a
-- property of the installation, not a setting of a session. More would let the 256 gets of a call answer more than one jsonb
-- holds. An unknown name answers NULL.
create or replace function queen.kv_limit_v1(p_name text) returns bigint
language sql immutable parallel safe
begin atomic
  select case p_name collate "C"
    when 'namespace_bytes'   then 64
    when 'key_bytes'         then 2048
    when 'value_bytes'       then {{ .value_bytes | default 65536 | int64 }}
    when 'value_depth'       then 1000
    when 'ops'               then 256
    when 'ops_in_wire'       then 64
    when 'keys'              then 4096
    when 'keys_in_wire'      then 256
    when 'page'              then 100
    when 'page_max'          then 1000
    when 'read_bytes'        then 4194304
    when 'ttl_ms'            then 3155760000000
    when 'once_result_bytes' then 48000
    when 'detail_bytes'      then 4096
    when 'rounds'            then 16
    when 'sweep_rows'        then 1000000
    when 'sweep_windows'     then 8
    when 'usage_exact_rows'  then 50000
    when 'usage_pages'       then 4096
    when 'usage_step_rows'   then 200000
  end::bigint;
end;
comment on function queen.kv_limit_v1(text) is 'A limit of the contract by its name; NULL for an unknown name.';

do $$
begin
  if queen.kv_limit_v1('value_bytes') not between 256 and 262144 then
    raise exception using
      message = 'the value ceiling must be from 256 to 262144 bytes',
      errcode = '22023',
      hint = 'Leave value_bytes out of the installation''s data for 65536.';
  end if;
end;
$$;
