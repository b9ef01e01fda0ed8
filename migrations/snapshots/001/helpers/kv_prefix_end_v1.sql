-- kv_prefix_end_v1: the smallest text that is above every key that starts with p_prefix, in byte order.
--
-- The last character is raised by one code point, over the surrogate block (U+D7FF is followed by U+E000); a character that
-- has no successor (U+10FFFF) is dropped and the one before it raised. Total: for a prefix of nothing but U+10FFFF it is a
-- string of 513 of them, 2052 bytes, which no key of at most 2048 bytes reaches.
create or replace function queen.kv_prefix_end_v1(p_prefix text) returns text
language sql immutable parallel safe
begin atomic
  select case
    when rtrim(p_prefix, chr(1114111)) collate "C" = '' then repeat(chr(1114111), 513)
    else left(rtrim(p_prefix, chr(1114111)), -1)
      || chr(case ascii(right(rtrim(p_prefix, chr(1114111)), 1))
               when 55295 then 57344
               else ascii(right(rtrim(p_prefix, chr(1114111)), 1)) + 1
             end)
  end collate "C";
end;
comment on function queen.kv_prefix_end_v1(text) is 'The exclusive upper bound, in byte order, of the keys that start with p_prefix.';
