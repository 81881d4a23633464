/** Compares two versions of contracts on the same calls: changed rules, and calls that are decided differently. */
import type { CallToJudge, LoadedContracts } from '../contracts/loaded-contracts.ts';
import type { ToolEnd } from '../policy/judge/compile-policy.ts';
import type { FiredRule } from '../policy/language/ruling.ts';
import { wordOf } from './run-cases.ts';

export type ComparedCall = {
  /** Id of a case or a call. */
  readonly name: string;
  readonly sessionId?: string;
  readonly call: CallToJudge;
  readonly end: ToolEnd | undefined;
  readonly hidden: boolean;
};

export type ComparedRuling = { readonly word: string; readonly decidedBy: FiredRule | undefined };

export type Change = {
  readonly call: ComparedCall;
  readonly before: ComparedRuling;
  readonly after: ComparedRuling;
};

export type RuleChange = { readonly id: string; readonly change: 'added' | 'removed' | 'changed' };

export function compareRules(old: LoadedContracts, next: LoadedContracts): readonly RuleChange[] {
  const [before, after] = [entriesOf(old), entriesOf(next)];
  return [
    ...[...after].flatMap(([id, digest]): readonly RuleChange[] => {
      const earlier = before.get(id);
      if (earlier === undefined) return [{ id, change: 'added' }];
      return earlier === digest ? [] : [{ id, change: 'changed' }];
    }),
    ...[...before.keys()].filter((id) => !after.has(id)).map((id): RuleChange => ({ id, change: 'removed' })),
  ];
}

/** A digest of each rule and workflow. */
const entriesOf = ({ policy }: LoadedContracts): ReadonlyMap<string, string> =>
  new Map([
    ...policy.composed.rules.map(({ id }) => [id, policy.digestOf(id) ?? ''] as const),
    ...policy.workflows.map(({ name, stamp }) => [`workflow:${name}`, stamp] as const),
  ]);

/**
 * Undefined if both versions decide the same. Limits and workflows are ignored, because they depend on earlier calls.
 */
export async function compareCall(
  call: ComparedCall,
  old: LoadedContracts,
  next: LoadedContracts,
): Promise<Change | undefined> {
  const [before, after] = [await decide(call, old), await decide(call, next)];
  return before.word === after.word ? undefined : { call, before, after };
}

async function decide({ call, end }: ComparedCall, contracts: LoadedContracts): Promise<ComparedRuling> {
  const ruling = await contracts.evaluate(call);
  const output =
    end === undefined || ruling.decision === 'block' ? undefined : await contracts.evaluateOutput(call, end);
  const { word, decidedBy } = wordOf({ ruling, output });
  // Blocking an output differs from blocking the call: the tool has run.
  return { word: output?.decision === 'block' ? 'block output' : word, decidedBy };
}
