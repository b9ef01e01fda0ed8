-- kv_rows_hidden_v1: whether row-level security can hide rows of queen.kv from whoever asks. A sweeper from whom rows are hidden would
-- delete nothing and say that all is done, so kv_expire_step_v1 refuses to run for him.
--
-- Nothing is hidden from a role that row-level security doesn't bind (the owner, BYPASSRLS), nor from one for whom a policy
-- for all commands says just "true" and no restrictive policy stands (sql/optional/rls.sql makes such a policy for sweepers).
-- The one catalog that is asked is the same for all roles.
create or replace function queen.kv_rows_hidden_v1() returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not row_security_active('queen.kv') then
    return false;
  end if;
  return coalesce((
    select bool_or(not p.polpermissive) or not bool_or(p.polcmd = '*' and pg_get_expr(p.polqual, p.polrelid) = 'true')
    from pg_policy as p
    where p.polrelid = 'queen.kv'::regclass
      and exists (select from unnest(p.polroles) as r (role) where r.role = 0 or pg_has_role(r.role, 'usage'))
  ), true);
end;
$$;
comment on function queen.kv_rows_hidden_v1() is 'Whether row-level security can hide rows of queen.kv from the caller.';
