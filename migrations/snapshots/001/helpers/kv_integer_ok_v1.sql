-- kv_integer_ok_v1: whether a JSON value is an integer within the bounds. Numbers are taken by value (60.0 is 60); a string, a
-- boolean, null and an absent field (SQL NULL) are no integers. Never NULL. The range is looked at first: 1e131071 costs nothing.
create or replace function queen.kv_integer_ok_v1(p_value jsonb, p_min numeric, p_max numeric) returns boolean
language sql immutable parallel safe
begin atomic
  select case
    when jsonb_typeof(p_value) is distinct from 'number' collate "C" then false
    when p_value::numeric not between p_min and p_max then false
    else trunc(p_value::numeric) = p_value::numeric
  end;
end;
comment on function queen.kv_integer_ok_v1(jsonb, numeric, numeric) is 'Whether a JSON value is a whole number within the bounds.';
