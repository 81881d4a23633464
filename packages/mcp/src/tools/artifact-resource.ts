/** Artifacts as MCP resources: the links in place of large files, and how a client reads them. */
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { StoredArtifact } from 'quittance/internal/ledger/artifacts';
import { readStoredArtifact, toReadableArtifact } from 'quittance/internal/runtime/stored-artifact';

const scheme = 'quittance://artifact/';

export const toArtifactUri = (sessionId: string, artifactId: string): string =>
  `${scheme}${encodeURIComponent(sessionId)}/${encodeURIComponent(artifactId)}`;

/** The artifact that a URI names. Undefined for every other URI. */
export function parseArtifactUri(
  uri: string,
): { readonly sessionId: string; readonly artifactId: string } | undefined {
  const parts = uri.startsWith(scheme) ? uri.slice(scheme.length).split('/') : [];
  const [sessionId = '', artifactId = ''] = parts;
  if (parts.length !== 2 || sessionId === '' || artifactId === '') return undefined;
  try {
    return { sessionId: decodeURIComponent(sessionId), artifactId: decodeURIComponent(artifactId) };
  } catch {
    return undefined;
  }
}

/** Reads an artifact of a session, and checks that it is unchanged. */
export type ReadArtifact = (sessionId: string, artifactId: string) => Promise<StoredArtifact | undefined>;

/** A ledger, or a function that reads its artifacts. */
export type ArtifactSource =
  | Pick<OpenLedger, 'readArtifact' | 'append' | 'readCall' | 'readSession' | 'query' | 'whenChanged'>
  | ReadArtifact;

export const toReadArtifact = (source: ArtifactSource): ReadArtifact =>
  typeof source === 'function' ? source : (...named) => readStoredArtifact(source, ...named);

export type ArtifactContents = { uri: string; mimeType: string } & ({ text: string } | { blob: string });

/**
 * The contents for `resources/read`. `maySee` decides whether the client may read artifacts of this session. Undefined
 * if it may not, or if there is no such artifact: the answer does not tell which.
 */
export async function readArtifactResource(
  source: ArtifactSource,
  uri: string,
  maySee: (sessionId: string) => boolean | Promise<boolean>,
): Promise<ArtifactContents | undefined> {
  const named = parseArtifactUri(uri);
  if (named === undefined || !(await maySee(named.sessionId))) return undefined;
  const artifact = await toReadArtifact(source)(named.sessionId, named.artifactId);
  if (artifact === undefined) return undefined;
  const { mimeType, content } = toReadableArtifact(artifact);
  return typeof content === 'string'
    ? { uri, mimeType, text: content }
    : { uri, mimeType, blob: Buffer.from(content).toString('base64') };
}
