-- The example's own tables, in a schema that -schema names (search_path leads there).

-- The log. Positions are 1, 2, 3 ... in the order in which their transactions commit, without gaps: see log.go.
create table if not exists event (
  position bigint primary key,
  account  text not null,
  cents    bigint not null -- below zero for a withdrawal
);

-- One row: the position of the last event. Its lock is what puts appenders into a line.
create table if not exists log_head (
  the_only boolean primary key default true check (the_only),
  position bigint not null
);
insert into log_head (position) values (0) on conflict do nothing;

-- The effects: an account's statement, a line for each event with the balance after it.
--
-- Look for what is missing: position is not unique. Nothing in these tables stops an event from being applied twice;
-- that is left to the cursor in queen.kv alone, which is what the example shows.
create table if not exists statement (
  entry    bigint generated always as identity primary key,
  position bigint not null,
  account  text not null,
  cents    bigint not null,
  balance  bigint not null
);

create table if not exists balance (
  account text primary key,
  cents   bigint not null
);
