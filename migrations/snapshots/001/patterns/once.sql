-- once.sql: Once runs an effect at most once per (tenant, namespace, key) within a retention time, in the caller's transaction:
--
--   begin;
--   select * from queen.kv_once_begin_v1('payments', 'evt_1', 86400000);    -- state run: go on; replay: answer result, done
--   ... the effect ...
--   select queen.kv_once_end_v1('payments', 'evt_1', :token, 'the answer');
--   commit;
--
-- The marker is an ordinary row of queen.kv. Pending: {"once": "pending", "xid", "ttlMs", "fingerprint"}; finished: {"once": "done",
-- "result" (base64, null when it was discarded), "isError", "fingerprint"}. A pending marker is seen by its own transaction
-- alone, unless somebody commits between begin and end. Rules:
--   who waits    begin reads first: a finished marker is answered with no lock and no write. Otherwise a waiting caller takes
--                the key's advisory lock shared, so that any number of them wait side by side on the first one's INSERT and
--                wake together; a caller with p_wait false tries the lock exclusively, and is told busy when anyone is at it.
--   what frees   a rollback, a crash, or a rollback to a savepoint before begin takes the marker and the lock away.
--   time         retention counts from begin. end ignores an expiry that passed while the effect ran, and stamps it again.

-- kv_once_lock_v1: the advisory lock of a key, 64 bits. A namespace holds no slash, so no two identities read the same.
create or replace function queen.kv_once_lock_v1(p_tenant uuid, p_ns text, p_key text) returns bigint
language sql immutable parallel safe
begin atomic
  select hashtextextended((p_tenant::text || '/' || p_ns || '/' || p_key) collate "C", 5717646241537);
end;
comment on function queen.kv_once_lock_v1(uuid, text, text) is 'The key of the advisory lock that Once takes.';

-- kv_once_fingerprint_v1: a fingerprint as it is stored: SHA-256 in hex; NULL when none is given. What was fingerprinted is
-- never stored, so nothing of it can be shown.
create or replace function queen.kv_once_fingerprint_v1(p_fingerprint bytea) returns text
language sql immutable parallel safe
begin atomic
  select encode(sha256(p_fingerprint), 'hex');
end;
comment on function queen.kv_once_fingerprint_v1(bytea) is 'SHA-256 of a fingerprint in hex; NULL for none.';

-- kv_once_done_ok_v1: whether a value that says "once": "done" is a marker that can be answered from. Anybody can put one that
-- is not.
create or replace function queen.kv_once_done_ok_v1(p_value jsonb) returns boolean
language sql immutable parallel safe
begin atomic
  select p_value @@ 'strict $.isError.type() == "boolean" && ($.result == null
    || $.result like_regex "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$")' is true;
end;
comment on function queen.kv_once_done_ok_v1(jsonb) is 'Whether a value that says "once": "done" is a marker that can be answered from.';

-- kv_once_state_v1: what a row says to a caller of Once: NULL (nothing alive: run), replay, mismatch, reentry, unfinished or
-- foreign. p_xid is the caller's own transaction id, NULL when it has none. reentry comes before the expiry (the function may
-- outlive its own marker) and before the fingerprint; given against not given is a mismatch.
create or replace function queen.kv_once_state_v1(
  p_value jsonb, p_expires_at timestamptz, p_now timestamptz, p_xid xid8, p_fingerprint bytea) returns text
language sql immutable parallel safe
begin atomic
  select case
    when p_value ->> 'once' = 'pending' collate "C" and p_value ->> 'xid' = p_xid::text collate "C" then 'reentry'
    when p_value is null or not queen.kv_live_v1(p_expires_at, p_now) then null
    when p_value ->> 'once' = 'pending' collate "C" then 'unfinished'
    when p_value ->> 'once' is distinct from 'done' collate "C" or not queen.kv_once_done_ok_v1(p_value) then 'foreign'
    when p_value ->> 'fingerprint' is distinct from queen.kv_once_fingerprint_v1(p_fingerprint) collate "C" then 'mismatch'
    else 'replay'
  end;
end;
comment on function queen.kv_once_state_v1(jsonb, timestamptz, timestamptz, xid8, bytea) is
  'What a row says to a caller of Once; NULL means that the effect may run.';

