/**
 * A content in a small file next to the ledger that only its owner can read.
 *
 * 1. The file is replaced in one step, so a reader sees all of a change or none of it.
 * 2. Every read checks whether the file changed, so a change by another process counts at once.
 */
import { readFileSync, statSync } from 'node:fs';
import { checkPrivateFile } from 'quittance/internal/runtime/own-files';
import { lockFile, replaceFile } from 'quittance/internal/store/files/replace-file';
import type { ContentFormat, StoredContent } from 'quittance/internal/runtime/tokens';

export class ContentFile<Content> implements StoredContent<Content> {
  readonly #path: string | undefined;
  readonly #format: ContentFormat<Content>;
  #content: Content;
  /** The state of the file at the last read. */
  #stamp: string | undefined;
  #changes = 0;

  /** Without a path nothing is stored, and the content ends with the process. */
  constructor(path: string | undefined, format: ContentFormat<Content>) {
    this.#path = path;
    this.#format = format;
    this.#content = format.empty;
  }

  check(): void {
    if (this.#path === undefined) return;
    checkPrivateFile({ path: this.#path, what: `${this.#format.name} file`, secret: false });
  }

  /** Nothing to do: each look checks whether the file changed. */
  refresh(): void {
    return;
  }

  get revision(): string {
    this.read();
    return this.#path === undefined ? String(this.#changes) : (this.#stamp ?? '');
  }

  read(): Content {
    const path = this.#path;
    if (path === undefined) return this.#content;
    const found = statSync(path, { throwIfNoEntry: false, bigint: true });
    const stamp = found && `${found.ino}/${found.mtimeNs}/${found.size}/${found.mode}/${found.uid}`;
    if (stamp === this.#stamp) return this.#content;
    this.check();
    const { empty, parse } = this.#format;
    this.#content = stamp === undefined ? empty : parse(() => readFileSync(path, 'utf8'), path);
    this.#stamp = stamp;
    return this.#content;
  }

  change(change: (content: Content) => Content | undefined): void {
    if (this.#path === undefined) {
      this.#content = change(this.#content) ?? this.#content;
      this.#changes++;
      return;
    }
    const release = lockFile(`${this.#path}.lock`, `${this.#format.name}s`);
    try {
      this.#stamp = undefined;
      const next = change(this.read());
      if (next !== undefined) replaceFile(this.#path, this.#format.write(next));
    } finally {
      release();
    }
  }
}
