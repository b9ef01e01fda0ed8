-- The example's own table, in a schema that -schema names, beside River's. An order may have many receipts, as far as the
-- table is concerned: that it has one is left to Once alone, which is what the example shows.
create table if not exists receipt (
  number   bigint generated always as identity primary key,
  order_id text not null,
  cents    bigint not null
);
