/** Finds the files below a folder and their cases. An unreadable file is a failure, never a skip. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { parse } from 'yaml';
import type { Case, Data } from './case.ts';
import { dataAt, isData, listAt, own, textAt } from './case.ts';

export type CaseKind = 'ruleset' | 'rejection' | 'workflow';

export type Found = { readonly folder: string; readonly file: string; readonly id: string } & (
  | { readonly kind: CaseKind; readonly case: Case }
  | { readonly kind: 'unreadable'; readonly why: string }
);

/** Everything below a folder, or in one file. */
export function findCases(path: string): readonly Found[] {
  const broken = (why: string): Found => ({ folder: path, file: path, id: path, kind: 'unreadable', why });
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return [broken('there is no such folder')];
  if (stats.isFile()) return readCases(path, dirname(path));
  const files = filesBelow(path);
  return files.length === 0
    ? [broken('the folder contains no case files')]
    : files.flatMap((file) => readCases(file, path));
}

const extensions: ReadonlySet<string> = new Set(['.yaml', '.yml', '.json']);

const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => !entry.isDirectory() && extensions.has(extname(entry.name)))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();

function readCases(path: string, root: string): readonly Found[] {
  const place = { folder: relative(root, dirname(path)) || '.', file: relative(root, path) };
  try {
    return casesIn(parse(readFileSync(path, 'utf8'), { merge: true }) as unknown, place);
  } catch (error) {
    return [{ ...place, id: place.file, kind: 'unreadable', why: `cannot be read: ${String(error)}` }];
  }
}

/** The cases of a file that was read. */
export function casesIn(
  content: unknown,
  place: { readonly folder: string; readonly file: string },
): readonly Found[] {
  const broken = (id: string, why: string): Found => ({ ...place, id, kind: 'unreadable', why });
  if (!isData(content)) return [broken(place.file, 'is not a map with a list named fixtures')];
  const fixtures = listAt(content, 'fixtures');
  if (fixtures.length === 0)
    return [broken(place.file, 'contains no cases: its list named fixtures is empty')];
  return fixtures.map((data, index) => {
    if (!isData(data)) return broken(`${place.file}#${index + 1}`, 'is not a map');
    const id = textAt(data, 'id') ?? `${place.file}#${index + 1}`;
    const kind = kindOf(data) ?? kindByName(place.file);
    return kind === undefined || !isComplete(kind, data, content)
      ? broken(
          id,
          'has an unknown kind: a ruleset case has contract and envelope, a rejection has bundle, a workflow case has workflow and steps',
        )
      : { ...place, id, kind, case: { id, data, file: content } };
  });
}

/** By the fields of a case, not by names: one folder contains suites of several kinds. */
function kindOf(data: Data): CaseKind | undefined {
  if (Object.hasOwn(data, 'bundle') || own(dataAt(data, 'expected'), 'rejected') !== undefined)
    return 'rejection';
  if (Object.hasOwn(data, 'steps')) return 'workflow';
  if (Object.hasOwn(data, 'envelope')) return 'ruleset';
  return undefined;
}

function kindByName(file: string): CaseKind | undefined {
  if (/rejection/.test(file)) return 'rejection';
  if (/workflow/.test(file)) return 'workflow';
  return /behavioral|adversarial|fixtures/.test(file) ? 'ruleset' : undefined;
}

/** Does it have the required fields of its kind? */
function isComplete(kind: CaseKind, data: Data, file: Data): boolean {
  switch (kind) {
    case 'rejection':
      return Object.hasOwn(data, 'bundle') || Object.hasOwn(data, 'contract');
    case 'workflow':
      return Object.hasOwn(data, 'workflow') && Array.isArray(own(data, 'steps'));
    case 'ruleset':
      return (
        (isData(own(data, 'contract')) || isData(own(file, 'rulesets'))) &&
        isData(own(data, 'envelope')) &&
        isData(own(data, 'expected'))
      );
  }
}
