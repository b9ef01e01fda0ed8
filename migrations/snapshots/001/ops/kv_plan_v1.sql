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
