/** Cases about single calls. The loaded document and a runtime both judge each case, and must agree. */
import type { JsonObject, JsonValue } from 'quittance';
import type { CallToJudge, StringContracts } from 'quittance/contracts';
import { contractsFromYamlString, timeoutDecision } from 'quittance/contracts';
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import type { Case, Data, Problems } from './case.ts';
import { dataAt, isData, own, show, textAt } from './case.ts';
import { judgeInRuntime } from './ruleset-in-runtime.ts';
import type { Approval, Verdict } from './verdict.ts';
import { approvalOf, checkVerdict, unapproved, verdictOfOutput } from './verdict.ts';

/** A parsed case. */
export type RulesetCase = {
  readonly contracts: () => StringContracts;
  readonly toolName: string;
  readonly input: JsonObject;
  readonly principal: NonNullable<CallToJudge['principal']> | undefined;
  readonly metadata: JsonObject | undefined;
  readonly counters: { readonly toolCalls: number; readonly attempts: number; readonly perTool: Data };
  readonly approval: Approval;
  /** The output of the tool; undefined if the case has none. */
  readonly result: JsonValue | undefined;
};

export async function runRulesetCase(found: Case): Promise<Problems> {
  const asked = readCase(found);
  const expected = dataAt(found.data, 'expected');
  const evaluated = await evaluate(asked);
  const ran = await judgeInRuntime(asked);
  const problems = [...checkVerdict(expected, evaluated, 'evaluate')];
  if (ran !== undefined) {
    problems.push(...checkVerdict(expected, ran, 'runtime').filter((problem) => !problems.includes(problem)));
    if (!isDeepStrictEqual(ran, evaluated))
      problems.push(`the runtime says ${show(ran)} and the loaded document says ${show(evaluated)}`);
  }
  return problems;
}

async function evaluate({
  contracts,
  toolName,
  input,
  principal,
  metadata,
  counters,
  approval,
  result,
}: RulesetCase): Promise<Verdict> {
  const loaded = contracts();
  const call: CallToJudge = { toolName, input, principal, metadata };
  const ruling = await loaded.evaluate(call, {
    toolCalls: counters.toolCalls,
    attempts: counters.attempts,
    callsOf: (name) => countOf(counters.perTool, name),
  });
  const { decision, decidedBy, fired } = ruling;
  const observed = ruling.observed.some(({ action }) => action === 'block' || action === 'ask');
  if (decision === 'block')
    return { verdict: 'denied', message: decidedBy?.message, tags: decidedBy?.tags ?? [], observed };
  if (decision === 'ask' && approval !== 'approved') {
    const timeout = timeoutDecision(fired);
    if (approval !== 'expired') return unapproved(decidedBy, approval, observed);
    if (timeout.decision === 'block') return unapproved(timeout.decidedBy, approval, observed);
  }
  if (result === undefined) return { verdict: 'allowed', message: undefined, tags: [], observed };
  const judged = await loaded.evaluateOutput(call, { type: 'result', value: result });
  return verdictOfOutput(judged.fired, observed || judged.observed.length > 0);
}

export const countOf = (perTool: Data, name: string): number => {
  const count = own(perTool, name);
  return typeof count === 'number' ? count : 0;
};

function readCase({ data, file }: Case): RulesetCase {
  const envelope = dataAt(data, 'envelope');
  const toolName = textAt(envelope, 'tool_name');
  if (toolName === undefined) throw new Error('envelope.tool_name is missing');
  const session = dataAt(data, 'session');
  const metadata = own(data, 'call_metadata');
  return {
    contracts: loaderOf(data, file),
    toolName,
    // The YAML core schema has no dates, so every value is JSON.
    input: dataAt(envelope, 'arguments') as JsonObject,
    principal: readPrincipal(own(data, 'principal')),
    metadata: isData(metadata) ? (metadata as JsonObject) : undefined,
    counters: {
      toolCalls: countOf(session, 'tool_calls'),
      attempts: countOf(session, 'attempts'),
      perTool: dataAt(session, 'per_tool'),
    },
    approval: approvalOf(data),
    result: own(data, 'result') as JsonValue | undefined,
  };
}

/** A case contains its document or names one of the file; documents of the file may be extended. */
function loaderOf(data: Data, file: Data): () => StringContracts {
  const rulesets = dataAt(file, 'rulesets');
  const given = own(data, 'contract');
  const contract = typeof given === 'string' ? own(rulesets, given) : given;
  if (contract === undefined) throw new Error(`the file contains no ruleset named ${show(given)}`);
  const environment = own(data, 'environment');
  const write = (document: unknown): string => stringify(document, { aliasDuplicateObjects: false });
  return () =>
    contractsFromYamlString(write(contract), {
      parents: Object.values(rulesets)
        .filter((other) => other !== contract)
        .map(write),
      // Nothing from this process: a case is self-contained.
      env: isData(environment)
        ? Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, String(value)]))
        : {},
      ...(typeof environment === 'string' && { environment }),
    });
}

/** Unknown keys are harmless. */
function readPrincipal(principal: unknown): RulesetCase['principal'] {
  if (!isData(principal)) return undefined;
  const given = {
    userId: own(principal, 'user_id') ?? own(principal, 'id'),
    serviceId: own(principal, 'service_id'),
    orgId: own(principal, 'org_id'),
    role: own(principal, 'role'),
    ticketRef: own(principal, 'ticket_ref'),
    claims: own(principal, 'claims'),
  };
  // Every value of the case is passed on: the rules must accept it.
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined && value !== null),
  );
}
