/** Checks the pages of the adapters against the installed packages, existing files and type-checked programs. */
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

/** Code without comments, whitespace and trailing commas, so that formatting does not matter. */
const bare = (code: string): string =>
  code
    .replaceAll(/(^|\s)\/\/.*$/gm, '')
    .replaceAll(/\s+/g, '')
    .replaceAll(/,([)\]}])/g, '$1');

/** The program of a block. A diff shows the program after the change. */
const programIn = (language: string, block: string): string =>
  language === 'diff' ? block.replaceAll(/^-.*\n/gm, '').replaceAll(/^[+ ]/gm, '') : block;

test.each(pages)('%s has only programs that `npm run types` checks', (page) => {
  const checked = bare(
    readFileSync(join(import.meta.dirname, 'pages', page.replace(/\.md$/, '.ts')), 'utf8'),
  );
  const blocks = [...read(page).matchAll(/^```(\S*)\n(.*?)^```$/gms)];
  expect(blocks).not.toEqual([]);
  for (const [, language = '', block = ''] of blocks) {
    expect(['ts', 'diff']).toContain(language);
    const program = programIn(language, block);
    const imports = /^import .*$/gm;
    for (const [line] of program.matchAll(imports)) expect(checked).toContain(bare(line));
    expect(checked).toContain(bare(program.replaceAll(imports, '')));
  }
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
