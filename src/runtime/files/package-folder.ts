import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Where the code of this package lies, from the address of one of its modules: the folder it is installed in, or its
 * sources in a checkout. Where a host has bundled it, the bundle alone; undefined where it comes from no file.
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
