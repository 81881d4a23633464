import type { ContractsOptions } from 'quittance/internal/contracts/contracts-options';
import type { LoadedContracts, CallToJudge } from 'quittance/internal/contracts/loaded-contracts';
import { filterOptions, timesOf } from '../call-query.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { reads } from '../command.ts';
import { readCaseFiles } from '../case-files.ts';
import { createCaseLoader, toCaseCall, wordOf } from '../run-cases.ts';
import { loadOrExplain, needFiles } from '../load-or-explain.ts';
import { callsInLedger } from '../ledger-calls.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { terminalId, safeJson, terminalText } from '../terminal-text.ts';
import { trim, wrap } from '../text-width.ts';
import { UsageError } from '../usage-error.ts';
import { withoutUndefined } from '../to-json.ts';
import type { ToolEnd } from 'quittance/internal/policy/judge/compile-policy';
import type { FiredRule } from 'quittance/internal/policy/language/ruling';

const mostCalls = 10_000;
const { since, session } = filterOptions;

export const contractsDiffCommand: CliCommand = {
  name: 'contracts diff',
  summary: 'Compare two versions of contracts on the same calls',
  takes: '<old> <new>',
  most: 2,
  about: [
    'Lists the rules that were added, removed or changed, and the calls that the new version decides differently. Examples: from allow to block, or from ask to allow, with the deciding rule. The calls come from the case files next to the two documents, or from a ledger. Ledger calls are evaluated in their stored form: rules see the mask of a redacted argument. Limits and workflows depend on earlier calls and are ignored.',
    'Exit code 1: at least one call is decided differently.',
  ],
  options: {
    cases: {
      value: 'FILE',
      help: 'Read the calls from this file; can be repeated',
      file: true,
      multiple: true,
    },
    ...(since && {
      since: { ...since, help: 'Ledger calls requested since this time: 15m, 7d, 2026-10-12' },
    }),
    ...(session && { session: { ...session, help: 'Ledger calls of this session' } }),
    limit: { value: 'N', help: `Maximum number of ledger calls, newest first; default: ${mostCalls}` },
    samples: { value: 'N', help: 'Number of calls to show for each kind of change; default: 3' },
    json: {
      help: 'JSON instead of text: one line per rule and call that differs, then one with the totals',
    },
  },
  examples: [
    ['quittance contracts diff old.yaml new.yaml', 'on the case files next to them'],
    ['quittance contracts diff old.yaml new.yaml --ledger ledger.db --since 7d', 'on a week of real calls'],
    [
      'git show HEAD:contracts.yaml > /tmp/old.yaml && quittance contracts diff /tmp/old.yaml contracts.yaml',
      'the effect of an edit',
    ],
  ],
  effect: reads,
  run: async (given, context) => {
    const [oldPath, newPath] = given.args;
    if (oldPath === undefined || newPath === undefined)
      throw new UsageError(
        `Expected two versions to compare; found ${oldPath === undefined ? 'none' : 'one'}.`,
        ['quittance contracts diff old.yaml new.yaml'],
      );
    needFiles([oldPath, newPath], 'contracts diff old.yaml');
    const load = (path: string, options: ContractsOptions = {}): Promise<LoadedContracts> =>
      loadOrExplain([path], options);
    const [old, next] = [await load(oldPath), await load(newPath)];
    const rules = compareRules(old, next);
    const changes: Change[] = [];
    const totals = { compared: 0, hidden: 0 };
    const compare = async (call: ComparedCall, before = old, after = next): Promise<void> => {
      totals.compared++;
      if (call.hidden) totals.hidden++;
      const change = await compareCall(call, before, after);
      if (change !== undefined) changes.push(change);
    };
    if (fromLedger(given))
      await context.withLedger(given, async (ledger, meant) => {
        const query = { sessionId: meant.text('session'), ...timesOf(given, context.now()) };
        const limit = given.count('limit') ?? mostCalls;
        for await (const found of callsInLedger(ledger, query, limit, context.signal))
          await compare({ ...found, name: found.callId });
      });
    else {
      const files = await readCaseFiles(
        given.list('cases'),
        [newPath, oldPath],
        `contracts diff ${shellWord(oldPath)} ${shellWord(newPath)}`,
        context.out,
      );
      if (files === undefined) return exitCodes.bad;
      for (const file of files) {
        const oldOf = createCaseLoader(file, (options) => load(oldPath, options));
        const newOf = createCaseLoader(file, (options) => load(newPath, options));
        for (const each of file.cases) {
          const call = { name: each.id, call: toCaseCall(each), end: each.end, hidden: false };
          await compare(call, await oldOf(each), await newOf(each));
        }
      }
    }
    if (given.has('json')) await printJson(rules, changes, totals, context);
    else await printText(rules, changes, totals, given, context);
    return changes.length > 0 ? exitCodes.bad : exitCodes.good;
  },
};

