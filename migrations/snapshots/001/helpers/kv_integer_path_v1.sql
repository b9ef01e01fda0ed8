-- kv_integer_path_v1: a jsonpath that holds for an object whose field is an integer within the bounds (NULL is no bound).
-- Numbers are taken by value: 60.0 is the integer 60. For anything but a number it is false or unknown (SQL NULL), so that a
-- check reads `is not true`. The range is looked at before the fraction, so that 1e131071 costs nothing.
--
-- Called with constants, as it always is here, it is a constant when the query is planned, and a check is one operator:
--   p_op @@ queen.kv_integer_path_v1('expect', 0, 9223372036854775807) is not true
create or replace function queen.kv_integer_path_v1(p_field text, p_min bigint, p_max bigint) returns jsonpath
language sql immutable parallel safe
begin atomic
  select ('strict '
    || coalesce('$.' || p_field || ' >= ' || p_min::text || ' && ', '')
    || coalesce('$.' || p_field || ' <= ' || p_max::text || ' && ', '')
    || '$.' || p_field || '.floor() == $.' || p_field)::jsonpath;
end;
comment on function queen.kv_integer_path_v1(text, bigint, bigint) is
  'A jsonpath that holds for an object whose field is an integer within the bounds.';
