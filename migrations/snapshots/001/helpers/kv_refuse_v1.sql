-- kv_refuse_v1: raises a fault. A fault is a text: the code, a blank, and the problem in words. The MESSAGE is the code alone,
-- stable and naming no key; the DETAIL is valid JSON that says which op (from 0; left out when no op is at fault) and what is
-- wrong.
create or replace function queen.kv_refuse_v1(p_fault text, p_index integer default null) returns void
language plpgsql volatile parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_code constant text collate "C" := split_part(p_fault collate "C", ' ', 1);  -- a caller's collation may know no substrings
begin
  raise exception using
    message = v_code,
    errcode = case
      when v_code in ('kv_key_too_large', 'kv_value_too_large') then '22001'
      when v_code = 'kv_contended' then '40001'
      when v_code in ('kv_once_lost', 'kv_lease_lost') then '55000'
      when v_code = 'kv_rows_hidden' then '42501'
      else '22023'
    end,
    detail = jsonb_strip_nulls(jsonb_build_object('index', p_index, 'problem', substr(p_fault, length(v_code) + 2)))::text;
end;
$$;
comment on function queen.kv_refuse_v1(text, integer) is 'Raises a fault: the code as MESSAGE, the op''s index and the problem as JSON DETAIL.';
