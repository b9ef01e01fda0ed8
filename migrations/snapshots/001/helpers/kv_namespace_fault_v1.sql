-- kv_namespace_form_v1: what a namespace looks like, as a regex. Its length is a limit of its own: a bounded repetition such as
-- (0,63) costs ten times as much as a length check.
create or replace function queen.kv_namespace_form_v1() returns text
language sql immutable parallel safe
begin atomic
  select '^[a-z0-9][a-z0-9._-]*$';
end;
comment on function queen.kv_namespace_form_v1() is 'The regex of a namespace.';

-- kv_namespace_fault_v1: NULL for a good namespace, else what is wrong with it (see kv_refuse_v1 for the form of a fault).
create or replace function queen.kv_namespace_fault_v1(p_ns text) returns text
language sql immutable parallel safe
begin atomic
  select case
    when p_ns is null or octet_length(p_ns) > queen.kv_limit_v1('namespace_bytes')
      or p_ns !~ queen.kv_namespace_form_v1() collate "C" then
      'kv_bad_namespace ns must be a string of 1 to 64 bytes of a-z, 0-9, dot, underscore and hyphen, that begins with a letter or digit'
  end;
end;
comment on function queen.kv_namespace_fault_v1(text) is 'NULL for a good namespace, else the fault.';
