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