-- kv_once_fault_v1: NULL for good arguments of Once, else the fault, in the order of kv_apply_v1's.
create or replace function queen.kv_once_fault_v1(p_ns text, p_key text, p_tenant uuid, p_now timestamptz) returns text
language sql immutable parallel safe
begin atomic
  select coalesce(
    queen.kv_call_fault_v1('[]', p_tenant, p_now, false), queen.kv_namespace_fault_v1(p_ns), queen.kv_key_fault_v1(p_key));
end;
comment on function queen.kv_once_fault_v1(text, text, uuid, timestamptz) is 'NULL for good arguments of Once, else the fault.';

-- kv_once_begin_v1: the first half of Once.
--
-- Result: state and, for run, the token that kv_once_end_v1 needs; for replay, result and is_error of the first run (result is
-- NULL when it was discarded). The other states: mismatch (another fingerprint), busy (p_wait false and somebody is at it),
-- reentry (the same key again in this transaction), unfinished (somebody committed between begin and end: the effect's fate
-- is unknown and it is never run again; delete the key to free it), foreign (a live value that is no marker).
-- Race: one of any number of callers runs; the others wait for its commit and replay, or for its rollback, and one of them runs.
-- Above READ COMMITTED a caller that waited gets 40001, and the retry replays. lock_timeout ends a wait with 55P03.
-- Errors: as kv_apply_v1 for names, ttl, tenant and p_now; 40001 kv_contended.
create or replace function queen.kv_once_begin_v1(
  p_ns text, p_key text, p_ttl_ms bigint, p_fingerprint bytea default null, p_wait boolean default true,
  p_tenant uuid default queen.kv_default_tenant_v1(), p_now timestamptz default null,
  out state text, out token bigint, out result bytea, out is_error boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := coalesce(p_now, clock_timestamp());
  v_fault text;
  v_row record;
  v_seen boolean;
  v_lock bigint;
  v_got_lock boolean := true;
  v_marker jsonb;
  v_expires_at timestamptz;
begin
  if (p_now is null and p_tenant is not null and queen.kv_plain_names_v1(p_ns, p_key)
      and p_ttl_ms between 1 and queen.kv_limit_v1('ttl_ms')) is not true then
    v_fault := coalesce(
      queen.kv_once_fault_v1(p_ns, p_key, p_tenant, p_now), queen.kv_expiry_fault_v1(jsonb_build_object('ttlMs', p_ttl_ms)));
    if v_fault is not null then
      perform queen.kv_refuse_v1(v_fault);
    end if;
  end if;

  -- The first look takes no lock; a round of writing follows each of the others.
  for v_round in 0 .. queen.kv_limit_v1('rounds') loop
    select kv.value, kv.expires_at into v_row
    from queen.kv
    where kv.tenant_id = p_tenant and kv.namespace = p_ns collate "C" and kv.key = p_key collate "C";
    v_seen := found;
    if v_seen then
      state := queen.kv_once_state_v1(v_row.value, v_row.expires_at, v_now, pg_current_xact_id_if_assigned(), p_fingerprint);
      if state is not null then
        token := null; -- one may have been drawn in an earlier round
        if state = 'replay' then
          result := decode(v_row.value ->> 'result', 'base64');
          is_error := (v_row.value -> 'isError')::boolean;
        end if;
        return;
      end if;
    end if;

    if v_round = 0 then
      v_lock := queen.kv_once_lock_v1(p_tenant, p_ns, p_key);
      if coalesce(p_wait, true) then
        perform pg_advisory_xact_lock_shared(v_lock);
      else
        v_got_lock := pg_try_advisory_xact_lock(v_lock);
      end if;
      continue;
    elsif not v_got_lock then
      state := 'busy';
      return;
    end if;

    token := coalesce(token, nextval('queen.kv_version_seq'));
    v_expires_at := queen.kv_expiry_v1(coalesce(p_now, clock_timestamp()), p_ttl_ms);
    v_marker := jsonb_build_object('once', 'pending', 'xid', pg_current_xact_id()::text, 'ttlMs', p_ttl_ms,
      'fingerprint', queen.kv_once_fingerprint_v1(p_fingerprint));
    if v_seen then
      update queen.kv set
        value = v_marker, version = token, expires_at = v_expires_at, created_at = v_now, updated_at = v_now
      where kv.tenant_id = p_tenant and kv.namespace = p_ns collate "C" and kv.key = p_key collate "C"
        and queen.kv_once_state_v1(kv.value, kv.expires_at, v_now, pg_current_xact_id(), p_fingerprint) is null;
    else
      insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
      values (p_tenant, p_ns, p_key, v_marker, token, v_expires_at, v_now, v_now)
      on conflict do nothing;
    end if;
    if found then
      state := 'run';
      return;
    end if;
  end loop;
  perform queen.kv_contended_v1(null);
end;
$$;
comment on function queen.kv_once_begin_v1(text, text, bigint, bytea, boolean, uuid, timestamptz) is
  'The first half of Once: run, replay, mismatch, busy, reentry, unfinished or foreign.';

-- kv_once_end_v1: the second half of Once: stores the result over the marker that begin made in this transaction.
--
-- Result: the version now stored. p_result NULL stores "done" alone, and a replay then has no result.
-- It matches by version and transaction id, ignores the expiry and never inserts; an expiry that has passed meanwhile is
-- stamped again. A token that matches nothing, 0 for one, raises: that is also how a driver makes a transaction
-- uncommittable when the effect failed.
-- Errors: 55000 kv_once_lost when the marker isn't there as begin left it (everything since is rolled back); 22001
-- kv_value_too_large for a result above 48,000 bytes.
create or replace function queen.kv_once_end_v1(
  p_ns text, p_key text, p_token bigint, p_result bytea, p_is_error boolean default false,
  p_tenant uuid default queen.kv_default_tenant_v1(), p_now timestamptz default null) returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := coalesce(p_now, clock_timestamp());
  v_fault text;
  v_done jsonb;
  v_version bigint;
begin
  if (p_now is null and p_tenant is not null and queen.kv_plain_names_v1(p_ns, p_key)) is not true then
    v_fault := queen.kv_once_fault_v1(p_ns, p_key, p_tenant, p_now);
    if v_fault is not null then
      perform queen.kv_refuse_v1(v_fault);
    end if;
  end if;
  if octet_length(p_result) > queen.kv_limit_v1('once_result_bytes') then
    perform queen.kv_refuse_v1('kv_value_too_large a result of Once must be at most 48000 bytes; store it elsewhere, or pass NULL to store "done" alone');
  end if;
  v_done := jsonb_build_object('once', 'done', 'result', translate(encode(p_result, 'base64'), E'\n', ''),
    'isError', coalesce(p_is_error, false));
  -- Base64 makes 4 bytes of 3, and what is around it is less than 200: only a ceiling below the default's can be met.
  if octet_length(p_result) * 4 / 3 + 200 > queen.kv_limit_v1('value_bytes')
     and queen.kv_value_fault_v1(v_done || jsonb_build_object('fingerprint', repeat('0', 64))) is not null then
    perform queen.kv_refuse_v1('kv_value_too_large the result of Once is above the value ceiling of this installation; store it elsewhere, or pass NULL to store "done" alone');
  end if;
  v_version := nextval('queen.kv_version_seq');
  update queen.kv set
    value = v_done || jsonb_build_object('fingerprint', kv.value -> 'fingerprint'), version = v_version, updated_at = v_now,
    expires_at = case when queen.kv_live_v1(kv.expires_at, v_now) then kv.expires_at
                      else queen.kv_expiry_v1(v_now, (kv.value -> 'ttlMs')::bigint) end
  where kv.tenant_id = p_tenant and kv.namespace = p_ns collate "C" and kv.key = p_key collate "C"
    and kv.version = p_token and kv.value ->> 'once' = 'pending' collate "C"
    and kv.value @@ queen.kv_integer_path_v1('ttlMs', 1, queen.kv_limit_v1('ttl_ms'))
    and kv.value ->> 'xid' = pg_current_xact_id_if_assigned()::text collate "C";
  if not found then
    perform queen.kv_refuse_v1('kv_once_lost the marker that begin made in this transaction is not there; nothing of this transaction may be committed');
  end if;
  return v_version;
end;
$$;
comment on function queen.kv_once_end_v1(text, text, bigint, bytea, boolean, uuid, timestamptz) is
  'The second half of Once: stores the result over the marker; raises kv_once_lost when it is not there.';
