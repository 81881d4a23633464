/**
 * The board on which gateways report, and other processes read. It is in the database of the ledger, or in a file next
 * to it.
 *
 * 1. A report counts only while its gateway proves that it lives: it repeats the report, and holds its lock on the
 *    ledger. Otherwise the report is history, and is shown as such.
 * 2. A change is a compare-and-set, so gateways do not remove each other's reports.
 * 3. The board stays small. The last report about a server is kept as long as there is room.
 */
import type { Documents, Ledger } from 'quittance/internal/ledger/ledger';
import { statusOfOwner } from 'quittance/internal/ledger/reads';
import type { GatewayReport } from './gateway-report.ts';
import { parseReports, writeReports } from './gateway-report.ts';

/** How often a gateway repeats its report. */
export const repeatMs = 10_000;
/** A report that is older is not current. Clocks of two machines may differ, in both directions. */
const staleMs = 3.5 * repeatMs;
const mostReports = 100;
const documentName = 'mcp-gateways';

/** `silent`: it did not report lately. `lost`: its process ended without a word. */
export type GatewayState = 'live' | 'silent' | 'ended' | 'lost';

export type SeenGateway = { readonly report: GatewayReport; readonly state: GatewayState };

export class GatewayBoard {
  readonly #documents: Documents;
  readonly #now: () => number;
  readonly #ledger: Pick<Ledger, 'query'>;
  #known: { readonly version: number; readonly reports: readonly GatewayReport[] } = {
    version: 0,
    reports: [],
  };

  constructor(documents: Documents, ledger: Pick<Ledger, 'query'>, now: () => number) {
    this.#documents = documents;
    this.#ledger = ledger;
    this.#now = now;
  }

  /** Puts up a report, in place of the earlier one of this gateway. */
  async publish(report: GatewayReport): Promise<void> {
    for (;;) {
      const { version, reports } = await this.#read();
      const others = reports.filter(({ gatewayId }) => gatewayId !== report.gatewayId);
      const next = keepUseful([...others, report], this.#now());
      if (await this.#documents.replace(documentName, version, writeReports(next))) return;
    }
  }

  /** The gateways that reported, newest report first. */
  async list(): Promise<readonly SeenGateway[]> {
    const { reports } = await this.#read();
    const seen: SeenGateway[] = [];
    for (const report of reports.toSorted((one, other) => other.seenAt - one.seenAt))
      seen.push({ report, state: await this.#stateOf(report) });
    return seen;
  }

  async #stateOf({ endedAt, seenAt, ownerId }: GatewayReport): Promise<GatewayState> {
    if (endedAt !== undefined) return 'ended';
    if ((await statusOfOwner(this.#ledger, ownerId)) === 'gone') return 'lost';
    return Math.abs(this.#now() - seenAt) > staleMs ? 'silent' : 'live';
  }

  async #read(): Promise<{ readonly version: number; readonly reports: readonly GatewayReport[] }> {
    const { version, text } = await this.#documents.read(documentName, this.#known.version);
    if (version !== this.#known.version) this.#known = { version, reports: parseReports(text) };
    return this.#known;
  }
}

/** Drops reports of the past whose servers all have a newer one. */
function keepUseful(reports: readonly GatewayReport[], now: number): readonly GatewayReport[] {
  const newestFirst = reports.toSorted((one, other) => other.seenAt - one.seenAt);
  const reported = new Set<string>();
  const kept = newestFirst.filter(({ endedAt, seenAt, servers }) => {
    const keys = servers.map(({ name, address }) => JSON.stringify([name, address]));
    const isCurrent = endedAt === undefined && Math.abs(now - seenAt) <= staleMs;
    const hasNewKeys = keys.some((key) => !reported.has(key));
    for (const key of keys) reported.add(key);
    return isCurrent || hasNewKeys;
  });
  return kept.slice(0, mostReports);
}
