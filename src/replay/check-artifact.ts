import { contentBytes, contentDigest } from '../base/content-digest.ts';
import { isQuittanceError } from '../base/error.ts';
import type { SideRow } from '../ledger/side-row.ts';
import type { NamedArtifact } from '../ledger/side-fold.ts';
import type { Ledger } from '../ledger/ledger.ts';

/**
 * What is wrong with an artifact that is kept. One that no outcome names may be there all the same, because its call
 * ended otherwise after it was made: then only its content is held against its address.
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
      return `The content of the artifact ${name} is not the one that was kept.`;
    return `The content of the artifact ${name} is gone, or is not where it should be.`;
  }
  if (found === undefined) return undefined; // erased or dropped since it was listed
  const { content, mimeType } = found;
  const isKept = contentBytes(content).byteLength === row.sizeBytes && contentDigest(content) === row.digest;
  if (!isKept) return `The content of the artifact ${name} is not the one that was kept.`;
  if (named === undefined) return undefined;
  const sizeBytes = typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength;
  const isText = typeof content === 'string' || !named.isText;
  if (sizeBytes !== named.sizeBytes || mimeType !== named.mimeType || !isText)
    return `The artifact ${name} has another size or type than the outcome says.`;
  if (named.digest !== undefined && named.digest !== row.digest)
    return `The artifact ${name} is not the one the outcome is about.`;
  if (!named.callIds.has(row.callId))
    return `The artifact ${name} is kept for another call than the one that made it.`;
  return undefined;
}

/** Nobody can say anything about what may not, or cannot now, be read. */
const isTrouble = (error: unknown): boolean =>
  ['EACCES', 'EPERM', 'EMFILE', 'ENFILE', 'EIO'].includes((error as NodeJS.ErrnoException).code ?? '');
