/** Checks the pages of the adapters against the installed packages and existing files. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import latest from './package.json' with { type: 'json' };
import oldest from './oldest/package.json' with { type: 'json' };

const docs = join(import.meta.dirname, '../../docs');
const pages = readdirSync(join(docs, 'adapters')).filter((name) => name.endsWith('.md'));
const read = (page: string): string => readFileSync(join(docs, 'adapters', page), 'utf8');

/** `npm:ai@6.0.326` is version 6.0.326. */
const versionIn = (manifest: { readonly devDependencies: object }, name: string): string | undefined =>
  (Object.entries(manifest.devDependencies) as [string, string][])
    .find(([known]) => known === name)?.[1]
    .replace(/^npm:.*@/, '');

test.each(pages)('%s names the versions that are tested', (page) => {
  const rows = [...read(page).matchAll(/^\| `([^`]+)` +\| (\d\S*) +\| (\d\S*) +\|$/gm)];
  expect(rows).not.toEqual([]);
  for (const [, name = '', first, last] of rows)
    expect([name, first, last]).toEqual([name, versionIn(oldest, name), versionIn(latest, name)]);
});

test.each(pages)('%s has every required part, and links to existing targets', (page) => {
  const headings = [...read(page).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  expect(headings).toEqual(
    expect.arrayContaining(['What it enforces', 'What it cannot', 'Approvals', 'Restarts', 'Versions']),
  );
  expect(read(page)).toMatch(/\.\.\/\.\.\/test\/frameworks\/examples\//);
  const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = '']) => link);
  expect(links.filter((link) => !existsSync(join(docs, 'adapters', link)))).toEqual([]);
});
