import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { statusWords } from '@quittance/react';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/react.md'), 'utf8');

test('the program of the page compiles', () => {
  const program = [...page.matchAll(/^```tsx\n(.*?)^```/gms)].map(([, block = '']) => block).join('');
  const path = join(import.meta.dirname, 'docs-page.tsx');
  const { config } = ts.readConfigFile(join(import.meta.dirname, 'tsconfig.json'), (each) =>
    ts.sys.readFile(each),
  ) as { config: unknown };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, import.meta.dirname);
  const host = ts.createCompilerHost(options);
  const compiler = ts.createProgram(
    [path],
    { ...options, declaration: false, isolatedDeclarations: false },
    {
      ...host,
      fileExists: (each) => each === path || host.fileExists(each),
      getSourceFile: (each, language, ...rest) =>
        each === path
          ? ts.createSourceFile(each, program, language)
          : host.getSourceFile(each, language, ...rest),
    },
  );
  const problems = ts.getPreEmitDiagnostics(compiler, compiler.getSourceFile(path));
  expect(ts.formatDiagnostics(problems, host)).toBe('');
});

test('the page lists every status', () => {
  const [, section = ''] = page.split('\n## States\n');
  const listed = [...section.matchAll(/^\| `(\w+)` /gm)].map(([, word = '']) => word);
  expect(listed.filter((word) => word !== 'status')).toEqual(Object.keys(statusWords));
});

test('the page links to existing targets', () => {
  const links = [...page.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = '']) => link);
  expect(links.filter((link) => !existsSync(join(root, 'docs', link)))).toEqual([]);
});
