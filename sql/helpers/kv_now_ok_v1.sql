-- kv_now_ok_v1: whether p_now may be a call's instant: within the years 1 to 9899, so that a hundred years more still have four
-- digits. (The longest lifetime is 36,525 days, a day more than the hundred years from 9899-12-31.) NULL answers NULL.
create or replace function queen.kv_now_ok_v1(p_now timestamptz) returns boolean
language sql immutable parallel safe
begin atomic
  select p_now >= timestamptz '0001-01-01 00:00:00+00' and p_now < timestamptz '9900-01-01 00:00:00+00';
end;
comment on function queen.kv_now_ok_v1(timestamptz) is 'Whether p_now may be a call''s instant: within the years 1 to 9899; NULL for NULL.';
