/** Finds the files that people read and write, and reads them with a cache. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { findFlakyWaits } from './flaky-waits.ts';
import { markdownProse } from './markdown-prose.ts';
import { findTics, type Hit } from './tics.ts';
import { typescriptProse } from './typescript-prose.ts';

export type FileReading = {
  readonly path: string;
  readonly lines: number;
  readonly hits: readonly Hit[];
};

const folders = 'bench conformance demo docs examples packages scripts test'.split(' ');
const skipped =
  /(?:^|\/)(?:node_modules|dist|coverage|images)$|^packages\/quittance\/docs$|^test\/frameworks\/oldest\/run$/;
/** Generated files are skipped: the check reads their sources. */
const generated = /^\s*(?:<!--|\/\*\*?|\/\/) .*(?:Generated (?:by|from)|Written by `npm run docs`)/;
const isTest = (path: string): boolean => path.startsWith('test/') || /\.test(?:-d)?\.tsx?$/.test(path);

export function findPaths(root: string): string[] {
  const inFolder = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return skipped.test(path) ? [] : inFolder(path);
      return /\.(?:tsx?|md)$/.test(path) ? [path] : [];
    });
  const atRoot = readdirSync(root).filter((name) => /\.(?:ts|md)$/.test(name));
  return [...atRoot, ...folders.flatMap(inFolder)].sort();
}

/** Applies the rules to one file. */
export function readText(path: string, text: string): FileReading {
  const lines = text.split('\n').length - 1;
  if (generated.test(text)) return { path, lines, hits: [] };
  if (path.endsWith('.md')) return { path, lines, hits: markdownProse(text).flatMap(findTics) };
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  return {
    path,
    lines,
    hits: [
      ...typescriptProse(tree, isTest(path) ? 'titles' : 'all').flatMap(findTics),
      ...(isTest(path) ? findFlakyWaits(tree) : []),
    ],
  };
}

type Cache = { readonly rules: string; readonly readings: Record<string, FileReading> };

/** Parsing every file takes seconds, so unchanged files come from a cache. */
export function readFiles(root: string): FileReading[] {
  const file = join(root, 'node_modules/.cache/house/readings.json');
  const rules = digest(
    readdirSync(import.meta.dirname)
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(import.meta.dirname, name), 'utf8'))
      .join(''),
  );
  const known = readCache(file, rules);
  const readings: Record<string, FileReading> = {};
  for (const path of findPaths(root)) {
    const text = readFileSync(join(root, path), 'utf8');
    const key = digest(`${path}\n${text}`);
    readings[key] = known[key] ?? readText(path, text);
  }
  mkdirSync(dirname(file), { recursive: true });
  // Renamed into place, so that two runs at once never read half a file.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, JSON.stringify({ rules, readings } satisfies Cache));
  renameSync(draft, file);
  return Object.values(readings);
}

function readCache(file: string, rules: string): Record<string, FileReading> {
  try {
    const cache = JSON.parse(readFileSync(file, 'utf8')) as Cache;
    return cache.rules === rules ? cache.readings : {};
  } catch {
    return {}; // No cache yet, or one that was cut short: everything is read again.
  }
}

const digest = (text: string): string => createHash('sha1').update(text).digest('base64url');
