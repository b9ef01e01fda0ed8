-- kv_must_run_outside_a_transaction_v1: commits. Where the server doesn't allow that it raises 2D000 "invalid transaction termination", and
-- this name in the error's CONTEXT says why; there is no way to ask the server beforehand.
create or replace procedure queen.kv_must_run_outside_a_transaction_v1()
language plpgsql
as $$
begin
  commit;
end;
$$;
comment on procedure queen.kv_must_run_outside_a_transaction_v1() is 'Commits; its name says what is wrong where that is not allowed.';
