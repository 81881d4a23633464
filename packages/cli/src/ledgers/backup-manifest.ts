/**
 * The manifest of a backup: what it consists of, with digests. It is written last, so a folder without a valid manifest is
 * not a backup.
 */
import { hash } from 'node:crypto';
import { QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject, parseJson } from 'quittance/internal/base/json';

export const manifestName = 'manifest.json';
export const anchorName = 'anchor.json';
export const ledgerName = 'ledger.db';

export type BackupFile = { readonly path: string; readonly bytes: number; readonly sha256: string };

export type BackupManifest = {
  /** Milliseconds since 1970, by the clock of the ledger. */
  readonly at: number;
  readonly ledgerId: string;
  readonly source: 'sqlite' | 'postgres';
  /** Version of the package that wrote it. */
  readonly version: string;
  readonly entries: number;
  readonly sessions: number;
  readonly artifacts: number;
  /** Digest of the anchor of that moment. */
  readonly anchor: string;
  readonly hasSealKey: boolean;
  readonly files: readonly BackupFile[];
};

const format = 1;

export function manifestToText(manifest: BackupManifest): string {
  const body = { quittance_backup: format, ...manifest };
  return `${JSON.stringify({ ...body, digest: digestOf(body) }, undefined, 2)}\n`;
}

/** Throws if the text is not a manifest, or was changed or cut. */
export function parseManifest(text: string): BackupManifest {
  const read = parseJson(text);
  if (!read.ok || !isJsonObject(read.value)) throw damaged('it is not JSON');
  const { digest, ...body } = read.value;
  if (typeof body['quittance_backup'] !== 'number') throw damaged('it has no "quittance_backup"');
  if (body['quittance_backup'] > format)
    throw new QuittanceError(
      'ledger.newer',
      'This backup was written by a newer version of the package. Update the package to restore it.',
    );
  if (digest !== digestOf(body)) throw damaged('its digest does not match, so it was changed');
  const { quittance_backup: _, ...manifest } = body;
  return manifest as unknown as BackupManifest; // its digest matches, so this package wrote it
}

const digestOf = (body: object): string =>
  `sha256:${hash('sha256', `quittance v1 backup\n${JSON.stringify(body)}`)}`;

const damaged = (problem: string): QuittanceError =>
  new QuittanceError('ledger.damaged', `This is not a valid backup manifest: ${problem}.`);
