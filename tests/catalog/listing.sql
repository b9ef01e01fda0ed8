-- Everything in the schema queen, as (kind, name, detail), each kind in the order of its names.
with
relation as (
  select c.*, c.oid::regclass::text as full_name
  from pg_class c
  where c.relnamespace = 'queen'::regnamespace
    and c.oid is distinct from to_regclass('queen.schema_version')
),
item (kind, name, detail) as (
  select 'schema', nspname::text,
    concat_ws(E'\n', 'acl ' || nspacl::text, 'comment ' || obj_description(oid, 'pg_namespace'))
  from pg_namespace
  where nspname = 'queen'

  union all
  select 'default acl', defaclobjtype::text || ' of ' || defaclrole::regrole, defaclacl::text
  from pg_default_acl
  where defaclnamespace = 'queen'::regnamespace

  union all
  select 'relation', full_name,
    concat_ws(E'\n',
      format('kind %s persistence %s row security %s forced %s replica identity %s',
        relkind, relpersistence, relrowsecurity, relforcerowsecurity, relreplident),
      'options ' || array_to_string(reloptions, ', '),
      'acl ' || relacl::text,
      'comment ' || obj_description(oid, 'pg_class'),
      case when relkind in ('v', 'm') then pg_get_viewdef(oid) end)
  from relation
  where relkind <> 'i'

  -- A column's place counts among those that are left: a dropped one keeps its number.
  union all
  select 'column', format('%s %s', r.full_name, a.attname),
    concat_ws(E'\n',
      format('place %s type %s', row_number() over (partition by r.oid order by a.attnum), format_type(a.atttypid, a.atttypmod)),
      case when a.attnotnull then 'not null' end,
      'generated ' || nullif(a.attgenerated::text, ''),
      'identity ' || nullif(a.attidentity::text, ''),
      'default ' || pg_get_expr(d.adbin, d.adrelid),
      'collation ' || nullif(a.attcollation, 0)::regcollation,
      format('storage %s compression %s', a.attstorage, a.attcompression),
      'statistics ' || nullif(a.attstattarget, -1),
      'options ' || array_to_string(a.attoptions, ', '),
      'acl ' || a.attacl::text,
      'comment ' || col_description(r.oid, a.attnum))
  from relation r
  join pg_attribute a on a.attrelid = r.oid
  left join pg_attrdef d on d.adrelid = r.oid and d.adnum = a.attnum
  where r.relkind in ('r', 'p', 'v', 'm', 'c') and a.attnum > 0 and not a.attisdropped

  -- The NOT NULLs stand with the columns; from version 18 on they are constraints too.
  union all
  select 'constraint', format('%s %s', coalesce(r.full_name, format_type(k.contypid, null)), k.conname),
    concat_ws(E'\n', pg_get_constraintdef(k.oid), case when not k.convalidated then 'not valid' end,
      'comment ' || obj_description(k.oid, 'pg_constraint'))
  from pg_constraint k
  left join relation r on r.oid = k.conrelid
  where k.connamespace = 'queen'::regnamespace and k.contype <> 'n' and (r.oid is not null or k.contypid <> 0)

  union all
  select 'index', r.full_name,
    concat_ws(E'\n', pg_get_indexdef(r.oid), case when not i.indisvalid then 'not valid' end,
      'options ' || array_to_string(r.reloptions, ', '), 'comment ' || obj_description(r.oid, 'pg_class'))
  from relation r
  join pg_index i on i.indexrelid = r.oid
  where i.indrelid in (select oid from relation)

  union all
  select 'sequence', r.full_name,
    concat_ws(E'\n',
      format('type %s start %s increment %s min %s max %s cache %s cycle %s', s.seqtypid::regtype,
        s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle),
      (select format('owned by %s %s', d.refobjid::regclass, d.refobjsubid)
       from pg_depend d
       where d.classid = 'pg_class'::regclass and d.objid = r.oid and d.deptype in ('a', 'i')
         and d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0))
  from relation r
  join pg_sequence s on s.seqrelid = r.oid

  union all
  select 'type', t.oid::regtype::text,
    concat_ws(E'\n', 'kind ' || t.typtype::text,
      'base ' || format_type(nullif(t.typbasetype, 0), t.typtypmod),
      'labels ' || (select string_agg(e.enumlabel, ', ' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid),
      'acl ' || t.typacl::text, 'comment ' || obj_description(t.oid, 'pg_type'))
  from pg_type t
  where t.typnamespace = 'queen'::regnamespace and t.typelem = 0
    and (t.typrelid = 0 or t.typrelid in (select oid from relation where relkind = 'c'))

  union all
  select 'function', p.oid::regprocedure::text,
    concat_ws(E'\n',
      case when p.prokind <> 'a' then pg_get_functiondef(p.oid) end,
      'acl ' || p.proacl::text, 'comment ' || obj_description(p.oid, 'pg_proc'))
  from pg_proc p
  where p.pronamespace = 'queen'::regnamespace

  union all
  select 'trigger', format('%s %s', r.full_name, g.tgname), pg_get_triggerdef(g.oid) || ' enabled ' || g.tgenabled::text
  from relation r
  join pg_trigger g on g.tgrelid = r.oid
  where not g.tgisinternal

  union all
  select 'policy', format('%s %s', r.full_name, p.polname),
    concat_ws(E'\n', format('for %s permissive %s roles %s', p.polcmd, p.polpermissive, p.polroles::regrole[]),
      'using ' || pg_get_expr(p.polqual, p.polrelid), 'check ' || pg_get_expr(p.polwithcheck, p.polrelid))
  from relation r
  join pg_policy p on p.polrelid = r.oid

  union all
  select 'statistics', s.stxname::text, pg_get_statisticsobjdef(s.oid)
  from pg_statistic_ext s
  where s.stxnamespace = 'queen'::regnamespace
)
select kind, name, detail
from item
order by kind collate "C", name collate "C"
