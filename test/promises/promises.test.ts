import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { promises } from './promises.ts';

/** A test cites a promise by its id in brackets in the title: `it('[one-outcome] …')`. */
const citations = globSync(['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'])
  .filter((file) => !file.endsWith('promises.test.ts'))
  .flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\b(?:it|test)\w*\(\s*[`'"]\[([a-z-]+)\]/g)].map(
      (match) => match[1],
    ),
  );

const readme = readFileSync('README.md', 'utf8').replaceAll(/\s+/g, ' ');

describe('the promises', () => {
  it.each(promises.filter(({ claimed }) => claimed))(
    '$id is proven by a test and is in the README',
    ({ id, words }) => {
      expect(citations).toContain(id);
      expect(readme).toContain(`**${id}** — ${words}`);
    },
  );

  it.each(promises.filter(({ claimed }) => !claimed))(
    '$id is not advertised before it is proven',
    ({ id, words }) => {
      expect(readme).not.toContain(`**${id}** — ${words}`);
    },
  );

  it('are the only ones that tests cite', () => {
    const ids = promises.map(({ id }) => id);
    expect(citations.filter((cited) => cited === undefined || !ids.includes(cited))).toEqual([]);
  });
});
