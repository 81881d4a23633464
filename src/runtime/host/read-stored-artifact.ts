/**
 * Reads an artifact that somebody is about to use. Its content must be what the store wrote, and what the call that
 * made it said it was: neither a changed file nor a name that leads to another file passes.
 */
import { contentDigest } from '../../base/content-digest.ts';
import { isQuittanceError, QuittanceError } from '../../base/error.ts';
import { isJsonObject } from '../../base/json.ts';
import type { JsonValue } from '../../base/json.ts';
import type { QuittanceEvent } from '../../call/event.ts';
import type { StoredArtifact } from '../../ledger/artifacts.ts';
import type { Ledger } from '../../ledger/ledger.ts';

/** Throws `ledger.altered` where the artifact is not the one that was kept. */
export async function readStoredArtifact(
  ledger: Pick<Ledger, 'artifacts' | 'journal'>,
  sessionId: string,
  artifactId: string,
): Promise<StoredArtifact | undefined> {
  const artifact = await readFrom(ledger, sessionId, artifactId);
  if (artifact?.callId === undefined) return artifact;
  const maker = await ledger.journal.readCall(sessionId, artifact.callId);
  const alteration = await maker?.findAlteration?.();
  const digests = (maker?.events ?? []).flatMap((event) => digestsIn(event, artifactId));
  const isOther = digests.some((digest) => digest !== contentDigest(artifact.content));
  if (alteration !== undefined || isOther) throw alteredArtifact(artifactId);
  return artifact;
}

async function readFrom(
  ledger: Pick<Ledger, 'artifacts'>,
  sessionId: string,
  artifactId: string,
): Promise<StoredArtifact | undefined> {
  try {
    return await ledger.artifacts.read(sessionId, artifactId);
  } catch (error) {
    if (isAltered(error)) throw alteredArtifact(artifactId, error);
    throw error;
  }
}

/** Whether something stored was found to be changed. The ledger of a runtime wraps what its store throws. */
export function isAltered(error: unknown): boolean {
  try {
    return (
      isQuittanceError(error, 'ledger.altered') ||
      (error instanceof Error && isQuittanceError(error.cause, 'ledger.altered'))
    );
  } catch {
    // A body may throw something that cannot be looked at.
    return false;
  }
}

const alteredArtifact = (artifactId: string, cause?: unknown): QuittanceError =>
  new QuittanceError(
    'ledger.altered',
    `The stored content of the artifact ${JSON.stringify(artifactId)} was changed or removed after it was kept.`,
    { artifactId },
    cause,
  );

/** What an event says that the content of the artifact comes to. */
function digestsIn(event: QuittanceEvent, artifactId: string): readonly string[] {
  if (event.type !== 'tool.responded') return [];
  const { outcome, payloadExtras } = event;
  const said = [
    ...(outcome.type === 'ToolArtifactReference' && outcome.artifactId === artifactId
      ? [outcome.digest]
      : []),
    ...('files' in outcome ? (outcome.files ?? []) : [])
      .filter((file) => file.artifactId === artifactId)
      .map(({ digest }) => digest),
    ...[payloadExtras, 'payloadExtras' in outcome ? outcome.payloadExtras : undefined].flatMap((extras) =>
      digestsInExtras(extras, artifactId),
    ),
  ];
  return said.filter((digest) => digest !== undefined);
}

/** Extras name the files of a call that has no result: see `attachedFilesToExtra`. */
function digestsInExtras(extras: JsonValue | undefined, artifactId: string): readonly string[] {
  if (!isJsonObject(extras)) return [];
  return ['files', 'recorded_files'].flatMap((key) => {
    const listed = Object.hasOwn(extras, key) ? extras[key] : undefined;
    if (!Array.isArray(listed)) return [];
    return (listed as readonly JsonValue[]).flatMap((file) =>
      isJsonObject(file) && file['$artifact'] === artifactId && typeof file['digest'] === 'string'
        ? [file['digest']]
        : [],
    );
  });
}
