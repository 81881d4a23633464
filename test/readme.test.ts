import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promises } from './promises/promises.ts';
import { root } from './sources.ts';

const readme = readFileSync(join(root, 'README.md'), 'utf8');

describe('the README', () => {
  test('starts with a program, which is exactly the first example', () => {
    const before = readme.slice(0, readme.indexOf('```ts')).split('\n').length;
    expect(before).toBeLessThan(20);
    const [, program] = /```ts\n(.*?)```/s.exec(readme) ?? [];
    expect(program).toBe(readFileSync(join(root, 'examples/01-first-call.ts'), 'utf8'));
  });

  test.each(promises.filter(({ claimed }) => claimed))(
    'says how far $id holds and where it is proven',
    ({ id, soFar = '' }) => {
      const line = readme.split('\n').find((each) => each.includes(`**${id}** — `));
      expect(line).toContain(soFar);
      expect(line).toContain(`test/promises/${id}.test.ts`);
    },
  );

  test.each(promises.filter(({ claimed }) => !claimed))('names $id as one to come', ({ id }) => {
    expect(readme).toMatch(new RegExp(`^\\| \`${id}\` `, 'm'));
  });
});

describe('links', () => {
  test.each(['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md'])('links of %s lead somewhere', (page) => {
    const text = readFileSync(join(root, page), 'utf8');
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)].map(([, path = '']) => path);
    expect(links.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});
