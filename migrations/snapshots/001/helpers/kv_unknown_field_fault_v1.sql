-- kv_unknown_field_fault_v1: the fault that names the first (in byte order) field of an op that the op doesn't know.
-- At most 100 characters of the name are shown.
create or replace function queen.kv_unknown_field_fault_v1(p_op jsonb) returns text
language sql immutable parallel safe
begin atomic
  select 'kv_unknown_field the op ' || (p_op ->> 'op') || ' knows no field named ' || left(min(f.field collate "C"), 100)
  from jsonb_object_keys(p_op - queen.kv_op_fields_v1(p_op ->> 'op')) as f (field);
end;
comment on function queen.kv_unknown_field_fault_v1(jsonb) is 'The fault that names a field which the op doesn''t know.';
