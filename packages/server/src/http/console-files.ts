/** The files of the console, read once. Requests look them up in a map and never open a path. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

export type ConsoleFile = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The same, compressed; undefined if the build did not compress it. */
  readonly brotli: Uint8Array<ArrayBuffer> | undefined;
  readonly type: string;
  readonly etag: string;
  /** Its name changes with its content. */
  readonly isImmutable: boolean;
};

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  json: 'application/json; charset=utf-8',
  webmanifest: 'application/manifest+json',
  woff2: 'font/woff2',
  txt: 'text/plain; charset=utf-8',
};

const mostBytes = 20_000_000;

/** The build compresses its assets, and `x.js.br` is served as `x.js`. */
const packed = '.br';

/** The files by path in the folder, with slashes. Empty if the folder does not exist. */
export function readConsoleFiles(folder: string | undefined): ReadonlyMap<string, ConsoleFile> {
  const files = new Map<string, ConsoleFile>();
  if (folder === undefined || statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    return files;
  let total = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const isPacked = entry.name.endsWith(packed);
    const name = isPacked ? entry.name.slice(0, -packed.length) : entry.name;
    const type = types[name.split('.').at(-1) ?? ''];
    if (!entry.isFile() || type === undefined) continue;
    const path = join(entry.parentPath, entry.name);
    const stored = new Uint8Array(readFileSync(path));
    const bytes = isPacked
      ? new Uint8Array(brotliDecompressSync(stored, { maxOutputLength: mostBytes }))
      : stored;
    total += bytes.byteLength;
    if (total > mostBytes)
      throw new Error(`${folder} does not hold a console: it has more than ${mostBytes} bytes.`);
    files.set(relative(folder, join(entry.parentPath, name)).split(sep).join('/'), {
      bytes,
      brotli: isPacked ? stored : undefined,
      type,
      etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
      isImmutable:
        /[-.][\w-]{8,}\.(?:js|css|woff2|svg|png)$/.test(name) && path.includes(`${sep}assets${sep}`),
    });
  }
  return files;
}
