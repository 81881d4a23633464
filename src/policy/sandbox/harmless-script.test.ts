import { describe, expect, test } from 'vitest';
import { isHarmlessScript } from './harmless-script.ts';

describe('a script for awk', () => {
  test.each([
    '{print $1}',
    'NR==1',
    '$3 > 5 {print}',
    '/a|b/ {n++} END {print n}',
    '{print "a|b > c"}',
    'a || b',
    '/"/ {print $2}',
    '{s+=$1} END {print s/NR}',
    '{print ($1+$2)/2}',
    '{ if ($3 > 5) print $1 }',
    '{printf "%s\\n", ($1 > 5 ? "a" : "b")}',
    'NR>1 {print $1 "/" $2}',
    '$1 ~ /^[a-z"]+$/ {print $2} # "all"',
  ])('%s is harmless', (text) => expect(isHarmlessScript('awk', text)).toBe(true));
  test.each([
    'BEGIN{system("x")}',
    '{print | "sh"}',
    '{print > "f"}',
    '{print >> "f"}',
    '"x" | getline',
    'BEGIN{a=1/2; print "x" | "sh"; b=3/4}',
    '@load "x"',
    '{print > $1}',
    '{print > 1}',
    '{print ($1) > 1}',
    '{print ($1 > 5) > 1}',
    '/"/ {system("x")} /"/',
    '$1 ~ /[/"]/ {system("x")} /"/',
  ])('%s is not', (text) => expect(isHarmlessScript('awk', text)).toBe(false));
});

describe('a script for sed', () => {
  test.each([
    '1,5p',
    's/a/b/g',
    's|a|b|',
    '/x/d',
    '1d;$d',
    's/a/b/;s/c/d/',
    'y/abc/xyz/',
    '/a/,/b/p',
    's/[a-z]*[[:space:]]//',
    's|[^/]*$||',
    's/[^\\/]*$//',
  ])('%s is harmless', (text) => expect(isHarmlessScript('sed', text)).toBe(true));
  test.each([
    '1e rm',
    's/a/b/e',
    's/a/b/w f',
    'w f',
    'r /etc/passwd',
    '1!{e}',
    'e',
    's/a/b/\ne',
    'a\\',
    's/[/]/p;/e;/p',
    '/[/]/w x;/p',
  ])('%s is not', (text) => expect(isHarmlessScript('sed', text)).toBe(false));
});

test('a query that opens files or runs programs is not harmless', () => {
  expect(isHarmlessScript('sql', 'select * from users')).toBe(true);
  expect(isHarmlessScript('sql', './app.db')).toBe(true);
  for (const text of ['.shell x', '\\! x', "attach 'x'", "select readfile('x')", "copy a to program 'x'"])
    expect(isHarmlessScript('sql', text)).toBe(false);
});
