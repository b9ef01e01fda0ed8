-- The example's own tables, in a schema that -schema names (search_path leads there).
--
-- Look for what is missing: delivery_id is not unique. Nothing in these tables stops a second
-- effect of one delivery; that is left to Once alone, which is what the example shows.

create table if not exists ledger (
  entry        bigint generated always as identity primary key,
  delivery_id  text not null,
  customer     text not null,
  amount_cents bigint not null -- below zero for a refund
);

create table if not exists balance (
  customer text primary key,
  cents    bigint not null
);
