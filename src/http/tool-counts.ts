/** Adds up calls by tool and by reason, and ranks them. */
import { isReasonCode, reasonOf } from '../call/reason.ts';
import type { CallTally } from '../ledger/call-tally.ts';
import type { Stats } from './api/stats.ts';
import { Latencies, countedOutcome } from './count-outcomes.ts';

export type CountedTool = Pick<CallTally, 'toolName' | 'outcome' | 'code' | 'bin' | 'calls' | 'costMicros'>;

type OfTool = {
  calls: number;
  failures: number;
  costMicros: number;
  readonly latencies: Latencies;
  readonly codes: Map<string, number>;
};
type OfCode = { count: number; denied: boolean; readonly tools: Map<string, number> };

const mostTools = 10;
const mostCodes = 20;
const mostToolsOfCode = 3;

export class ToolCounts {
  readonly #tools = new Map<string, OfTool>();
  readonly #codes = new Map<string, OfCode>();

  add({ toolName, outcome, code, bin, calls, costMicros }: CountedTool): void {
    const word = countedOutcome({ outcome, code });
    const tool = this.#tools.get(toolName) ?? newTool();
    this.#tools.set(toolName, tool);
    tool.calls += calls;
    tool.costMicros += costMicros;
    tool.latencies.add(bin, calls);
    if (code !== '') {
      const ofCode = this.#codes.get(code) ?? { count: 0, denied: word === 'denied', tools: new Map() };
      this.#codes.set(code, ofCode);
      ofCode.count += calls;
      increase(ofCode.tools, toolName, calls);
    }
    if (word !== 'failed' && word !== 'timedOut' && word !== 'indeterminate') return;
    tool.failures += calls;
    increase(tool.codes, code, calls);
  }

  toLists(): Pick<Stats, 'slowTools' | 'costlyTools' | 'failingTools' | 'codes'> {
    const tools = [...this.#tools].map(([toolName, tool]) => ({ toolName, ...tool }));
    return {
      slowTools: tools
        .map(({ toolName, latencies }) => {
          const { count, p50Ms, p95Ms } = latencies.toPercentiles();
          return { toolName, calls: count, p50Ms, p95Ms };
        })
        .filter(({ calls }) => calls > 0)
        .toSorted(
          (one, other) => (other.p95Ms ?? 0) - (one.p95Ms ?? 0) || (one.toolName < other.toolName ? -1 : 1),
        )
        .slice(0, mostTools),
      costlyTools: tools
        .filter(({ costMicros }) => costMicros > 0)
        .toSorted((one, other) => other.costMicros - one.costMicros)
        .slice(0, mostTools)
        .map(({ toolName, calls, costMicros }) => ({ toolName, calls, costMicros })),
      failingTools: tools
        .filter(({ failures }) => failures > 0)
        .toSorted((one, other) => other.failures - one.failures)
        .slice(0, mostTools)
        .map(({ toolName, calls, failures, codes }) => ({
          toolName,
          failures,
          calls,
          topCode: ranked(codes)[0]?.[0],
        })),
      codes: [...this.#codes]
        .toSorted(([, one], [, other]) => other.count - one.count)
        .slice(0, mostCodes)
        .map(([code, { count, denied, tools: ofCode }]) => ({
          code,
          title: isReasonCode(code) ? reasonOf(code).title : undefined,
          count,
          denied,
          whatToDo: isReasonCode(code) ? reasonOf(code).whatToDo : undefined,
          tools: ranked(ofCode)
            .slice(0, mostToolsOfCode)
            .map(([toolName, calls]) => ({ toolName, count: calls })),
        })),
    };
  }
}

const newTool = (): OfTool => ({
  calls: 0,
  failures: 0,
  costMicros: 0,
  latencies: new Latencies(),
  codes: new Map(),
});

const increase = (counts: Map<string, number>, key: string, by: number): void => {
  counts.set(key, (counts.get(key) ?? 0) + by);
};

/** Most frequent first. */
const ranked = (counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] =>
  [...counts].toSorted(([, one], [, other]) => other - one);
