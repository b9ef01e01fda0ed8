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
