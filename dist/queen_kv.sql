-- queen.kv: the whole schema as one file. Generated from sql/ by "make dist"; do not edit.
--
--     psql -v ON_ERROR_STOP=1 -f queen_kv.sql
--
-- Plain SQL, without psql's own commands, for any client that can send several statements. It is
-- one transaction: after an error nothing is there, or what was there before (ON_ERROR_STOP gives
-- psql the exit status that says so). It can be run again, over live data too, and by several
-- at once. It needs PostgreSQL 14 or newer, a UTF8 database, and a role that has CREATE on it.
begin isolation level read committed read write;
do $$ begin perform pg_catalog.pg_advisory_xact_lock(9628173550095224); end $$;

-- install.sql: the order of the package. Installing again changes nothing; over live data it keeps it.
-- 000_guard.sql: what must hold before anything is made, and the settings of the installing transaction.

-- Names in the functions below are bound now: to pg_catalog, whatever the installer's path holds.
set local search_path = pg_catalog, pg_temp;
-- Nothing here waits for an application: where a lock is needed and not to be had, installing fails (55P03) and can be tried
-- again; nothing is half done, since it is one transaction.
set local lock_timeout = '900ms';
set local client_min_messages = warning;

do $$
declare
  v_version integer;
begin
  if current_setting('server_encoding') <> 'UTF8' then
    raise exception using
      message = 'queen.kv needs a database whose encoding is UTF8; this one is ' || current_setting('server_encoding'),
      errcode = '0A000',
      hint = 'Create a database with: CREATE DATABASE name TEMPLATE template0 ENCODING ''UTF8'', and install there.';
  end if;
  if current_setting('server_version_num')::integer < 140000 then
    raise exception using
      message = 'queen.kv needs PostgreSQL 14 or newer; this is ' || current_setting('server_version'),
      errcode = '0A000';
  end if;
  if to_regprocedure('queen.kv_schema_version_v1()') is not null then
    execute 'select queen.kv_schema_version_v1()' into v_version;
    if v_version > 1 then
      raise exception using
        message = 'the schema queen is of version ' || v_version || ', newer than this installation, which is 1',
        errcode = '55000',
        hint = 'Install with the newer release; nothing was changed.';
    end if;
  end if;
  if to_regnamespace('queen') is null then
    create schema queen;
  end if;
end;
$$;

-- kv_limit_v1: every limit of the contract, once.
--
-- Called with a constant it is folded into a constant when a query is planned, so a limit costs nothing at run time.
-- The value ceiling is the one number that an installer can set (tern data `value_bytes`, 256 to 262144); it is a
-- property of the installation, not a setting of a session. More would let the 256 gets of a call answer more than one jsonb
-- holds. An unknown name answers NULL.
create or replace function queen.kv_limit_v1(p_name text) returns bigint
language sql immutable parallel safe
begin atomic
  select case p_name collate "C"
    when 'namespace_bytes'   then 64
    when 'key_bytes'         then 2048
    when 'value_bytes'       then 65536
    when 'value_depth'       then 1000
    when 'ops'               then 256
    when 'ops_in_wire'       then 64
    when 'keys'              then 4096
    when 'keys_in_wire'      then 256
    when 'page'              then 100
    when 'page_max'          then 1000
    when 'read_bytes'        then 4194304
    when 'ttl_ms'            then 3155760000000
    when 'once_result_bytes' then 48000
    when 'detail_bytes'      then 4096
    when 'rounds'            then 16
    when 'sweep_rows'        then 1000000
    when 'sweep_windows'     then 8
    when 'usage_exact_rows'  then 50000
    when 'usage_pages'       then 4096
    when 'usage_step_rows'   then 200000
  end::bigint;
end;
comment on function queen.kv_limit_v1(text) is 'A limit of the contract by its name; NULL for an unknown name.';

do $$
begin
  if queen.kv_limit_v1('value_bytes') not between 256 and 262144 then
    raise exception using
      message = 'the value ceiling must be from 256 to 262144 bytes',
      errcode = '22023',
      hint = 'Leave value_bytes out of the installation''s data for 65536.';
  end if;
end;
$$;

-- kv_default_tenant_v1: the tenant of callers who name none.
create or replace function queen.kv_default_tenant_v1() returns uuid
language sql immutable parallel safe
begin atomic
  select uuid '00000000-0000-0000-0000-000000000001';
end;
comment on function queen.kv_default_tenant_v1() is 'The tenant of callers who name none.';

-- kv_live_v1: the only definition of existence. A row is alive when it never expires or expires strictly later than now.
-- Not STRICT: NULL expiry means for ever.
create or replace function queen.kv_live_v1(p_expires_at timestamptz, p_now timestamptz) returns boolean
language sql immutable parallel safe
begin atomic
  select p_expires_at is null or p_expires_at > p_now;
end;
comment on function queen.kv_live_v1(timestamptz, timestamptz) is
  'Whether a row with this expiry exists at p_now: NULL is for ever, and the boundary itself is dead.';

-- kv_ver_v1: the version a precondition is compared with. Total: an absent row (all NULL) and an expired one have version 0,
-- so `expect: 0` means "must not exist" and no version of a dead lineage ever matches.
create or replace function queen.kv_ver_v1(p_version bigint, p_expires_at timestamptz, p_now timestamptz) returns bigint
language sql immutable parallel safe
begin atomic
  select case when queen.kv_live_v1(p_expires_at, p_now) then coalesce(p_version, 0::bigint) else 0::bigint end;
end;
comment on function queen.kv_ver_v1(bigint, timestamptz, timestamptz) is
  'The version a precondition sees: 0 for an absent or expired row.';

-- kv_num_v1: the number an increment starts from. Total: 0 for an absent row, an expired one, and a value that is no number.
create or replace function queen.kv_num_v1(p_value jsonb, p_expires_at timestamptz, p_now timestamptz) returns numeric
language sql immutable parallel safe
begin atomic
  select case
    when queen.kv_live_v1(p_expires_at, p_now) and jsonb_typeof(p_value) = 'number' collate "C" then p_value::numeric
    else 0::numeric
  end;
end;
comment on function queen.kv_num_v1(jsonb, timestamptz, timestamptz) is
  'The number an increment starts from: 0 for a row that is absent, expired or not a number.';

-- kv_lost_reason_v1: what a precondition says of a key whose version (kv_ver_v1: 0 is "not alive") is p_version.
-- NULL: it holds. p_expect NULL is no precondition.
create or replace function queen.kv_lost_reason_v1(p_expect bigint, p_version bigint) returns text
language sql immutable parallel safe
begin atomic
  select case
    when p_expect is null or p_expect = p_version then null
    when p_version = 0 then 'absent'
    when p_expect = 0 then 'exists'
    else 'version'
  end;
end;
comment on function queen.kv_lost_reason_v1(bigint, bigint) is
  'NULL when the precondition holds, else absent, exists or version.';

-- kv_number_ok_v1: what delta, min, max and the result of an increment may be: within +-10^36, with at most 18 decimals,
-- counted by value (a trailing zero is no decimal). The range is looked at first, so the rounding is always of a small number.
create or replace function queen.kv_number_ok_v1(p_number numeric) returns boolean
language sql immutable parallel safe
begin atomic
  select case
    when p_number is null or p_number not between -1e36 and 1e36 then false
    else trunc(p_number, 18) = p_number
  end;
end;
comment on function queen.kv_number_ok_v1(numeric) is 'Whether a counter can hold this number: within +-10^36, at most 18 decimals.';

-- kv_integer_path_v1: a jsonpath that holds for an object whose field is an integer within the bounds (NULL is no bound).
-- Numbers are taken by value: 60.0 is the integer 60. For anything but a number it is false or unknown (SQL NULL), so that a
-- check reads `is not true`. The range is looked at before the fraction, so that 1e131071 costs nothing.
--
-- Called with constants, as it always is here, it is a constant when the query is planned, and a check is one operator:
--   p_op @@ queen.kv_integer_path_v1('expect', 0, 9223372036854775807) is not true
create or replace function queen.kv_integer_path_v1(p_field text, p_min bigint, p_max bigint) returns jsonpath
language sql immutable parallel safe
begin atomic
  select ('strict '
    || coalesce('$.' || p_field || ' >= ' || p_min::text || ' && ', '')
    || coalesce('$.' || p_field || ' <= ' || p_max::text || ' && ', '')
    || '$.' || p_field || '.floor() == $.' || p_field)::jsonpath;
end;
comment on function queen.kv_integer_path_v1(text, bigint, bigint) is
  'A jsonpath that holds for an object whose field is an integer within the bounds.';

-- kv_now_ok_v1: whether p_now may be a call's instant: within the years 1 to 9899, so that a hundred years more still have four
-- digits. (The longest lifetime is 36,525 days, a day more than the hundred years from 9899-12-31.) NULL answers NULL.
create or replace function queen.kv_now_ok_v1(p_now timestamptz) returns boolean
language sql immutable parallel safe
begin atomic
  select p_now >= timestamptz '0001-01-01 00:00:00+00' and p_now < timestamptz '9900-01-01 00:00:00+00';
end;
comment on function queen.kv_now_ok_v1(timestamptz) is 'Whether p_now may be a call''s instant: within the years 1 to 9899; NULL for NULL.';

-- kv_incr_fits_v1: whether an increment by p_delta may store p_sum.
--
-- An increase is held by max, a decrease by min, and a step back towards the range is allowed; nothing saturates. A sum
-- outside what a counter can hold (kv_number_ok_v1) never fits. p_min and p_max NULL are no bounds.
create or replace function queen.kv_incr_fits_v1(p_sum numeric, p_delta numeric, p_min numeric, p_max numeric) returns boolean
language sql immutable parallel safe
begin atomic
  select queen.kv_number_ok_v1(p_sum)
     and (p_max is null or p_delta <= 0 or p_sum <= p_max)
     and (p_min is null or p_delta >= 0 or p_sum >= p_min);
end;
comment on function queen.kv_incr_fits_v1(numeric, numeric, numeric, numeric) is
  'Whether an increment by p_delta may store p_sum: max holds increases, min holds decreases, NULL is no bound.';

-- kv_prefix_end_v1: the smallest text that is above every key that starts with p_prefix, in byte order.
--
-- The last character is raised by one code point, over the surrogate block (U+D7FF is followed by U+E000); a character that
-- has no successor (U+10FFFF) is dropped and the one before it raised. Total: for a prefix of nothing but U+10FFFF it is a
-- string of 513 of them, 2052 bytes, which no key of at most 2048 bytes reaches.
create or replace function queen.kv_prefix_end_v1(p_prefix text) returns text
language sql immutable parallel safe
begin atomic
  select case
    when rtrim(p_prefix, chr(1114111)) collate "C" = '' then repeat(chr(1114111), 513)
    else left(rtrim(p_prefix, chr(1114111)), -1)
      || chr(case ascii(right(rtrim(p_prefix, chr(1114111)), 1))
               when 55295 then 57344
               else ascii(right(rtrim(p_prefix, chr(1114111)), 1)) + 1
             end)
  end collate "C";
end;
comment on function queen.kv_prefix_end_v1(text) is 'The exclusive upper bound, in byte order, of the keys that start with p_prefix.';

-- kv_page_limit_v1: a checked getPrefix's limit, clamped to 1..1000; 100 when it is absent (SQL NULL).
create or replace function queen.kv_page_limit_v1(p_limit jsonb) returns integer
language sql immutable parallel safe
begin atomic
  select least(greatest(coalesce(p_limit::numeric, queen.kv_limit_v1('page')), 1), queen.kv_limit_v1('page_max'))::integer;
end;
comment on function queen.kv_page_limit_v1(jsonb) is 'The limit of a getPrefix, clamped to 1..1000; 100 when absent.';

-- kv_ttl_ms_v1: the lifetime that a checked op declares, in milliseconds; NULL is for ever.
create or replace function queen.kv_ttl_ms_v1(p_op jsonb) returns bigint
language sql immutable parallel safe
begin atomic
  select coalesce((p_op -> 'ttlMs')::bigint, (p_op -> 'ttlSeconds')::bigint * 1000);
end;
comment on function queen.kv_ttl_ms_v1(jsonb) is 'The lifetime a checked op declares, in milliseconds; NULL is for ever.';

-- kv_expiry_v1: when something that is written at p_from with this lifetime ends. A NULL lifetime is for ever (NULL).
create or replace function queen.kv_expiry_v1(p_from timestamptz, p_ttl_ms bigint) returns timestamptz
language sql stable parallel safe
begin atomic
  select p_from + p_ttl_ms * interval '1 millisecond';
end;
comment on function queen.kv_expiry_v1(timestamptz, bigint) is 'p_from plus a lifetime in milliseconds; NULL is for ever.';

