/** Checks the pages for contributors against the repository: files, scripts and the form of decisions. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { root } from './sources.ts';

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const decisions = readdirSync(join(root, 'docs/decisions')).filter((name) => /^\d\d-/.test(name));
const pages = [
  'CONTRIBUTING.md',
  'docs/versioning.md',
  'docs/decisions/README.md',
  ...decisions.map((name) => `docs/decisions/${name}`),
];

describe.each(pages)('%s', (page) => {
  test('links to files that exist', () => {
    const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)].map(
      ([, path = '']) => path,
    );
    expect(links.filter((path) => !existsSync(join(root, dirname(page), path)))).toEqual([]);
  });

  test('names files and scripts that exist', () => {
    const code = [...read(page).matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text);
    const paths = code.filter((text) => /^(?:packages|test|docs|scripts)\/[\w./-]+$/.test(text));
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    const scripts = [...read(page).matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name);
    expect(scripts.filter((name) => !(name in manifest.scripts))).toEqual([]);
  });
});

describe('docs/decisions', () => {
  test.each(decisions)('%s has its four parts on at most 40 lines, and is in the list', (name) => {
    const text = read(`docs/decisions/${name}`);
    expect([...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)).toEqual([
      'Context',
      'Decision',
      'Consequences',
      'What would change it',
    ]);
    expect(text.split('\n').length).toBeLessThanOrEqual(41);
    const [, title = ''] = /^# \d+\. (.+)$/m.exec(text) ?? [];
    expect(read('docs/decisions/README.md')).toContain(`[${title}](${name})`);
  });
});

test('every command of bench answers --help with the comment at its top', () => {
  const commands = Object.entries(manifest.scripts).flatMap(([name, script]) =>
    [...script.matchAll(/node ([^&]*?)(bench\/[\w/-]+\.ts)(?! bench)/g)]
      .filter(([, , file]) => file !== 'bench/help.ts')
      .map(([, flags = '', file = '']) => ({ name, flags, file })),
  );
  expect(commands.length).toBeGreaterThan(25);
  for (const { name, flags, file } of commands)
    expect([name, flags.includes('--import ./bench/help.ts'), read(file).startsWith('/**')]).toEqual([
      name,
      true,
      true,
    ]);
});
