/**
 * Reads an artifact before it is used. Its content must match what the store wrote and what the call that
 * made it recorded. A changed file, or a name that leads to another file, is rejected.
 */
import { findAlteration } from './ledger-trouble.ts';
import { contentDigest } from '../base/content-digest.ts';
import { QuittanceError, isQuittanceError } from '../base/error.ts';
import { isJsonObject, parseJson } from '../base/json.ts';
import type { JsonValue } from '../base/json.ts';
import type { QuittanceEvent } from '../call/event.ts';
import type { StoredArtifact } from '../ledger/artifacts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { readWholeArtifact } from '../ledger/reads.ts';

/** Throws `ledger.altered` if the artifact is not the stored one. */
export async function readStoredArtifact(
  ledger: Pick<Ledger, 'readArtifact' | 'append' | 'readCall' | 'readSession' | 'query' | 'whenChanged'>,
  sessionId: string,
  artifactId: string,
): Promise<StoredArtifact | undefined> {
  const artifact = await readFrom(ledger, sessionId, artifactId);
  if (artifact?.callId === undefined) return artifact;
  const maker = await ledger.readCall(sessionId, artifact.callId);
  const alteration = await findAlteration(maker);
  const digests = (maker?.events ?? []).flatMap((event) => digestsIn(event, artifactId));
  const isOther = digests.some((digest) => digest !== contentDigest(artifact.content));
  if (alteration !== undefined || isOther) throw alteredArtifact(artifactId);
  return artifact;
}

async function readFrom(
  ledger: Pick<Ledger, 'readArtifact'>,
  sessionId: string,
  artifactId: string,
): Promise<StoredArtifact | undefined> {
  try {
    return await readWholeArtifact(ledger, sessionId, artifactId);
  } catch (error) {
    if (isAltered(error)) throw alteredArtifact(artifactId, error);
    throw error;
  }
}

/** True for an error that reports altered data. The ledger of a runtime wraps errors of its store. */
export function isAltered(error: unknown): boolean {
  try {
    return (
      isQuittanceError(error, 'ledger.altered') ||
      (error instanceof Error && isQuittanceError(error.cause, 'ledger.altered'))
    );
  } catch {
    // A body may throw an object whose getters throw.
    return false;
  }
}

const alteredArtifact = (artifactId: string, cause?: unknown): QuittanceError =>
  new QuittanceError(
    'ledger.altered',
    `The stored content of the artifact ${JSON.stringify(artifactId)} was changed or removed after it was stored.`,
    { artifactId },
    cause,
  );

/** The content digest of the artifact that an event records. */
function digestsIn(event: QuittanceEvent, artifactId: string): readonly string[] {
  if (event.type !== 'tool.responded') return [];
  const { outcome, payloadExtras } = event;
  const digests = [
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
  return digests.filter((digest) => digest !== undefined);
}

/** Extras name the files of a call without a result: see `attachedFilesToExtra`. */
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

/**
 * An artifact in readable form. Outputs are stored as JSON. If an output is one text, it is shown without quotes and escapes.
 */
type ReadableArtifact = { readonly mimeType: string; readonly content: StoredArtifact['content'] };

export function toReadableArtifact({ mimeType, content }: ReadableArtifact): ReadableArtifact {
  if (mimeType !== 'application/json' || typeof content !== 'string' || !content.startsWith('"'))
    return { mimeType, content };
  const read = parseJson(content);
  return read.ok && typeof read.value === 'string'
    ? { mimeType: 'text/plain', content: read.value }
    : { mimeType, content };
}
