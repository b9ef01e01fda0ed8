-- kv_unknown_field_fault_v1: the fault that names the first (in byte order) field of an op that is not in p_fields; NULL when there
-- is none. At most 100 characters of the name are shown.
create or replace function queen.kv_unknown_field_fault_v1(p_op jsonb, p_fields text[]) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select 'kv_unknown_field the op ' || (p_op ->> 'op') || ' knows no field named ' || left(min(f.field collate "C"), 100)
    from jsonb_object_keys(p_op) as f (field)
    where f.field <> all (p_fields));
end;
$$;
comment on function queen.kv_unknown_field_fault_v1(jsonb, text[]) is 'The fault that names a field which the op doesn''t know.';
