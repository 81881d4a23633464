import { createHash } from 'node:crypto';

export const sha256Hex = (bytes: string | Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex');

/** The stamp of documents that are in force together: a single document's own stamp, or one stamp over several. */
export function joinVersions(versions: readonly string[]): string {
  const [only, second] = versions;
  return only !== undefined && second === undefined ? only : sha256Hex(versions.join(':'));
}