const fromLedger = (given: Given): boolean =>
  ['ledger', 'since', 'session', 'limit'].some((name) => given.has(name));

type Totals = { readonly compared: number; readonly hidden: number };

/** Groups the changes by kind, such as `allow → block`, most frequent first. */
function byKind(
  changes: readonly Change[],
): readonly (readonly [kind: string, changes: readonly Change[]])[] {
  const kinds = new Map<string, Change[]>();
  for (const change of changes) {
    const kind = `${change.before.word} → ${change.after.word}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), change]);
  }
  return [...kinds].toSorted(([, one], [, other]) => other.length - one.length);
}

const marks = { added: '+', removed: '-', changed: '~' } as const;
const colors = { added: 'green', removed: 'red', changed: 'yellow' } as const;

async function printText(
  rules: readonly RuleChange[],
  changes: readonly Change[],
  { compared, hidden }: Totals,
  given: Given,
  { out }: Context,
): Promise<void> {
  const mostSamples = given.count('samples') ?? 3;
  if (rules.length > 0) await out.print(out.paint('bold', 'Rules'));
  for (const { id, change } of rules)
    await out.print(
      `  ${out.paint(colors[change], `${marks[change]} ${change.padEnd(8)}`)} ${terminalText(id)}`,
    );
  if (rules.length > 0) await out.print('');
  for (const [kind, some] of byKind(changes)) {
    await out.print(`${out.paint('bold', kind)}  ${some.length}`);
    for (const change of some.slice(0, mostSamples))
      for (const line of sampleLines(change, out)) await out.print(line);
    if (some.length > mostSamples)
      await out.print(out.paint('dim', `  and ${some.length - mostSamples} more: --samples ${some.length}`));
    await out.print('');
  }
  const calls = `${compared} ${compared === 1 ? 'call' : 'calls'} compared`;
  await out.print(
    changes.length === 0
      ? `${out.paint(['bold', 'green'], 'Every call is decided as before.')} ${calls}.`
      : `${out.paint(['bold', 'yellow'], `${changes.length} decided differently.`)} ${calls}.`,
  );
  if (hidden > 0)
    for (const line of wrap(
      `${hidden} of them have redacted arguments. Rules saw the masks and may decide differently on the real values.`,
      out.textWidth,
    ))
      await out.print(out.paint('dim', line));
}

function sampleLines({ call, before, after }: Change, out: Context['out']): string[] {
  const { name, sessionId, call: asked, hidden } = call;
  const where = sessionId === undefined ? '' : `  ${out.paint('dim', terminalId(sessionId))}`;
  // The rule that decides now, or else the rule that decided before.
  const rule = after.decidedBy ?? before.decidedBy;
  const said =
    rule === undefined ? '' : `${after.decidedBy === undefined ? 'was ' : ''}${rule.ruleId}: ${rule.message}`;
  const input = `${terminalId(asked.toolName)} ${safeJson(asked.input ?? {})}`;
  return [
    `  ${terminalText(name)}${where}${hidden ? out.paint('dim', '  (arguments redacted)') : ''}`,
    `    ${trim(input, Math.min(out.width, 160) - 4)}`,
    ...(said === ''
      ? []
      : wrap(terminalText(said), out.textWidth - 4).map((line) => `    ${out.paint('dim', line)}`)),
  ];
}

async function printJson(
  rules: readonly RuleChange[],
  changes: readonly Change[],
  { compared, hidden }: Totals,
  { out }: Context,
): Promise<void> {
  for (const { id, change } of rules) await out.print(safeJson({ type: 'rule', id, change }));
  for (const { call, before, after } of changes)
    await out.print(
      safeJson(
        withoutUndefined({
          type: 'call',
          id: call.name,
          sessionId: call.sessionId,
          toolName: call.call.toolName,
          before: before.word,
          after: after.word,
          ruleBefore: before.decidedBy?.ruleId,
          ruleAfter: after.decidedBy?.ruleId,
          hidden: call.hidden,
        }),
      ),
    );
  const counts = Object.fromEntries(byKind(changes).map(([kind, some]) => [kind, some.length]));
  await out.print(safeJson({ type: 'totals', compared, hidden, different: changes.length, changes: counts }));
}

/** Compares two versions of contracts on the same calls: changed rules, and calls that are decided differently. */

type ComparedCall = {
  /** Id of a case or a call. */
  readonly name: string;
  readonly sessionId?: string;
  readonly call: CallToJudge;
  readonly end: ToolEnd | undefined;
  readonly hidden: boolean;
};

type ComparedRuling = { readonly word: string; readonly decidedBy: FiredRule | undefined };

type Change = {
  readonly call: ComparedCall;
  readonly before: ComparedRuling;
  readonly after: ComparedRuling;
};

type RuleChange = { readonly id: string; readonly change: 'added' | 'removed' | 'changed' };

function compareRules(old: LoadedContracts, next: LoadedContracts): readonly RuleChange[] {
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
async function compareCall(
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
