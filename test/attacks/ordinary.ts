/**
 * Ordinary calls for each template, which should not be refused. One call per line in
 * `ordinary/<template>.txt`: `$ git status` is a call of `Bash`, anything else is `{"tool": …, "args": …}`.
 */
import { readFileSync } from 'node:fs';
import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import { callTool, loadTemplate } from './attack.ts';
import type { Door } from './attack-class.ts';

export const templates = ['file-agent', 'research-agent', 'devops-agent', 'coding-agent'] as const;

export type OrdinaryResult = {
  readonly template: string;
  readonly calls: number;
  readonly refused: readonly string[];
  readonly asked: readonly string[];
};

/** The caller: the devops template lets only a principal with a role and a ticket change production. */
const principal = { userId: 'ada', role: 'sre', ticketRef: 'OPS-7' };
const verdicts = { allow: 'through', ask: 'asked', block: 'held' } as const;

/** At most this share of ordinary calls may be refused. */
export const mostRefused = 0.03;

/**
 * `rules` asks the rules alone: a runtime that runs from its source protects that source, and relative paths
 * of the corpus would be in it.
 */
export async function runOrdinary(
  template: (typeof templates)[number],
  door: Door,
  judge: 'runtime' | 'rules',
  stop: AbortSignal = new AbortController().signal,
): Promise<OrdinaryResult> {
  const refused: string[] = [];
  const asked: string[] = [];
  let calls = 0;
  for (const line of readCalls(template)) {
    if (stop.aborted) break;
    calls++;
    const { tool, input } = parseCall(line);
    const contracts = loadTemplate(template, door);
    const verdict =
      judge === 'runtime'
        ? await callTool({ door, contracts, tool, input, principal })
        : verdicts[(await contracts.evaluate({ toolName: tool, input, principal })).decision];
    if (verdict === 'held') refused.push(line);
    if (verdict === 'asked') asked.push(line);
  }
  return { template, calls, refused, asked };
}

const readCalls = (template: string): readonly string[] =>
  readFileSync(new URL(`ordinary/${template}.txt`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '');

function parseCall(line: string): { readonly tool: string; readonly input: JsonObject } {
  if (line.startsWith('$ ')) return { tool: 'Bash', input: { command: line.slice(2) } };
  // The files contain exactly these two members.
  const { tool, args } = JSON.parse(line) as { readonly tool: string; readonly args: JsonObject };
  return { tool, input: args };
}
