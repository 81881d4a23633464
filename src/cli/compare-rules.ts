/** Two versions of contracts on the same calls: which rules differ, and which calls are decided differently. */
import type { CallToJudge, LoadedContracts } from '../contracts/loaded-contracts.ts';
import type { ToolEnd } from '../policy/judge/compile-policy.ts';
import type { FiredRule } from '../policy/language/ruling.ts';
import { wordOf } from './run-cases.ts';

export type ComparedCall = {
  /** A case's id, or a call's. */
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

/** What each rule and workflow says, as a digest. */
const entriesOf = ({ policy }: LoadedContracts): ReadonlyMap<string, string> =>
  new Map([
    ...policy.composed.rules.map(({ id }) => [id, policy.digestOf(id) ?? ''] as const),
    ...policy.workflows.map(({ name, stamp }) => [`workflow:${name}`, stamp] as const),
  ]);

/**
 * Undefined where both say the same. Limits and workflows depend on what came before, which a call alone does not
 * tell, and are left out of it.
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
  // Blocked after it ran is another thing than never run.
  return { word: output?.decision === 'block' ? 'block output' : word, decidedBy };
}
