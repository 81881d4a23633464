/** Numbers about the ledger for Prometheus. */
import type { Ledger } from '../ledger/ledger.ts';

export type LedgerCounts = {
  readonly merged: readonly ToolTally[];
  /** Tools that have their own counter from now on. */
  readonly common: readonly string[];
  readonly unresolved: number;
  readonly costMicros: number;
  /** Up to a thousand. */
  readonly held: number;
  readonly position: number;
};

export async function countLedger(
  ledger: Pick<Ledger, 'queries' | 'entries'>,
  known: readonly string[],
): Promise<LedgerCounts> {
  const tallies = await ledger.queries.tallyCalls({ by: ['toolName', 'outcome', 'code'] });
  const held = await ledger.queries.findConfirmations({ status: 'pending', limit: 1_000 });
  const common = new Set(known);
  const merged = mergeTools(tallies, common);
  return {
    merged,
    common: [...common],
    unresolved: tallies.reduce((sum, each) => sum + each.unresolved, 0),
    costMicros: tallies.reduce((sum, each) => sum + each.costMicros, 0),
    held: held.rows.length,
    position: await ledger.entries.lastPosition(),
  };
}

export type ToolTally = {
  readonly toolName: string;
  readonly outcome: string;
  readonly code: string;
  readonly calls: number;
};

/**
 * A model may call any name, so names beyond the most frequent ones share a counter. A name keeps its own counter once it
 * has one, because counters must not decrease.
 */
function mergeTools(tallies: readonly ToolTally[], common: Set<string>): readonly ToolTally[] {
  const byTool = new Map<string, number>();
  for (const { toolName, calls } of tallies) byTool.set(toolName, (byTool.get(toolName) ?? 0) + calls);
  for (const [name] of [...byTool].toSorted(([, one], [, other]) => other - one)) {
    if (common.size >= mostTools) break;
    common.add(name);
  }
  const merged = new Map<string, ToolTally>();
  for (const tally of tallies) {
    // Count by the written label: Prometheus rejects a page with a duplicate label.
    const toolName = common.has(tally.toolName) ? escape(tally.toolName) : '(others)';
    const outcome = escape(tally.outcome);
    const code = outcome === '' ? '' : escape(tally.code);
    const key = JSON.stringify([toolName, outcome, code]);
    merged.set(key, { toolName, outcome, code, calls: tally.calls + (merged.get(key)?.calls ?? 0) });
  }
  return [...merged.values()];
}

const mostTools = 200;

/** Escaped for the text format. Control characters would end a line in some readers. */
const escape = (text: string): string =>
  text
    .slice(0, 200)
    .toWellFormed()
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll(/[\p{Cc}\u2028\u2029]/gu, '\uFFFD');
