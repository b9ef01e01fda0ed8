-- The example's own tables. Nothing in them stops a second payment of one request: no unique constraint, no request id.
-- That is left to the middleware alone, which is what the example shows.

create table if not exists account (
  id    text primary key,
  token text not null unique, -- who sends it is this account; a real service would keep a hash
  cents bigint not null check (cents >= 0)
);

create table if not exists payment (
  id      bigint generated always as identity primary key,
  payer   text not null references account,
  payee   text not null references account,
  cents   bigint not null check (cents > 0),
  paid_at timestamptz not null default now()
);

insert into account values
  ('alice', 'token-of-alice', 10000),
  ('bob', 'token-of-bob', 10000),
  ('carol', 'token-of-carol', 0)
on conflict do nothing;