-- kv_time_v1: a time as results show it: RFC 3339, UTC, six decimals, Z, whatever TimeZone and DateStyle say. NULL stays NULL.
create or replace function queen.kv_time_v1(p_time timestamptz) returns text
language sql stable parallel safe
begin atomic
  select to_char(p_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
end;
comment on function queen.kv_time_v1(timestamptz) is 'RFC 3339 in UTC with six decimals and Z.';

-- kv_row_v1: a row as getMany and getPrefix show it, as the text of a JSON object: a result of many rows is put together as text
-- and becomes jsonb once. p_value is the text of the value; NULL leaves it out.
create or replace function queen.kv_row_v1(
  p_key text, p_value text, p_version bigint, p_expires_at timestamptz, p_updated_at timestamptz) returns text
language sql stable parallel safe
begin atomic
  select '{"key": ' || to_json(p_key)::text || coalesce(', "value": ' || p_value, '') || ', "version": ' || p_version::text
    || ', "expiresAt": ' || coalesce('"' || queen.kv_time_v1(p_expires_at) || '"', 'null')
    || ', "updatedAt": "' || queen.kv_time_v1(p_updated_at) || '"}';
end;
comment on function queen.kv_row_v1(text, text, bigint, timestamptz, timestamptz) is
  'A row as getMany and getPrefix show it, as text.';

-- kv_verdict_v1: the result of a write op. p_reason NULL: it applied. An absent row is value NULL, version 0, no expiry.
create or replace function queen.kv_verdict_v1(
  p_op jsonb, p_index integer, p_reason text, p_value jsonb, p_version bigint, p_expires_at timestamptz) returns jsonb
language sql stable parallel safe
begin atomic
  select case
    when p_reason is null then
      jsonb_build_object('index', p_index, 'op', p_op -> 'op', 'applied', true, 'key', p_op -> 'key',
        'value', p_value, 'version', p_version, 'expiresAt', queen.kv_time_v1(p_expires_at))
    else
      jsonb_build_object('index', p_index, 'op', p_op -> 'op', 'applied', false, 'reason', p_reason, 'key', p_op -> 'key',
        'value', p_value, 'version', p_version, 'expiresAt', queen.kv_time_v1(p_expires_at))
  end;
end;
comment on function queen.kv_verdict_v1(jsonb, integer, text, jsonb, bigint, timestamptz) is
  'The result of a write op; p_reason NULL means that it applied.';

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

-- kv_namespace_form_v1: what a namespace looks like, as a regex. Its length is a limit of its own: a bounded repetition such as
-- (0,63) costs ten times as much as a length check.
create or replace function queen.kv_namespace_form_v1() returns text
language sql immutable parallel safe
begin atomic
  select '^[a-z0-9][a-z0-9._-]*$';
end;
comment on function queen.kv_namespace_form_v1() is 'The regex of a namespace.';

-- kv_namespace_fault_v1: NULL for a good namespace, else what is wrong with it (see kv_refuse_v1 for the form of a fault).
create or replace function queen.kv_namespace_fault_v1(p_ns text) returns text
language sql immutable parallel safe
begin atomic
  select case
    when p_ns is null or octet_length(p_ns) > queen.kv_limit_v1('namespace_bytes')
      or p_ns !~ queen.kv_namespace_form_v1() collate "C" then
      'kv_bad_namespace ns must be a string of 1 to 64 bytes of a-z, 0-9, dot, underscore and hyphen, that begins with a letter or digit'
  end;
end;
comment on function queen.kv_namespace_fault_v1(text) is 'NULL for a good namespace, else the fault.';

-- kv_key_fault_v1: NULL for a good key, else what is wrong with it. NULL stands for a key that is missing or no string.
create or replace function queen.kv_key_fault_v1(p_key text) returns text
language sql immutable parallel safe
begin atomic
  select case
    when p_key is null or p_key = '' collate "C" then 'kv_bad_key key must be a string of 1 to 2048 bytes'
    when octet_length(p_key) > queen.kv_limit_v1('key_bytes') then 'kv_key_too_large key must be at most 2048 bytes of UTF-8'
  end;
end;
comment on function queen.kv_key_fault_v1(text) is 'NULL for a good key, else the fault.';

-- kv_keys_fault_v1: NULL for a good keys[] of a getMany, else the fault of its first bad element.
create or replace function queen.kv_keys_fault_v1(p_keys jsonb) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(p_keys) is distinct from 'array' then
    return 'kv_bad_request keys must be an array of strings';
  end if;
  -- Mostly all are good, which is cheaper to ask of all at once.
  if not jsonb_path_exists(p_keys, 'strict $[*] ? (@.type() != "string" || @ == "")')
     and queen.kv_limit_v1('key_bytes') >= (select max(octet_length(e.key)) from jsonb_array_elements_text(p_keys) as e (key)) then
    return null;
  end if;
  return (
    select f.fault || ' (keys, position ' || f.position - 1 || ')'
    from (
      select e.position, queen.kv_key_fault_v1(case when jsonb_typeof(e.element) = 'string' then e.element #>> '{}' end) as fault
      from jsonb_array_elements(p_keys) with ordinality as e (element, position)
    ) as f
    where f.fault is not null
    order by f.position
    limit 1);
end;
$$;
comment on function queen.kv_keys_fault_v1(jsonb) is 'NULL for a good keys[] of a getMany, else the fault of the first bad element.';

-- kv_value_fault_v1: NULL for a value that may be stored, else the fault: more than value_bytes of JSONB text, or nested deeper
-- than value_depth. For a value that is not stored: of a column, PostgreSQL tells the compressed size.
--
-- A short number can be a long text ([1e131071, ...] is 63 KB of input and 900 MB of text), so nothing is cast to text before
-- its length is bounded:
--   strings       no byte of a string is more than six bytes of JSON text: most strings are evidently short enough.
--   binary size   no JSON of this binary size is short enough as text. The leanest form in that sense is the one-digit
--                 number of an array: 12 bytes for the 3 of "1, ".
--   depth         a jsonpath that looks 1,000 levels down and no further. Each level of nesting is 8 bytes at least, so
--                 that a small value can't be deep. The walk uses less stack per level than the parser that made the
--                 value, and than the builder that any stored value needs to be put into a result.
--   numbers       their texts one by one, until these alone are above the ceiling. (The numbers come as an array: as a set,
--                 jsonb_path_query takes time that grows with the square of their number.) A few of them (256 bytes hold 20) can't be
--                 more than 3 MB of text; up to 2048 bytes it is enough that none is above 10^40: a number below it is at most
--                 16 KB (16,383 decimals), 2.8 MB in all.
create or replace function queen.kv_value_fault_v1(p_value jsonb) returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ceiling constant bigint := queen.kv_limit_v1('value_bytes');
  v_too_large constant text := 'kv_value_too_large value must be at most ' || v_ceiling || ' bytes of JSONB text';
  v_size constant integer := pg_column_size(p_value);
  v_number numeric;
  v_text bigint := 0;
begin
  if jsonb_typeof(p_value) = 'string' and v_size <= v_ceiling / 6 then
    return null;
  end if;
  if v_size > 4 * v_ceiling + 64 then
    return v_too_large;
  end if;
  if v_size > 8 * queen.kv_limit_v1('value_depth')
     and jsonb_path_exists(p_value, 'strict $.**{1000} ? (@.type() == "array" || @.type() == "object")') then
    return 'kv_bad_request value must be nested at most 1000 deep';
  end if;
  if v_size > 2048
     or v_size > 256 and jsonb_path_exists(p_value, 'strict $.** ? (@.type() == "number" && (@ > 1e40 || @ < -1e40))') then
    for v_number in
      select n.number::numeric
      from jsonb_array_elements(jsonb_path_query_array(p_value, 'strict $.** ? (@.type() == "number")')) as n (number)
    loop
      v_text := v_text + octet_length(v_number::text);
      if v_text > v_ceiling then
        return v_too_large;
      end if;
    end loop;
  end if;
  if octet_length(p_value::text) > v_ceiling then
    return v_too_large;
  end if;
  return null;
end;
$$;
comment on function queen.kv_value_fault_v1(jsonb) is
  'NULL for a value that may be stored, else the fault: too many bytes of JSONB text, or nested too deep.';

-- kv_value_small_v1: whether a value is so small that it may be cast to text, and is then within value_bytes; kv_value_fault_v1 need
-- not be asked. 1,280 bytes hold at most 105 numbers, so that the text can't be more than 14 MB, and are not nested deep.
create or replace function queen.kv_value_small_v1(p_value jsonb) returns boolean
language sql stable parallel safe
begin atomic
  select pg_column_size(p_value) <= 1280 and octet_length(p_value::text) <= queen.kv_limit_v1('value_bytes');
end;
comment on function queen.kv_value_small_v1(jsonb) is 'Whether a value is small, and within the ceiling; false says nothing.';

-- kv_number_fault_v1: NULL for a number that incr can take as delta, min or max, or an absent one (SQL NULL), else the fault.
create or replace function queen.kv_number_fault_v1(p_field text, p_value jsonb) returns text
language sql immutable parallel safe
begin atomic
  select case
    when p_value is null then null
    when jsonb_typeof(p_value) <> 'number' collate "C" then 'kv_bad_request ' || p_field || ' must be a number'
    when not queen.kv_number_ok_v1(p_value::numeric) then
      'kv_bad_number ' || p_field || ' must be within -10^36 and 10^36, with at most 18 decimals'
  end;
end;
comment on function queen.kv_number_fault_v1(text, jsonb) is 'NULL for a good delta, min or max, or an absent one, else the fault.';

-- kv_expiry_fault_v1: NULL when an op declares exactly one good expiry, else the fault. Each field first, then "exactly one".
-- `forever: false` declares nothing.
create or replace function queen.kv_expiry_fault_v1(p_op jsonb) returns text
language sql immutable parallel safe
begin atomic
  select case
    when p_op ? 'ttlSeconds' and p_op @@ queen.kv_integer_path_v1('ttlSeconds', 1, queen.kv_limit_v1('ttl_ms') / 1000) is not true then
      'kv_bad_ttl ttlSeconds must be an integer from 1 to 3155760000 (100 years); for longer say forever'
    when p_op ? 'ttlMs' and p_op @@ queen.kv_integer_path_v1('ttlMs', 1, queen.kv_limit_v1('ttl_ms')) is not true then
      'kv_bad_ttl ttlMs must be an integer from 1 to 3155760000000 (100 years); for longer say forever'
    when jsonb_typeof(p_op -> 'forever') <> 'boolean' collate "C" then
      'kv_bad_request forever must be true or false'
    when case
           when p_op ?| '{ttlSeconds,ttlMs}' then p_op ?& '{ttlSeconds,ttlMs}' or p_op @> '{"forever": true}'
           else not p_op @> '{"forever": true}'
         end then
      'kv_expiry_not_specified exactly one of ttlSeconds, ttlMs and forever: true is needed'
  end;
end;
comment on function queen.kv_expiry_fault_v1(jsonb) is 'NULL when an op declares exactly one good expiry, else the fault.';

-- kv_page_fault_v1: NULL for a getPrefix whose prefix, after, limit and keysOnly are good, else the first fault. A getPrefix is
-- refused in the wire. `limit` is clamped, never refused, when it is an integer; `after` may be of any length.
create or replace function queen.kv_page_fault_v1(p_op jsonb, p_in_wire boolean) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return case
    when p_in_wire then
      'kv_get_prefix_not_allowed_in_transaction getPrefix is not allowed in the wire'
    when not p_op ? 'prefix' or p_op -> 'prefix' = '""' then
      'kv_prefix_required prefix must be a string of 1 to 2048 bytes'
    when jsonb_typeof(p_op -> 'prefix') <> 'string' then
      'kv_bad_request prefix must be a string'
    when octet_length(p_op ->> 'prefix') > queen.kv_limit_v1('key_bytes') then
      'kv_key_too_large prefix must be at most 2048 bytes of UTF-8'
    when jsonb_typeof(p_op -> 'after') <> 'string' then
      'kv_bad_request after must be a string'
    when p_op ? 'limit' and p_op @@ queen.kv_integer_path_v1('limit', null, null) is not true then
      'kv_bad_request limit must be an integer'
    when jsonb_typeof(p_op -> 'keysOnly') <> 'boolean' then
      'kv_bad_request keysOnly must be true or false'
  end;
end;
$$;
comment on function queen.kv_page_fault_v1(jsonb, boolean) is 'NULL for a good getPrefix, else the first fault.';

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

-- kv_op_fault_v1: NULL for a good op, else its first fault, in the order of the contract: an object, op, tenant field, unknown
-- field, ns, key or keys (getPrefix: wire, then prefix), after, limit, keysOnly, expiry, value, expect, delta, min, max,
-- required. After "unknown field" a field that is present belongs to the op, so the later rules need not ask which op it is.
-- JSON null is never an absent field: `?` sees it, and every rule refuses its type.
--
-- PL/pgSQL, a step for each group of rules, and not one inlined expression: an expression is made ready once a transaction,
-- and making all the rules ready costs ten times as much as the few that an op goes through.
create or replace function queen.kv_op_fault_v1(p_op jsonb, p_in_wire boolean) returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  -- Only a string is taken as text: that of [1e131071, ...] may be 900 MB.
  v_op constant text := case when jsonb_typeof(p_op -> 'op') = 'string' then p_op ->> 'op' end;
  v_ns constant text := case when jsonb_typeof(p_op -> 'ns') = 'string' then p_op ->> 'ns' end;
  v_key constant text := case when jsonb_typeof(p_op -> 'key') = 'string' then p_op ->> 'key' end;
  v_fields text[];
  v_fault text;
begin
  -- The fields each op knows. Another one is refused, because a misspelt `expect` would turn a compare-and-set into an overwrite.
  case v_op
    when 'put', 'putIfAbsent' then v_fields := '{op,ns,key,value,ttlSeconds,ttlMs,forever,expect,required}';
    when 'get'                then v_fields := '{op,ns,key}';
    when 'incr'               then v_fields := '{op,ns,key,delta,min,max,ttlSeconds,ttlMs,forever,required}';
    when 'delete'             then v_fields := '{op,ns,key,expect,required}';
    when 'touch'              then v_fields := '{op,ns,key,ttlSeconds,ttlMs,forever,expect,required}';
    when 'getMany'            then v_fields := '{op,ns,keys}';
    when 'getPrefix'          then v_fields := '{op,ns,prefix,after,limit,keysOnly}';
    else null;
  end case;
  -- Not `-` on what is large enough to be nested deep: it builds what is left anew, which takes more stack than reading it did.
  if v_fields is null
     or (case when pg_column_size(p_op) <= 8 * queen.kv_limit_v1('value_depth') then p_op - v_fields <> '{}'
              else queen.kv_unknown_field_fault_v1(p_op, v_fields) is not null end) then
    return case
      when jsonb_typeof(p_op) <> 'object' then 'kv_bad_request an op must be an object'
      when jsonb_typeof(p_op -> 'op') is distinct from 'string' then 'kv_bad_request op must be a string'
      when v_fields is null then 'kv_unknown_op op must be one of get, getMany, getPrefix, put, putIfAbsent, delete, incr, touch'
      when p_op ?| '{tenant,tenantId,tenant_id,_tenant}' then
        'kv_tenant_not_an_input the tenant is an argument of the call, never a field of an op'
      else queen.kv_unknown_field_fault_v1(p_op, v_fields)
    end;
  elsif v_op in ('getMany', 'getPrefix') then
    return coalesce(queen.kv_namespace_fault_v1(v_ns),
      case v_op when 'getMany' then queen.kv_keys_fault_v1(p_op -> 'keys') else queen.kv_page_fault_v1(p_op, p_in_wire) end);
  end if;
  v_fault := coalesce(queen.kv_namespace_fault_v1(v_ns), queen.kv_key_fault_v1(v_key));
  if v_fault is not null or v_op = 'get' then
    return v_fault;
  end if;

  if v_op <> 'delete' then
    v_fault := queen.kv_expiry_fault_v1(p_op);
    if v_fault is not null then
      return v_fault;
    end if;
  end if;
  if v_op in ('put', 'putIfAbsent') and queen.kv_value_small_v1(p_op -> 'value') is not true then
    v_fault := case when p_op ? 'value' then queen.kv_value_fault_v1(p_op -> 'value') else 'kv_bad_request value is missing' end;
    if v_fault is not null then
      return v_fault;
    end if;
  end if;
  if v_op = 'incr' or p_op ?| '{expect,required}' then
    return case
      when p_op ? 'expect' and p_op @@ queen.kv_integer_path_v1('expect', 0, 9223372036854775807) is not true
        or v_op = 'putIfAbsent' and (p_op -> 'expect')::bigint <> 0 then
        'kv_bad_expect expect must be a version, or 0 for "must not exist" (the one thing that putIfAbsent may say)'
      when v_op = 'incr' and not p_op ? 'delta' then
        'kv_bad_request delta is missing'
      else coalesce(
        queen.kv_number_fault_v1('delta', p_op -> 'delta'),
        queen.kv_number_fault_v1('min', p_op -> 'min'),
        queen.kv_number_fault_v1('max', p_op -> 'max'),
        case when jsonb_typeof(p_op -> 'required') <> 'boolean' then 'kv_bad_request required must be true or false' end)
    end;
  end if;
  return null;
end;
$$;
comment on function queen.kv_op_fault_v1(jsonb, boolean) is 'NULL for a good op, else its first fault in the order of the contract.';

-- kv_names_path_v1: a jsonpath that holds for an object whose ns has the form of a namespace and whose key is a string that is
-- not empty. For anything else it is false or unknown (SQL NULL). Lengths are the caller's to ask for.
create or replace function queen.kv_names_path_v1() returns jsonpath
language sql immutable parallel safe
begin atomic
  select ('strict $.ns like_regex "' || queen.kv_namespace_form_v1() || '" && $.key > ""')::jsonpath;
end;
comment on function queen.kv_names_path_v1() is
  'A jsonpath that holds for an object with a namespace''s form as ns and a string that is not empty as key.';

-- kv_plain_names_v1: true for a good namespace and a good key, in few steps; false and NULL say nothing (see kv_plain_op_v1).
create or replace function queen.kv_plain_names_v1(p_ns text, p_key text) returns boolean
language sql stable parallel safe
begin atomic
  select octet_length(p_ns) <= queen.kv_limit_v1('namespace_bytes') and p_ns ~ queen.kv_namespace_form_v1() collate "C"
     and octet_length(p_key) between 1 and queen.kv_limit_v1('key_bytes');
end;
comment on function queen.kv_plain_names_v1(text, text) is 'True for a good namespace and a good key; false and NULL say nothing.';

-- kv_plain_op_v1: whether an op has good names and is not nested deep. A part of kv_plain_get_v1, kv_plain_put_v1 and kv_plain_incr_v1,
-- which ask the rules of the most usual ops in one inlined expression of few steps, so that kv_op_fault_v1, which costs more than
-- all the rest of such an op, need not be called. They say true or nothing: an op for which they are false or NULL goes the
-- long way.
create or replace function queen.kv_plain_op_v1(p_op jsonb) returns boolean
language sql stable parallel safe
begin atomic
  -- Small enough not to be nested deep: see kv_op_fault_v1.
  select pg_column_size(p_op) <= 8 * queen.kv_limit_v1('value_depth')
     and p_op @@ queen.kv_names_path_v1()
     and octet_length(p_op ->> 'ns') <= queen.kv_limit_v1('namespace_bytes')
     and octet_length(p_op ->> 'key') <= queen.kv_limit_v1('key_bytes');
end;
comment on function queen.kv_plain_op_v1(jsonb) is 'True for an op with good names that is not nested deep; false and NULL say nothing.';

-- kv_plain_expiry_v1: true for an op that has these fields, one good expiry and nothing else; false and NULL say nothing (see
-- kv_plain_op_v1).
create or replace function queen.kv_plain_expiry_v1(p_op jsonb, p_fields text[]) returns boolean
language sql stable parallel safe
begin atomic
  select p_op - (p_fields || 'ttlMs'::text) = '{}'
         and p_op @@ queen.kv_integer_path_v1('ttlMs', 1, queen.kv_limit_v1('ttl_ms'))
      or p_op - (p_fields || 'ttlSeconds'::text) = '{}'
         and p_op @@ queen.kv_integer_path_v1('ttlSeconds', 1, queen.kv_limit_v1('ttl_ms') / 1000)
      or p_op - p_fields = '{"forever": true}';
end;
comment on function queen.kv_plain_expiry_v1(jsonb, text[]) is
  'True for an op of these fields, one good expiry and no more; false and NULL say nothing.';

-- kv_plain_get_v1: true for a get that is evidently good; false and NULL say nothing (see kv_plain_op_v1).
create or replace function queen.kv_plain_get_v1(p_op jsonb) returns boolean
language sql stable parallel safe
begin atomic
  select queen.kv_plain_op_v1(p_op) and p_op - '{op,ns,key}'::text[] = '{}';
end;
comment on function queen.kv_plain_get_v1(jsonb) is 'True for a get that is evidently good; false and NULL say nothing.';

-- kv_plain_put_v1: true for a put or putIfAbsent without expect and required that is evidently good; false and NULL say nothing
-- (see kv_plain_op_v1).
create or replace function queen.kv_plain_put_v1(p_op jsonb) returns boolean
language sql stable parallel safe
begin atomic
  select queen.kv_plain_op_v1(p_op)
     and queen.kv_plain_expiry_v1(p_op, '{op,ns,key,value}')
     and p_op ? 'value'
     and (queen.kv_value_small_v1(p_op -> 'value') or queen.kv_value_fault_v1(p_op -> 'value') is null);
end;
comment on function queen.kv_plain_put_v1(jsonb) is
  'True for a put or putIfAbsent that is evidently good; false and NULL say nothing.';

-- kv_plain_incr_v1: true for an incr by an integer, without bounds and required, that is evidently good; false and NULL say
-- nothing (see kv_plain_op_v1).
create or replace function queen.kv_plain_incr_v1(p_op jsonb) returns boolean
language sql stable parallel safe
begin atomic
  select queen.kv_plain_op_v1(p_op)
     and queen.kv_plain_expiry_v1(p_op, '{op,ns,key,delta}')
     and p_op @@ queen.kv_integer_path_v1('delta', -1000000000000000000, 1000000000000000000);
end;
comment on function queen.kv_plain_incr_v1(jsonb) is
  'True for an incr by an integer, without bounds, that is evidently good; false and NULL say nothing.';

-- kv_op_keys_v1: how many keys a checked op counts towards the limit of keys a call: getMany's keys (repeats too) and getPrefix's
-- clamped limit; NULL for an op of one key.
create or replace function queen.kv_op_keys_v1(p_op jsonb) returns integer
language sql immutable parallel safe
begin atomic
  select case p_op ->> 'op' collate "C"
    when 'getMany' then jsonb_array_length(p_op -> 'keys')
    when 'getPrefix' then queen.kv_page_limit_v1(p_op -> 'limit')
  end;
end;
comment on function queen.kv_op_keys_v1(jsonb) is 'How many keys a checked op counts towards the limit of keys a call; NULL for an op of one key.';

-- kv_call_fault_v1: NULL for a call that may be looked into, else what is wrong with the call as a whole. A NULL tenant is
-- refused even for no ops, or the rows of a forgotten tenant would be found by nobody.
create or replace function queen.kv_call_fault_v1(p_ops jsonb, p_tenant uuid, p_now timestamptz, p_in_wire boolean) returns text
language sql immutable parallel safe
begin atomic
  select case
    when p_tenant is null then 'kv_bad_request the tenant must not be NULL'
    when p_now is not null and not queen.kv_now_ok_v1(p_now) then 'kv_bad_request p_now must be finite and within the years 1 to 9899'
    when jsonb_typeof(p_ops) is distinct from 'array' collate "C" then 'kv_bad_request p_ops must be an array of ops'
    when jsonb_array_length(p_ops) > case when p_in_wire then queen.kv_limit_v1('ops_in_wire') else queen.kv_limit_v1('ops') end then
      'kv_too_many_ops a call takes at most 256 ops, 64 in the wire'
  end;
end;
comment on function queen.kv_call_fault_v1(jsonb, uuid, timestamptz, boolean) is 'NULL for a good call, else what is wrong with it as a whole.';

-- 024_kv.sql: the table, its sequence, its index and settings, the two side tables, the typed reads and kv_apply_v1.
--
-- One row is one key of one tenant in one namespace. Who calls what: applications call kv_apply_v1 (any op, verdicts as
-- JSON) and the typed reads; the functions of ops/ are kv_apply_v1's own. Invariants:
--   existence   kv_live_v1 alone says whether a row exists; an expired row is as good as none until the sweeper takes it.
--   time        one call has one instant (p_now, or the clock read once at the start); nothing reads now().
--   locks       within a call writes run in ascending (namespace, key, index), byte order; reads lock nothing; an op that
--               loses on a committed live row locks nothing, draws no version and writes no WAL.
--   version     an opaque token from one sequence: never issued twice for a key, compared for equality only.
--   budgets     every limit is kv_limit_v1's; reads stop at 4 MiB of value text a call.
-- Everything here can be run again: what exists is left alone, and no lock is taken where nothing is to be made.

-- CACHE 1000: a version is an opaque token, so the gaps and the order between sessions mean nothing, and a session visits
-- the sequence (and its WAL) once in a thousand writes. 2026-12-01, make soak: 1 and 32 differ from it by no more than the noise.
create sequence if not exists queen.kv_version_seq as bigint cache 1000;

create table if not exists queen.kv (
  tenant_id  uuid        not null default queen.kv_default_tenant_v1(),
  namespace  text        not null collate "C",
  key        text        not null collate "C",
  value      jsonb       not null,
  version    bigint      not null default nextval('queen.kv_version_seq'),
  expires_at timestamptz,
  shard      smallint    not null generated always as ((hashtextextended(key, 0) & 63)::smallint) stored,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  constraint kv_pkey primary key (tenant_id, namespace, key),
  constraint kv_namespace_form check (octet_length(namespace) <= 64 and namespace ~ '^[a-z0-9][a-z0-9._-]*$'),
  constraint kv_key_length check (octet_length(key) between 1 and 2048),
  constraint kv_expires_at_finite check (expires_at >= '0001-01-01 00:00:00+00' and expires_at < '10001-01-01 00:00:00+00'),
  constraint kv_version_positive check (version > 0)
) with (
  -- Decided by make soak (docs/soak.md): 24,000 live rows that turn over 20 times, 4,980 ops/s, PostgreSQL 15.18, 2 cores, 2026-12-01.
  --
  -- 2026-12-01. Symptom: with room left on each page the table is larger, and nothing else is better. 90, 80 and 70 took 1.72, 1.87 and
  -- 2.06 times the live set, 100 takes 1.50. The share of HOT updates of counters is 99% with each: what dies on a page makes the room.
  fillfactor = 100,
  -- 2026-12-01. Symptom: markers and counters turn over all day. 3,843 dead rows at PostgreSQL's own 20%, 2,617 at 5%, 2,268 at 2%; size,
  -- WAL and times are the same but for the noise, and so they are with a faster vacuum (vacuum_cost_delay, vacuum_cost_limit).
  autovacuum_vacuum_scale_factor = 0.05,
  -- 2026-12-01. Symptom: giving empty pages at the end back to the disk takes ACCESS EXCLUSIVE, and the table refills. With true vacuum
  -- held it for 30 ms while 5,320 pages went, and the longest read took 14 ms instead of 7; with false none are given back.
  vacuum_truncate = false
);
comment on table queen.kv is 'One row a key; a row whose expires_at has passed does not exist (kv_live_v1).';

-- The one reader of this index is the sweeper; forever rows are not in it. Looked for first: CREATE INDEX IF NOT EXISTS locks
-- the table even where the index exists.
do $$
begin
  if to_regclass('queen.idx_kv_shard_expires') is null then
    create index idx_kv_shard_expires on queen.kv (shard, expires_at) where expires_at is not null;
  end if;
end;
$$;

create table if not exists queen.kv_quota (
  tenant_id  uuid        primary key,
  max_rows   bigint,
  max_bytes  bigint,
  updated_at timestamptz not null default clock_timestamp()
);
comment on table queen.kv_quota is 'What an operator allows a tenant; NULL is no bound. No write path reads it.';

create table if not exists queen.kv_usage (
  tenant_id   uuid        primary key,
  rows        bigint      not null,
  bytes       bigint      not null,
  sampled     boolean     not null,
  computed_at timestamptz not null
);
comment on table queen.kv_usage is 'What the sweeper measured of a tenant; sampled marks an estimate. No write path touches it.';

-- kv_get_v1: the live row of a key, or no row. kv_get_many_v1: the live rows of keys, each once, in no order.
--
-- The planner inlines both where they are called in FROM with constants, parameters or columns (not with a volatile argument or
-- a sub-query, nor in the select list), and then they cost what a hand-written SELECT costs. p_now NULL is
-- statement_timestamp(). They check nothing and have no budget: a bad name finds nothing, a NULL tenant too.
create or replace function queen.kv_get_v1(
  p_ns text, p_key text, p_tenant uuid default queen.kv_default_tenant_v1(), p_now timestamptz default null)
returns table (key text, value jsonb, version bigint, expires_at timestamptz, updated_at timestamptz)
language sql stable parallel safe rows 1
begin atomic
  select kv.key, kv.value, kv.version, kv.expires_at, kv.updated_at
  from queen.kv
  where kv.tenant_id = p_tenant and kv.namespace = p_ns collate "C" and kv.key = p_key collate "C"
    and queen.kv_live_v1(kv.expires_at, coalesce(p_now, statement_timestamp()));
end;
comment on function queen.kv_get_v1(text, text, uuid, timestamptz) is 'The live row of a key, or no row.';

create or replace function queen.kv_get_many_v1(
  p_ns text, p_keys text[], p_tenant uuid default queen.kv_default_tenant_v1(), p_now timestamptz default null)
returns table (key text, value jsonb, version bigint, expires_at timestamptz, updated_at timestamptz)
language sql stable parallel safe rows 100
begin atomic
  select kv.key, kv.value, kv.version, kv.expires_at, kv.updated_at
  from queen.kv
  where kv.tenant_id = p_tenant and kv.namespace = p_ns collate "C" and kv.key = any (p_keys collate "C")
    and queen.kv_live_v1(kv.expires_at, coalesce(p_now, statement_timestamp()));
end;
comment on function queen.kv_get_many_v1(text, text[], uuid, timestamptz) is 'The live rows of keys, each once, in no order.';

-- kv_apply_v1: runs the ops of a call, in the caller's transaction.
--
-- Result: an array with one object per op, in input order. A lost precondition is a verdict in it (applied: false), not an
-- error, unless the op says required. Every op is checked before the first write. Writes and gets run in ascending
-- (namespace, key, index); getMany and getPrefix after them, in input order, seeing what the call wrote.
-- Race: see ops/. p_now NULL reads the clock once, at the start.
-- Errors: the codes of docs/sql.md, none of which leaves a write behind.
create or replace function queen.kv_apply_v1(
  p_ops jsonb, p_tenant uuid default queen.kv_default_tenant_v1(),
  p_now timestamptz default null, p_in_wire boolean default false) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := coalesce(p_now, clock_timestamp());
  v_op jsonb;
  v_fault text;
  v_result jsonb;
  v_expires_at timestamptz;
  v_seen record;
  v_version bigint;
  v_round integer := 1;
  v_text text;
begin
  -- One op at the clock's own time is what most calls are: the rules of a call as a whole can't refuse it.
  if p_now is null and p_tenant is not null and jsonb_typeof(p_ops) = 'array' and jsonb_array_length(p_ops) = 1 then
    v_op := p_ops -> 0;
  else
    v_fault := queen.kv_call_fault_v1(p_ops, p_tenant, p_now, p_in_wire);
    if v_fault is not null then
      perform queen.kv_refuse_v1(v_fault);
    elsif jsonb_array_length(p_ops) <> 1 then
      return queen.kv_apply_batch_v1(p_ops, p_tenant, v_now, p_now is null, p_in_wire);
    end if;
    v_op := p_ops -> 0;
  end if;

  -- The most usual ops are checked, and where they can be also run, right here, since every function called is made ready
  -- once a transaction; the others by kv_check_op_v1 and the functions of ops/.
  case v_op -> 'op'
    when '"get"' then
      if queen.kv_plain_get_v1(v_op) is not true then
        perform queen.kv_check_op_v1(v_op, 0, p_in_wire);
      end if;
      select jsonb_build_array(g.result) into v_result from queen.kv_op_get_v1(v_op, 0, p_tenant, v_now) as g;
      return case when found then v_result else jsonb_build_array(queen.kv_op_not_found_v1(v_op, 0)) end;
    when '"put"' then
      if queen.kv_plain_put_v1(v_op) is not true then
        perform queen.kv_check_op_v1(v_op, 0, p_in_wire);
      elsif current_setting('transaction_isolation') = 'read committed' then
        -- Nothing to decide, so nothing to read first: as kv_put_batch_v1, and only below REPEATABLE READ for the same reason.
        insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
        values (p_tenant, v_op ->> 'ns', v_op ->> 'key', v_op -> 'value', nextval('queen.kv_version_seq'),
          queen.kv_expiry_v1(v_now, queen.kv_ttl_ms_v1(v_op)), v_now, v_now)
        on conflict (tenant_id, namespace, key) do update set
          value = excluded.value, version = excluded.version, expires_at = excluded.expires_at, updated_at = excluded.updated_at,
          created_at = case when queen.kv_live_v1(kv.expires_at, excluded.updated_at) then kv.created_at else excluded.created_at end
        returning jsonb_build_array(queen.kv_verdict_v1(v_op, 0, null, v_op -> 'value', kv.version, kv.expires_at)), kv.expires_at
        into v_result, v_expires_at;
        if found then
          if p_now is null and v_expires_at <= clock_timestamp() then
            v_expires_at := queen.kv_restamp_v1(p_tenant, v_op ->> 'ns', v_op ->> 'key', queen.kv_ttl_ms_v1(v_op));
            v_result := jsonb_set(v_result, '{0,expiresAt}', to_jsonb(queen.kv_time_v1(v_expires_at)));
          end if;
          return v_result;
        end if;
      end if;
      return jsonb_build_array(queen.kv_op_put_v1(v_op, 0, p_tenant, v_now, p_now is null));
    when '"putIfAbsent"' then
      if queen.kv_plain_put_v1(v_op) is not true then
        perform queen.kv_check_op_v1(v_op, 0, p_in_wire);
      end if;
      return jsonb_build_array(queen.kv_op_put_v1(v_op, 0, p_tenant, v_now, p_now is null));
    when '"incr"' then
      if queen.kv_plain_incr_v1(v_op) is not true then
        perform queen.kv_check_op_v1(v_op, 0, p_in_wire);
      else
        -- A live number that stays in range is counted up here; kv_op_incr_v1 has everything else, a lost race too.
        select kv.version, kv.expires_at, to_jsonb(trim_scale(kv.value::numeric + (v_op -> 'delta')::numeric)) as value into v_seen
        from queen.kv
        where kv.tenant_id = p_tenant and kv.namespace = (v_op ->> 'ns') collate "C" and kv.key = (v_op ->> 'key') collate "C"
          and queen.kv_live_v1(kv.expires_at, v_now)
          and case when jsonb_typeof(kv.value) = 'number' then queen.kv_number_ok_v1(kv.value::numeric + (v_op -> 'delta')::numeric) end;
        if found then
          v_version := nextval('queen.kv_version_seq');
          update queen.kv set value = v_seen.value, version = v_version, updated_at = v_now
          where kv.tenant_id = p_tenant and kv.namespace = (v_op ->> 'ns') collate "C" and kv.key = (v_op ->> 'key') collate "C"
            and kv.version = v_seen.version and kv.expires_at is not distinct from v_seen.expires_at
          returning jsonb_build_array(queen.kv_verdict_v1(v_op, 0, null, kv.value, kv.version, kv.expires_at)) into v_result;
          if found then
            return v_result;
          end if;
          v_round := 2;
        end if;
      end if;
      return jsonb_build_array(queen.kv_op_incr_v1(v_op, 0, p_tenant, v_now, p_now is null, v_round));
    when '"touch"' then
      perform queen.kv_check_op_v1(v_op, 0, p_in_wire);
      return jsonb_build_array(queen.kv_op_touch_v1(v_op, 0, p_tenant, v_now, p_now is null));
    when '"delete"' then
      perform queen.kv_check_op_v1(v_op, 0, p_in_wire);
      return jsonb_build_array(queen.kv_op_delete_v1(v_op, 0, p_tenant, v_now));
    when '"getMany"' then
      perform queen.kv_check_op_v1(v_op, 0, p_in_wire);
      if queen.kv_op_keys_v1(v_op) <= queen.kv_limit_v1('keys_in_wire') then
        v_result := queen.kv_op_get_few_v1(v_op, p_tenant, v_now);
        if v_result is not null then
          return v_result;
        end if;
        select r.result into v_text from queen.kv_op_get_many_v1(v_op, 0, p_tenant, v_now, queen.kv_limit_v1('read_bytes')) as r;
        return ('[' || v_text || ']')::jsonb;
      end if;
      return queen.kv_apply_batch_v1(p_ops, p_tenant, v_now, p_now is null, p_in_wire); -- which refuses too many keys
    else
      -- getPrefix, and what is no op at all, which is refused there.
      return queen.kv_apply_batch_v1(p_ops, p_tenant, v_now, p_now is null, p_in_wire);
  end case;
end;
$$;
comment on function queen.kv_apply_v1(jsonb, uuid, timestamptz, boolean) is
  'Runs an array of ops in the caller''s transaction; answers an array with one verdict or result per op, in input order.';

-- kv_check_op_v1: refuses an op that is not good. Errors: those of kv_op_fault_v1.
create or replace function queen.kv_check_op_v1(p_op jsonb, p_index integer, p_in_wire boolean) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fault constant text := queen.kv_op_fault_v1(p_op, p_in_wire);
begin
  if v_fault is not null then
    perform queen.kv_refuse_v1(v_fault, p_index);
  end if;
end;
$$;
comment on function queen.kv_check_op_v1(jsonb, integer, boolean) is 'Refuses an op that is not good.';

-- kv_plan_v1: checks every op of a call and gives the order to run them in.
--
-- single_key: the indexes (from 0) of the ops of one key in run order, ascending (namespace, key, index). set_reads: getMany and
-- getPrefix, in input order, which run after them. is_put_batch: the call is several unconditional puts of distinct keys in a
-- READ COMMITTED transaction, which kv_put_batch_v1 can take.
-- Errors: the first bad op in input order is refused, then too many keys.
create or replace function queen.kv_plan_v1(
  p_ops jsonb, p_in_wire boolean, out single_key integer[], out set_reads integer[], out is_put_batch boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fault text;
  v_index integer;
  v_keys bigint;
begin
  select
    min(c.index) filter (where c.fault is not null),
    (array_agg(c.fault order by c.index) filter (where c.fault is not null))[1],
    sum(c.keys),
    coalesce(array_agg(c.index order by c.ns, c.key, c.index) filter (where c.keys is null), '{}'),
    coalesce(array_agg(c.index order by c.index) filter (where c.keys is not null), '{}'),
    bool_and(c.is_plain_put)
  into v_index, v_fault, v_keys, single_key, set_reads, is_put_batch
  from (
    select f.index, f.fault,
      case when f.fault is null then queen.kv_op_keys_v1(f.op) end as keys,
      case when f.fault is null then f.op ->> 'ns' end collate "C" as ns,
      case when f.fault is null then f.op ->> 'key' end collate "C" as key,
      f.fault is null and f.op ->> 'op' = 'put' and not f.op ? 'expect' as is_plain_put
    from (
      select e.op, (e.position - 1)::integer as index,
        case
          when case e.op -> 'op'
                 when '"put"' then queen.kv_plain_put_v1(e.op)
                 when '"get"' then queen.kv_plain_get_v1(e.op)
               end then null
          else queen.kv_op_fault_v1(e.op, p_in_wire)
        end as fault
      from jsonb_array_elements(p_ops) with ordinality as e (op, position)
      offset 0
    ) as f
  ) as c;
  if v_fault is not null then
    perform queen.kv_refuse_v1(v_fault, v_index);
  end if;
  if v_keys > (case when p_in_wire then queen.kv_limit_v1('keys_in_wire') else queen.kv_limit_v1('keys') end) then
    perform queen.kv_refuse_v1('kv_too_many_keys a call takes at most 4096 keys in getMany and getPrefix, 256 in the wire');
  end if;
  is_put_batch := is_put_batch and cardinality(single_key) > 1
    and current_setting('transaction_isolation') = 'read committed'
    and cardinality(single_key) = (
      select count(distinct e.op ->> 'ns' || '/' || (e.op ->> 'key')) from jsonb_array_elements(p_ops) as e (op));
end;
$$;
comment on function queen.kv_plan_v1(jsonb, boolean) is 'Checks every op of a call and gives the order to run them in.';

-- kv_lost_v1: the losing verdict of a write op, or, when the op says `required: true`, SQLSTATE 23514 with message
-- kv_precondition_failed. Its DETAIL is always valid JSON: index, op, ns, key (whole), reason, version and value; a value
-- that would take it past 4096 bytes is left out and valueTruncated: true put in its place.
create or replace function queen.kv_lost_v1(
  p_op jsonb, p_index integer, p_reason text, p_value jsonb, p_version bigint, p_expires_at timestamptz) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_detail jsonb;
begin
  if p_op -> 'required' is distinct from 'true' then
    return queen.kv_verdict_v1(p_op, p_index, p_reason, p_value, p_version, p_expires_at);
  end if;
  v_detail := jsonb_build_object('index', p_index, 'op', p_op -> 'op', 'ns', p_op -> 'ns', 'key', p_op -> 'key',
    'reason', p_reason, 'version', p_version, 'value', p_value);
  if octet_length(v_detail::text) > queen.kv_limit_v1('detail_bytes') then
    v_detail := v_detail - 'value' || '{"valueTruncated": true}';
  end if;
  raise exception using message = 'kv_precondition_failed', errcode = '23514', detail = v_detail::text;
end;
$$;
comment on function queen.kv_lost_v1(jsonb, integer, text, jsonb, bigint, timestamptz) is
  'The losing verdict of a write op, or kv_precondition_failed when the op says required.';

-- kv_restamp_v1: stamps the expiry that an op of this transaction wrote once more, from the clock: the op waited for a lock so
-- long that what it wrote was dead at birth. The row is locked by the caller's own write. Answers the new expiry.
create or replace function queen.kv_restamp_v1(p_tenant uuid, p_ns text, p_key text, p_ttl_ms bigint) returns timestamptz
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_expires_at constant timestamptz := queen.kv_expiry_v1(clock_timestamp(), p_ttl_ms);
begin
  update queen.kv set expires_at = v_expires_at
  where kv.tenant_id = p_tenant and kv.namespace = p_ns collate "C" and kv.key = p_key collate "C";
  return v_expires_at;
end;
$$;
comment on function queen.kv_restamp_v1(uuid, text, text, bigint) is
  'Stamps the expiry of a row that this transaction wrote again, from the clock, and answers it.';

-- kv_op_get_v1: what the op get shows of a live row; no row where there is none. Inlined where it is called in FROM. Locks
-- nothing. kv_op_not_found_v1 is the result of a get that found nothing.
create or replace function queen.kv_op_get_v1(p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz)
returns table (result jsonb)
language sql stable rows 1
begin atomic
  select jsonb_build_object('index', p_index, 'op', 'get', 'found', true, 'key', kv.key, 'value', kv.value,
    'version', kv.version, 'expiresAt', queen.kv_time_v1(kv.expires_at), 'updatedAt', queen.kv_time_v1(kv.updated_at))
  from queen.kv
  where kv.tenant_id = p_tenant and kv.namespace = (p_op ->> 'ns') collate "C" and kv.key = (p_op ->> 'key') collate "C"
    and queen.kv_live_v1(kv.expires_at, p_now);
end;
comment on function queen.kv_op_get_v1(jsonb, integer, uuid, timestamptz) is 'What the op get shows of a live row.';

create or replace function queen.kv_op_not_found_v1(p_op jsonb, p_index integer) returns jsonb
language sql stable
begin atomic
  select jsonb_build_object('index', p_index, 'op', 'get', 'found', false, 'key', p_op -> 'key');
end;
comment on function queen.kv_op_not_found_v1(jsonb, integer) is 'The result of a get that found nothing.';

-- kv_op_put_v1: the ops put and putIfAbsent, checked by the caller (kv_apply_v1).
--
-- Result: the verdict (kv_verdict_v1). Race: the row is read first, in a statement of its own, and decides; a row that was seen
-- is changed by an UPDATE that repeats the precondition, so that after a wait it holds for the row that was locked; when nothing
-- was changed, read and decide again. A loser on a committed live row locks nothing and draws no version. (Where a put has
-- nothing to decide, in READ COMMITTED, kv_apply_v1 and kv_put_batch_v1 may write it in one statement.)
-- Errors: 23514 for a lost `required`, 40001 when the row changes hands too often.
create or replace function queen.kv_op_put_v1(
  p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz, p_restamp boolean) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ns constant text := p_op ->> 'ns';
  v_key constant text := p_op ->> 'key';
  v_expect constant bigint := case p_op ->> 'op' when 'putIfAbsent' then 0 else (p_op -> 'expect')::bigint end;
  v_ttl_ms constant bigint := queen.kv_ttl_ms_v1(p_op);
  v_expires_at timestamptz := queen.kv_expiry_v1(p_now, v_ttl_ms);
  v_seen record;
  v_found boolean;
  v_reason text;
  v_version bigint;
begin
  for v_round in 1 .. queen.kv_limit_v1('rounds') loop
    select kv.value, kv.version, kv.expires_at into v_seen
    from queen.kv
    where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C";
    v_found := found;
    v_reason := queen.kv_lost_reason_v1(v_expect, queen.kv_ver_v1(v_seen.version, v_seen.expires_at, p_now));
    if v_reason = 'absent' then
      return queen.kv_lost_v1(p_op, p_index, v_reason, null, 0, null);
    elsif v_reason is not null then
      return queen.kv_lost_v1(p_op, p_index, v_reason, v_seen.value, v_seen.version, v_seen.expires_at);
    end if;

    v_version := coalesce(v_version, nextval('queen.kv_version_seq'));
    if v_found then
      update queen.kv set
        value = p_op -> 'value', version = v_version, expires_at = v_expires_at, updated_at = p_now,
        created_at = case when queen.kv_live_v1(kv.expires_at, p_now) then kv.created_at else p_now end
      where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C"
        and (v_expect is null or queen.kv_ver_v1(kv.version, kv.expires_at, p_now) = v_expect);
    else
      insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
      values (p_tenant, v_ns, v_key, p_op -> 'value', v_version, v_expires_at, p_now, p_now)
      on conflict do nothing;
    end if;

    if found then
      if p_restamp and v_expires_at <= clock_timestamp() then
        v_expires_at := queen.kv_restamp_v1(p_tenant, v_ns, v_key, v_ttl_ms);
      end if;
      return queen.kv_verdict_v1(p_op, p_index, null, p_op -> 'value', v_version, v_expires_at);
    end if;
  end loop;
  perform queen.kv_contended_v1(p_index);
end;
$$;
comment on function queen.kv_op_put_v1(jsonb, integer, uuid, timestamptz, boolean) is
  'The ops put and putIfAbsent of kv_apply_v1, already checked.';

-- kv_op_delete_v1: the op delete, checked by the caller (kv_apply_v1).
--
-- Result: the verdict; applied shows the value and version deleted (null and 0 under `expect: 0`). An expired row is removed
-- whatever the verdict, which is the one of an absent key. Race and errors: as in kv_op_put_v1.
create or replace function queen.kv_op_delete_v1(
  p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ns constant text := p_op ->> 'ns';
  v_key constant text := p_op ->> 'key';
  v_expect constant bigint := (p_op -> 'expect')::bigint;
  v_seen record;
  v_reason text;
begin
  for v_round in 1 .. queen.kv_limit_v1('rounds') loop
    select kv.value, kv.version, kv.expires_at into v_seen
    from queen.kv
    where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C";

    if found and queen.kv_live_v1(v_seen.expires_at, p_now) then
      v_reason := queen.kv_lost_reason_v1(v_expect, v_seen.version);
      if v_reason is not null then
        return queen.kv_lost_v1(p_op, p_index, v_reason, v_seen.value, v_seen.version, v_seen.expires_at);
      end if;
      delete from queen.kv
      where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C"
        and queen.kv_live_v1(kv.expires_at, p_now) and (v_expect is null or kv.version = v_expect)
      returning kv.value, kv.version, kv.expires_at into v_seen;
      if found then
        return queen.kv_verdict_v1(p_op, p_index, null, v_seen.value, v_seen.version, v_seen.expires_at);
      end if;
    else
      if found then
        delete from queen.kv
        where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C"
          and not queen.kv_live_v1(kv.expires_at, p_now);
        continue when not found;
      end if;
      if v_expect = 0 then
        return queen.kv_verdict_v1(p_op, p_index, null, null, 0, null);
      end if;
      return queen.kv_lost_v1(p_op, p_index, 'absent', null, 0, null);
    end if;
  end loop;
  perform queen.kv_contended_v1(p_index);
end;
$$;
comment on function queen.kv_op_delete_v1(jsonb, integer, uuid, timestamptz) is 'The op delete of kv_apply_v1, already checked.';

-- kv_op_incr_v1: the op incr, checked by the caller (kv_apply_v1).
--
-- Result: the verdict with the new number. The expiry is written only when the key is created or was expired: a live key
-- keeps its own, or a fixed window would never close.
-- Race: the UPDATE holds for the very row image that the sum was made from (version, and expiry, which touch moves alone). When
-- it waited for a writer and that image is gone, it changes nothing but has locked the row, so that the next round's image
-- stays: an increment without bounds applies on any number, whatever runs beside it.
-- p_round is 1, or 2 when the caller has lost a round of its own.
-- Errors: as in kv_op_put_v1.
create or replace function queen.kv_op_incr_v1(
  p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz, p_restamp boolean, p_round integer) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ns constant text := p_op ->> 'ns';
  v_key constant text := p_op ->> 'key';
  v_delta constant numeric := (p_op -> 'delta')::numeric;
  v_ttl_ms constant bigint := queen.kv_ttl_ms_v1(p_op);
  v_seen record;
  v_found boolean;
  v_live boolean;
  v_sum numeric;
  v_new jsonb;
  v_expires_at timestamptz;
  v_version bigint;
begin
  for v_round in p_round .. queen.kv_limit_v1('rounds') loop
    if v_round > 2 then
      -- Beaten twice between the look and the UPDATE: hold the row, so that the next look stays true.
      perform from queen.kv
      where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C"
      for no key update;
    end if;
    select kv.value, kv.version, kv.expires_at into v_seen
    from queen.kv
    where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C";
    v_found := found;
    v_live := v_found and queen.kv_live_v1(v_seen.expires_at, p_now);

    if v_live and jsonb_typeof(v_seen.value) <> 'number' then
      return queen.kv_lost_v1(p_op, p_index, 'type', v_seen.value, v_seen.version, v_seen.expires_at);
    end if;
    v_sum := queen.kv_num_v1(v_seen.value, v_seen.expires_at, p_now) + v_delta;
    if not queen.kv_incr_fits_v1(v_sum, v_delta, (p_op -> 'min')::numeric, (p_op -> 'max')::numeric) then
      return case
        when v_live then queen.kv_lost_v1(p_op, p_index, 'limit', v_seen.value, v_seen.version, v_seen.expires_at)
        else queen.kv_lost_v1(p_op, p_index, 'limit', null, 0, null)
      end;
    end if;

    v_new := to_jsonb(trim_scale(v_sum));
    v_expires_at := case when v_live then v_seen.expires_at else queen.kv_expiry_v1(p_now, v_ttl_ms) end;
    v_version := coalesce(v_version, nextval('queen.kv_version_seq'));
    if v_found then
      update queen.kv set
        value = v_new, version = v_version, expires_at = v_expires_at, updated_at = p_now,
        created_at = case when v_live then kv.created_at else p_now end
      where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C"
        and kv.version = v_seen.version and kv.expires_at is not distinct from v_seen.expires_at;
    else
      insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
      values (p_tenant, v_ns, v_key, v_new, v_version, v_expires_at, p_now, p_now)
      on conflict do nothing;
    end if;

    if found then
      if p_restamp and not v_live and v_expires_at <= clock_timestamp() then
        v_expires_at := queen.kv_restamp_v1(p_tenant, v_ns, v_key, v_ttl_ms);
      end if;
      return queen.kv_verdict_v1(p_op, p_index, null, v_new, v_version, v_expires_at);
    end if;
  end loop;
  perform queen.kv_contended_v1(p_index);
end;
$$;
comment on function queen.kv_op_incr_v1(jsonb, integer, uuid, timestamptz, boolean, integer) is 'The op incr of kv_apply_v1, already checked.';

-- kv_op_touch_v1: the op touch, checked by the caller (kv_apply_v1).
--
-- Result: the verdict. Moves the expiry of a live row and nothing else: value, version and updated_at stay, so that a lease
-- renewed by its version is still held by it. `expect: 0` never applies. Race and errors: as in kv_op_put_v1; the
-- precondition is repeated on the row that was locked, and value and version are that row's.
create or replace function queen.kv_op_touch_v1(
  p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz, p_restamp boolean) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ns constant text := p_op ->> 'ns';
  v_key constant text := p_op ->> 'key';
  v_expect constant bigint := (p_op -> 'expect')::bigint;
  v_ttl_ms constant bigint := queen.kv_ttl_ms_v1(p_op);
  v_expires_at timestamptz := queen.kv_expiry_v1(p_now, v_ttl_ms);
  v_seen record;
  v_reason text;
begin
  for v_round in 1 .. queen.kv_limit_v1('rounds') loop
    select kv.value, kv.version, kv.expires_at into v_seen
    from queen.kv
    where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C";

    if not found or not queen.kv_live_v1(v_seen.expires_at, p_now) then
      return queen.kv_lost_v1(p_op, p_index, 'absent', null, 0, null);
    end if;
    v_reason := queen.kv_lost_reason_v1(v_expect, v_seen.version);
    if v_reason is not null then
      return queen.kv_lost_v1(p_op, p_index, v_reason, v_seen.value, v_seen.version, v_seen.expires_at);
    end if;
    update queen.kv set expires_at = v_expires_at
    where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = v_key collate "C"
      and queen.kv_live_v1(kv.expires_at, p_now) and (v_expect is null or kv.version = v_expect)
    returning kv.value, kv.version, kv.expires_at into v_seen;

    if found then
      if p_restamp and v_expires_at <= clock_timestamp() then
        v_expires_at := queen.kv_restamp_v1(p_tenant, v_ns, v_key, v_ttl_ms);
      end if;
      return queen.kv_verdict_v1(p_op, p_index, null, v_seen.value, v_seen.version, v_expires_at);
    end if;
  end loop;
  perform queen.kv_contended_v1(p_index);
end;
$$;
comment on function queen.kv_op_touch_v1(jsonb, integer, uuid, timestamptz, boolean) is 'The op touch of kv_apply_v1, already checked.';

-- kv_op_get_few_v1: the op getMany, alone in its call and checked by the caller (kv_apply_v1), where each value that it finds is
-- small: read at once, and encoded once, as a row that jsonb is made of. NULL where nothing is alive, where a value takes more
-- than 2,000 bytes as it is stored or lies out of line, or where the read budget may cut: kv_op_get_many_v1 answers then, value
-- by value. pg_column_size detoasts nothing, and the inner query is fenced by OFFSET 0, so that it is asked first. Of small values with
-- long texts (compressed ones, numbers) all are read before the budget is looked at: at most 256, each below the value ceiling.
create or replace function queen.kv_op_get_few_v1(p_op jsonb, p_tenant uuid, p_now timestamptz) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ns constant text := p_op ->> 'ns';
  v_keys constant text[] := array(select jsonb_array_elements_text(p_op -> 'keys'));
begin
  return (
    select to_jsonb(array[answer])
    from (
      select 0 as index, 'getMany' as op, found.rows,
        case when found.count = cardinality(v_keys) then '{}' else array(
          select e.key from unnest(v_keys) with ordinality as e (key, position)
          group by e.key having e.key <> all (found.keys) order by min(e.position)
        ) end as missing,
        false as truncated
      from (
        select array_agg(r) as rows, array_agg(r.key) as keys, count(*) as count,
          sum(octet_length(r.value::text)) as size, bool_and(r.value is not null) as small
        from (
          select s.key, case when s.small then s.value end as value, s.version,
            queen.kv_time_v1(s.expires_at) as "expiresAt", queen.kv_time_v1(s.updated_at) as "updatedAt"
          from (
            select kv.key, kv.value, pg_column_size(kv.value) <= 2000 as small, kv.version, kv.expires_at, kv.updated_at
            from queen.kv
            where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = any (v_keys)
              and queen.kv_live_v1(kv.expires_at, p_now)
            order by kv.key
            offset 0
          ) as s
        ) as r
      ) as found
      where found.small and found.size <= queen.kv_limit_v1('read_bytes')
    ) as answer);
end;
$$;
comment on function queen.kv_op_get_few_v1(jsonb, uuid, timestamptz) is
  'The op getMany, already checked, where each value it finds is small: the results of its call; NULL where it is not.';

-- kv_op_get_many_v1: the op getMany, checked by the caller (kv_apply_v1).
--
-- Each distinct key is answered once: in rows (byte order), or in missing (input order) when nothing is alive; both come from
-- one statement. Rows are given while any of p_budget (bytes of value text) is left, the one that straddles is kept, and the
-- first one always; what is cut is in neither list, and truncated says so.
--
-- The statement gives the missing keys first and then the rows, whose values are detoasted one by one as the loop reads
-- them, so that reading stops (but for the loop's read-ahead of 50 rows) where the budget ends. The inner queries are fenced by
-- OFFSET 0: the sort must see values that are still in their TOAST form, and each becomes text once. The result is text, which
-- the caller makes jsonb once.
create or replace function queen.kv_op_get_many_v1(
  p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz, inout p_budget bigint, out result text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ns constant text := p_op ->> 'ns';
  v_rows text[] := '{}';
  v_missing jsonb[] := '{}';
  v_truncated boolean := false;
  v_row record;
begin
  for v_row in
    select f.key, octet_length(f.value) as size,
      queen.kv_row_v1(f.key, f.value, f.version, f.expires_at, f.updated_at) as shown -- NULL where nothing is alive
    from (
      select s.key, s.value::text as value, s.version, s.expires_at, s.updated_at
      from (
        select k.key, kv.value, kv.version, kv.expires_at, kv.updated_at
        from (
          select e.key collate "C" as key, min(e.position) as position
          from jsonb_array_elements_text(p_op -> 'keys') with ordinality as e (key, position)
          group by e.key collate "C"
        ) as k
        left join queen.kv
          on kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C" and kv.key = k.key
          and queen.kv_live_v1(kv.expires_at, p_now)
        order by kv.key is not null, case when kv.key is null then k.position end, k.key
        offset 0
      ) as s
      offset 0
    ) as f
  loop
    if v_row.shown is null then
      v_missing := v_missing || to_jsonb(v_row.key);
    elsif p_budget > 0 or v_rows = '{}' then
      v_rows := v_rows || v_row.shown;
      p_budget := p_budget - v_row.size;
    else
      v_truncated := true;
      exit;
    end if;
  end loop;
  result := '{"index": ' || p_index || ', "op": "getMany", "rows": [' || array_to_string(v_rows, ', ') || '], "missing": '
    || to_jsonb(v_missing)::text || ', "truncated": ' || to_jsonb(v_truncated)::text || '}';
end;
$$;
comment on function queen.kv_op_get_many_v1(jsonb, integer, uuid, timestamptz, bigint) is
  'The op getMany of kv_apply_v1, already checked; answers the result, as text, and what is left of the read budget.';

-- kv_op_get_prefix_v1: the op getPrefix, checked by the caller (kv_apply_v1).
--
-- A page of live rows whose key starts with the prefix, in byte order, from after (exclusive). It ends at limit rows or where
-- p_budget (bytes of value text; keysOnly spends nothing) is spent, but never before its first row, so that truncated: true
-- always comes with a nextAfter that leads on.
--
-- starts_with decides; the two bounds only drive the primary key. They are plain variables, so that they are index conditions
-- in a generic plan too, and the lower one is greatest(prefix, after): the last page costs what the first does. Values become
-- text one by one as the loop reads them, in a fenced query (OFFSET 0), once. The result is text, which the caller makes jsonb
-- once.
create or replace function queen.kv_op_get_prefix_v1(
  p_op jsonb, p_index integer, p_tenant uuid, p_now timestamptz, inout p_budget bigint, out result text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ns constant text := p_op ->> 'ns';
  v_prefix constant text := p_op ->> 'prefix';
  v_after constant text := coalesce(p_op ->> 'after', '');
  v_from constant text := greatest(v_prefix collate "C", v_after collate "C");
  v_to constant text := queen.kv_prefix_end_v1(v_prefix);
  v_limit constant integer := queen.kv_page_limit_v1(p_op -> 'limit');
  v_keys_only constant boolean := p_op @> '{"keysOnly": true}';
  v_rows text[] := '{}';
  v_next_after text;
  v_truncated boolean := false;
  v_row record;
begin
  for v_row in
    select f.key, octet_length(f.value) as size, queen.kv_row_v1(f.key, f.value, f.version, f.expires_at, f.updated_at) as shown
    from (
      select s.key, case when not v_keys_only then s.value::text end as value, s.version, s.expires_at, s.updated_at
      from (
        select kv.key, kv.value, kv.version, kv.expires_at, kv.updated_at
        from queen.kv
        where kv.tenant_id = p_tenant and kv.namespace = v_ns collate "C"
          and kv.key >= v_from collate "C" and kv.key < v_to collate "C"
          and kv.key <> v_after collate "C"
          and starts_with(kv.key, v_prefix)
          and queen.kv_live_v1(kv.expires_at, p_now)
        order by kv.key
        limit v_limit + 1
      ) as s
      offset 0
    ) as f
  loop
    v_truncated := cardinality(v_rows) = v_limit
                or p_budget <= 0 and not v_keys_only and v_rows <> '{}';
    exit when v_truncated;
    v_rows := v_rows || v_row.shown;
    v_next_after := v_row.key;
    p_budget := p_budget - coalesce(v_row.size, 0);
  end loop;
  result := '{"index": ' || p_index || ', "op": "getPrefix", "rows": [' || array_to_string(v_rows, ', ') || '], "truncated": '
    || to_json(v_truncated)::text || ', "nextAfter": ' || coalesce(case when v_truncated then to_json(v_next_after)::text end, 'null') || '}';
end;
$$;
comment on function queen.kv_op_get_prefix_v1(jsonb, integer, uuid, timestamptz, bigint) is
  'The op getPrefix of kv_apply_v1, already checked; answers the result, as text, and what is left of the read budget.';

-- kv_put_batch_v1: several unconditional puts of distinct keys in one statement, checked by the caller (kv_apply_v1), with exactly
-- the answers of kv_op_put_v1 one after the other. Answers the results in input order.
--
-- Only in READ COMMITTED: above it an INSERT that comes first can succeed beside a row that the snapshot still sees. The rows
-- are taken in ascending (namespace, key), like every write of a call. DO UPDATE is right here because there is no condition
-- that could be false.
create or replace function queen.kv_put_batch_v1(p_ops jsonb, p_tenant uuid, p_now timestamptz, p_restamp boolean) returns jsonb[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_results jsonb[];
  v_first_expiry timestamptz;
  v_op jsonb;
  v_index integer;
begin
  with op as materialized (
    select e.op, (e.position - 1)::integer as index, (e.op ->> 'ns') collate "C" as ns, (e.op ->> 'key') collate "C" as key,
      queen.kv_expiry_v1(p_now, queen.kv_ttl_ms_v1(e.op)) as expires_at, nextval('queen.kv_version_seq') as version
    from jsonb_array_elements(p_ops) with ordinality as e (op, position)
  ), written as (
    insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
    select p_tenant, op.ns, op.key, op.op -> 'value', op.version, op.expires_at, p_now, p_now from op order by op.ns, op.key
    on conflict (tenant_id, namespace, key) do update set
      value = excluded.value, version = excluded.version, expires_at = excluded.expires_at, updated_at = excluded.updated_at,
      created_at = case when queen.kv_live_v1(kv.expires_at, p_now) then kv.created_at else excluded.created_at end
  )
  select array_agg(queen.kv_verdict_v1(op.op, op.index, null, op.op -> 'value', op.version, op.expires_at) order by op.index),
    min(op.expires_at)
  into v_results, v_first_expiry from op;

  -- A wait so long that an expiry passed: stamp that key again, as kv_op_put_v1 does.
  if p_restamp and v_first_expiry <= clock_timestamp() then
    for v_op, v_index in
      select e.op, (e.position - 1)::integer from jsonb_array_elements(p_ops) with ordinality as e (op, position)
      where queen.kv_expiry_v1(p_now, queen.kv_ttl_ms_v1(e.op)) <= clock_timestamp()
    loop
      v_results[v_index + 1] := v_results[v_index + 1] || jsonb_build_object('expiresAt',
        queen.kv_time_v1(queen.kv_restamp_v1(p_tenant, v_op ->> 'ns', v_op ->> 'key', queen.kv_ttl_ms_v1(v_op))));
    end loop;
  end if;
  return v_results;
end;
$$;
comment on function queen.kv_put_batch_v1(jsonb, uuid, timestamptz, boolean) is
  'Several unconditional puts of distinct keys in one statement; READ COMMITTED only.';

-- kv_apply_batch_v1: kv_apply_v1 for a call of several ops, of none, or with a getMany or getPrefix in it.
--
-- The ops of one key run in ascending (namespace, key, index); then getMany and getPrefix in input order, which spend what the
-- gets have left of the read budget.
create or replace function queen.kv_apply_batch_v1(
  p_ops jsonb, p_tenant uuid, p_now timestamptz, p_restamp boolean, p_in_wire boolean) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_single_key integer[];
  v_set_reads integer[];
  v_is_put_batch boolean;
  v_budget bigint := queen.kv_limit_v1('read_bytes');
  v_results jsonb[] := array_fill(null::jsonb, array[jsonb_array_length(p_ops)]);
  v_result jsonb;
  v_index integer;
  v_op jsonb;
begin
  select p.single_key, p.set_reads, p.is_put_batch into v_single_key, v_set_reads, v_is_put_batch
  from queen.kv_plan_v1(p_ops, p_in_wire) as p;
  if v_is_put_batch then
    return to_jsonb(queen.kv_put_batch_v1(p_ops, p_tenant, p_now, p_restamp));
  end if;

  foreach v_index in array v_single_key loop
    v_op := p_ops -> v_index;
    case v_op ->> 'op'
      when 'get' then
        select g.result into v_result from queen.kv_op_get_v1(v_op, v_index, p_tenant, p_now) as g;
        if not found then
          v_result := queen.kv_op_not_found_v1(v_op, v_index);
        elsif v_set_reads <> '{}' then
          v_budget := v_budget - octet_length((v_result -> 'value')::text);
        end if;
      when 'put', 'putIfAbsent' then
        v_result := queen.kv_op_put_v1(v_op, v_index, p_tenant, p_now, p_restamp);
      when 'incr' then
        v_result := queen.kv_op_incr_v1(v_op, v_index, p_tenant, p_now, p_restamp, 1);
      when 'touch' then
        v_result := queen.kv_op_touch_v1(v_op, v_index, p_tenant, p_now, p_restamp);
      when 'delete' then
        v_result := queen.kv_op_delete_v1(v_op, v_index, p_tenant, p_now);
    end case;
    v_results[v_index + 1] := v_result;
  end loop;

  foreach v_index in array v_set_reads loop
    v_op := p_ops -> v_index;
    if v_op ->> 'op' = 'getMany' then
      select r.p_budget, r.result::jsonb into v_budget, v_result
      from queen.kv_op_get_many_v1(v_op, v_index, p_tenant, p_now, v_budget) as r;
    else
      select r.p_budget, r.result::jsonb into v_budget, v_result
      from queen.kv_op_get_prefix_v1(v_op, v_index, p_tenant, p_now, v_budget) as r;
    end if;
    v_results[v_index + 1] := v_result;
  end loop;
  return to_jsonb(v_results);
end;
$$;
comment on function queen.kv_apply_batch_v1(jsonb, uuid, timestamptz, boolean, boolean) is
  'kv_apply_v1 for a call that is not one op of one key.';

-- 025_kv_patterns.sql: what people come for, over the same table and the same rules, a file each in patterns/:
--
--   once       kv_once_begin_v1, kv_once_end_v1: an effect at most once a key; later callers get the stored result.
--   limiter    kv_limiter_v1: so many a window and key, a verdict for each key of the call.
--   lease      kv_lease_acquire_v1, kv_lease_renew_v1, kv_lease_guard_v1, kv_lease_release_v1: one holder at a time, for a time.
--   dedupe     kv_dedupe_v1: which keys of a list are new.
--
-- Applications call them, from any language, one round trip a call, and the driver's functions are those calls. Invariants:
--   rows       a pattern's state is an ordinary row: a counter is incr's number, a lease is what putIfAbsent stored. What reads,
--              deletes or counts such a row by kv_apply_v1 sees it, and is seen.
--   rules      those of kv_apply_v1: existence, one instant a call, look first and then write with the precondition repeated, 16
--              rounds, no lock and no WAL for who loses on a committed live row, ascending byte order within a call.
--   verdicts   losing is an answer, not an error. Two raise, because what came before must not be committed: kv_once_end_v1
--              (kv_once_lost) and kv_lease_guard_v1 (kv_lease_lost).
--   faults     the arguments are checked first, with kv_apply_v1's codes; keys are counted last (kv_too_many_keys).
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

-- kv_pattern_fault_v1: NULL for good arguments of a pattern that takes a list of keys and a lifetime, else the first fault, in the
-- order of kv_apply_v1's: the call, namespace, keys, lifetime; the number of keys last.
create or replace function queen.kv_pattern_fault_v1(p_ns text, p_keys text[], p_ttl_ms bigint, p_tenant uuid, p_now timestamptz)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return coalesce(
    queen.kv_call_fault_v1('[]', p_tenant, p_now, false),
    queen.kv_namespace_fault_v1(p_ns),
    case when p_keys is null then 'kv_bad_request keys must be an array of strings' end,
    (select queen.kv_key_fault_v1(k.key) || ' (keys, position ' || k.ordinality - 1 || ')'
     from unnest(p_keys) with ordinality as k (key)
     where queen.kv_key_fault_v1(k.key) is not null
     order by k.ordinality limit 1),
    queen.kv_expiry_fault_v1(jsonb_build_object('ttlMs', p_ttl_ms)),
    case when cardinality(p_keys) > queen.kv_limit_v1('keys') then 'kv_too_many_keys a call takes at most 4096 keys' end);
end;
$$;
comment on function queen.kv_pattern_fault_v1(text, text[], bigint, uuid, timestamptz) is
  'NULL for good arguments of a pattern over a list of keys, else the fault.';

-- limiter.sql: so many a window, for each key: a fixed window that opens with the first hit and closes p_window_ms later.
--
--   select * from queen.kv_limiter_v1('rate', '{user/7}', null, 100, 60000);
--
-- The state is a counter, the very row that incr makes: {"op": "incr", "delta": cost, "max": limit, "ttlMs": window} is the rule.
-- So incr, get and delete (which opens a new window) work on it, and two callers may have different limits on one key.

-- kv_limiter_fault_v1: NULL for good arguments of kv_limiter_v1, else the first fault: as kv_pattern_fault_v1, then costs and limit,
-- and the number of keys after all.
create or replace function queen.kv_limiter_fault_v1(
  p_ns text, p_keys text[], p_costs bigint[], p_limit bigint, p_window_ms bigint, p_tenant uuid, p_now timestamptz) returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fault constant text := queen.kv_pattern_fault_v1(p_ns, p_keys, p_window_ms, p_tenant, p_now);
begin
  return case
    when v_fault is not null and v_fault not like 'kv_too_many_keys%' collate "C" then v_fault
    when cardinality(p_costs) <> cardinality(p_keys) then 'kv_bad_request costs must be as many as keys, or NULL for 1 each'
    when exists (select from unnest(p_costs) as c (cost) where c.cost is null) then 'kv_bad_request costs must not hold a NULL'
    when 0 > any (p_costs) then 'kv_bad_number a cost must not be below 0'
    when p_limit is null then 'kv_bad_request limit must not be NULL'
    when p_limit < 0 then 'kv_bad_number limit must not be below 0'
    else v_fault
  end;
end;
$$;
comment on function queen.kv_limiter_fault_v1(text, text[], bigint[], bigint, bigint, uuid, timestamptz) is
  'NULL for good arguments of kv_limiter_v1, else the fault.';

-- kv_limiter_left_v1: what a limit leaves above a counter: whole, from 0, and no more than a bigint holds (a counter can be below 0,
-- and have decimals, when incr was used on it).
create or replace function queen.kv_limiter_left_v1(p_limit bigint, p_used numeric) returns bigint
language sql immutable parallel safe
begin atomic
  select least(greatest(floor(p_limit - p_used), 0), 9223372036854775807)::bigint;
end;
comment on function queen.kv_limiter_left_v1(bigint, numeric) is 'What a limit leaves above a counter, from 0.';

-- kv_limiter_hit_v1: one cost of one key, checked by the caller (kv_limiter_v1). A verdict of incr. A cost of 0 only looks, and
-- applies when the counter is not above the limit.
create or replace function queen.kv_limiter_hit_v1(
  p_ns text, p_key text, p_cost bigint, p_limit bigint, p_window_ms bigint, p_index integer, p_tenant uuid, p_now timestamptz,
  p_restamp boolean) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_op constant jsonb := jsonb_build_object(
    'op', 'incr', 'ns', p_ns, 'key', p_key, 'delta', p_cost, 'max', p_limit, 'ttlMs', p_window_ms);
  v_seen record;
begin
  if p_cost > 0 then
    return queen.kv_op_incr_v1(v_op, p_index, p_tenant, p_now, p_restamp, 1);
  end if;
  select g.value, g.version, g.expires_at into v_seen from queen.kv_get_v1(p_ns, p_key, p_tenant, p_now) as g;
  return queen.kv_verdict_v1(v_op, p_index,
    case
      when jsonb_typeof(v_seen.value) <> 'number' then 'type'
      when queen.kv_num_v1(v_seen.value, v_seen.expires_at, p_now) > p_limit then 'limit'
    end,
    v_seen.value, coalesce(v_seen.version, 0), v_seen.expires_at);
end;
$$;
comment on function queen.kv_limiter_hit_v1(text, text, bigint, bigint, bigint, integer, uuid, timestamptz, boolean) is
  'One cost of one key for kv_limiter_v1, already checked: a verdict of incr.';

-- kv_limiter_v1: takes each key's cost out of its window, if the limit leaves so much.
--
-- Result: a row for each input position, in input order. ordinality counts from 1. allowed: the cost fitted, and was taken; else reason
-- says why not: limit, or type when the key holds something alive that is no number. remaining: what the window has left
-- after this position. reset_at: when the window closes; NULL when none is open (a first cost above the limit opens none), or when
-- the key lives for ever. A refused cost consumes nothing and moves nothing. A cost of 0 asks and never writes. p_costs NULL means 1
-- each. A key that is named twice is judged in input order, each time after the one before it.
-- Race: of any number of callers exactly as many are allowed as fit. One who is refused on a committed window waits for nobody. Keys
-- are locked in ascending byte order: of calls with many keys none deadlocks another. A key's lock is held until the
-- transaction ends, so use a transaction of its own for a limiter, or let it come last.
-- Errors: kv_apply_v1's for names, tenant, p_now and (kv_bad_ttl) the window; kv_bad_number for a cost or limit below 0;
-- kv_bad_request for a NULL among costs, a NULL limit and another number of costs than of keys; kv_too_many_keys above
-- 4096; 40001 kv_contended.
create or replace function queen.kv_limiter_v1(
  p_ns text, p_keys text[], p_costs bigint[], p_limit bigint, p_window_ms bigint,
  p_tenant uuid default queen.kv_default_tenant_v1(), p_now timestamptz default null)
returns table (ordinality bigint, key text, allowed boolean, reason text, remaining bigint, reset_at timestamptz)
language plpgsql volatile rows 10
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := coalesce(p_now, clock_timestamp());
  v_fault constant text := queen.kv_limiter_fault_v1(p_ns, p_keys, p_costs, p_limit, p_window_ms, p_tenant, p_now);
  v_verdicts jsonb[];
  v_hit record;
begin
  if v_fault is not null then
    perform queen.kv_refuse_v1(v_fault);
  end if;
  v_verdicts := array_fill(null::jsonb, array[cardinality(p_keys)]);
  for v_hit in
    select h.key, coalesce(h.cost, 1) as cost, h.ordinality::integer as place
    from unnest(p_keys, p_costs) with ordinality as h (key, cost)
    order by h.key collate "C", h.ordinality
  loop
    v_verdicts[v_hit.place] := queen.kv_limiter_hit_v1(
      p_ns, v_hit.key, v_hit.cost, p_limit, p_window_ms, v_hit.place - 1, p_tenant, v_now, p_now is null);
  end loop;
  return query
    select v.ordinality, v.verdict ->> 'key', (v.verdict -> 'applied')::boolean, v.verdict ->> 'reason',
      case when v.verdict ->> 'reason' = 'type' then 0
           else queen.kv_limiter_left_v1(p_limit, coalesce(nullif(v.verdict -> 'value', 'null'), '0')::numeric) end,
      (v.verdict ->> 'expiresAt')::timestamptz
    from unnest(v_verdicts) with ordinality as v (verdict, ordinality)
    order by v.ordinality;
end;
$$;
comment on function queen.kv_limiter_v1(text, text[], bigint[], bigint, bigint, uuid, timestamptz) is
  'Takes each key''s cost out of its fixed window, if the limit leaves so much; a row for each input position.';

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

-- dedupe.sql: which keys of a list are new, remembered for a time.
--
--   select queen.kv_dedupe_v1('seen', '{evt_1,evt_2,evt_1}', 86400000);     -- {t,t,f}
--
-- A key that is seen is a live row, whatever its value; a new one gets the value true. It is putIfAbsent for thousands of keys in a
-- few statements, and holds no result: use Once where the effect must happen once, and Dedupe in the effect's own transaction
-- where skipping a repeat is enough.

-- kv_dedupe_insert_v1: makes rows for keys that had none, in one statement; answers those it made. A key that somebody else made first
-- is left, without a lock on it.
create or replace function queen.kv_dedupe_insert_v1(
  p_ns text, p_keys text[], p_expires_at timestamptz, p_tenant uuid, p_now timestamptz) returns text[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_made text[];
begin
  with made as (
    insert into queen.kv (tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
    select p_tenant, p_ns, k.key, 'true', nextval('queen.kv_version_seq'), p_expires_at, p_now, p_now
    from unnest(p_keys) as k (key)
    order by k.key collate "C" -- the order of the locks
    on conflict do nothing
    returning kv.key
  )
  select coalesce(array_agg(made.key), '{}') into v_made from made;
  return v_made;
end;
$$;
comment on function queen.kv_dedupe_insert_v1(text, text[], timestamptz, uuid, timestamptz) is
  'Makes rows for keys of kv_dedupe_v1 that had none; answers those it made.';

-- kv_dedupe_each_v1: putIfAbsent of each key, in the order they are given; answers those that applied. For lists with expired rows in
-- them: no one statement could both insert and take over in one order of locks.
create or replace function queen.kv_dedupe_each_v1(
  p_ns text, p_keys text[], p_ttl_ms bigint, p_tenant uuid, p_now timestamptz) returns text[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key text;
  v_made text[] := array[]::text[];
begin
  foreach v_key in array coalesce(p_keys, '{}') loop
    if queen.kv_op_put_v1(
      jsonb_build_object('op', 'putIfAbsent', 'ns', p_ns, 'key', v_key, 'value', true, 'ttlMs', p_ttl_ms),
      null, p_tenant, p_now, false) @> '{"applied": true}'
    then
      v_made := v_made || v_key;
    end if;
  end loop;
  return v_made;
end;
$$;
comment on function queen.kv_dedupe_each_v1(text, text[], bigint, uuid, timestamptz) is
  'putIfAbsent of each key, for kv_dedupe_v1; answers those that applied.';

-- kv_dedupe_take_v1: makes the keys that are not there, checked by the caller (kv_dedupe_v1), and answers those it made, each once. It
-- looks at all of them first, in a statement of its own. What was lost to somebody else meanwhile is looked at again.
create or replace function queen.kv_dedupe_take_v1(
  p_ns text, p_keys text[], p_ttl_ms bigint, p_tenant uuid, p_now timestamptz) returns text[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_free text[];
  v_expired boolean;
  v_made text[];
  v_new text[] := array[]::text[];
begin
  for v_round in 1 .. queen.kv_limit_v1('rounds') loop
    with found as materialized (
      select kv.key, queen.kv_live_v1(kv.expires_at, p_now) as live
      from queen.kv
      where kv.tenant_id = p_tenant and kv.namespace = p_ns collate "C" and kv.key = any (p_keys collate "C")
    )
    select coalesce(array_agg(k.key order by k.key), '{}'), coalesce(bool_or(found.key is not null), false)
    into v_free, v_expired
    from (select distinct u.key collate "C" as key from unnest(p_keys) as u (key)) as k
    left join found on found.key = k.key
    where found.live is not true;
    if v_free = '{}' then
      return v_new;
    elsif v_expired then
      return v_new || queen.kv_dedupe_each_v1(p_ns, v_free, p_ttl_ms, p_tenant, p_now);
    end if;
    v_made := queen.kv_dedupe_insert_v1(p_ns, v_free, queen.kv_expiry_v1(p_now, p_ttl_ms), p_tenant, p_now);
    v_new := v_new || v_made;
    if cardinality(v_made) = cardinality(v_free) then
      return v_new;
    end if;
  end loop;
  perform queen.kv_contended_v1(null);
end;
$$;
comment on function queen.kv_dedupe_take_v1(text, text[], bigint, uuid, timestamptz) is
  'Makes the keys of kv_dedupe_v1 that are not there, and answers them.';

-- kv_dedupe_v1: says which keys were not there, and remembers them for p_ttl_ms.
--
-- Result: a boolean for each input position, in input order: true for a key that is new. Of a key that is named twice the first is
-- new. A key that is seen keeps its expiry.
-- Race: a key is new to exactly one of any number of callers, who has it when its transaction commits. The others wait for that
-- where nothing is committed yet; a key with a committed live row makes nobody wait, and costs no lock and no WAL.
-- Cost and order: one look at all keys and one INSERT of those without a row, or, when an expired row is among them, a write for each
-- key; in ascending byte order either way. A key that was lost to somebody meanwhile and is gone again is tried once more, after
-- keys above it: that alone can be in a deadlock with another call.
-- Above READ COMMITTED: 40001 for a key that the snapshot can't see or write.
-- Errors: kv_apply_v1's for names, ttl, tenant and p_now; kv_bad_request for NULL keys; kv_too_many_keys above 4096; 40001
-- kv_contended.
create or replace function queen.kv_dedupe_v1(
  p_ns text, p_keys text[], p_ttl_ms bigint,
  p_tenant uuid default queen.kv_default_tenant_v1(), p_now timestamptz default null) returns boolean[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := coalesce(p_now, clock_timestamp());
  v_fault constant text := queen.kv_pattern_fault_v1(p_ns, p_keys, p_ttl_ms, p_tenant, p_now);
  v_new text[];
begin
  if v_fault is not null then
    perform queen.kv_refuse_v1(v_fault);
  end if;
  v_new := queen.kv_dedupe_take_v1(p_ns, p_keys, p_ttl_ms, p_tenant, v_now);
  if p_now is null and queen.kv_expiry_v1(v_now, p_ttl_ms) <= clock_timestamp() then
    -- It waited so long that what it wrote is over: stamp it again. The rows are locked by the writes above.
    update queen.kv set expires_at = queen.kv_expiry_v1(clock_timestamp(), p_ttl_ms)
    where kv.tenant_id = p_tenant and kv.namespace = p_ns collate "C" and kv.key = any (v_new collate "C");
  end if;
  return coalesce((
    select array_agg(n.key is not null and p.nth = 1 order by p.ordinality)
    from (
      select k.key, k.ordinality, row_number() over (partition by k.key collate "C" order by k.ordinality) as nth
      from unnest(p_keys) with ordinality as k (key)
    ) as p
    left join unnest(v_new) as n (key) on n.key = p.key collate "C"
  ), '{}');
end;
$$;
comment on function queen.kv_dedupe_v1(text, text[], bigint, uuid, timestamptz) is
  'Says for each key of a list whether it is new, and remembers it for a time.';


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

-- kv_expire_fault_v1: NULL for good arguments of kv_expire_step_v1, else what is wrong. Whatever would look like a table without
-- expired rows is refused: no shards, a shard that no row has, no rows to delete.
create or replace function queen.kv_expire_fault_v1(
  p_shards smallint[], p_now timestamptz, p_max_rows integer, p_from timestamptz) returns text
language sql immutable parallel safe
begin atomic
  select case
    when coalesce(cardinality(p_shards), 0) = 0 then 'kv_bad_request p_shards must name at least one shard'
    when (0 <= all (p_shards) and 63 >= all (p_shards)) is not true then 'kv_bad_request a shard is a number from 0 to 63'
    when p_now is not null and not queen.kv_now_ok_v1(p_now) then 'kv_bad_request p_now must be finite and within the years 1 to 9899'
    when coalesce(p_max_rows, 0) not between 1 and queen.kv_limit_v1('sweep_rows') then
      'kv_bad_request p_max_rows must be from 1 to 1000000'
    when p_from is not null and not queen.kv_now_ok_v1(p_from) then 'kv_bad_request p_from must be the nextFrom of an earlier step, or NULL'
  end;
end;
comment on function queen.kv_expire_fault_v1(smallint[], timestamptz, integer, timestamptz) is
  'NULL for good arguments of kv_expire_step_v1, else what is wrong.';

-- kv_expire_guess_v1: chooses the next window of time to sweep from four of the shards, where the backlog is large: it reads a sixteenth
-- of what kv_expire_look_v1 would. Keys fall into shards at random, so what a few shards hold tells about the others.
--
-- The window is p_from <= expires_at < before. Its end is where the first of the four shards has its share of p_budget, so
-- that it seldom holds more than that in all: on 2026-12-01 steps deleted 74% of a p_budget of 1,000 and 91% of one of 10,000
-- on average. Where it does hold more, the step stops at p_budget and doesn't move on. beyond is how many rows beyond the
-- window were seen, one or more. before is NULL when there is nothing to be guessed: few shards, a small budget, a small backlog, or so
-- many rows in one microsecond that the window would be empty.
create or replace function queen.kv_expire_guess_v1(
  p_shards smallint[], p_from timestamptz, p_now timestamptz, p_budget bigint, out before timestamptz, out beyond bigint)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  v_share constant bigint := p_budget / cardinality(p_shards);
begin
  if cardinality(p_shards) < 32 or v_share < 8 then
    return;
  end if;
  with shard as materialized (
    select array(
      select kv.expires_at
      from queen.kv
      where kv.shard = s.shard and kv.expires_at >= p_from and not queen.kv_live_v1(kv.expires_at, p_now)
      order by kv.expires_at
      limit v_share) as times
    from unnest(p_shards[1:4]) as s (shard)
  ), edge as materialized (
    select case when count(shard.times[v_share]) = 4 then min(shard.times[v_share]) end as expires_at,
      min(shard.times[1]) as first
    from shard
  )
  select edge.expires_at, (select count(*) from shard, unnest(shard.times) as t (expires_at) where t.expires_at >= edge.expires_at)
  into before, beyond
  from edge
  where edge.first < edge.expires_at;
end;
$$;
comment on function queen.kv_expire_guess_v1(smallint[], timestamptz, timestamptz, bigint) is
  'Chooses the next window of time to sweep from a few shards; NULL where that says nothing.';

-- kv_expire_look_v1: chooses the next window of time to sweep: the oldest rows of all shards together, at most p_budget of them.
--
-- It walks each shard's range of the index from p_from, in index order, as far as the shard's share of the budget and a
-- little more (three standard deviations, since keys fall into shards at random), and locks nothing. Result:
--   before   the window is p_from <= expires_at < before: every expired row in it was seen. infinity: nothing lies beyond.
--   first    the oldest expired row. NULL: none was seen.
--   tied     more rows than the budget expire in the very microsecond where the window would begin: the window is that
--            microsecond, and each shard gives its share.
--   share    how many rows one shard may give.
--   seen     how many expired rows were seen, and reached, how many of them lie in the window.
--   beyond   the oldest expired row that is not in the window; NULL: none.
--   capped   whether there may be rows beyond those that were seen.
--   rest     the shards that have rows beyond the window.
-- All shards so go forward in time together. Were each given its share alone, some would run ahead of the others, and what
-- they have deleted beyond the slowest's place would be walked over in every step while an old snapshot keeps it.
--
-- The settings leave the planner one plan, the index range of each shard, however old its statistics are; jit would cost more
-- than the step.
create or replace function queen.kv_expire_look_v1(
  p_shards smallint[], p_from timestamptz, p_now timestamptz, p_budget bigint,
  out before timestamptz, out first timestamptz, out tied boolean, out share bigint, out seen bigint, out reached bigint, out beyond timestamptz,
  out capped boolean, out rest smallint[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  v_share constant bigint := (p_budget + cardinality(p_shards) - 1) / cardinality(p_shards);
  v_reach constant bigint := v_share + 1 + case when cardinality(p_shards) > 1 then 3 * ceil(sqrt(v_share))::bigint else 0 end;
begin
  with shard as materialized (
    select s.shard, array(
      select kv.expires_at
      from queen.kv
      where kv.shard = s.shard and kv.expires_at >= p_from and not queen.kv_live_v1(kv.expires_at, p_now)
      order by kv.expires_at
      limit v_reach) as times
    from unnest(p_shards) as s (shard)
  ), expired as materialized (
    select t.expires_at from shard, unnest(shard.times) as t (expires_at)
  ), stop as materialized (
    -- A row that the budget has no place for, and what a shard may hold beyond its last row that was seen, end the window.
    select least(
      (select e.expires_at from expired as e order by e.expires_at offset p_budget limit 1),
      (select min(shard.times[v_reach]) from shard)) as expires_at
  ), edge as materialized (
    select stop.expires_at as beyond, f.first, stop.expires_at is not null and stop.expires_at = f.first as tied
    from stop, (select min(shard.times[1]) as first from shard) as f
  )
  select edge.beyond, edge.first, edge.tied, count(e.expires_at),
    count(e.expires_at) filter (where edge.beyond is null or e.expires_at < edge.beyond or edge.tied and e.expires_at = edge.beyond),
    coalesce((select bool_or(shard.times[v_reach] is not null) from shard), false),
    array(select shard.shard from shard where shard.times[cardinality(shard.times)] >= edge.beyond)
  into beyond, first, tied, seen, reached, capped, rest
  from edge left join expired as e on true
  group by edge.beyond, edge.first, edge.tied;

  before := case when tied then beyond + interval '1 microsecond' else coalesce(beyond, 'infinity') end;
  share := case when tied then v_share else p_budget end;
end;
$$;
comment on function queen.kv_expire_look_v1(smallint[], timestamptz, timestamptz, bigint) is
  'Chooses the next window of time to sweep: the oldest expired rows of all shards together.';

-- kv_expire_hold_v1: locks the expired rows of a window that nobody holds, at most p_budget, and answers where they lie, and when the
-- first of them expired; NULLs when there are none.
--
-- FOR UPDATE SKIP LOCKED, in the index order of each shard: it waits for nobody, and what somebody holds is left for a later step.
-- Race: a row that somebody renewed and committed after this statement began is locked in its newest form, looked at again,
-- and spared. READ COMMITTED. Above it the snapshot can't be left: 40001 for a row that was changed after it was taken.
create or replace function queen.kv_expire_hold_v1(
  p_shards smallint[], p_from timestamptz, p_before timestamptz, p_now timestamptz, p_share bigint, p_budget bigint,
  out lie tid[], out first timestamptz)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
  select array_agg(r.ctid), min(r.expires_at)
  into lie, first
  from (
    select h.ctid, h.expires_at
    from unnest(p_shards) as s (shard)
    cross join lateral (
      select kv.ctid, kv.expires_at
      from queen.kv
      where kv.shard = s.shard and kv.expires_at >= p_from and kv.expires_at < p_before
        and not queen.kv_live_v1(kv.expires_at, p_now)
      order by kv.expires_at
      limit p_share
      for update skip locked) as h
    limit p_budget) as r;
end;
$$;
comment on function queen.kv_expire_hold_v1(smallint[], timestamptz, timestamptz, timestamptz, bigint, bigint) is
  'Locks the expired rows of a window that nobody holds, and answers where they lie.';

-- kv_expire_delete_v1: deletes rows that this transaction has locked, found by their ctid and looked at once more; answers how many.
--
-- The settings leave the planner one plan. From old statistics it would read all of an index for each step, and compare each
-- row with all of p_rows.
create or replace function queen.kv_expire_delete_v1(p_rows tid[], p_now timestamptz) returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_indexscan = off
set enable_indexonlyscan = off
set enable_tidscan = on
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  v_deleted bigint;
begin
  delete from queen.kv
  where kv.ctid = any (p_rows) and not queen.kv_live_v1(kv.expires_at, p_now);
  get diagnostics v_deleted = row_count;
  return v_deleted;
end;
$$;
comment on function queen.kv_expire_delete_v1(tid[], timestamptz) is
  'Deletes rows that this transaction has locked, if they are expired, and answers how many.';

-- kv_expire_oldest_v1: when the oldest row expired that is still there, from p_from on; NULL: none is.
create or replace function queen.kv_expire_oldest_v1(p_shards smallint[], p_from timestamptz, p_now timestamptz) returns timestamptz
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
  return (
    select min(o.expires_at)
    from unnest(p_shards) as s (shard)
    cross join lateral (
      select kv.expires_at
      from queen.kv
      where kv.shard = s.shard and kv.expires_at >= p_from and not queen.kv_live_v1(kv.expires_at, p_now)
      order by kv.expires_at
      limit 1) as o);
end;
$$;
comment on function queen.kv_expire_oldest_v1(smallint[], timestamptz, timestamptz) is
  'When the oldest row expired that is still there, from p_from on; NULL when none is.';

-- kv_usage_next_v1: the tenant after p_after, in the order of tenants; NULL: there is none. A tenant is one who has a row, or whose
-- rows were measured once: his last measurement must go to zero when they are gone.
create or replace function queen.kv_usage_next_v1(p_after uuid) returns uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
begin
  if p_after is null then
    return least(
      (select kv.tenant_id from queen.kv order by kv.tenant_id limit 1),
      (select u.tenant_id from queen.kv_usage as u order by u.tenant_id limit 1));
  end if;
  return least(
    (select kv.tenant_id from queen.kv where kv.tenant_id > p_after order by kv.tenant_id limit 1),
    (select u.tenant_id from queen.kv_usage as u where u.tenant_id > p_after order by u.tenant_id limit 1));
end;
$$;
comment on function queen.kv_usage_next_v1(uuid) is 'The next tenant to measure after p_after; NULL when there is none.';

-- kv_usage_measure_v1: what a tenant stores: rows, expired ones that still lie there too, and the bytes of their values as they are
-- stored (compressed or not, in the row or beside it; nothing is unpacked). visited says how many rows were read for it.
--
-- Up to usage_exact_rows rows are counted, by the primary key. A tenant who has more is estimated (sampled is true) from about
-- usage_pages pages of the table taken at random, and is never said to have less than what was counted. The error is that of
-- a sample: with s of his rows in it about 1/sqrt(s), more where his rows lie side by side. In a table of no more pages than
-- that all of it is read, which is exact.
create or replace function queen.kv_usage_measure_v1(
  p_tenant uuid, out rows bigint, out bytes bigint, out sampled boolean, out visited bigint)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  v_exact constant bigint := queen.kv_limit_v1('usage_exact_rows');
  v_pages constant bigint := pg_relation_size('queen.kv') / current_setting('block_size')::bigint;
  v_percent constant double precision := least(100, 100.0 * queen.kv_limit_v1('usage_pages') / greatest(v_pages, 1));
  v_count bigint;
  v_sum bigint;
begin
  select count(*), coalesce(sum(pg_column_size(k.value)), 0)
  into rows, bytes
  from (select kv.value from queen.kv where kv.tenant_id = p_tenant limit v_exact + 1) as k;
  sampled := false;
  visited := rows;
  if rows > v_exact then
    select count(*), coalesce(sum(pg_column_size(kv.value)), 0)
    into v_count, v_sum
    from queen.kv tablesample system (v_percent)
    where kv.tenant_id = p_tenant;
    visited := visited + v_count;
    sampled := v_percent < 100;
    rows := greatest(rows, round(v_count * (100 / v_percent)));
    bytes := greatest(bytes, round(v_sum * (100 / v_percent)));
  end if;
end;
$$;
comment on function queen.kv_usage_measure_v1(uuid) is 'What a tenant stores: counted, or estimated where he has many rows.';

-- kv_sweep_plan_v1: the first state of kv_sweep_v1, from its arguments. Errors: kv_bad_request.
--
-- A call may end before all tenants are measured, so it goes on after the one that was measured last, and comes round.
create or replace function queen.kv_sweep_plan_v1(
  p_seconds integer, p_max_rows integer, p_max_tenants integer, p_stay boolean) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fault constant text := queen.kv_expire_fault_v1('{0}', null, p_max_rows, null);
  v_after uuid;
begin
  if v_fault is not null then
    perform queen.kv_refuse_v1(v_fault);
  elsif coalesce(p_seconds, 0) not between 1 and 86400 then
    perform queen.kv_refuse_v1('kv_bad_request p_seconds must be from 1 to 86400');
  elsif coalesce(p_max_tenants, -1) < 0 then
    perform queen.kv_refuse_v1('kv_bad_request p_max_tenants must be at least 1, or 0 to measure nothing');
  end if;
  select u.tenant_id into v_after
  from queen.kv_usage as u
  where u.computed_at <= clock_timestamp()
  order by u.computed_at desc, u.tenant_id desc
  limit 1;
  return jsonb_build_object(
    'until', clock_timestamp() + make_interval(secs => p_seconds),
    'half', clock_timestamp() + make_interval(secs => p_seconds / 2.0), 'maxRows', p_max_rows, 'maxTenants', p_max_tenants,
    'stay', coalesce(p_stay, true), 'do', 'expire', 'from', null, 'found', 0, 'pause', 0, 'took', 0,
    'measured', p_max_tenants = 0, 'after', v_after, 'wrapped', v_after is null);
end;
$$;
comment on function queen.kv_sweep_plan_v1(integer, integer, integer, boolean) is 'The first state of kv_sweep_v1, from its arguments.';

-- kv_sweep_turn_v1: one turn of kv_sweep_v1, for a transaction of its own: a step of expiry, a step of measuring, or a pause. Takes the
-- state that the turn before has answered; answers the next one, NULL when the call is over.
--
-- Tenants are measured once all is drained, or half of the time is over: then steps of expiry and of measuring take turns until
-- the last tenant is measured. When nothing is left to delete the loop pauses, a second at first, then twice as long each
-- time, up to 8, and at least three times as long as the last step took, which is long while an old snapshot keeps what was
-- deleted; not at all when the call need not stay.
create or replace function queen.kv_sweep_turn_v1(p_state jsonb) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_time_left constant interval := (p_state ->> 'until')::timestamptz - v_began;
  v_state jsonb := p_state;
  v_step jsonb;
  v_pause double precision;
begin
  if v_time_left <= interval '0' then
    return null;
  end if;
  if p_state ->> 'do' = 'pause' then
    v_pause := least(8, greatest(1, 2 * (p_state ->> 'pause')::double precision));
    perform pg_sleep(least(greatest(v_pause, 3 * (p_state ->> 'took')::double precision), extract(epoch from v_time_left)));
    return v_state || jsonb_build_object('do', 'expire', 'pause', v_pause);
  end if;

  if p_state ->> 'do' = 'measure' then
    v_step := queen.kv_usage_step_v1(null, (p_state ->> 'maxTenants')::integer, (p_state ->> 'after')::uuid);
    v_state := v_state || jsonb_build_object('after', v_step -> 'nextAfter', 'do', 'expire');
    if (v_step ->> 'done')::boolean then
      v_state := v_state || jsonb_build_object('measured', p_state -> 'wrapped', 'wrapped', true);
    end if;
    return v_state;
  end if;

  v_step := queen.kv_expire_step_v1(
    array(select generate_series(0, 63)::smallint), null, (p_state ->> 'maxRows')::integer, (p_state ->> 'from')::timestamptz);
  v_state := v_state || jsonb_build_object('from', v_step -> 'nextFrom', 'took', extract(epoch from clock_timestamp() - v_began),
    'found', (p_state ->> 'found')::bigint + (v_step ->> 'deleted')::bigint);
  if not (p_state ->> 'measured')::boolean and clock_timestamp() >= (p_state ->> 'half')::timestamptz then
    return v_state || jsonb_build_object('do', 'measure');
  end if;
  if v_step ->> 'nextFrom' is not null then
    return v_state;
  end if;
  -- The end of a pass. One that deleted something and did not begin at the beginning is followed by another at once.
  if not (v_step ->> 'done')::boolean and (v_state ->> 'found')::bigint > 0 then
    return v_state || jsonb_build_object('found', 0, 'pause', 0);
  end if;
  if not (p_state ->> 'measured')::boolean then
    return v_state || jsonb_build_object('do', 'measure');
  end if;
  if not (p_state ->> 'stay')::boolean then
    return null;
  end if;
  return v_state || jsonb_build_object('do', 'pause', 'found', 0,
    'pause', case when (v_state ->> 'found')::bigint > 0 then 0 else (p_state ->> 'pause')::double precision end);
end;
$$;
comment on function queen.kv_sweep_turn_v1(jsonb) is 'One turn of kv_sweep_v1; answers the next state, NULL when the call is over.';

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

-- 026_kv_sweeper.sql: what frees the disk. No answer depends on it: an expired row does not exist for any reader or writer.
--
-- A sweeper is a loop around kv_expire_step_v1, each step in a transaction of its own, in READ COMMITTED. Any number may run at
-- once: each takes what the others do not hold. kv_usage_step_v1 measures tenants on a slower clock, for quotas. kv_sweep_v1 is
-- the loop for pg_cron. Invariants:
--   locks    a step alone in its transaction waits for no row lock, so it is in no deadlock; it never waits for an application,
--            and an application waits for it no longer than a step takes.
--   order    the oldest rows of all shards first, whatever shard they are in: no shard is left behind.
--   cost     what a step reads grows with the rows it deletes, not with the table nor with the backlog: it walks the index
--            range of each shard from the step's beginning, and counts no more than it walked.
--   time     p_now NULL reads the server's clock, which is the clock that expiries were made with. Leave it NULL: a p_now in
--            the future deletes what is alive.

-- kv_expire_step_v1: deletes at most p_max_rows rows that are not live, of the shards named (a shard named twice counts once).
--
-- Result:
--   deleted         how many.
--   nextFrom        pass it as p_from of the next call: there is nothing to be done before it. null at the end of a pass. A step that
--                   deleted much answers where it began to, not where it ended: the next one so walks over what this one has
--                   deleted, and marks it in the index as dead while those pages are at hand. The step that ends the drain, from
--                   NULL, then skips it: it would take a second for each million rows.
--   done            no expired row is left but those that others hold. Only a call with p_from NULL that came to the end says so;
--                   after a pass that began further on, begin again with NULL.
--   unpruned        expired rows left from p_from on, as far as the step has looked.
--   unprunedCapped  there may be more than that.
--   lagMs           how long ago the oldest of them expired; 0: none.
--   now             the instant.
-- nextFrom matters while an old snapshot is open somewhere: rows that were deleted since then stay in the index, at the head of
-- each shard, and a step from NULL walks over all of them. Rows that expire in one and the same microsecond are the exception:
-- inside it there is no place to go on from.
-- A step may delete fewer than p_max_rows while there are more; done and nextFrom tell, not the number.
-- Race: see kv_expire_hold_v1. Errors: kv_bad_request; 42501 kv_rows_hidden where row-level security hides rows from the caller,
-- who would be told that all is done; above READ COMMITTED 40001.
create or replace function queen.kv_expire_step_v1(
  p_shards smallint[], p_now timestamptz, p_max_rows integer, p_from timestamptz default null) returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant timestamptz := coalesce(p_now, clock_timestamp());
  v_fault constant text := queen.kv_expire_fault_v1(p_shards, p_now, p_max_rows, p_from);
  v_from timestamptz := coalesce(p_from, '0001-01-01 00:00:00+00');
  v_all smallint[];
  v_shards smallint[];
  v_guess record;
  v_look record;
  v_hold record;
  v_taken bigint;
  v_first timestamptz;         -- when the first row expired that was deleted
  v_deleted bigint := 0;
  v_left bigint := 0;          -- expired rows that were reached and not deleted
  v_left_from timestamptz;     -- where the window of the first of them began; NULL: there are none
  v_unpruned bigint;
  v_capped boolean := false;
  v_beyond timestamptz;        -- the oldest expired row that was not reached; NULL: all were
begin
  if v_fault is not null then
    perform queen.kv_refuse_v1(v_fault);
  elsif queen.kv_rows_hidden_v1() then
    perform queen.kv_refuse_v1('kv_rows_hidden row-level security hides rows of queen.kv from ' || current_user
      || ': a sweeper needs the policy of sql/optional/rls.sql, or BYPASSRLS');
  end if;
  -- In no order: a few are asked for all, and none is the first to be served when many rows expire in one microsecond.
  v_all := array(select s.shard from (select distinct u.shard from unnest(p_shards) as u (shard)) as s order by random());
  v_shards := v_all;

  v_guess := queen.kv_expire_guess_v1(v_shards, v_from, v_now, p_max_rows);
  if v_guess.before is not null then
    v_hold := queen.kv_expire_hold_v1(v_shards, v_from, v_guess.before, v_now, p_max_rows, p_max_rows);
    v_deleted := queen.kv_expire_delete_v1(v_hold.lie, v_now);
    v_first := v_hold.first;
    v_unpruned := v_guess.beyond;
    v_capped := true;
    v_beyond := v_guess.before;
    if v_deleted < p_max_rows then
      v_from := v_guess.before;
    else
      v_left_from := v_from; -- the window may hold more
    end if;
  end if;

  -- One window is a whole step, unless most of its rows are held by others or sit in few shards.
  for v_window in 1 .. queen.kv_limit_v1('sweep_windows') loop
    exit when v_deleted * 2 >= p_max_rows;
    v_look := queen.kv_expire_look_v1(v_shards, v_from, v_now, p_max_rows - v_deleted);
    v_taken := 0;
    if v_look.first is not null then
      -- From the first row that was seen, not from v_from: what was deleted in between is not walked over twice.
      v_hold := queen.kv_expire_hold_v1(v_shards, v_look.first, v_look.before, v_now, v_look.share, p_max_rows - v_deleted);
      v_taken := queen.kv_expire_delete_v1(v_hold.lie, v_now);
      v_first := least(v_first, v_hold.first);
    end if;
    v_deleted := v_deleted + v_taken;
    v_unpruned := v_left + greatest(v_look.seen - v_taken, 0);
    v_capped := v_capped or v_look.capped;
    v_beyond := v_look.beyond;
    if v_look.tied and v_taken > 0 then
      v_from := v_look.beyond; -- the same microsecond again, for those that are left
    else
      if v_taken < v_look.reached then
        v_left := v_left + v_look.reached - v_taken;
        v_left_from := coalesce(v_left_from, v_from);
      end if;
      v_from := v_look.before;
    end if;
    exit when v_beyond is null;
    v_shards := v_look.rest;
  end loop;

  return jsonb_build_object(
    'deleted', v_deleted,
    'done', p_from is null and v_beyond is null,
    'unpruned', v_unpruned,
    'unprunedCapped', v_capped,
    'lagMs', coalesce(floor(extract(epoch from v_now
      - case when v_left_from is not null then queen.kv_expire_oldest_v1(v_all, v_left_from, v_now) else v_beyond end) * 1000)::bigint, 0),
    'now', queen.kv_time_v1(v_now),
    'nextFrom', case when v_beyond is not null then
      queen.kv_time_v1(case when v_deleted * 2 >= p_max_rows then least(v_first, v_from) else v_from end) end);
end;
$$;
comment on function queen.kv_expire_step_v1(smallint[], timestamptz, integer, timestamptz) is
  'Deletes at most p_max_rows expired rows of the shards named; answers deleted, done, unpruned, lagMs and nextFrom.';

-- kv_usage_step_v1: measures whole tenants, in their order, the first p_max_tenants after p_after, into queen.kv_usage.
--
-- Result: tenants (how many were measured), sampled (how many of them are estimates), busy (how many another sweeper is at, and
-- were left to it), nextAfter (pass it as p_after of the next call), done (the last tenant was reached; nextAfter is null then)
-- and now. A step ends early when it has read some hundred thousand rows. How a tenant is measured is said at
-- kv_usage_measure_v1; computed_at is p_now, or the clock, at the beginning of the step, whatever was there before.
-- Race: a tenant whose measurement somebody else is writing is left to him. Only the first measurement ever of a tenant can wait
-- for somebody else's.
-- Errors: kv_bad_request.
--
-- SECURITY DEFINER, the one such function, because a sweeper may not read values, and their sizes can't be had otherwise: it
-- answers numbers alone.
create or replace function queen.kv_usage_step_v1(
  p_now timestamptz, p_max_tenants integer, p_after uuid default null) returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set row_security = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, clock_timestamp());
  v_tenant uuid := queen.kv_usage_next_v1(p_after);
  v_after uuid := p_after;
  v_known boolean;
  v_usage record;
  v_tenants integer := 0;
  v_sampled integer := 0;
  v_busy integer := 0;
  v_visited bigint := 0;
begin
  if p_now is not null and not queen.kv_now_ok_v1(p_now) then
    perform queen.kv_refuse_v1('kv_bad_request p_now must be finite and within the years 1 to 9899');
  elsif coalesce(p_max_tenants, 0) < 1 then
    perform queen.kv_refuse_v1('kv_bad_request p_max_tenants must be at least 1');
  end if;

  while v_tenant is not null and v_tenants + v_busy < p_max_tenants and v_visited < queen.kv_limit_v1('usage_step_rows') loop
    v_known := exists (select from queen.kv_usage as u where u.tenant_id = v_tenant);
    perform from queen.kv_usage as u where u.tenant_id = v_tenant for update skip locked;
    if v_known and not found then
      v_busy := v_busy + 1;
    else
      v_usage := queen.kv_usage_measure_v1(v_tenant);
      insert into queen.kv_usage (tenant_id, rows, bytes, sampled, computed_at)
      values (v_tenant, v_usage.rows, v_usage.bytes, v_usage.sampled, v_now)
      on conflict (tenant_id) do update set
        rows = excluded.rows, bytes = excluded.bytes, sampled = excluded.sampled, computed_at = excluded.computed_at;
      v_tenants := v_tenants + 1;
      v_sampled := v_sampled + v_usage.sampled::integer;
      v_visited := v_visited + v_usage.visited;
    end if;
    v_after := v_tenant;
    v_tenant := queen.kv_usage_next_v1(v_after);
  end loop;
  return jsonb_build_object('tenants', v_tenants, 'sampled', v_sampled, 'busy', v_busy, 'done', v_tenant is null,
    'nextAfter', case when v_tenant is not null then v_after end, 'now', queen.kv_time_v1(v_now));
end;
$$;
comment on function queen.kv_usage_step_v1(timestamptz, integer, uuid) is
  'Measures the next tenants after p_after into queen.kv_usage; answers tenants, sampled, busy, done and nextAfter.';

-- kv_sweep_v1: sweeps and measures for p_seconds, for a scheduler in the database: select cron.schedule('* * * * *', 'call queen.kv_sweep_v1()').
--
-- Every step is a transaction of its own, committed before the next. Where p_stay is true the call stays until its time is up,
-- also when nothing is left to delete, since a scheduler's shortest interval is often a minute; false returns once all is
-- drained and measured. It looks at the clock between steps, so it ends within a step's time after p_seconds. p_max_tenants 0
-- measures nothing.
-- It must be the only statement of its string, outside a transaction block: 2D000 otherwise, with a CONTEXT that says so. A
-- statement_timeout counts for the whole call. Errors besides: those of the steps; what was committed stays.
--
-- A procedure that commits can have no SET clause, so it names nothing that is not qualified and uses no operator; what it decides
-- is decided in kv_sweep_turn_v1.
create or replace procedure queen.kv_sweep_v1(
  p_seconds integer default 50, p_max_rows integer default 5000, p_max_tenants integer default 100, p_stay boolean default true)
language plpgsql
as $$
declare
  v_state pg_catalog.jsonb := queen.kv_sweep_plan_v1(p_seconds, p_max_rows, p_max_tenants, p_stay);
begin
  call queen.kv_must_run_outside_a_transaction_v1();
  while v_state is not null loop
    commit;
    set transaction isolation level read committed;
    v_state := queen.kv_sweep_turn_v1(v_state);
  end loop;
end;
$$;
comment on procedure queen.kv_sweep_v1(integer, integer, integer, boolean) is
  'Sweeps and measures for p_seconds, each step in a transaction of its own; for pg_cron. Must be the only statement of its string.';

-- 027_kv_quota.sql: what an operator allows a tenant, and what an enforcer reads. A quota is soft and late by design: no write path
-- looks at it. kv_usage_step_v1 measures, an enforcer in the application compares, and refuses.

-- kv_quota_set_v1: sets what a tenant may store; NULL is no bound, and both NULL take the quota away. 0 allows nothing.
-- Answers whether the tenant has a quota now. Race: the last one to commit. Errors: kv_bad_request.
create or replace function queen.kv_quota_set_v1(
  p_tenant uuid, p_max_rows bigint, p_max_bytes bigint, p_now timestamptz default null) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_tenant is null then
    perform queen.kv_refuse_v1('kv_bad_request the tenant must not be NULL');
  elsif p_max_rows < 0 or p_max_bytes < 0 then
    perform queen.kv_refuse_v1('kv_bad_request a quota must not be negative; NULL is no bound');
  elsif p_now is not null and not queen.kv_now_ok_v1(p_now) then
    perform queen.kv_refuse_v1('kv_bad_request p_now must be finite and within the years 1 to 9899');
  end if;
  if p_max_rows is null and p_max_bytes is null then
    delete from queen.kv_quota as q where q.tenant_id = p_tenant;
    return false;
  end if;
  insert into queen.kv_quota (tenant_id, max_rows, max_bytes, updated_at)
  values (p_tenant, p_max_rows, p_max_bytes, coalesce(p_now, clock_timestamp()))
  on conflict (tenant_id) do update set
    max_rows = excluded.max_rows, max_bytes = excluded.max_bytes, updated_at = excluded.updated_at;
  return true;
end;
$$;
comment on function queen.kv_quota_set_v1(uuid, bigint, bigint, timestamptz) is
  'Sets what a tenant may store: NULL is no bound, both NULL take the quota away.';

-- kv_quota_refresh_v1: what an enforcer compares: limits beside the last measurement, from one snapshot, in no order.
--
-- p_tenants NULL: every tenant with a quota. Otherwise a row for each tenant named, once: granted says whether he has a quota;
-- without one max_rows and max_bytes are NULL, which is no bound. rows and bytes are 0 and computed_at is NULL when he was
-- never measured; a write after computed_at may not be in them.
create or replace function queen.kv_quota_refresh_v1(p_tenants uuid[] default null)
returns table (tenant_id uuid, granted boolean, max_rows bigint, max_bytes bigint, rows bigint, bytes bigint, sampled boolean, computed_at timestamptz)
language sql stable parallel safe
begin atomic
  select t.tenant_id, q.tenant_id is not null, q.max_rows, q.max_bytes,
    coalesce(u.rows, 0), coalesce(u.bytes, 0), coalesce(u.sampled, false), u.computed_at
  from (
    select k.tenant_id from queen.kv_quota as k where p_tenants is null
    union
    select n.tenant_id from unnest(p_tenants) as n (tenant_id) where n.tenant_id is not null
  ) as t
  left join queen.kv_quota as q on q.tenant_id = t.tenant_id
  left join queen.kv_usage as u on u.tenant_id = t.tenant_id;
end;
comment on function queen.kv_quota_refresh_v1(uuid[]) is
  'Limits beside the last measurement: of the tenants named, or of all who have a quota.';

-- 028_kv_access.sql: who may call what.
--
-- Nothing is granted to PUBLIC. An operator grants a level to a role with kv_grant_v1, which remembers it, so that a release that
-- adds a function grants it too (kv_regrant_v1, the last thing an installation does). A level is the least it needs:
--   reader    SELECT on queen.kv, quotas and usage; every function that reads. It may run kv_apply_v1; a write in it fails with 42501.
--   writer    reader, and INSERT, DELETE and UPDATE of everything but a row's identity; the version sequence; the patterns.
--   sweeper   DELETE, SELECT of the columns that a sweep needs, which are not the values, and the steps. A row lock takes the right
--             to UPDATE some column: it has that of shard, which is generated and can be set to nothing else.
--   admin     writer, the quota table, and the steps of a sweep.
--   none      takes everything away again.
-- A writer is trusted: it can lock the table and burn the server's time. A level separates rights, not availability.

-- kv_schema_version_v1: the version of this schema, for drivers that must not run on another.
create or replace function queen.kv_schema_version_v1() returns integer
language sql immutable parallel safe
begin atomic
  select 1;
end;
comment on function queen.kv_schema_version_v1() is 'The version of this schema; drivers compare it with the one they need.';

create table if not exists queen.kv_grant (
  role_name name primary key,
  level     text not null
);
comment on table queen.kv_grant is 'What kv_grant_v1 granted to whom. Names, so that a dump can be restored where a role is missing.';

-- kv_level_functions_v1: the functions that a level may execute. The one place that decides it: what is not named here is for
-- every level, because it only reads or only computes.
create or replace function queen.kv_level_functions_v1(p_level text) returns setof regprocedure
language sql stable
begin atomic
  select p.oid::regprocedure
  from pg_proc as p
  where p.pronamespace = 'queen'::regnamespace
    and p_level collate "C" in ('reader', 'writer', 'admin', 'sweeper')
    and case
      when p.proname in ('kv_grant_v1', 'kv_grant_level_v1', 'kv_regrant_v1', 'kv_level_functions_v1') then false
      when p.proname in ('kv_once_begin_v1', 'kv_once_end_v1') then p_level collate "C" in ('writer', 'admin')
      when p.proname in ('kv_limiter_v1', 'kv_dedupe_v1', 'kv_lease_acquire_v1', 'kv_lease_renew_v1', 'kv_lease_guard_v1',
                         'kv_lease_release_v1') then p_level collate "C" in ('writer', 'admin')
      when p.proname in ('kv_expire_step_v1', 'kv_expire_guess_v1', 'kv_expire_look_v1', 'kv_expire_hold_v1', 'kv_expire_delete_v1',
        'kv_expire_oldest_v1', 'kv_usage_step_v1', 'kv_sweep_plan_v1', 'kv_sweep_turn_v1', 'kv_must_run_outside_a_transaction_v1', 'kv_sweep_v1') then
        p_level collate "C" in ('sweeper', 'admin')
      when p.proname in ('kv_usage_next_v1', 'kv_usage_measure_v1') then false -- kv_usage_step_v1 runs them as the owner
      when p.proname = 'kv_quota_set_v1' then p_level = 'admin' collate "C"
      when p_level = 'sweeper' collate "C" then p.proname in ('kv_schema_version_v1', 'kv_limit_v1', 'kv_live_v1', 'kv_now_ok_v1',
        'kv_time_v1', 'kv_refuse_v1', 'kv_rows_hidden_v1', 'kv_expire_fault_v1', 'kv_quota_refresh_v1')
      else true
    end;
end;
comment on function queen.kv_level_functions_v1(text) is 'The functions that a level may execute.';

-- kv_grant_level_v1: grants what a level is, and takes nothing away. The part of kv_grant_v1 that an installation repeats for every
-- role that kv_grant_v1 remembers, so that what a release adds is granted too.
create or replace function queen.kv_grant_level_v1(p_role_name name, p_level text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_function regprocedure;
begin
  if p_role_name is null then
    perform queen.kv_refuse_v1('kv_bad_request p_role_name must be the name of a role');
  end if;
  execute format('grant usage on schema queen to %I', p_role_name);
  for v_function in select f from queen.kv_level_functions_v1(p_level) as f loop
    execute format('grant execute on routine %s to %I', v_function, p_role_name);
  end loop;
  if p_level collate "C" in ('reader', 'writer', 'admin') then
    execute format('grant select on queen.kv to %I', p_role_name);
  end if;
  if p_level collate "C" in ('reader', 'writer', 'admin', 'sweeper') then
    execute format('grant select on queen.kv_quota, queen.kv_usage to %I', p_role_name);
    if to_regclass('queen.kv_role_tenant') is not null then -- optional/rls.sql was run: its policies ask this table for the role
      execute format('grant select on queen.kv_role_tenant to %I', p_role_name);
    end if;
  end if;
  if p_level collate "C" in ('writer', 'admin') then
    execute format('grant insert, delete, update (value, version, expires_at, created_at, updated_at) on queen.kv to %I', p_role_name);
    execute format('grant usage on sequence queen.kv_version_seq to %I', p_role_name);
  end if;
  if p_level = 'admin' collate "C" then
    execute format('grant insert, update, delete on queen.kv_quota to %I', p_role_name);
  end if;
  if p_level = 'sweeper' collate "C" then
    execute format('grant delete, select (tenant_id, namespace, key, expires_at, shard, ctid), update (shard) on queen.kv to %I', p_role_name);
  end if;
end;
$$;
comment on function queen.kv_grant_level_v1(name, text) is 'Grants what a level is, and takes nothing away.';

-- kv_grant_v1: gives a role a level, instead of the one it had, and remembers it.
--
-- Errors: kv_bad_request for a level that is none of reader, writer, sweeper, admin, none, for PUBLIC (regrole '-': a grant is to a
-- role that somebody answers for), and for the owner, whom a level would only take rights from. Only the owner can call it.
-- Rename a role, and it must be granted again.
create or replace function queen.kv_grant_v1(p_role regrole, p_level text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_role constant name := (select r.rolname from pg_roles as r where r.oid = p_role);
begin
  if v_role is null then
    perform queen.kv_refuse_v1('kv_bad_request p_role must be a role; nothing is granted to PUBLIC');
  end if;
  if p_role = (select n.nspowner from pg_namespace as n where n.nspname = 'queen')
     or p_role = (select c.relowner from pg_class as c where c.oid = 'queen.kv'::regclass) then
    perform queen.kv_refuse_v1('kv_bad_request p_role owns the schema: it may do everything already, and a level would take that away');
  end if;
  if p_level is null or p_level collate "C" not in ('reader', 'writer', 'sweeper', 'admin', 'none') then
    perform queen.kv_refuse_v1('kv_bad_request p_level must be one of reader, writer, sweeper, admin, none');
  end if;

  lock table queen.kv_grant in share row exclusive mode; -- one at a time, or two revokes meet in the catalogs
  execute format('revoke all on all tables in schema queen from %I', v_role);
  execute format('revoke all on all sequences in schema queen from %I', v_role);
  execute format('revoke all on all routines in schema queen from %I', v_role);
  execute format('revoke all on schema queen from %I', v_role);
  delete from queen.kv_grant as g where g.role_name = v_role;
  if p_level = 'none' then
    return;
  end if;

  perform queen.kv_grant_level_v1(v_role, p_level);
  insert into queen.kv_grant (role_name, level) values (v_role, p_level);
end;
$$;
comment on function queen.kv_grant_v1(regrole, text) is
  'Gives a role the level reader, writer, sweeper, admin or none, instead of the one it had, and remembers it.';

-- kv_regrant_v1: grants what is remembered once more, so that what a release added is granted too. A role that is gone is
-- skipped; one that was made anew under the old name is taken for it, so give a role the level none before it is dropped.
create or replace function queen.kv_regrant_v1() returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_grant record;
begin
  for v_grant in
    select g.role_name, g.level from queen.kv_grant as g join pg_roles as r on r.rolname = g.role_name
  loop
    perform queen.kv_grant_level_v1(v_grant.role_name, v_grant.level);
  end loop;
end;
$$;
comment on function queen.kv_regrant_v1() is 'Grants again what kv_grant_v1 remembers; the last thing an installation does.';

revoke all on schema queen from public;
revoke all on all tables in schema queen from public;
revoke all on all sequences in schema queen from public;
revoke all on all routines in schema queen from public;
do $$
begin
  perform queen.kv_regrant_v1();
end;
$$;


commit;
