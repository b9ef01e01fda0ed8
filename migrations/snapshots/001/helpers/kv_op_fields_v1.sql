-- kv_op_fields_v1: the fields each op knows; NULL for a name that is no op. A field outside this list is refused, because a
-- misspelt `expect` would turn a compare-and-set into an overwrite.
create or replace function queen.kv_op_fields_v1(p_op text) returns text[]
language sql immutable parallel safe
begin atomic
  select case p_op collate "C"
    when 'get'         then '{op,ns,key}'::text[]
    when 'put'         then '{op,ns,key,value,ttlSeconds,ttlMs,forever,expect,required}'::text[]
    when 'putIfAbsent' then '{op,ns,key,value,ttlSeconds,ttlMs,forever,expect,required}'::text[]
    when 'incr'        then '{op,ns,key,delta,min,max,ttlSeconds,ttlMs,forever,required}'::text[]
    when 'touch'       then '{op,ns,key,ttlSeconds,ttlMs,forever,expect,required}'::text[]
    when 'delete'      then '{op,ns,key,expect,required}'::text[]
    when 'getMany'     then '{op,ns,keys}'::text[]
    when 'getPrefix'   then '{op,ns,prefix,after,limit,keysOnly}'::text[]
  end;
end;
comment on function queen.kv_op_fields_v1(text) is 'The fields an op knows; NULL for a name that is no op.';
