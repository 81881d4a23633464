/**
 * Every style sheet is loaded on every page, so a class of one page must not mean something else on another.
 */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';

const source = join(import.meta.dirname, '../../packages/console/src');
const forAll = ['tokens.css', 'base.css', 'layout.css', 'parts.css'];
const sheets = globSync('**/*.css', { cwd: source }).filter((sheet) => !forAll.includes(basename(sheet)));

/** Every selector of a sheet, including those inside a condition. */
const selectorsOf = (sheet: string): string[] =>
  [
    ...readFileSync(join(source, sheet), 'utf8')
      .replaceAll(/\/\*[^]*?\*\//g, '')
      .matchAll(/([^{};]+)\{/g),
  ]
    .flatMap(([, selectors = '']) => selectors.split(/,(?![^(]*\))/))
    .map((selector) => selector.trim())
    .filter((selector) => !selector.startsWith('@'));

test('a class that is used alone in the sheet of one page is in no other sheet', () => {
  const all = sheets.map((sheet) => ({ sheet, selectors: selectorsOf(sheet) }));
  const clashes = all.flatMap(({ sheet, selectors }) => {
    const alone = new Set(
      selectors.flatMap((selector) => /^\.([\w-]+)(?:[:[][^\s>+~]*)?$/.exec(selector)?.[1] ?? []),
    );
    return all
      .filter((other) => other.sheet !== sheet)
      .flatMap((other) =>
        [...alone]
          .filter((name) =>
            other.selectors.some((selector) => new RegExp(`\\.${name}(?![\\w-])`).test(selector)),
          )
          .map((name) => `.${name} of ${sheet} is in ${other.sheet}`),
      );
  });
  expect(sheets.length).toBeGreaterThan(8);
  expect(clashes).toEqual([]);
});
