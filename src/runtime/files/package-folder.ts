import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The folder of this package's code, from the URL of one of its modules: the installed package, or the
 * sources in a checkout. If a host bundled the code, only the bundle file. Undefined if the module is not
 * from a file.
 */
export function packageFolder(moduleUrl: string): string | undefined {
  if (!moduleUrl.startsWith('file:')) return undefined;
  const path = fileURLToPath(moduleUrl);
  const installed = [sep, 'node_modules', sep, 'quittance', sep].join('');
  const at = path.lastIndexOf(installed);
  if (at >= 0) return path.slice(0, at + installed.length - 1);
  const source = [sep, 'src', sep, 'runtime', sep].join('');
  const sourceAt = path.lastIndexOf(source);
  return sourceAt >= 0 ? path.slice(0, sourceAt + source.length - 'runtime'.length - 2) : path;
}

/**
 * The templates of this package, installed or in a checkout, from the address of one of its modules. Undefined if a
 * host has bundled the code: then the next package.json above it belongs to another package.
 */
export function templatesFolder(moduleUrl: string): string | undefined {
  if (!moduleUrl.startsWith('file:')) return undefined;
  let folder = dirname(fileURLToPath(moduleUrl));
  while (!existsSync(join(folder, 'package.json'))) {
    if (dirname(folder) === folder) return undefined;
    folder = dirname(folder);
  }
  return nameOf(join(folder, 'package.json')) === 'quittance' ? join(folder, 'templates') : undefined;
}

function nameOf(manifest: string): unknown {
  try {
    // The file may contain anything. Only its name is read, and only compared.
    return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly name?: unknown } | null)?.name;
  } catch {
    return undefined;
  }
}
