-- kv_incr_fits_v1: whether an increment from p_old by p_delta may be stored.
--
-- An increase is held by max, a decrease by min, and a step back towards the range is allowed; nothing saturates. A result
-- outside what a counter can hold (kv_number_ok_v1) never fits. p_min and p_max NULL are no bounds.
create or replace function queen.kv_incr_fits_v1(p_old numeric, p_delta numeric, p_min numeric, p_max numeric) returns boolean
language sql immutable parallel safe
begin atomic
  select queen.kv_number_ok_v1(p_old + p_delta)
     and (p_max is null or p_delta <= 0 or p_old + p_delta <= p_max)
     and (p_min is null or p_delta >= 0 or p_old + p_delta >= p_min);
end;
comment on function queen.kv_incr_fits_v1(numeric, numeric, numeric, numeric) is
  'Whether p_old + p_delta may be stored: max holds increases, min holds decreases, NULL is no bound.';
