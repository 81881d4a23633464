/** Checks every page of docs/ and the pages at the root: length, links, anchors, and code blocks of every language. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, sep } from 'node:path';
import ts from 'typescript';
import { contractsFromYamlString } from 'quittance/contracts';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { findCommand, parseCommandLine } from '../packages/cli/src/command-line.ts';
import { commands } from '../packages/cli/src/commands.ts';
import { isGroup } from '../packages/cli/src/program-help.ts';
import { recipes } from '../scripts/cookbook.ts';
import { renderCookbook, renderIndex } from '../scripts/render-handbook.ts';
import { readPackages } from '../scripts/packages.ts';
import { findHeadings } from '../scripts/site/headings.ts';
import { findUnlisted, navigation, projectPages } from '../scripts/site/navigation.ts';
import { root } from './sources.ts';

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const pages = [
  ...globSync('docs/**/*.md', { cwd: root }).map((path) => path.split(sep).join('/')),
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
].toSorted();
const isGenerated = (path: string): boolean => /^<!-- (?:Generated|Written)/.test(read(path));
const longest = 1_500;

test.each(pages.filter((path) => path.startsWith('docs/') && !isGenerated(path)))(
  '%s has at most 1,500 words, code and tables included',
  (path) => {
    const words = read(path)
      .split(/\s+/)
      .filter((word) => word !== '');
    expect(words.length).toBeLessThanOrEqual(longest);
  },
);

const blocksOf = (path: string): { readonly language: string; readonly text: string }[] =>
  [...read(path).matchAll(/^```(\S*)[^\n]*\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({
    language,
    text,
  }));

test('every link leads to a page, and to a heading of it', () => {
  const headings = new Map(pages.map((path) => [path, findHeadings(read(path))]));
  const broken = pages.flatMap((path) => {
    const prose = read(path)
      .replaceAll(/^```.*?^```$/gms, '')
      .replaceAll(/`[^`\n]*`/g, '');
    return [...prose.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)/g)]
      .filter(([, link = '', anchor]) => {
        const target =
          link === ''
            ? path
            : normalize(join(dirname(path), link))
                .split(sep)
                .join('/');
        if (!existsSync(join(root, target))) return true;
        const known = headings.get(target);
        return anchor !== undefined && known !== undefined && !known.includes(anchor);
      })
      .map(([link]) => `${path}: ${link}`);
  });
  expect(broken).toEqual([]);
});

test('the page of packages lists every published package, with its peers', () => {
  const rows = [...read('docs/packages.md').matchAll(/^\| `([^`]+)` +\|.*\|([^|]*)\|$/gm)];
  const listed = rows.map(([, name = '', peers = '']) => [
    name,
    new Set([...peers.matchAll(/`([^`]+)`/g)].map(([, peer]) => peer)),
  ]);
  const published = readPackages()
    .filter(({ isPrivate }) => !isPrivate)
    .map(({ name, manifest }) => [name, new Set(Object.keys(manifest.peerDependencies ?? {}))]);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(published));
});

