-- kv_number_ok_v1: what delta, min, max and the result of an increment may be: within +-10^36, with at most 18 decimals,
-- counted by value (a trailing zero is no decimal). The range is looked at first, so the rounding is always of a small number.
create or replace function queen.kv_number_ok_v1(p_number numeric) returns boolean
language sql immutable parallel safe
begin atomic
  select case
    when p_number is null or p_number not between -1e36 and 1e36 then false
    else trunc(p_number, 18) = p_number
  end;
end;
comment on function queen.kv_number_ok_v1(numeric) is 'Whether a counter can hold this number: within +-10^36, at most 18 decimals.';
