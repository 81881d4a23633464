/**
 * Where reviews and the states of gateways are stored: in the database of the ledger, in a file next to it, or in
 * memory.
 */
import { readFileSync, statSync } from 'node:fs';
import { QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject, readJsonText } from 'quittance/internal/base/json';
import { lockFile, replaceFile } from 'quittance/internal/store/files/replace-file';
import type { Documents, StoredDocument, OpenLedger } from 'quittance/internal/ledger/ledger';
import { checkPrivateFile } from 'quittance/internal/runtime/own-files';

/**
 * `ledgerPath`: the file of the ledger, if it has one. Reviews seldom change and states of gateways often do, so a
 * ledger in a file has one file for each.
 */
export function openReviewDocuments(
  { documents }: Pick<OpenLedger, 'documents'>,
  ledgerPath: string | undefined,
  content: 'reviews' | 'gateways' = 'reviews',
): Documents {
  if (documents !== undefined) return documents;
  return ledgerPath === undefined
    ? new MemoryDocuments()
    : new FileDocuments(`${ledgerPath}.${content}`, content);
}

class MemoryDocuments implements Documents {
  readonly #stored = new Map<string, { readonly version: number; readonly text: string }>();

  async read(name: string, knownVersion = 0): Promise<StoredDocument> {
    const { version = 0, text } = this.#stored.get(name) ?? {};
    return { version, text: version === knownVersion ? undefined : text };
  }

  async replace(name: string, version: number, text: string): Promise<boolean> {
    if ((this.#stored.get(name)?.version ?? 0) !== version) return false;
    this.#stored.set(name, { version: version + 1, text });
    return true;
  }
}

type FileContent = ReadonlyMap<string, { readonly version: number; readonly text: string }>;

/** A file that only its owner can change: who writes to it decides what tools may do. */
class FileDocuments implements Documents {
  readonly #path: string;
  readonly #what: string;
  #content: FileContent = new Map();
  /** The state of the file at the last read. */
  #stamp: string | undefined;

  constructor(path: string, what: string) {
    this.#path = path;
    this.#what = what;
  }

  async read(name: string, knownVersion = 0): Promise<StoredDocument> {
    const { version = 0, text } = this.#read().get(name) ?? {};
    return { version, text: version === knownVersion ? undefined : text };
  }

  async replace(name: string, version: number, text: string): Promise<boolean> {
    const release = lockFile(`${this.#path}.lock`, this.#what);
    try {
      this.#stamp = undefined;
      const content = this.#read();
      if ((content.get(name)?.version ?? 0) !== version) return false;
      const next = new Map(content).set(name, { version: version + 1, text });
      replaceFile(this.#path, `${JSON.stringify({ version: 1, documents: Object.fromEntries(next) })}\n`);
      return true;
    } finally {
      release();
    }
  }

  #read(): FileContent {
    const found = statSync(this.#path, { throwIfNoEntry: false, bigint: true });
    const stamp =
      found === undefined ? 'none' : `${found.ino}/${found.mtimeNs}/${found.size}/${found.mode}/${found.uid}`;
    if (stamp === this.#stamp) return this.#content;
    checkPrivateFile({ path: this.#path, what: `file of ${this.#what}`, secret: false });
    this.#content =
      found === undefined
        ? new Map()
        : parseContent(readFileSync(this.#path, 'utf8'), this.#path, this.#what);
    this.#stamp = stamp;
    return this.#content;
  }
}

function parseContent(text: string, path: string, what: string): FileContent {
  const damaged = (): QuittanceError<'ledger.damaged'> =>
    new QuittanceError('ledger.damaged', `${path} does not hold ${what}. Restore a backup, or remove it.`);
  let value;
  try {
    value = readJsonText(text);
  } catch {
    throw damaged();
  }
  if (!isJsonObject(value) || value['version'] !== 1 || !isJsonObject(value['documents'])) throw damaged();
  const content = new Map<string, { version: number; text: string }>();
  for (const [name, stored] of Object.entries(value['documents'])) {
    if (!isJsonObject(stored)) throw damaged();
    const { version, text: kept } = stored;
    if (typeof version !== 'number' || typeof kept !== 'string') throw damaged();
    content.set(name, { version, text: kept });
  }
  return content;
}
