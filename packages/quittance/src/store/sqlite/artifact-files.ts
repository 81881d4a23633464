/**
 * Artifacts on disk, named after the digest of their content. Equal contents share one file, a file never changes,
 * and no outside id ever becomes a path. A table of the ledger says which session may read which.
 *
 * A file is complete and on disk before any row names it. It is removed only inside a transaction that has seen that
 * no row names it. A row is added only inside one that has seen the file.
 */
import { createHash, randomBytes, hash as digest } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { contentBytes, contentEncoding } from '../../base/content-digest.ts';
import { QuittanceError } from '../../base/error.ts';
import type { NewArtifact } from '../../ledger/artifacts.ts';

export type ArtifactEncoding = ReturnType<typeof contentEncoding>;

export type KeptContent = {
  readonly hash: string;
  readonly encoding: ArtifactEncoding;
  readonly bytes: number;
};

export class ArtifactFiles {
  readonly #folder: string;
  /** Files whose content matched their name, with the file system's metadata at that time. */
  readonly #checked = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async put(content: NewArtifact['content']): Promise<KeptContent> {
    const encoding = contentEncoding(content);
    const bytes = contentBytes(content);
    const hash = digest('sha256', bytes);
    const path = this.#pathOf(hash);
    if (!existsSync(path)) await writeWhole(path, bytes);
    return { hash, encoding, bytes: bytes.byteLength };
  }

  /** Throws `ledger.altered` if the file's content does not match its name, or the file is missing. */
  async read(hash: string, encoding: ArtifactEncoding): Promise<NewArtifact['content']> {
    const bytes = await readFile(this.#pathOf(hash)).catch(orAltered);
    if (digest('sha256', bytes) !== hash) throw altered('changed', 'was changed after it was written');
    return encoding === 'bytes' ? new Uint8Array(bytes) : bytes.toString(encoding);
  }

  /** Throws `ledger.altered` as `read` does. */
  async readBytes(hash: string, from: number, most: number): Promise<Uint8Array> {
    await this.#check(hash);
    const file = await open(this.#pathOf(hash), 'r');
    try {
      const bytes = new Uint8Array(most);
      const { bytesRead } = await file.read(bytes, 0, most, from);
      return bytes.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }

  /**
   * Reads a file in pieces and compares its digest with its name. Repeated only if the file system reports a change.
   */
  async #check(hash: string): Promise<void> {
    const file = await open(this.#pathOf(hash), 'r').catch(orAltered);
    try {
      const { ino, size, ctimeNs } = await file.stat({ bigint: true });
      const seen = `${ino}/${size}/${ctimeNs}`;
      if (this.#checked.get(hash) === seen) return;
      const found = createHash('sha256');
      for await (const piece of file.createReadStream({ autoClose: false }))
        found.update(piece as Uint8Array);
      if (found.digest('hex') !== hash) throw altered('changed', 'was changed after it was written');
      if (this.#checked.size >= mostChecked) this.#checked.clear();
      this.#checked.set(hash, seen);
    } finally {
      await file.close();
    }
  }

  has(hash: string): boolean {
    return existsSync(this.#pathOf(hash));
  }

  remove(hash: string): void {
    rmSync(this.#pathOf(hash), { force: true });
  }

  #pathOf(hash: string): string {
    return join(this.#folder, hash.slice(0, 2), hash);
  }
}

const mostChecked = 10_000;

const orAltered = (error: NodeJS.ErrnoException): never => {
  throw error.code === 'ENOENT' ? altered('gone', 'is gone') : error;
};

const altered = (how: 'gone' | 'changed', problem: string): QuittanceError =>
  new QuittanceError(
    'ledger.altered',
    `The file of an artifact ${problem}. Run \`quittance verify\` to see which.`,
    { how },
  );

async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  await syncFolder(folder);
}

/** Flushes the folder so that the name survives a power loss. A system that cannot open folders does this itself. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
