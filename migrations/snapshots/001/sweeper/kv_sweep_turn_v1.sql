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
