-- lease.sql: one holder of a key at a time, until it releases or its time runs out.
--
--   select * from queen.kv_lease_acquire_v1('leases', 'report', 'host-7', 30000);     -- acquired, token
--   select queen.kv_lease_renew_v1('leases', 'report', :token, 30000);                 -- now and then; NULL: lost
--   begin; ... the effect ...; select queen.kv_lease_guard_v1('leases', 'report', :token); commit;
--   select queen.kv_lease_release_v1('leases', 'report', :token);
--
-- A lease is a row whose value is the owner's name (for people to read: it decides nothing) and whose version is the token: acquire is
-- putIfAbsent, renew is touch and release delete, with the token expected. The token is compared for equality and is **not** a
-- fencing number: a later holder's may be the smaller one, so nothing outside this database can tell by it who came last.
--
-- What a lease promises by itself is little: between two looks at it a holder may be paused past its time. What protects an effect in
-- this database is kv_lease_guard_v1 in the effect's own transaction: a transaction that guarded and committed did so before any later
-- holder had the lease.

-- kv_lease_fault_v1: NULL for good arguments of the lease functions, else the first fault. Renew and the others pass what they don't
-- have as something good.
create or replace function queen.kv_lease_fault_v1(
  p_ns text, p_key text, p_token bigint, p_owner text, p_ttl_ms bigint, p_tenant uuid, p_now timestamptz) returns text
language sql stable parallel safe
begin atomic
  select coalesce(
    queen.kv_call_fault_v1('[]', p_tenant, p_now, false),
    queen.kv_namespace_fault_v1(p_ns),
    queen.kv_key_fault_v1(p_key),
    queen.kv_expiry_fault_v1(jsonb_build_object('ttlMs', p_ttl_ms)),
    case
      when p_owner is null then 'kv_bad_request owner must not be NULL'
      when octet_length(p_owner) > queen.kv_limit_v1('key_bytes') then 'kv_value_too_large owner must be at most 2048 bytes'
      when p_token is null or p_token < 1 then 'kv_bad_expect token must be one that kv_lease_acquire_v1 gave'
    end);
end;
comment on function queen.kv_lease_fault_v1(text, text, bigint, text, bigint, uuid, timestamptz) is
  'NULL for good arguments of the lease functions, else the fault.';

-- kv_lease_acquire_v1: takes the lease, if nobody has it.
--
-- Result: one row. acquired: it is this caller's until expires_at, and token says so to the other functions. Else token is NULL, and
-- owner and expires_at are those of who has it. Whoever has it: the same owner's second call is refused like anybody's.
-- Race: exactly one of any number of callers; those that meet an acquire that is not committed, or a guard, wait for it to end. A
-- caller that is refused on a committed lease waits for nobody, takes no lock and writes nothing.
-- Errors: kv_apply_v1's for names, ttl, tenant and p_now; kv_bad_request for a NULL owner; kv_value_too_large for one above
-- 2048 bytes; 40001 kv_contended.
create or replace function queen.kv_lease_acquire_v1(
  p_ns text, p_key text, p_owner text, p_ttl_ms bigint,
  p_tenant uuid default queen.kv_default_tenant_v1(), p_now timestamptz default null,
  out acquired boolean, out token bigint, out owner text, out expires_at timestamptz)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fault constant text := queen.kv_lease_fault_v1(p_ns, p_key, 1, p_owner, p_ttl_ms, p_tenant, p_now);
  v_verdict jsonb;
begin
  if v_fault is not null then
    perform queen.kv_refuse_v1(v_fault);
  end if;
  v_verdict := queen.kv_op_put_v1(
    jsonb_build_object('op', 'putIfAbsent', 'ns', p_ns, 'key', p_key, 'value', p_owner, 'ttlMs', p_ttl_ms),
    null, p_tenant, coalesce(p_now, clock_timestamp()), p_now is null);
  acquired := (v_verdict -> 'applied')::boolean;
  token := case when acquired then (v_verdict -> 'version')::bigint end;
  owner := v_verdict ->> 'value';
  expires_at := (v_verdict ->> 'expiresAt')::timestamptz;
end;
$$;
comment on function queen.kv_lease_acquire_v1(text, text, text, bigint, uuid, timestamptz) is
  'Takes a lease, if nobody has it: the token, or who has it until when.';

