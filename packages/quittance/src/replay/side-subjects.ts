import { isQuittanceError } from '../base/error.ts';
import type { SideRow } from '../ledger/side-row.ts';
import type { NamedArtifact, SideFold } from '../ledger/side-fold.ts';
import { foldKey } from '../ledger/side-fold.ts';
import type { OpenLedger } from '../ledger/ledger.ts';
import type { Seal } from '../ledger/seal.ts';
import { createSeal } from '../ledger/seal.ts';
import { isInputDigest } from '../runtime/call-input.ts';
import { readSealedText, sealContext } from '../runtime/recorded-input.ts';
import type { SideRowProblem, Subject } from './side-row-problem.ts';
import { contentBytes, contentDigest } from '../base/content-digest.ts';
import { readSideRows, readSealed, measureArtifact, readWholeArtifact } from '../ledger/reads.ts';

/** Sealed inputs and artifacts. Rows of missing sessions are added to `orphans`. */
export async function* sideSubjectsOf(
  ledger: OpenLedger,
  fold: SideFold,
  orphans: Set<string>,
): AsyncGenerator<Subject, void, undefined> {
  const seal = createSealOnce(ledger);
  const seen = new Set<string>();
  const isNew = (...words: readonly string[]): boolean => {
    const key = idOf(...words);
    const isFirst = !seen.has(key);
    seen.add(key);
    return isFirst;
  };
  for await (const row of readSideRows(ledger)) {
    if ('sessionId' in row && row.sessionId === undefined) orphans.add(JSON.stringify(row));
    else if (row.kind === 'sealed' && isNew('sealed', row.sessionId ?? '', row.callId))
      yield sealedOf(ledger, fold, seal, row.sessionId ?? '', row.callId);
    else if (row.kind === 'artifact' && isNew('artifact', row.sessionId ?? '', row.artifactId)) {
      yield artifactOf(ledger, fold, row);
      yield unnamedArtifact(ledger, fold, row);
    }
  }
  for (const { sessionId, callId } of fold.open.values())
    if (isNew('sealed', sessionId, callId)) yield sealedOf(ledger, fold, seal, sessionId, callId);
  for (const named of fold.artifacts.values())
    if (isNew('artifact', named.sessionId, named.artifactId)) yield missingArtifact(ledger, fold, named);
}

const sealedOf = (
  ledger: OpenLedger,
  fold: SideFold,
  seal: () => Seal | undefined,
  sessionId: string,
  callId: string,
): Subject => ({
  level: 'problem',
  sessionId,
  callId,
  async look() {
    const sealed = await readSealed(ledger, sessionId, callId);
    const key = foldKey(sessionId, callId);
    const open = fold.open.get(key);
    // An expired one may remain until cleanup, or may be gone.
    const undoable = fold.undoable.get(key);
    const call = open?.needsSealed === true || open?.hidesFacts === true ? open : undoable;
    if (sealed === undefined)
      return open?.needsSealed === true ? 'The call needs its sealed input, which is missing.' : undefined;
    if (call === undefined) return 'A sealed input exists that no open call needs.';
    const opener = seal();
    if (opener === undefined) return undefined;
    try {
      const opened = readSealedText(opener.open(sealed, sealContext(sessionId, callId)));
      if (!opened.ok || call.inputDigest === undefined) return otherInput;
      const { input: effectiveInput, accepted = effectiveInput } = opened;
      const recorded = { form: call.inputForm, effectiveInput, accepted, artifacts: call.artifacts };
      return isInputDigest(call.inputDigest, recorded, opener.digestKey) ? undefined : otherInput;
    } catch (error) {
      if (isQuittanceError(error, 'seal.broken'))
        return 'The sealed input of the call does not open: it was changed, or sealed with another key.';
      throw error;
    }
  },
});

const otherInput = 'The sealed input is not the one that was decided.';

const artifactOf = (ledger: OpenLedger, fold: SideFold, row: SideRow & { kind: 'artifact' }): Subject => ({
  level: 'problem',
  sessionId: row.sessionId,
  callId: row.callId,
  look: () => checkArtifact(ledger, row, fold.artifacts.get(foldKey(row.sessionId ?? '', row.artifactId))),
});

/**
 * A lost attempt may have stored an artifact that its outcome does not name. A person with access to the file may
 * have added one too.
 */
const unnamedArtifact = (
  ledger: OpenLedger,
  fold: SideFold,
  { sessionId = '', callId, artifactId }: SideRow & { kind: 'artifact' },
): Subject => ({
  level: 'note',
  sessionId,
  callId,
  async look() {
    if (fold.artifacts.has(foldKey(sessionId, artifactId))) return undefined;
    return (await measureArtifact(ledger, sessionId, artifactId)) === undefined
      ? undefined // erased or dropped since it was listed
      : `No outcome names the artifact ${quoteId(artifactId)}: its attempt was lost, or another program added it.`;
  },
});

const missingArtifact = (ledger: OpenLedger, fold: SideFold, named: NamedArtifact): Subject => ({
  level: 'problem',
  sessionId: named.sessionId,
  callId: [...named.callIds][0],
  async look() {
    const { sessionId, artifactId } = named;
    if (fold.mayBeErased(named) || !fold.artifacts.has(foldKey(sessionId, artifactId))) return undefined;
    return (await readWholeArtifact(ledger, sessionId, artifactId)) === undefined
      ? `The artifact ${quoteId(artifactId)}, which the outcome names, is missing.`
      : undefined;
  },
});

/** A session may have been dropped while its rows were listed. Rows that are still in a second list are orphans. */
export async function* findOrphanRows(
  ledger: OpenLedger,
  orphans: ReadonlySet<string>,
  signal: AbortSignal,
): AsyncGenerator<SideRowProblem, void, undefined> {
  if (orphans.size === 0) return;
  for await (const row of readSideRows(ledger)) {
    if (signal.aborted) return;
    if (orphans.has(JSON.stringify(row)))
      yield {
        level: 'problem',
        message: `A row of kind "${row.kind}" belongs to a missing session.`,
      };
  }
}

/** Without a key, sealed inputs can be counted but not opened. */
export function createSealOnce(ledger: Pick<OpenLedger, 'sealKey'>): () => Seal | undefined {
  let seal: Seal | 'none' | undefined;
  return () => {
    try {
      seal ??= createSeal(ledger.sealKey);
    } catch (error) {
      if (!isQuittanceError(error, 'config.invalid')) throw error;
      seal = 'none';
    }
    return seal === 'none' ? undefined : seal;
  };
}

export const quoteId = (name: string): string => JSON.stringify(name);

export const idOf = (...words: readonly string[]): string => JSON.stringify(words);

/**
 * The problem of a stored artifact. An artifact without an outcome can exist, because its call ended differently
 * after it was made. Then only its content is checked against its digest.
 */
async function checkArtifact(
  ledger: OpenLedger,
  row: SideRow & { kind: 'artifact' },
  named: NamedArtifact | undefined,
): Promise<string | undefined> {
  const name = JSON.stringify(row.artifactId);
  let found;
  try {
    found = await readWholeArtifact(ledger, row.sessionId ?? '', row.artifactId);
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
