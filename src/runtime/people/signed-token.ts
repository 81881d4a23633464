/**
 * A decision about one question as a text for a link, a mail or a chat.
 *
 * 1. Its claims are in plain text and signed with a key of the ledger, so a changed character makes it
 *    invalid. It contains no secret, but anyone who has it may use it.
 * 2. Reading never throws: any text that was not written exactly so gives undefined.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isJsonObject, readJsonText } from '../../base/json.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { DirectIdentity } from '../../call/event.ts';
import { readDirectIdentity } from '../../call/identity.ts';

/** The claims of a token. */
export type TokenClaims = {
  readonly confirmationId: string;
  readonly inputDigest: string;
  /** Revision of the preview that is shown, if any. */
  readonly revision: number | undefined;
  /** The only person who may use it, or undefined if it names no one. */
  readonly named: NamedPerson | undefined;
  /** The person who made it and whose permission it uses, or undefined if the service made it. */
  readonly maker: LinkPerson | undefined;
  readonly decisions: readonly LinkDecision[];
  /** By the ledger's clock. */
  readonly expiresAt: number;
};

/** A person named in a link, with their identification at the time it was made. */
export type LinkPerson = { readonly name: string; readonly identity: DirectIdentity };
/** The maker may know the named person, e.g. by that person's token, or only vouch for the name. */
export type NamedPerson = { readonly name: string; readonly identity: DirectIdentity | undefined };

/** The decisions that a token allows: no edits and no answers to the model. */
export type LinkDecision = 'approve' | 'deny';

/** `qdt1.` tokens did not say how their maker was identified. They are no longer accepted. */
const prefix = 'qdt2.';
/** Far longer than any real token. */
const longest = 8_192;

export function writeSignedToken(claims: TokenClaims, key: Uint8Array): string {
  const { confirmationId, inputDigest, revision, named, maker, decisions, expiresAt } = claims;
  const fields: JsonValue = [
    confirmationId,
    inputDigest,
    revision ?? null,
    named === undefined ? null : personToJson(named),
    maker === undefined ? null : personToJson(maker),
    decisions,
    expiresAt,
  ];
  const payload = Buffer.from(JSON.stringify(fields), 'utf8').toString('base64url');
  return `${prefix}${payload}.${sign(payload, key).toString('base64url')}`;
}

/** The claims of a token, if it was signed with this key. */
export function readSignedToken(token: unknown, key: Uint8Array): TokenClaims | undefined {
  if (typeof token !== 'string' || token.length > longest || !token.startsWith(prefix)) return undefined;
  const [payload, signature, more] = token.slice(prefix.length).split('.');
  if (payload === undefined || signature === undefined || more !== undefined) return undefined;
  const given = Buffer.from(signature, 'base64url');
  const made = sign(payload, key);
  // Decoding ignores characters outside base64url, so only the exact text we wrote is accepted.
  if (given.length !== made.length || given.toString('base64url') !== signature) return undefined;
  return timingSafeEqual(given, made) ? readClaims(payload) : undefined;
}

const sign = (payload: string, key: Uint8Array): Buffer =>
  createHmac('sha256', key).update(`${prefix}${payload}`, 'utf8').digest();

/** The signed text was written by this package, perhaps by a newer version. */
function readClaims(payload: string): TokenClaims | undefined {
  let fields: JsonValue;
  try {
    fields = readJsonText(Buffer.from(payload, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
  if (!Array.isArray(fields) || fields.length !== 7) return undefined;
  const [confirmationId, inputDigest, revision, named, maker, decisions, expiresAt] =
    fields as readonly JsonValue[];
  if (typeof confirmationId !== 'string' || typeof inputDigest !== 'string') return undefined;
  if (revision !== null && typeof revision !== 'number') return undefined;
  if (!Array.isArray(decisions) || !decisions.every(isLinkDecision) || typeof expiresAt !== 'number')
    return undefined;
  const namedPerson = named === null ? undefined : readPerson(named);
  const makerPerson = maker === null ? undefined : readPerson(maker);
  if (named !== null && namedPerson === undefined) return undefined;
  if (maker !== null && makerPerson?.identity === undefined) return undefined;
  return {
    confirmationId,
    inputDigest,
    revision: revision ?? undefined,
    named: namedPerson,
    maker: makerPerson && { name: makerPerson.name, identity: makerPerson.identity as DirectIdentity },
    decisions,
    expiresAt,
  };
}

const personToJson = ({ name, identity }: NamedPerson): JsonObject => ({
  name,
  ...(identity !== undefined && { identity }),
});

function readPerson(value: JsonValue | undefined): NamedPerson | undefined {
  if (!isJsonObject(value) || typeof value['name'] !== 'string') return undefined;
  const { name } = value;
  if (value['identity'] === undefined) return { name, identity: undefined };
  const identity = readDirectIdentity(value['identity']);
  return identity && { name, identity };
}

export const isLinkDecision = (value: unknown): value is LinkDecision =>
  value === 'approve' || value === 'deny';
