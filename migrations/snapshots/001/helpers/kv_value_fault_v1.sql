-- kv_value_fault_v1: NULL for a value that may be stored, else the fault: more than value_bytes of JSONB text, or nested deeper
-- than value_depth. For a value that is not stored: of a column, PostgreSQL tells the compressed size.
--
-- A short number can be a long text ([1e131071, ...] is 63 KB of input and 900 MB of text), so nothing is cast to text before
-- its length is bounded:
--   strings       no byte of a string is more than six bytes of JSON text: most strings are evidently short enough.
--   binary size   no JSON of this binary size is short enough as text. The leanest form in that sense is the one-digit
--                 number of an array: 12 bytes for the 3 of "1, ".
--   depth         a jsonpath that looks 1,000 levels down and no further. Each level of nesting is 8 bytes at least, so
--                 that a small value can't be deep. The walk uses less stack per level than the parser that made the
--                 value, and than the builder that any stored value needs to be put into a result.
--   numbers       their texts one by one, until these alone are above the ceiling. (The numbers come as an array: as a set,
--                 jsonb_path_query takes time that grows with the square of their number.) A few of them (256 bytes hold 20) can't be
--                 more than 3 MB of text; up to 2048 bytes it is enough that none is above 10^40: a number below it is at most
--                 16 KB (16,383 decimals), 2.8 MB in all.
create or replace function queen.kv_value_fault_v1(p_value jsonb) returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ceiling constant bigint := queen.kv_limit_v1('value_bytes');
  v_too_large constant text := 'kv_value_too_large value must be at most ' || v_ceiling || ' bytes of JSONB text';
  v_size constant integer := pg_column_size(p_value);
  v_number numeric;
  v_text bigint := 0;
begin
  if jsonb_typeof(p_value) = 'string' and v_size <= v_ceiling / 6 then
    return null;
  end if;
  if v_size > 4 * v_ceiling + 64 then
    return v_too_large;
  end if;
  if v_size > 8 * queen.kv_limit_v1('value_depth')
     and jsonb_path_exists(p_value, 'strict $.**{1000} ? (@.type() == "array" || @.type() == "object")') then
    return 'kv_bad_request value must be nested at most 1000 deep';
  end if;
  if v_size > 2048
     or v_size > 256 and jsonb_path_exists(p_value, 'strict $.** ? (@.type() == "number" && (@ > 1e40 || @ < -1e40))') then
    for v_number in
      select n.number::numeric
      from jsonb_array_elements(jsonb_path_query_array(p_value, 'strict $.** ? (@.type() == "number")')) as n (number)
    loop
      v_text := v_text + octet_length(v_number::text);
      if v_text > v_ceiling then
        return v_too_large;
      end if;
    end loop;
  end if;
  if octet_length(p_value::text) > v_ceiling then
    return v_too_large;
  end if;
  return null;
end;
$$;
comment on function queen.kv_value_fault_v1(jsonb) is
  'NULL for a value that may be stored, else the fault: too many bytes of JSONB text, or nested too deep.';