-- kv_lease_renew_v1: lets the lease last p_ttl_ms from now; a shorter time than is left makes it shorter.
--
-- Result: when it ends now; NULL when the token's lease is over, even if nobody took it since: it is not this caller's any more.
-- Race: waits for a guard of the same lease in an open transaction, and for a release.
-- Errors: as kv_lease_acquire_v1; kv_bad_expect for a token that is none.
create or replace function queen.kv_lease_renew_v1(
  p_ns text, p_key text, p_token bigint, p_ttl_ms bigint,
  p_tenant uuid default queen.kv_default_tenant_v1(), p_now timestamptz default null) returns timestamptz
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fault constant text := queen.kv_lease_fault_v1(p_ns, p_key, p_token, '', p_ttl_ms, p_tenant, p_now);
  v_verdict jsonb;
begin
  if v_fault is not null then
    perform queen.kv_refuse_v1(v_fault);
  end if;
  v_verdict := queen.kv_op_touch_v1(
    jsonb_build_object('op', 'touch', 'ns', p_ns, 'key', p_key, 'expect', p_token, 'ttlMs', p_ttl_ms),
    null, p_tenant, coalesce(p_now, clock_timestamp()), p_now is null);
  return case when (v_verdict -> 'applied')::boolean then (v_verdict ->> 'expiresAt')::timestamptz end;
end;
$$;
comment on function queen.kv_lease_renew_v1(text, text, bigint, bigint, uuid, timestamptz) is
  'Lets a lease last on from now; NULL when it is lost.';

-- kv_lease_release_v1: gives the lease back.
--
-- Result: true; false when the token's lease was over already, and then nothing is changed, whoever has it now.
-- Race: waits for a guard of the same lease in an open transaction. Errors: as kv_lease_renew_v1.
create or replace function queen.kv_lease_release_v1(
  p_ns text, p_key text, p_token bigint,
  p_tenant uuid default queen.kv_default_tenant_v1(), p_now timestamptz default null) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fault constant text := queen.kv_lease_fault_v1(p_ns, p_key, p_token, '', 1, p_tenant, p_now);
  v_verdict jsonb;
begin
  if v_fault is not null then
    perform queen.kv_refuse_v1(v_fault);
  end if;
  v_verdict := queen.kv_op_delete_v1(
    jsonb_build_object('op', 'delete', 'ns', p_ns, 'key', p_key, 'expect', p_token), null, p_tenant, coalesce(p_now, clock_timestamp()));
  return (v_verdict -> 'applied')::boolean;
end;
$$;
comment on function queen.kv_lease_release_v1(text, text, bigint, uuid, timestamptz) is
  'Gives a lease back; false when it was over already.';

-- kv_lease_guard_v1: makes the transaction one that commits only as the holder. Call it in the transaction of the effect.
--
-- Result: when the lease ends. It locks the lease's row until the transaction ends, so that whoever would acquire, renew or release it, or
-- overwrite or delete the row, waits for that. Hence the guarantee: no later holder has the lease before a guarded transaction
-- has committed or rolled back, even if the lease's time runs out meanwhile; and since the token is still the row's, nobody
-- had it between acquire and guard either. Reading without the lock would promise nothing: time could run out, and another holder act,
-- between the read and our commit.
-- The lock keeps the holder's own renewals waiting, too: guard last, just before commit, or keep the transaction shorter than the
-- lease. Effects outside this database are not protected, and no token can do it for them.
-- Race: waits for a renewal that is not committed, and then holds for the row as renewed. Above READ COMMITTED a row that changed after
-- the snapshot, by a renewal too, is 40001: guard first there.
-- Errors: 55000 kv_lease_lost when the lease isn't the token's any more: nothing of the transaction can be committed. Else as
-- kv_lease_renew_v1.
create or replace function queen.kv_lease_guard_v1(
  p_ns text, p_key text, p_token bigint,
  p_tenant uuid default queen.kv_default_tenant_v1(), p_now timestamptz default null) returns timestamptz
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := coalesce(p_now, clock_timestamp());
  v_fault constant text := queen.kv_lease_fault_v1(p_ns, p_key, p_token, '', 1, p_tenant, p_now);
  v_expires_at timestamptz;
begin
  if v_fault is not null then
    perform queen.kv_refuse_v1(v_fault);
  end if;
  -- Who has lost already locks nothing; after a wait the condition is asked once more, of the row that was locked.
  select kv.expires_at into v_expires_at
  from queen.kv
  where kv.tenant_id = p_tenant and kv.namespace = p_ns collate "C" and kv.key = p_key collate "C"
    and kv.version = p_token and queen.kv_live_v1(kv.expires_at, v_now)
  for no key update;
  if not found then
    perform queen.kv_refuse_v1('kv_lease_lost the lease is over or another''s; nothing of this transaction may be committed');
  end if;
  return v_expires_at;
end;
$$;
comment on function queen.kv_lease_guard_v1(text, text, bigint, uuid, timestamptz) is
  'Locks a lease''s row until the transaction ends, so that nobody else has it before; raises kv_lease_lost when it is lost.';
