-- kv_page_limit_v1: a checked getPrefix's limit, clamped to 1..1000; 100 when it is absent (SQL NULL).
create or replace function queen.kv_page_limit_v1(p_limit jsonb) returns integer
language sql immutable parallel safe
begin atomic
  select least(greatest(coalesce(p_limit::numeric, queen.kv_limit_v1('page')), 1), queen.kv_limit_v1('page_max'))::integer;
end;
comment on function queen.kv_page_limit_v1(jsonb) is 'The limit of a getPrefix, clamped to 1..1000; 100 when absent.';
