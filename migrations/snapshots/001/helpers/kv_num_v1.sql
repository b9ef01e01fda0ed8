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
