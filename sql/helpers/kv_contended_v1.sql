-- kv_contended_v1: gives up on a row that changed hands too often between a look and the write after it: SQLSTATE 40001, so that
-- the caller retries the whole transaction.
create or replace function queen.kv_contended_v1(p_index integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform queen.kv_refuse_v1('kv_contended the row changed hands ' || queen.kv_limit_v1('rounds') || ' times; retry the transaction', p_index);
end;
$$;
comment on function queen.kv_contended_v1(integer) is 'Raises kv_contended for an op.';
