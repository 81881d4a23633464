import { checkObject } from '../base/check-keys.ts';
import { resolve } from 'node:path';
import { contractsError } from '../policy/language/contracts-problem.ts';
import type { ContractsOptions } from './contracts-options.ts';
import type { ReadContracts } from './loaded-contracts.ts';
import { LoadedContracts } from './loaded-contracts.ts';
import type { DocumentSource, ReadDocument, ReadText } from './read-documents.ts';
import { composeDocuments, createReadText, readDocuments } from './read-documents.ts';
import { readInThread } from './read-in-thread.ts';
import type { FoundFiles } from './find-files.ts';
import { areUnchanged, findFiles } from './find-files.ts';
import { watchFiles } from './watch-files.ts';

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
};

/** Contracts whose text can be replaced. */
export type StringContracts = LoadedContracts & { reload(text: string): void };

/** Loads a document from its text. Throws `contracts.invalid` with every problem. */
export function contractsFromYamlString(text: string, options: StringOptions = {}): StringContracts {
  checkObject('contractsFromYamlString', options);
  const { source = 'contracts', parents = [] } = options;
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
      createReadText(options),
    );
  };
  const loaded = new LoadedContracts(read(text), options);
  return Object.assign(loaded, { reload: (next: string) => loaded.replace(read(next)) });
}
