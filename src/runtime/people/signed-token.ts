/**
 * A decision about one question as a text that somebody can carry: in a link, a mail, a chat.
 *
 * 1. What it is good for stands in it in the clear and is signed with a key of the ledger; whoever changes one
 *    character has nothing. Nothing in it is secret, but whoever has it may use it.
 * 2. Reading never throws: whatever is not exactly what was written is undefined.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isJsonObject, readJsonText } from '../../base/json.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { DirectIdentity } from '../../call/event.ts';
import { readDirectIdentity } from '../../call/identity.ts';

/** What a token is good for. */
export type TokenClaims = {
  readonly confirmationId: string;
  readonly inputDigest: string;
  /** Of the preview that is shown, where there is one. */
  readonly revision: number | undefined;
  /** The one person who may use it; undefined where it names no one. */
  readonly named: NamedPerson | undefined;
  /** The person who made it and whose right it uses; undefined where the service made it. */
  readonly maker: LinkPerson | undefined;
  readonly decisions: readonly LinkDecision[];
  /** By the ledger's clock. */
  readonly expiresAt: number;
};

/** A person as a link says it, with how they were identified when it was made. */
export type LinkPerson = { readonly name: string; readonly identity: DirectIdentity };
/** The maker may know who is named, e.g. by the token that person has; or only vouch for the name. */
export type NamedPerson = { readonly name: string; readonly identity: DirectIdentity | undefined };

/** What can be decided with a token: no other arguments and no words for the model. */
export type LinkDecision = 'approve' | 'deny';

/** `qdt1.` tokens did not say by which token their maker was known: they are not taken any more. */
const prefix = 'qdt2.';
/** Far more than any token has. */
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

/** What a token says, if it was written with this key. */
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

/** What is signed was written by us, perhaps by a version that knew more. */
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
