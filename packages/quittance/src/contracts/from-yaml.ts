import { checkObject } from '../base/check-keys.ts';
import { resolve, dirname, join, basename } from 'node:path';
import { contractsError } from '../policy/language/contracts-problem.ts';
import type { ContractsOptions } from './contracts-options.ts';
import type { ReadContracts } from './loaded-contracts.ts';
import { LoadedContracts } from './loaded-contracts.ts';
import type { DocumentSource, ReadDocument, ReadText } from './read-documents.ts';
import { composeDocuments, createReadText, readDocuments } from './read-documents.ts';
import { readInThread } from './read-in-thread.ts';
import { readdir, readFile } from 'node:fs/promises';
import type { FSWatcher } from 'node:fs';
import { watch } from 'node:fs';

export type FileOptions = ContractsOptions & {
  /** Files with rulesets that may be extended, in addition to those in the folder of the document. */
  readonly parents?: readonly string[];
  /**
   * Applies changed files automatically. An invalid file leaves the old rules in force; `onReload` is called in both
   * cases.
   */
  readonly watch?: boolean;
  readonly onReload?: (result: ReloadResult) => void;
};

export type ReloadResult =
  | { readonly ok: true; readonly version: string }
  | { readonly ok: false; readonly error: unknown };

/** Contracts from a file, which can be read again. */
export type FileContracts = LoadedContracts & { reload(): Promise<ReloadResult> };

/**
 * Loads a document from a file. Composes several files from left to right: a later rule replaces an earlier one of its
 * id, in its place. Throws `contracts.invalid` with every problem, each with its line.
 */
export const contractsFromYaml = (
  path: string | readonly string[],
  options: FileOptions = {},
): Promise<FileContracts> => loadFiles(typeof path === 'string' ? [path] : path, options);

async function loadFiles(paths: readonly string[], options: FileOptions): Promise<FileContracts> {
  checkObject('contractsFromYaml', options);
  const read = async (
    readText: ReadText,
  ): Promise<{ readonly found: FoundFiles; readonly read: ReadContracts }> => {
    const files = await findFiles(paths, options.parents ?? [], readText);
    const readAll = (texts: readonly DocumentSource[]): Promise<ReadDocument[]> =>
      Promise.all(texts.map(async (text) => ({ text, result: await readText(text) })));
    const composed = composeDocuments(await readAll(files.documents), await readAll(files.parents));
    return { found: files, read: { ...composed, files: files.paths.map((path) => resolve(path)) } };
  };
  const first = await read(createReadText(options));
  let { found } = first;
  const loaded = new LoadedContracts(first.read, options);
  /** False after a problem: then everything is read again. */
  let isInForce = true;

  const readAgain = async (): Promise<ReloadResult> => {
    try {
      // Unchanged files are not compiled again, however often a reload is requested.
      if (isInForce && (await areUnchanged(found))) return { ok: true, version: loaded.version };
      isInForce = false;
      // Calls are judged meanwhile, so slow work runs in a thread or in slices.
      const again = await readInThread(options, read);
      ({ found } = again);
      const sameFiles = again.read.files.join('\0') === loaded.files.join('\0');
      if (again.read.composed.version !== loaded.version || !sameFiles)
        await loaded.replaceInSlices(again.read);
      isInForce = true;
      return { ok: true, version: loaded.version };
    } catch (error) {
      return { ok: false, error };
    }
  };
  // One at a time, in order: the last requested one is in force in the end.
  let last: Promise<unknown> = Promise.resolve();
  const reload = (): Promise<ReloadResult> => {
    const next = last.then(readAgain);
    last = next;
    return next;
  };
  if (options.watch === true) {
    let { version } = loaded;
    const stop = watchFiles(
      () => found.paths,
      async () => {
        const result = await reload();
        if (result.ok && result.version === version) return;
        ({ version } = loaded);
        options.onReload?.(result);
      },
    );
    loaded.closeWith(stop);
  }
  return Object.assign(loaded, { reload });
}

export type StringOptions = ContractsOptions & {
  /** The name of the document in errors. */
  readonly source?: string;
  /** Texts of rulesets that may be extended. */
  readonly parents?: readonly string[];
  /**
   * The text was recorded in a ledger. Earlier releases recorded documents that say `edictum/v1` and use what is now
   * `quittance/v1`; they load with this option.
   */
  readonly recorded?: boolean;
};

/** Contracts whose text can be replaced. */
export type StringContracts = LoadedContracts & { reload(text: string): void };

/** Loads a document from its text. Throws `contracts.invalid` with every problem. */
export function contractsFromYamlString(text: string, options: StringOptions = {}): StringContracts {
  checkObject('contractsFromYamlString', options);
  const { source = 'contracts', parents = [], recorded = false } = options;
  const read = (given: string): ReturnType<typeof readDocuments> => {
    if (typeof given !== 'string')
      throw contractsError([
        {
          source,
          line: undefined,
          column: undefined,
          field: '',
          message: 'contractsFromYamlString takes the text of a document; for a file use contractsFromYaml.',
        },
      ]);
    return readDocuments(
      [{ source, text: given }],
      parents.map((parent, index) => ({ source: `${source} parent ${index + 1}`, text: parent })),
      createReadText(options, recorded),
    );
  };
  const loaded = new LoadedContracts(read(text), options);
  return Object.assign(loaded, { reload: (next: string) => loaded.replace(read(next)) });
}

/** Finds the files that a document needs: itself, and everything it extends. */

type FoundFiles = {
  readonly documents: readonly DocumentSource[];
  readonly parents: readonly DocumentSource[];
  /** All of them, for watching. */
  readonly paths: readonly string[];
  /** A document extends another, so other files in its folder count too. */
  readonly readsFolder: boolean;
};

/** Are all found files still unchanged, byte for byte? False if that would take more reading. */
async function areUnchanged({ documents, parents, readsFolder }: FoundFiles): Promise<boolean> {
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
async function findFiles(
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

/** Editors write in several steps. */
const settleMs = 50;

/**
 * Calls `tell` when one of the files may have changed. The folders are watched, not the files, because most editors
 * replace the old file with a new one. Does not keep the process alive.
 */
function watchFiles(paths: () => readonly string[], tell: () => Promise<void>): () => void {
  const watchers = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const isMeant = (folder: string, name: string | null): boolean =>
    name === null || paths().some((path) => dirname(resolve(path)) === folder && basename(path) === name);
  const look = (): void => {
    timer = undefined;
    void tell().then(watchAll, watchAll);
  };
  const watchAll = (): void => {
    if (stopped) return;
    for (const folder of new Set(paths().map((path) => dirname(resolve(path))))) {
      if (watchers.has(folder)) continue;
      const watcher = watch(folder, { persistent: false }, (_, name) => {
        if (!isMeant(folder, name)) return;
        clearTimeout(timer);
        timer = setTimeout(look, settleMs);
        timer.unref();
      });
      watcher.on('error', () => {
        watchers.delete(folder);
        watcher.close();
      });
      watchers.set(folder, watcher);
    }
  };
  watchAll();
  return () => {
    stopped = true;
    clearTimeout(timer);
    for (const watcher of watchers.values()) watcher.close();
  };
}
