/**
 * Sign-ins at MCP servers, in a file that only its owner can read. A sign-in belongs to the address of its server, so a
 * token never goes to another server, whatever a configuration calls it.
 */
import type { StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject, parseJson } from 'quittance/internal/base/json';
import { lockFile, replaceFile } from 'quittance/internal/store/files/replace-file';
import { checkPrivateFile } from 'quittance/internal/runtime/own-files';

export type SignIn = {
  readonly client?: StoredOAuthClientInformation;
  readonly tokens?: StoredOAuthTokens;
  /** When the tokens were stored, in milliseconds since 1970. */
  readonly at?: number;
};

type SignIns = Readonly<Record<string, SignIn>>;

export class UpstreamTokens {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Names the file in messages. */
  get path(): string {
    return this.#path;
  }

  read(url: URL): SignIn {
    const all = this.#readAll();
    return (Object.hasOwn(all, url.href) ? all[url.href] : undefined) ?? {};
  }

  change(url: URL, change: (signIn: SignIn) => SignIn): void {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    const release = lockFile(`${this.#path}.lock`, 'sign-ins');
    try {
      const all = this.#readAll();
      const { [url.href]: _, ...others } = all;
      const changed = change(this.read(url));
      const next = Object.keys(changed).length === 0 ? others : { ...others, [url.href]: changed };
      replaceFile(this.#path, `${JSON.stringify(next, undefined, 2)}\n`);
    } finally {
      release();
    }
  }

  /** Forgets a sign-in. Returns whether there was one. */
  remove(url: URL): boolean {
    const had = this.read(url).tokens !== undefined;
    if (had) this.change(url, () => ({}));
    return had;
  }

  #readAll(): SignIns {
    checkPrivateFile({ path: this.#path, what: 'file of MCP sign-ins', secret: true });
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw error;
    }
    const read = parseJson(text);
    if (!read.ok || !isJsonObject(read.value))
      throw new QuittanceError(
        'config.invalid',
        `${this.#path} is not a file of MCP sign-ins. Remove it, and sign in again.`,
      );
    // This class wrote it, and the file is private.
    return read.value as SignIns;
  }
}
