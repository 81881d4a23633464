/** Rules as routes tell of them: those in force, those somebody typed, and what became of both. */
import { LoadedContracts } from '../contracts/loaded-contracts.ts';
import { readStored } from '../ledger/feed.ts';
import { isKnownEvent } from '../ledger/formats/v1/event-table.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { ledgerSessionId } from '../ledger/ledger.ts';
import { sessionCounterPrefixes } from '../ledger/session-counters.ts';
import type { ComposedRule } from '../policy/composed-rules.ts';
import { lintRules } from '../policy/lint-rules.ts';
import type {
  CallToExplain,
  ContractsInForce,
  ContractsReload,
  ContractsVersion,
  RuleHit,
  RuleHits,
  RuleInForce,
  TypedDocuments,
} from './api/contract.ts';
import type { ExplainCounters } from './contract-work.ts';
import { explainWith, problemsOf } from './contract-work.ts';
import { HttpRefusal } from './problem.ts';
import type { Service } from './service.ts';

/** Who asks for work, and until when they wait for it. */
export type Asker = { readonly caller: string; readonly signal: AbortSignal };

export const readInForce = ({ contracts, reloadContracts: reload }: Service): ContractsInForce => ({
  loaded: contracts !== undefined,
  policyVersion: contracts?.policy.version,
  documents: contracts?.documents ?? [],
  rules: contracts?.policy.composed.rules.map(toRule) ?? [],
  workflows: contracts?.policy.workflows.map(({ name }) => name) ?? [],
  report: contracts?.policy.composed.report,
  canReload: reload !== undefined,
});

function toRule({ id, rule, mode, source, line }: ComposedRule): RuleInForce {
  return {
    ruleId: id,
    type: rule.type,
    mode,
    tool: 'tool' in rule ? rule.tool : 'tools' in rule ? rule.tools.join(', ') : undefined,
    action: 'action' in rule ? rule.action : 'outside' in rule ? rule.outside : undefined,
    message: 'message' in rule ? rule.message : undefined,
    source,
    line,
    tags: rule.tags,
  };
}

export async function readVersions({ ledger }: Service): Promise<readonly ContractsVersion[]> {
  let versions: ContractsVersion[] = [];
  // Every session that was ever dropped is told of there too: it may be long.
  for (let after = 0; ;) {
    const entries = await ledger.readEntries({ sessionId: ledgerSessionId, after, limit: entriesAtOnce });
    for (const entry of entries)
      for (const event of readStored(entry).events)
        if (isKnownEvent(event) && event.type === 'contracts.loaded')
          versions.push({
            policyVersion: event.policyVersion,
            loadedAt: event.at,
            documents: event.documents,
          });
    versions = versions.slice(-mostVersions);
    if (entries.length < entriesAtOnce) return versions.reverse();
    after = entries.at(-1)?.position ?? after;
    await new Promise(setImmediate);
  }
}

const mostVersions = 100;
const entriesAtOnce = 1_000;

const mostCalls = 1_000;

export async function countHits({ ledger }: Service): Promise<RuleHits> {
  const found = new Map<string, { -readonly [Name in keyof RuleHit]: RuleHit[Name] }>();
  const { rows } = await ledger.queryCalls({ limit: mostCalls });
  for (const [index, { sessionId, callId }] of rows.entries()) {
    if (index % 50 === 49) await new Promise(setImmediate);
    const stored = await ledger.readCall(sessionId, callId);
    const seen = new Set<string>();
    for (const event of stored?.events ?? []) {
      if (event.type !== 'tool.decided' && event.type !== 'tool.responded') continue;
      if (!('rules' in event)) continue;
      for (const { ruleId, action, observed } of event.rules) {
        // After an approval rules are asked again: a call counts once.
        if (seen.has(ruleId)) continue;
        seen.add(ruleId);
        const hit = found.get(ruleId) ?? {
          ruleId,
          action,
          hits: 0,
          observed: 0,
          lastAt: event.at,
          lastCall: { sessionId, callId },
        };
        found.set(ruleId, hit);
        if (observed === true) hit.observed++;
        else hit.hits++;
      }
    }
  }
  return {
    calls: rows.length,
    since: rows.at(-1)?.requestedAt,
    rules: [...found.values()].toSorted(
      (one, other) => other.hits + other.observed - one.hits - one.observed,
    ),
  };
}

export function checkTyped(
  { tools, contractDesk }: Service,
  documents: TypedDocuments['documents'],
  { caller, signal }: Asker,
): Promise<string> {
  const toolNames = tools.map(({ name }) => name);
  return contractDesk.run(caller, signal, { kind: 'check', documents, toolNames });
}

/** Throws `contracts.invalid` where the documents cannot be loaded. */
export async function refuseUnloadable(
  { contractDesk }: Service,
  documents: TypedDocuments['documents'],
  { caller, signal }: Asker,
): Promise<void> {
  await contractDesk.run(caller, signal, { kind: 'load', documents });
}

/** The explanation as JSON text. */
export async function explainCall(
  { contracts, ledger, contractDesk }: Service,
  { documents, toolName, arguments: input = {}, principal, metadata, output, sessionId }: CallToExplain,
  { caller, signal }: Asker,
): Promise<string> {
  const counters = sessionId === undefined ? undefined : await readCounters(ledger, sessionId, toolName);
  const about = { toolName, input, principal, metadata, output, counters };
  if (documents !== undefined) return contractDesk.run(caller, signal, { kind: 'explain', documents, about });
  if (!(contracts instanceof LoadedContracts))
    throw new HttpRefusal(
      'http.not_available',
      'No rules are in force here. Give some in `documents`, or start the server with --contracts FILE.',
    );
  return JSON.stringify(await explainWith(contracts, about));
}

export async function reloadContracts({
  contracts,
  reloadContracts: reload,
}: Service): Promise<ContractsReload> {
  if (contracts === undefined || reload === undefined)
    throw new HttpRefusal(
      'http.not_available',
      'The rules of this server are not read from files. Start it with --contracts FILE.',
    );
  const before = contracts.policy.version;
  const result = await reload();
  const { version } = contracts.policy;
  return result.ok
    ? {
        ok: true,
        changed: version !== before,
        policyVersion: version,
        problems: [],
        warnings: lintRules(contracts.policy.composed),
      }
    : { ok: false, changed: false, policyVersion: before, problems: problemsOf(result.error), warnings: [] };
}

/** What session rules are judged by: the numbers this session has used up. */
async function readCounters(ledger: Ledger, sessionId: string, toolName: string): Promise<ExplainCounters> {
  const [prefix] = sessionCounterPrefixes(sessionId);
  const names = ['tool_calls', 'attempts', `calls_per_tool/${JSON.stringify(toolName)}`];
  const counters = await ledger.readCounters(names.map((name) => `${prefix}contract/${name}`));
  const [toolCalls = 0, attempts = 0, calls = 0] = counters.map(({ used, reserved }) => used + reserved);
  return { toolCalls, attempts, callsOfTool: calls };
}
