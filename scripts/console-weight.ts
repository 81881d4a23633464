/** The size of the console: what a browser loads before the first page, and the total. Compressed, in bytes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gzipSync } from 'node:zlib';

export type ConsoleWeight = { readonly first: number; readonly all: number; readonly files: number };

/** The limits: React is three quarters of the first, and a slow connection loads it in a second or two. */
export const consoleBudget: Omit<ConsoleWeight, 'files'> = { first: 95_000, all: 260_000 };

export function weighConsole(folder: string): ConsoleWeight {
  const page = readFileSync(join(folder, 'index.html'), 'utf8');
  const named = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map(([, path = '']) => `${path}.br`);
  const weigh = (path: string): number => {
    const bytes = readFileSync(join(folder, path));
    return gzipSync(path.endsWith('.br') ? brotliDecompressSync(bytes) : bytes).byteLength;
  };
  const sum = (paths: readonly string[]): number => paths.reduce((total, path) => total + weigh(path), 0);
  const assets = readdirSync(join(folder, 'assets')).map((name) => join('assets', name));
  return { first: sum(['index.html', ...named]), all: sum(['index.html', ...assets]), files: assets.length };
}
