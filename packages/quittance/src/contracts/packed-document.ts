/**
 * A document that a thread has read, on its way to the thread that judges calls. Functions cannot be transferred, so
 * patterns are. Long lists are packed in parts: each is unpacked in its own step.
 */
import { deserialize, serialize } from 'node:v8';
import type { Steps } from '../base/steps.ts';
import { compileGlob } from '../policy/regex/glob.ts';
import type { LinearRegex } from '../policy/regex/linear-regex.ts';
import { parseRegex } from '../policy/regex/linear-regex.ts';
import type { ParsedDocument, DocumentResult } from '../policy/read/parse-document.ts';
import type { Stage, StageCondition, StageGate, Workflow } from '../policy/language/workflow.ts';

type Pack = Uint8Array<ArrayBuffer>;

export type PackedDocument =
  | { readonly kind: 'problems'; readonly problems: readonly Pack[] }
  | {
      readonly kind: 'Ruleset';
      /** The document without the lists below. */
      readonly rest: Pack;
      readonly rules: readonly Pack[];
      readonly positions: readonly Pack[];
    }
  | { readonly kind: 'Workflow'; readonly rest: Pack; readonly stages: readonly Pack[] };

const itemsInPack = 100;

export function packDocument(result: DocumentResult): PackedDocument {
  if (!result.ok) return { kind: 'problems', problems: packList(result.problems) };
  const { document } = result;
  if (document.kind === 'Workflow')
    return {
      kind: 'Workflow',
      rest: pack({ ...document, workflow: { ...document.workflow, stages: [] } }),
      stages: packList(document.workflow.stages.map(packStage)),
    };
  const { rules, positions } = document.ruleset;
  return {
    kind: 'Ruleset',
    rest: pack({ ...document, ruleset: { ...document.ruleset, rules: [], positions: new Map() } }),
    rules: packList(rules),
    positions: packList([...positions]),
  };
}

export function* unpackDocument(packed: PackedDocument): Steps<DocumentResult> {
  switch (packed.kind) {
    case 'problems':
      return { ok: false, problems: yield* unpackList(packed.problems) };
    case 'Ruleset': {
      const document = unpack<Extract<ParsedDocument, { kind: 'Ruleset' }>>(packed.rest);
      const rules = yield* unpackList<(typeof document.ruleset.rules)[number]>(packed.rules);
      const positions = new Map(
        yield* unpackList<
          typeof document.ruleset.positions extends ReadonlyMap<infer K, infer V> ? [K, V] : never
        >(packed.positions),
      );
      return {
        ok: true,
        document: { ...document, ruleset: { ...document.ruleset, rules, positions } },
      };
    }
    case 'Workflow': {
      const document = unpack<{ kind: 'Workflow'; source: string; workflow: Workflow }>(packed.rest);
      const stages: Stage[] = [];
      for (const stage of yield* unpackList<PackedStage>(packed.stages)) {
        stages.push(unpackStage(stage));
        yield;
      }
      return { ok: true, document: { ...document, workflow: { ...document.workflow, stages } } };
    }
  }
}

type PackedStage = ReturnType<typeof packStage>;

const packStage = (stage: Stage) => ({
  ...stage,
  entry: stage.entry.map(packGate),
  exit: stage.exit.map(packGate),
  tools: stage.tools.map(({ pattern }) => pattern),
  checks: stage.checks.map((check) => ({ ...check, regex: check.regex.source })),
});

const unpackStage = (stage: PackedStage): Stage => ({
  ...stage,
  entry: stage.entry.map(unpackGate),
  exit: stage.exit.map(unpackGate),
  tools: stage.tools.map((pattern) => compileGlob(pattern)),
  checks: stage.checks.map((check) => ({ ...check, regex: regexOf(check.regex) })),
});

type PackedGate = ReturnType<typeof packGate>;

const packGate = ({ condition, message }: StageGate) => ({
  condition: 'regex' in condition ? { type: condition.type, regex: condition.regex.source } : condition,
  message,
});

const unpackGate = ({ message, condition }: PackedGate): StageGate => ({
  condition:
    'regex' in condition
      ? ({ type: condition.type, regex: regexOf(condition.regex) } satisfies StageCondition)
      : condition,
  message,
});

function regexOf(pattern: string): LinearRegex {
  const reading = parseRegex(pattern);
  if (!reading.ok)
    throw new TypeError(`A pattern that was valid in the thread cannot be read again: ${pattern}`);
  return reading.regex;
}

const pack = (value: unknown): Pack => new Uint8Array(serialize(value));

function packList(list: readonly unknown[]): readonly Pack[] {
  const packs: Pack[] = [];
  for (let from = 0; from < list.length; from += itemsInPack)
    packs.push(pack(list.slice(from, from + itemsInPack)));
  return packs;
}

// Only our own thread's output of `pack` is unpacked, and the caller names the packed type.
const unpack = <T>(packed: Pack): T => deserialize(packed) as T;

function* unpackList<T>(packs: readonly Pack[]): Steps<T[]> {
  const list: T[] = [];
  for (const packed of packs) {
    list.push(...unpack<readonly T[]>(packed));
    yield;
  }
  return list;
}
