-- kv_time_v1: a time as results show it: RFC 3339, UTC, six decimals, Z, whatever TimeZone and DateStyle say. NULL stays NULL.
create or replace function queen.kv_time_v1(p_time timestamptz) returns text
language sql stable parallel safe
begin atomic
  select to_char(p_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
end;
comment on function queen.kv_time_v1(timestamptz) is 'RFC 3339 in UTC with six decimals and Z.';
