/** Finds the files that a document needs: itself, and everything it extends. */
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { contractsError } from '../policy/language/contracts-problem.ts';
import type { DocumentSource, ReadText } from './read-documents.ts';

export type FoundFiles = {
  readonly documents: readonly DocumentSource[];
  readonly parents: readonly DocumentSource[];
  /** All of them, for watching. */
  readonly paths: readonly string[];
  /** A document extends another, so other files in its folder count too. */
  readonly readsFolder: boolean;
};

/** Are all found files still unchanged, byte for byte? False if that would take more reading. */
export async function areUnchanged({ documents, parents, readsFolder }: FoundFiles): Promise<boolean> {
  if (readsFolder) return false;
  for (const { source, text } of [...documents, ...parents]) {
    const now = await readFile(source).catch(() => undefined);
    if (now === undefined || !now.equals(Buffer.from(text))) return false;
  }
  return true;
}

/**
 * If a document extends another, the other files in its folder are read too, because a parent is identified by the
 * name inside it.
 */
export async function findFiles(
  paths: readonly string[],
  parentPaths: readonly string[],
  readText: ReadText,
): Promise<FoundFiles> {
  const documents = await Promise.all(paths.map(readFileText));
  const given = await Promise.all(parentPaths.map(readFileText));
  const extending: DocumentSource[] = [];
  for (const document of documents)
    if ((await rulesetOf(document, readText))?.extends !== undefined) extending.push(document);
  const folders = new Set(extending.map(({ source }) => dirname(resolve(source))));
  const siblings: DocumentSource[] = [];
  for (const folder of folders)
    for (const name of (await readdir(folder)).toSorted()) {
      const path = join(folder, name);
      if (!/\.ya?ml$/i.test(name) || isAmong(path, [...paths, ...parentPaths])) continue;
      const text = await readFile(path).catch(() => undefined);
      const document = text && { source: path, text };
      // A folder may contain anything; a file that is not a ruleset cannot be a parent.
      if (document !== undefined && (await rulesetOf(document, readText)) !== undefined)
        siblings.push(document);
    }
  const needed = await chainOf(extending, [...given, ...siblings], readText);
  const parents = [...given, ...siblings.filter(({ source }) => needed.has(source))];
  return {
    documents,
    parents,
    paths: [...documents, ...parents].map(({ source }) => source),
    readsFolder: extending.length > 0,
  };
}

const isAmong = (path: string, others: readonly string[]): boolean =>
  others.some((other) => resolve(other) === resolve(path));

async function readFileText(path: string): Promise<DocumentSource> {
  try {
    return { source: path, text: await readFile(path) };
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown';
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : code;
    throw contractsError([
      {
        source: path,
        line: undefined,
        column: undefined,
        field: '',
        message: `The document cannot be read: ${why}.`,
      },
    ]);
  }
}

async function rulesetOf(
  document: DocumentSource,
  readText: ReadText,
): Promise<{ readonly name: string; readonly extends: string | undefined } | undefined> {
  const result = await readText(document);
  return result.ok && result.document.kind === 'Ruleset' ? result.document.ruleset : undefined;
}

/** The sources of all inherited rulesets. */
async function chainOf(
  documents: readonly DocumentSource[],
  candidates: readonly DocumentSource[],
  readText: ReadText,
): Promise<ReadonlySet<string>> {
  const byName = new Map<string, DocumentSource>();
  for (const candidate of candidates) {
    const name = (await rulesetOf(candidate, readText))?.name;
    if (name !== undefined && !byName.has(name)) byName.set(name, candidate);
  }
  const needed = new Set<string>();
  for (const document of documents)
    for (let next = (await rulesetOf(document, readText))?.extends; next !== undefined;) {
      const parent = byName.get(next);
      if (parent === undefined || needed.has(parent.source)) break;
      needed.add(parent.source);
      next = (await rulesetOf(parent, readText))?.extends;
    }
  return needed;
}
