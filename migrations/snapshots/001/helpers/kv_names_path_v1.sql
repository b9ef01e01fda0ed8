-- kv_names_path_v1: a jsonpath that holds for an object whose ns has the form of a namespace and whose key is a string that is
-- not empty. For anything else it is false or unknown (SQL NULL). Lengths are the caller's to ask for.
create or replace function queen.kv_names_path_v1() returns jsonpath
language sql immutable parallel safe
begin atomic
  select ('strict $.ns like_regex "' || queen.kv_namespace_form_v1() || '" && $.key > ""')::jsonpath;
end;
comment on function queen.kv_names_path_v1() is
  'A jsonpath that holds for an object with a namespace''s form as ns and a string that is not empty as key.';
