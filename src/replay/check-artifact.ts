import { contentBytes, contentDigest } from '../base/content-digest.ts';
import { isQuittanceError } from '../base/error.ts';
import type { SideRow } from '../ledger/side-row.ts';
import type { NamedArtifact } from '../ledger/folded-state.ts';
import type { Ledger } from '../ledger/ledger.ts';

/**
 * The problem of a stored artifact. An artifact without an outcome can exist, because its call ended differently
 * after it was made. Then only its content is checked against its digest.
 */
export async function checkArtifact(
  ledger: Ledger,
  row: SideRow & { kind: 'artifact' },
  named: NamedArtifact | undefined,
): Promise<string | undefined> {
  const name = JSON.stringify(row.artifactId);
  let found;
  try {
    found = await ledger.artifacts.read(row.sessionId ?? '', row.artifactId);
  } catch (error) {
    if (isTrouble(error)) throw error;
    if (isQuittanceError(error, 'ledger.altered') && error.facts['how'] === 'changed')
      return `The content of the artifact ${name} is not the stored one.`;
    return `The content of the artifact ${name} is missing or misplaced.`;
  }
  if (found === undefined) return undefined; // erased or dropped since it was listed
  const { content, mimeType } = found;
  const isKept = contentBytes(content).byteLength === row.sizeBytes && contentDigest(content) === row.digest;
  if (!isKept) return `The content of the artifact ${name} is not the stored one.`;
  if (named === undefined) return undefined;
  const sizeBytes = typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength;
  const isText = typeof content === 'string' || !named.isText;
  if (sizeBytes !== named.sizeBytes || mimeType !== named.mimeType || !isText)
    return `The artifact ${name} has another size or type than its outcome records.`;
  if (named.digest !== undefined && named.digest !== row.digest)
    return `The artifact ${name} is not the one in the outcome.`;
  if (!named.callIds.has(row.callId))
    return `The artifact ${name} is stored for another call than the one that made it.`;
  return undefined;
}

/** An unreadable file proves nothing about its content. */
const isTrouble = (error: unknown): boolean =>
  ['EACCES', 'EPERM', 'EMFILE', 'ENFILE', 'EIO'].includes((error as NodeJS.ErrnoException).code ?? '');
