-- kv_number_fault_v1: NULL for a number that incr can take as delta, min or max, or an absent one (SQL NULL), else the fault.
create or replace function queen.kv_number_fault_v1(p_field text, p_value jsonb) returns text
language sql immutable parallel safe
begin atomic
  select case
    when p_value is null then null
    when jsonb_typeof(p_value) <> 'number' collate "C" then 'kv_bad_request ' || p_field || ' must be a number'
    when not queen.kv_number_ok_v1(p_value::numeric) then
      'kv_bad_number ' || p_field || ' must be within -10^36 and 10^36, with at most 18 decimals'
  end;
end;
comment on function queen.kv_number_fault_v1(text, jsonb) is 'NULL for a good delta, min or max, or an absent one, else the fault.';
