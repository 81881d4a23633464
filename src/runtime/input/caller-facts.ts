/**
 * Facts that a caller adds to a call. They are copied and frozen on arrival, so that later changes by the
 * caller or a hook do not reach the record.
 */
import { QuittanceError } from '../../base/error.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { freezeJson, isJsonObject, toJson } from '../../base/json.ts';
import type { Redactor } from '../../base/redaction.ts';
import type { DirectIdentity, Provenance } from '../../call/event.ts';
import type { Principal } from '../../tool/tool-context.ts';
import type { KnownSecrets } from '../../base/known-secrets.ts';
import { readIdentity } from '../host/acting.ts';

type Facts = {
  /** On whose behalf the call is made. */
  readonly principal: Principal | undefined;
  /** Which model made the call. */
  readonly provenance: Provenance | undefined;
  readonly attrs: JsonObject | undefined;
};

export type CallerFacts = Facts & {
  /** How the calling program was identified, if the host says. */
  readonly askedBy: DirectIdentity | undefined;
  /** The stored form, after redaction. */
  readonly kept: Facts;
  /** The values hidden there. */
  readonly hidden: readonly string[];
};

/** The facts that a turn or a call may set. */
export type SaidFacts = { readonly [Name in keyof Facts]?: Facts[Name] } & {
  readonly askedBy?: DirectIdentity;
};

const none: Facts = { principal: undefined, provenance: undefined, attrs: undefined };
export const noFacts: CallerFacts = { ...none, askedBy: undefined, kept: none, hidden: [] };

/** Missing fields fall back to `before`. Returns the same object if all are missing. */
export function readCallerFacts(said: SaidFacts, before: CallerFacts, redactor: Redactor): CallerFacts {
  const { principal, provenance, attrs, askedBy } = said;
  return principal === undefined && provenance === undefined && attrs === undefined && askedBy === undefined
    ? before
    : addFacts(said, before, redactor);
}

function addFacts(said: SaidFacts, before: CallerFacts, redactor: Redactor): CallerFacts {
  const { askedBy } = said;
  const hidden = new Set(before.hidden);
  const read = <Name extends keyof Facts>(name: Name): readonly [Facts[Name], Facts[Name]] => {
    const fact = said[name];
    if (fact === undefined) return [before[name], before.kept[name]];
    const { given, kept, secrets } = readFact(name, fact, redactor);
    for (const secret of secrets) hidden.add(secret);
    // Copies keep the shape of the caller's types. Redacting an object gives an object.
    return [given as Facts[Name], kept as Facts[Name]];
  };
  const [principalGiven, principalKept] = read('principal');
  const [provenanceGiven, provenanceKept] = read('provenance');
  const [attrsGiven, attrsKept] = read('attrs');
  return {
    principal: principalGiven,
    provenance: provenanceGiven,
    attrs: attrsGiven,
    askedBy: askedBy === undefined ? before.askedBy : readIdentity('askedBy', askedBy, redactor),
    kept: { principal: principalKept, provenance: provenanceKept, attrs: attrsKept },
    hidden: [...hidden],
  };
}

type ReadFact = {
  readonly given: JsonObject;
  readonly kept: JsonValue;
  readonly secrets: readonly string[];
};

/** The values read from lasting facts, for each redactor. */
const lasting = new WeakMap<object, WeakMap<Redactor, ReadFact>>();

/**
 * A copy of a fact that many calls share, e.g. the principal of a connection. It cannot change, so it is read once
 * instead of with each call.
 */
export function toLastingFact<Fact extends object>(fact: Fact): Fact {
  const copy = copyObject('fact', fact);
  lasting.set(copy, new WeakMap());
  return copy as Fact; // a copy keeps the shape
}

function readFact(name: keyof Facts, fact: object, redactor: Redactor): ReadFact {
  const known = lasting.get(fact);
  const found = known?.get(redactor);
  if (found !== undefined) return found;
  const given = copyObject(name, fact);
  checkTexts(name, given);
  const { value, secrets } = redactor.input(given);
  const read = { given, kept: freezeJson(value), secrets };
  known?.set(redactor, read);
  return read;
}

/**
 * The facts without secrets known from other sources, such as the arguments. The identifying fields of a
 * principal stay: they are names, and the record must say who asked.
 */
export function hideInFacts(facts: CallerFacts, known: KnownSecrets): CallerFacts {
  if (known.isEmpty) return facts;
  const { principal, provenance, attrs } = facts.kept;
  // Hiding part of an object gives an object.
  const hide = <Value extends object | undefined>(value: Value): Value =>
    value === undefined ? value : (freezeJson(known.json(value as JsonObject)) as Value);
  return {
    ...facts,
    kept: {
      principal:
        principal?.claims === undefined ? principal : { ...principal, claims: hide(principal.claims) },
      provenance: hide(provenance),
      attrs: hide(attrs),
    },
  };
}

const texts: { readonly [Name in keyof Facts]: readonly string[] } = {
  principal: ['userId', 'serviceId', 'orgId', 'role', 'ticketRef'] satisfies (keyof Principal)[],
  provenance: ['provider', 'model'] satisfies (keyof Provenance)[],
  attrs: [],
};

/**
 * Fields that are searched and compared as text must be text, whatever the caller's types say: they are
 * stored for ever.
 */
function checkTexts(name: keyof Facts, given: JsonObject): void {
  for (const field of texts[name]) {
    const value = Object.hasOwn(given, field) ? given[field] : undefined;
    if (value === undefined || typeof value === 'string') continue;
    throw new QuittanceError(
      'config.invalid',
      `${name}.${field} must be a text, found ${JSON.stringify(value).slice(0, 40)}. Leave it out if there is none.`,
    );
  }
}

function copyObject(name: string, value: unknown): JsonObject {
  const copy = toJson(value);
  if (copy.ok && isJsonObject(copy.value)) return freezeJson(copy.value);
  throw new QuittanceError('config.invalid', `${name} must be an object that JSON can hold.`);
}
