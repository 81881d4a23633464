/**
 * The principals that a token may name. Without a list, it may name any. With a list, it must name one that is listed.
 */
import { canonicalJson } from '../../base/canonical.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import type { Principal } from '../../tool/tool-context.ts';

/** The values that each field of a principal may have. `*` stands for any. A field that is not listed may not be given. */
export type TokenPrincipals = {
  readonly [Name in Exclude<keyof Principal, 'claims'>]?: readonly string[];
} & { readonly claims?: Readonly<Record<string, readonly JsonValue[]>> };

const textFields = ['userId', 'serviceId', 'orgId', 'role', 'ticketRef'] as const;
const any = '*';

/** Reads the list. Undefined if it is not valid: an unknown form may be a limit. */
export function readTokenPrincipals(value: unknown): TokenPrincipals | undefined {
  if (!isJsonObject(value) || Object.keys(value).length === 0) return undefined;
  for (const [name, listed] of Object.entries(value)) {
    if (name === 'claims') {
      if (!isJsonObject(listed) || !Object.values(listed).every((each) => Array.isArray(each)))
        return undefined;
    } else if (
      !textFields.some((field) => field === name) ||
      !Array.isArray(listed) ||
      !listed.every((each) => typeof each === 'string')
    )
      return undefined;
  }
  // All fields were checked above.
  return value as unknown as TokenPrincipals;
}

/** Why the holder of these principals may not speak for this one. Undefined: they may. */
export function whyNotPrincipal(
  listed: TokenPrincipals | undefined,
  principal: Principal | undefined,
): string | undefined {
  if (listed === undefined) return undefined;
  const problem = findProblem(listed, principal);
  return problem && `${problem}. It lists ${describe(listed)}`;
}

function findProblem(listed: TokenPrincipals, principal: Principal | undefined): string | undefined {
  const given = Object.entries((principal ?? {}) as JsonObject).filter(([, value]) => value !== undefined);
  if (given.length === 0) return 'the call names no principal';
  for (const [name, value] of given) {
    if (name === 'claims') {
      if (!isJsonObject(value)) return 'claims is not an object';
      for (const [claim, said] of Object.entries(value)) {
        const known = listed.claims && Object.hasOwn(listed.claims, claim) ? listed.claims[claim] : undefined;
        if (!isListed(known, said))
          return `the claim ${JSON.stringify(claim)} has a value that is not listed`;
      }
    } else {
      const field = textFields.find((each) => each === name);
      const known = field === undefined ? undefined : listed[field];
      if (!isListed(known, value)) return `${name} ${JSON.stringify(value)?.slice(0, 100)} is not listed`;
    }
  }
  return undefined;
}

/** A list is allowed if each of its values is. */
function isListed(known: readonly JsonValue[] | undefined, value: JsonValue | undefined): boolean {
  if (known === undefined || value === undefined) return false;
  if (known.includes(any)) return true;
  const isKnown = (one: JsonValue): boolean =>
    known.some((each) => canonicalJson(each) === canonicalJson(one));
  return (
    isKnown(value) || (Array.isArray(value) && value.length > 0 && (value as JsonValue[]).every(isKnown))
  );
}

const describe = (listed: TokenPrincipals): string => JSON.stringify(listed).slice(0, 500);