test('pages of the navigation lead to no page about the work on Quittance itself', () => {
  const found = ['index.md', ...navigation.flatMap(({ pages: listed }) => listed)].flatMap((page) =>
    [...read(`docs/${page}`).matchAll(/\]\(([^)#\s]+\.md)/g)]
      .map(([, link = '']) =>
        normalize(join(dirname(page), link))
          .split(sep)
          .join('/'),
      )
      .filter((target) => projectPages.includes(target) || target.startsWith('decisions/'))
      .map((target) => `${page}: ${target}`),
  );
  expect(found).toEqual([]);
});

test('the summary of every page in llms.txt is a whole sentence', () => {
  const lines = read('docs/llms.txt').split('\n');
  const cut = lines.filter((line) => line.startsWith('- [') && !/^(?:[^`]|`[^`]*`)*[.?]$/.test(line));
  expect(cut).toEqual([]);
});

test('every page of docs/ can be reached from the README by links', () => {
  const found = new Set(['README.md']);
  for (const path of found)
    for (const [, link = ''] of read(path).matchAll(/\]\((?!https?:)([^)#\s]+\.md)/g)) {
      const target = normalize(join(dirname(path), link))
        .split(sep)
        .join('/');
      if (existsSync(join(root, target))) found.add(target);
    }
  expect(pages.filter((path) => !found.has(path))).toEqual([]);
});

test('every row of a table has as many cells as its head, and code has no escapes', () => {
  const problems = pages.flatMap((path) => {
    let head: number | undefined;
    const prose = read(path).replaceAll(/^```.*?^```$/gms, '');
    return prose.split('\n').flatMap((line) => {
      const cells = line.trimStart().startsWith('|') ? line.match(/(?<!\\)\|/g)?.length : undefined;
      const isRow = head !== undefined && cells !== undefined;
      const isUneven = isRow && cells !== head;
      head = cells === undefined ? undefined : (head ?? cells);
      return isUneven || /`[^`]*\\[_*<][^`]*`/.test(line) ? [`${path}: ${line}`] : [];
    });
  });
  expect(problems).toEqual([]);
});

test('every code block names a language that a test knows', () => {
  const known = [
    'ts',
    'tsx',
    'js',
    'text',
    'sh',
    'json',
    'yaml',
    'sql',
    'diff',
    'ini',
    'dockerfile',
    'nginx',
  ];
  const unknown = pages.flatMap((path) =>
    blocksOf(path)
      .filter(({ language }) => path.startsWith('docs/') && !known.includes(language))
      .map(({ language, text }) => `${path}: \`\`\`${language} ${text.slice(0, 40)}`),
  );
  expect(unknown).toEqual([]);
});

test('JSON, JavaScript and YAML blocks can be read, and contracts among them load', () => {
  const head = 'apiVersion: quittance/v1\nkind: Ruleset\nmetadata: {name: page}\ndefaults: {mode: enforce}\n';
  const readBlock = ({ language, text }: ReturnType<typeof blocksOf>[number]): void => {
    if (language === 'json') JSON.parse(text);
    if (language === 'js') {
      const { diagnostics = [] } = ts.transpileModule(text, { reportDiagnostics: true });
      if (diagnostics.length > 0) throw new Error('The program cannot be parsed.');
    }
    if (language !== 'yaml') return;
    for (const { errors } of parseAllDocuments(text)) if (errors[0] !== undefined) throw errors[0];
    if (/^(?:apiVersion: edictum|rules:|tools:\n(?: .*\n)+rules:)/.test(text))
      contractsFromYamlString(text.startsWith('apiVersion:') ? text : head + text);
  };
  const problems = pages.flatMap((path) =>
    blocksOf(path).flatMap((block) => {
      try {
        readBlock(block);
        return [];
      } catch (error) {
        return [`${path}: ${String(error)}`];
      }
    }),
  );
  expect(problems).toEqual([]);
});

test('the navigation lists every page for users, and docs/index.md and llms.txt are made from it', async () => {
  expect(findUnlisted()).toEqual([]);
  for (const [path, text] of [...(await renderCookbook()), ...(await renderIndex())])
    expect([path, read(path)]).toEqual([path, text]);
  expect(recipes.length).toBeGreaterThanOrEqual(15);
});

test('commands in shell blocks exist, with their options', () => {
  const lines = pages.flatMap((path) =>
    blocksOf(path)
      .filter(({ language }) => language === 'sh')
      .flatMap(({ text }) => text.replaceAll(/\\\n\s*/g, '').split('\n'))
      .map((line) => ({ path, line })),
  );
  const typed = lines.flatMap(({ path, line }) =>
    [
      ...line
        .replaceAll(/\$\([^)]*\)/g, 'word')
        .matchAll(/(?:^|[|&;] *|\$\()(?:npx )?quittance ((?:[^|&;#>')]|'[^']*')+)/g),
    ].map(([, args = '']) => ({ path, line, words: wordsOf(args) })),
  );
  expect(typed.length).toBeGreaterThan(50);
  const problems = typed.flatMap(({ path, line, words: [first = '', ...rest] }) => {
    const isLonger = rest[0] !== undefined && !rest[0].startsWith('-') && isGroup(first, commands);
    const [name, args] = isLonger ? [`${first} ${rest[0]}`, rest.slice(1)] : [first, rest];
    try {
      parseCommandLine(findCommand(name, commands), args);
      return [];
    } catch (error) {
      return [`${path}: ${line}: ${String(error)}`];
    }
  });
  expect(problems).toEqual([]);
});

/** Splits a command as a shell does, as far as these pages need it. */
const wordsOf = (text: string): string[] =>
  [...text.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) => word.replaceAll(/['"]/g, ''));
