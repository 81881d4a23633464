/** The person or program that acts: a name, and how the host knows it. */
import { QuittanceError } from '../../base/error.ts';
import type { JsonObject } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import type { Redactor } from '../../base/redaction.ts';
import type { Call } from '../../call/call.ts';
import type { DecidedBy, DirectIdentity, Identity } from '../../call/event.ts';
import { readDirectIdentity, selfAsserted } from '../../call/identity.ts';
import { askerAmong } from './separate-duties.ts';

export type Acting = { readonly by: string; readonly identity: Identity };

/** Reads an identity from the host. A name without one is self-asserted. Throws if it is malformed. */
export function readIdentity(where: string, given: unknown, redactor: Redactor): DirectIdentity {
  if (given === undefined) return selfAsserted;
  const identity = readDirectIdentity(given);
  if (identity === undefined)
    throw new QuittanceError(
      'config.invalid',
      `${where}: identity must be one of { kind: 'token', id, name, via }, { kind: 'os_user', user, uid }, { kind: 'provider', issuer, subject, method } and { kind: 'self_asserted' }.`,
    );
  return redactIdentity(identity, redactor);
}

/** An identity is stored for ever, so it is redacted like a name. */
export function redactIdentity<Given extends Identity>(identity: Given, redactor: Redactor): Given {
  const clean = (value: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(value).map(([key, inner]) => {
        if (key === 'kind' || key === 'via') return [key, inner];
        if (typeof inner === 'string') return [key, redactor.text(inner)];
        if (Array.isArray(inner)) {
          const texts = inner.map((each) => (typeof each === 'string' ? redactor.text(each) : each));
          // People are compared by their aliases, and a mask would make them all the same person.
          return [key, key === 'aliases' ? texts.filter((each, index) => each === inner[index]) : texts];
        }
        return [key, isJsonObject(inner) ? clean(inner) : inner];
      }),
    );
  // Only texts are replaced, so the shape stays.
  return clean(identity as unknown as JsonObject) as unknown as Given;
}

/** A person in the stored form, for the record of their action. */
export const personOf = (redactor: Redactor, call: Call, { by, identity }: Acting): DecidedBy => ({
  type: 'person',
  name: redactor.text(by),
  identity: redactIdentity(identity, redactor),
  asker: askerAmong(call, { by, identity }, redactor),
});
