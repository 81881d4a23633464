/** Numbers about the ledger for Prometheus. */
import { safeId } from 'quittance/internal/base/safe-id';
import { boundingBins } from 'quittance/internal/call/tool-bounds';
import { unknownTool } from 'quittance/internal/call/unknown-tool';
import { latencyOfBin } from 'quittance/internal/ledger/call-tally';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { readTallies, findConfirmations, lastPosition } from 'quittance/internal/ledger/reads';

export type LedgerCounts = {
  readonly merged: readonly ToolTally[];
  /** How long tools ran, by tool and outcome. Calls whose body never ran are not counted. */
  readonly durations: readonly ToolDurations[];
  /** Tools that have their own counter from now on. */
  readonly common: readonly string[];
  readonly unresolved: number;
  readonly costMicros: number;
  /** Up to a thousand. */
  readonly held: number;
  readonly position: number;
};

export async function countLedger(
  ledger: Pick<OpenLedger, 'query' | 'readEntries'>,
  known: readonly string[],
): Promise<LedgerCounts> {
  const tallies = await readTallies(ledger, { by: ['toolName', 'outcome', 'code', 'bin'] });
  const held = await findConfirmations(ledger, { status: 'pending', limit: 1_000 });
  const common = new Set(known);
  const merged = mergeTools(tallies, common);
  return {
    merged: sumTallies(merged),
    durations: sumDurations(merged),
    common: [...common],
    unresolved: tallies.reduce((sum, each) => sum + each.unresolved, 0),
    costMicros: tallies.reduce((sum, each) => sum + each.costMicros, 0),
    held: held.rows.length,
    position: await lastPosition(ledger),
  };
}

export type ToolTally = {
  readonly toolName: string;
  readonly outcome: string;
  readonly code: string;
  readonly calls: number;
};

/** A histogram from the ledger: the bounds of `toolBounds`. */
export type ToolDurations = {
  readonly toolName: string;
  readonly outcome: string;
  /** The calls up to each bound. */
  readonly counts: readonly number[];
  readonly count: number;
  /** In seconds, from the middles of the ledger's bins: within five percent. */
  readonly sum: number;
};

type BinTally = ToolTally & { readonly bin: number };

/**
 * A model may call any name, so names that no tool has share a counter, and so do names beyond the most frequent ones. A
 * name keeps its own counter once it has one, because counters must not decrease.
 */
function mergeTools(tallies: readonly BinTally[], common: Set<string>): readonly BinTally[] {
  const byTool = new Map<string, number>();
  for (const { toolName, code, calls } of tallies)
    if (code !== 'tool.unknown') byTool.set(toolName, (byTool.get(toolName) ?? 0) + calls);
  for (const [name] of [...byTool].toSorted(([, one], [, other]) => other - one)) {
    if (common.size >= mostTools) break;
    common.add(name);
  }
  const labelOf = ({ toolName, code }: BinTally): string => {
    if (code === 'tool.unknown') return unknownTool;
    return common.has(toolName) ? escape(safeId(toolName)) : '(others)';
  };
  return tallies.map((tally) => ({
    ...tally,
    toolName: labelOf(tally),
    outcome: escape(tally.outcome),
    code: tally.outcome === '' ? '' : escape(tally.code),
  }));
}

/** Counted by the written labels: Prometheus rejects a page with a duplicate label. */
function sumTallies(tallies: readonly BinTally[]): readonly ToolTally[] {
  const merged = new Map<string, ToolTally>();
  for (const { toolName, outcome, code, calls } of tallies) {
    const key = JSON.stringify([toolName, outcome, code]);
    merged.set(key, { toolName, outcome, code, calls: calls + (merged.get(key)?.calls ?? 0) });
  }
  return [...merged.values()];
}

function sumDurations(tallies: readonly BinTally[]): readonly ToolDurations[] {
  const merged = new Map<
    string,
    { toolName: string; outcome: string; counts: number[]; count: number; sum: number }
  >();
  for (const { toolName, outcome, bin, calls } of tallies) {
    if (bin < 0 || outcome === '') continue;
    const key = JSON.stringify([toolName, outcome]);
    const found = merged.get(key) ?? {
      toolName,
      outcome,
      counts: boundingBins.map(() => 0),
      count: 0,
      sum: 0,
    };
    merged.set(key, found);
    found.count += calls;
    found.sum += (calls * latencyOfBin(bin)) / 1_000;
    for (const [index, bound] of boundingBins.entries())
      if (bin < bound) found.counts[index] = (found.counts[index] ?? 0) + calls;
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
