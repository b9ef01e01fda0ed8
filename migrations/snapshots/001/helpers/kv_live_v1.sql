-- kv_live_v1: the only definition of existence. A row is alive when it never expires or expires strictly later than now.
-- Not STRICT: NULL expiry means for ever.
create or replace function queen.kv_live_v1(p_expires_at timestamptz, p_now timestamptz) returns boolean
language sql immutable parallel safe
begin atomic
  select p_expires_at is null or p_expires_at > p_now;
end;
comment on function queen.kv_live_v1(timestamptz, timestamptz) is
  'Whether a row with this expiry exists at p_now: NULL is for ever, and the boundary itself is dead.';
